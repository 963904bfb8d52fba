"""What the modules for agent frameworks share, and what a module for another one begins with.

An adapter finds the turn that the framework is in, has `turn.call` ask, run and report, and
lets the model read a denial. All else that is NotAllowed (the guardian is away, or answered no
verdict) ends the run: nothing ran that was not allowed, and no result is used that was not judged.
"""

from __future__ import annotations

import uuid
from typing import Any, List, Optional, Union

from . import AsyncTurn, Guardian, Turn, User, _output_of, _told_output

__all__ = ["Adapter", "answered", "output_texts", "replaced_output"]


class Adapter:
    """Where the acts of a framework's agent belong.

    guardian: who is asked
    agent:    the name of this agent, when it is one that the guardian's own starts or hands over to
    user:     for whom the agent acts, when the framework opens the sessions

    A turn that the program opened itself (`with session.turn()`) is the one that everything belongs
    to, and its messages are the program's to tell. Else the framework's own conversation is the
    session, each run of the agent is a turn, and its messages are told here.
    """

    def __init__(self, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        self.guardian = guardian
        self.agent = agent
        self.user = user

    @property
    def tells_messages(self) -> bool:
        """No turn is open here: what the user says, and what the agent answers, is told by the adapter."""
        return self.guardian.open_turn is None

    def turn(self, session: Optional[str] = None, turn: Optional[str] = None, agent: Optional[str] = None) -> Turn:
        """The turn that is open here, or the one that the framework calls so. An id that the framework
        does not have is None: without a session the turn is alone in one."""
        here = self.guardian.open_turn
        if here is None:
            turn = turn or uuid.uuid4().hex
            here = self.guardian.session(user=self.user, id=session or f"run-{turn}").turn(turn)
        return here.of(agent or self.agent)


async def answered(turn: AsyncTurn, output: Any) -> Any:
    """An agent's answer, as the guardian left it. What has structure is told as JSON."""
    texts = output_texts(output)
    return output if not texts or texts == [""] else replaced_output(output, [(await turn.agent_message(texts[0])).content])


def output_texts(output: Any) -> List[str]:
    """What a model or user will read of an output: a text as it is, else JSON. TypeError when it has no such form."""
    return _told_output("the tool", output)


def replaced_output(output: Any, texts: List[str]) -> Any:
    """The output with the text that the guardian left, in the form that it had."""
    if texts == output_texts(output):
        return output
    if hasattr(output, "model_validate_json"):
        return type(output).model_validate_json(texts[0])  # whose ValueError says that it cannot hold it
    return _output_of(output, texts)
