"""Microsoft Agent Framework: every function call of an agent is asked about.

    agent = Agent(client, tools=tools, middleware=guard(guardian))
"""

from __future__ import annotations

import json
from typing import Any, List, Mapping, Optional, Union

from agent_framework import AgentMiddleware, Content, FunctionMiddleware, Message, MiddlewareFailure

from . import AsyncTurn, Denied, Guardian, NotAllowed, Reading, User
from .adapter import Adapter, output_texts, replaced_output

__all__ = ["guard"]


def guard(guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> List[Any]:
    """The middleware of an agent: one part for its messages, one for its function calls.

    The session is the agent's session, and each run is a turn. For `agent` and `user` see reeve_aos.adapter.Adapter.
    Put it last in the list: what comes after it could change what it has judged.
    """
    adapter = Adapter(guardian, agent=agent, user=user)
    return [_Messages(adapter), _Calls(adapter)]


class _Messages(AgentMiddleware):
    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    async def process(self, context: Any, call_next: Any) -> None:
        if not self._adapter.tells_messages:
            await call_next()
            return
        turn = self._adapter.turn(context.session and context.session.session_id)
        asked = AsyncTurn(turn)
        last = context.messages[-1] if context.messages else None
        if last is not None and str(last.role) == "user":
            context.messages[-1] = await _judged(last, asked.user_message)
        with turn.opened():
            await call_next()
        if getattr(context.result, "messages", None) is not None:
            said = context.result.messages
            for i, message in enumerate(said):
                if str(message.role) == "assistant":
                    said[i] = await _judged(message, asked.agent_message)


class _Calls(FunctionMiddleware):
    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    async def process(self, context: Any, call_next: Any) -> None:
        turn = AsyncTurn(self._adapter.turn(context.session and context.session.session_id))
        arguments = context.arguments if isinstance(context.arguments, Mapping) else context.arguments.model_dump()

        async def run(judged: Any) -> Any:
            context.arguments = judged
            await call_next()
            return context.result

        try:
            context.result = await turn.call(context.function.name, arguments, run, reading=_READING)
        except Denied as denied:
            context.result = str(denied)
        except NotAllowed as error:
            # The framework makes a tool's result of any other exception, and goes on.
            raise MiddlewareFailure(str(error)) from error


async def _judged(message: Any, ask: Any) -> Any:
    """A message as the guardian left it."""
    where = [i for i, content in enumerate(message.contents) if content.type == "text" and content.text]
    if not where:
        return message
    texts = [message.contents[i].text for i in where]
    judged = [part["text"] for part in (await ask([{"kind": "text", "text": text} for text in texts])).content]
    if judged == texts:
        return message
    contents = list(message.contents)
    for i, text in zip(where, judged):
        contents[i] = Content.from_text(text)
    return Message(role=message.role, contents=contents, author_name=message.author_name, message_id=message.message_id)


def _is_contents(output: Any) -> bool:
    return isinstance(output, list) and bool(output) and all(isinstance(content, Content) for content in output)


def _texts(output: Any) -> List[str]:
    if isinstance(output, Content):
        output = [output]
    if not _is_contents(output):
        return output_texts(output)
    return [content.text if content.type == "text" else json.dumps(content.to_dict()) for content in output]


def _replaced(output: Any, texts: List[str]) -> Any:
    if isinstance(output, Content) or _is_contents(output):
        return [Content.from_text(text) for text in texts]
    return replaced_output(output, texts)


_READING = Reading(_texts, _replaced)
