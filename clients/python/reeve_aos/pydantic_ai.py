"""Pydantic AI: every tool call of an agent is asked about.

    agent = Agent(model, tools=tools, capabilities=[GuardianCapability(guardian)])
"""

from __future__ import annotations

from typing import Any, List, Optional, Union

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, ToolReturn, UserPromptPart

from . import AsyncTurn, Denied, Guardian, Reading, User
from .adapter import Adapter, answered, output_texts, replaced_output

__all__ = ["GuardianCapability"]


class GuardianCapability(AbstractCapability[Any]):
    """Asks the guardian about the tool calls of an agent, their results, and the agent's messages.

    The session is the run's conversation, and each run is a turn. For `agent` and `user` see
    reeve_aos.adapter.Adapter.
    """

    def __init__(self, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        self._adapter = Adapter(guardian, agent=agent, user=user)

    async def for_run(self, ctx: Any) -> AbstractCapability[Any]:
        return _Run(self._adapter, ctx)

    async def wrap_tool_execute(self, ctx: Any, **_: Any) -> Any:
        raise RuntimeError("a tool is run outside of a run, where nobody can be asked")


class _Run(AbstractCapability[Any]):
    """One run of an agent."""

    def __init__(self, adapter: Adapter, ctx: Any) -> None:
        self._tells = adapter.tells_messages
        self._turn = AsyncTurn(adapter.turn(getattr(ctx, "conversation_id", None), getattr(ctx, "run_id", None)))

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        """What the user said is judged before a model has read it, once."""
        if self._tells and request_context.messages and isinstance(request_context.messages[-1], ModelRequest):
            for part in request_context.messages[-1].parts:
                if isinstance(part, UserPromptPart):
                    await self._judge(part)
        return request_context

    async def _judge(self, said: UserPromptPart) -> None:
        if isinstance(said.content, str):
            said.content = (await self._turn.user_message(said.content)).content
            return
        content = list(said.content)
        where = [i for i, part in enumerate(content) if isinstance(part, str)]
        if where:
            judged = (await self._turn.user_message([{"kind": "text", "text": content[i]} for i in where])).content
            for i, part in zip(where, judged):
                content[i] = part["text"]
            said.content = content

    async def after_run(self, ctx: Any, *, result: Any) -> Any:
        if self._tells:
            result.output = await answered(self._turn, result.output)
        return result

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        try:
            return await self._turn.call(tool_def.name, args, handler, reading=_READING)
        except Denied as denied:
            return str(denied)


def _texts(output: Any) -> List[str]:
    if not isinstance(output, ToolReturn):
        return output_texts(output)
    more = [output.content] if isinstance(output.content, str) else list(output.content or ())
    return [*output_texts(output.return_value), *(text for part in more for text in output_texts(part))]


def _replaced(output: Any, texts: List[str]) -> Any:
    if not isinstance(output, ToolReturn):
        return replaced_output(output, texts)
    first = output_texts(output.return_value)
    return ToolReturn(replaced_output(output.return_value, texts[:len(first)]), content=texts[len(first):] or None)


_READING = Reading(_texts, _replaced)
