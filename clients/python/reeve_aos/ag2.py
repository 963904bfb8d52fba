"""AG2: every tool call of an agent is asked about.

    agent = Agent("helper", config=config, tools=tools, middleware=[GuardianMiddleware(guardian)])
"""

from __future__ import annotations

import contextvars
import copy
import dataclasses
from typing import Any, List, Optional, Union

from ag2.agent import AGENT_CONTEXT_DEPENDENCY_KEY
from ag2.events import ModelMessage, TextInput, ToolErrorEvent, ToolResult, ToolResultEvent
from ag2.middleware import BaseMiddleware
from ag2.tools.final.function_tool import FunctionTool
from ag2.tools.tool import Tool

from . import AsyncTurn, Denied, Guardian, NotAllowed, Reading, User
from .adapter import Adapter, output_texts

__all__ = ["GuardianMiddleware"]


# The turn whose tool is running here: a subtask's calls belong to it.
_running: contextvars.ContextVar[Optional[_Turn]] = contextvars.ContextVar("reeve_aos_ag2", default=None)


class GuardianMiddleware:
    """Asks the guardian about the tool calls of an agent, their results, and the agent's messages.

    The session is the agent's stream, and each of its turns is a turn. For `agent` and `user` see
    reeve_aos.adapter.Adapter. Put it last in the list: what comes after it could change what it has judged.
    """

    def __init__(self, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        self._adapter = Adapter(guardian, agent=agent, user=user)
        self._subtasks = Adapter(guardian, agent="subtask", user=user)

    def __call__(self, event: Any, context: Any) -> BaseMiddleware:
        agent = context.dependencies[AGENT_CONTEXT_DEPENDENCY_KEY]
        if not hasattr(agent, "_task_config") or not callable(getattr(type(agent), "_run_subtask", None)):
            raise TypeError("an agent of this kind, or of this version of the framework, runs subtasks that this module cannot hold")
        if agent._task_config is not None and "_run_subtask" not in vars(agent):
            agent._run_subtask = _held_subtasks(agent, self._subtasks)
        return _Turn(event, context, self._adapter)


def _held_subtasks(agent: Any, adapter: Adapter) -> Any:
    """What runs the subtasks of an agent. The framework makes an agent for each, with the tools of this one and
    without its middleware: the tools themselves have to ask."""
    run_subtask = type(agent)._run_subtask

    async def held(task: str, context: Any, config: Any) -> str:
        spawning = copy.copy(agent)
        spawning.tools = [_Held(tool, adapter) for tool in agent.tools]
        extra = tuple(_Held(FunctionTool.ensure_tool(tool), adapter) for tool in config.extra_tools)
        return str(await run_subtask(spawning, task, context, dataclasses.replace(config, extra_tools=extra)))

    return held


class _Held(Tool):
    """A tool that asks, whichever agent has it."""

    def __init__(self, tool: Any, adapter: Adapter) -> None:
        self._tool = tool
        self._adapter = adapter
        self.name = tool.name

    def __deepcopy__(self, memo: Any) -> _Held:
        return _Held(copy.deepcopy(self._tool, memo), self._adapter)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)

    async def schemas(self, context: Any) -> Any:
        return await self._tool.schemas(context)

    def register(self, stack: Any, context: Any, *, middleware: Any = ()) -> None:
        self._tool.register(stack, context, middleware=(*middleware, _Turn(None, context, self._adapter, _running.get())))


class _Turn(BaseMiddleware):
    def __init__(self, event: Any, context: Any, adapter: Adapter, above: Optional[_Turn] = None) -> None:
        super().__init__(event, context)
        self._ends: _Turn = self if above is None else above._ends  # the turn that ends when a call could not be judged
        self._tells = adapter.tells_messages
        self._turn = adapter.turn(str(context.stream.id))
        self._asked = AsyncTurn(self._turn)
        self._failed: Optional[NotAllowed] = None

    async def on_turn(self, call_next: Any, event: Any, context: Any) -> Any:
        where = [i for i, part in enumerate(getattr(event, "parts", ())) if isinstance(part, TextInput)] if self._tells else []
        if where:
            texts = [event.parts[i].content for i in where]
            judged = (await self._asked.user_message([{"kind": "text", "text": text} for text in texts])).content
            event = copy.copy(event)
            event.parts = list(event.parts)
            for i, part in zip(where, judged):
                event.parts[i] = TextInput(part["text"])
        with self._turn.opened():
            response = await call_next(event, context)
        if self._failed is not None:
            raise self._failed
        if self._tells and response.message is not None and response.message.content:
            content = (await self._asked.agent_message(response.message.content)).content
            if content != response.message.content:
                response = copy.copy(response)
                response.message = ModelMessage(content)
        return response

    async def on_llm_call(self, call_next: Any, events: Any, context: Any) -> Any:
        if self._failed is not None:  # a call could not be judged: the turn ends before a model hears of it
            raise self._failed
        return await call_next(events, context)

    async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
        async def run(judged: Any) -> Any:
            call = copy.copy(event)
            call.serialized_arguments = judged
            here = _running.set(self)
            try:
                result = await call_next(call, context)
            finally:
                _running.reset(here)
            if isinstance(result, ToolErrorEvent):
                raise result.error
            return result

        try:
            return await self._asked.call(event.name, event.serialized_arguments, run, reading=_READING)
        except Denied as denied:
            return ToolResultEvent.from_call(event, result=str(denied))
        except NotAllowed as error:
            self._ends._failed = error
            return ToolResultEvent.from_call(event, result=str(error))
        except Exception as error:
            # The framework's own event tells the model a traceback, which nobody has judged.
            return ToolErrorEvent(parent_id=event.id, name=event.name, error=error, result=ToolResult(f"{type(error).__name__}: {error}"))


def _texts(event: Any) -> List[str]:
    if not isinstance(event, ToolResultEvent):
        raise TypeError(f"a {type(event).__name__} cannot be judged")
    return [part.content if isinstance(part, TextInput) else output_texts(getattr(part, "data", None))[0] for part in event.result.parts]


def _replaced(event: Any, texts: List[str]) -> Any:
    return ToolResultEvent(parent_id=event.parent_id, name=event.name, result=ToolResult(*texts))


_READING = Reading(_texts, _replaced)
