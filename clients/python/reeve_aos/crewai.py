"""CrewAI: every tool call of the crews of this process is asked about.

    install(guardian)
"""

from __future__ import annotations

import contextvars
from typing import Any, Optional, Union

from crewai.hooks import HookAborted
from crewai.hooks.dispatch import InterceptionPoint, register, unregister

from . import Guardian, OpenCall, User
from .adapter import Adapter

__all__ = ["Installed", "install"]

# Of the call that is being made here: what hears its end, or what the model is told instead.
_call: contextvars.ContextVar[Union[OpenCall, str, None]] = contextvars.ContextVar("reeve_aos_crewai", default=None)


class Installed:
    """The hooks, as long as they are installed."""

    def __init__(self, guardian: Guardian, *, user: Union[str, User, None] = None) -> None:
        self._adapter = Adapter(guardian, user=user)
        register(InterceptionPoint.PRE_TOOL_CALL, self._before)
        register(InterceptionPoint.POST_TOOL_CALL, self._after)

    def remove(self) -> None:
        """Takes the hooks away: nobody is asked any more."""
        unregister(InterceptionPoint.PRE_TOOL_CALL, self._before)
        unregister(InterceptionPoint.POST_TOOL_CALL, self._after)

    def _before(self, context: Any) -> None:
        # CrewAI goes on after any exception of a hook but HookAborted: whatever happens here must be one.
        try:
            agent = str(getattr(context.agent, "role", "") or "").strip()
            turn = self._adapter.turn(_id(context.crew), _id(context.task), agent or None)
            call = turn.begin(context.tool_name, context.tool_input)
            context.tool_input.clear()  # the framework keeps this very dictionary
            context.tool_input.update(call.inputs)
            _call.set(call)
        except Exception as error:
            _call.set(str(error) or type(error).__name__)
            raise HookAborted(str(error), "reeve_aos") from error

    def _after(self, context: Any) -> str:
        # Nor may anything be raised here: CrewAI would let the result pass as it is.
        call = _call.get()
        _call.set(None)
        if isinstance(call, str):
            return call
        if call is None:
            return "The result is withheld: nobody was asked about the call."
        try:
            return str(call.ended(str(context.tool_result)))
        except Exception as error:
            return f"The result is withheld: {error}"


def install(guardian: Guardian, *, user: Union[str, User, None] = None) -> Installed:
    """Asks about every tool call from now on. Install it after all other hooks, which could change what it has judged.

    The session is the crew, and each task is a turn. An agent whose role is the guardian's own agent's name is that
    agent; all others are told as sessions below it. For `user` see reeve_aos.adapter.Adapter.
    """
    return Installed(guardian, user=user)


def _id(thing: Any) -> Optional[str]:
    own = getattr(thing, "id", None)
    return None if own is None else str(own)
