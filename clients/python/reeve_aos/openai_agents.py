"""The OpenAI Agents SDK: every function tool of an agent, and of those that it hands over to, is asked about.

    runner = GuardedRunner(guardian)
    result = await runner.run(agent, "Tell Bo that the build is green.")
"""

from __future__ import annotations

import copy
import json
from typing import Any, Dict, List, Optional, Union

from agents import (
    Agent, CodeInterpreterTool, FileSearchTool, FunctionTool, Handoff, HostedMCPTool, ImageGenerationTool, Runner, ToolSearchTool, WebSearchTool,
)

from . import AsyncTurn, Denied, Guardian, Reading, Turn, User
from .adapter import Adapter, answered

__all__ = ["GuardedRunner"]

# What the model's provider runs, and no program here can hold.
_HOSTED = (CodeInterpreterTool, FileSearchTool, HostedMCPTool, ImageGenerationTool, ToolSearchTool, WebSearchTool)


class GuardedRunner:
    """Runs agents as the SDK's Runner does, and asks the guardian about their messages and tool calls.

    The session is the SDK's (its session, conversation_id or the run configuration's group_id), and each run is a
    turn. For `user` see reeve_aos.adapter.Adapter.
    """

    def __init__(self, guardian: Guardian, *, user: Union[str, User, None] = None) -> None:
        self._adapter = Adapter(guardian, user=user)

    async def run(self, agent: Agent[Any], input: Any, **settings: Any) -> Any:
        """Runner.run(), guarded."""
        guarded = self.guard(agent)
        if not self._adapter.tells_messages:
            return await Runner.run(guarded, input, **settings)
        config = settings.get("run_config")
        session = getattr(settings.get("session"), "session_id", None) or settings.get("conversation_id")
        turn = self._adapter.turn(session or getattr(config, "group_id", None))
        async with turn as asked:
            result = await Runner.run(guarded, await _said(asked, input), **settings)
            result.final_output = await answered(asked, result.final_output)
            return result

    def guard(self, agent: Agent[Any]) -> Agent[Any]:
        """The agent with guarded tools, for a turn that the program opens, for streams, and for as_tool()."""
        return _Guarding(self._adapter, agent.name).agent(agent)


class _Guarding:
    """Makes guarded copies of agents that hand over to each other, perhaps in a circle."""

    def __init__(self, adapter: Adapter, first: str) -> None:
        self._adapter = adapter
        self._first = first
        self._copies: Dict[int, Agent[Any]] = {}

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        if isinstance(agent, Agent) and getattr(agent, "_reeve_aos", False):
            return agent
        if id(agent) in self._copies:
            return self._copies[id(agent)]
        name = None if agent.name == self._first else agent.name
        guarded = self._copies[id(agent)] = agent.clone(tools=[self._tool(tool, name) for tool in agent.tools])
        setattr(guarded, "_reeve_aos", True)
        guarded.handoffs = [self._handoff(handoff) for handoff in agent.handoffs]
        tools_of_servers = guarded.get_mcp_tools

        async def get_mcp_tools(run_context: Any) -> List[Any]:
            return [self._tool(tool, name) for tool in await tools_of_servers(run_context)]

        setattr(guarded, "get_mcp_tools", get_mcp_tools)
        return guarded

    def _handoff(self, handoff: Any) -> Any:
        if not isinstance(handoff, Handoff):
            return self.agent(handoff)
        original = handoff.on_invoke_handoff

        async def invoke(context: Any, arguments: str) -> Any:
            return self.agent(await original(context, arguments))

        guarded = copy.copy(handoff)
        guarded.on_invoke_handoff = invoke
        return guarded

    def _tool(self, tool: Any, agent: Optional[str]) -> Any:
        if isinstance(tool, _HOSTED) or getattr(tool, "_reeve_aos", False):
            return tool
        if not isinstance(tool, FunctionTool):
            raise TypeError(f"a {type(tool).__name__} runs what this module cannot hold: make it a function tool")
        inner = getattr(tool, "_agent_instance", None)
        if getattr(tool, "_is_agent_tool", False) and not getattr(inner, "_reeve_aos", False):
            raise TypeError(f"the tool {tool.name} is an agent whose own tools nobody asks about: use runner.guard(agent).as_tool(…)")
        original = tool.on_invoke_tool

        async def invoke(context: Any, arguments: str) -> Any:
            turn = self._adapter.turn(agent=agent)

            async def run(judged: Any) -> Any:
                with turn.of(inner and inner.name).opened():
                    return await original(context, json.dumps(judged))

            try:
                return await AsyncTurn(turn).call(tool.name, json.loads(arguments or "{}"), run, reading=_READING)
            except Denied as denied:
                return str(denied)

        guarded = copy.copy(tool)
        guarded.on_invoke_tool = invoke
        setattr(guarded, "_reeve_aos", True)
        return guarded


async def _said(turn: AsyncTurn, input: Any) -> Any:
    """What the user said, as the guardian left it: a text, or the last of the user's items."""
    if isinstance(input, str):
        return (await turn.user_message(input)).content
    if not isinstance(input, list):
        return input  # a run that goes on: the user says nothing
    items = copy.deepcopy(input)
    said: Any = next((item for item in reversed(items) if isinstance(item, dict) and item.get("role") == "user"), None)
    if said is None:
        return items
    if isinstance(said["content"], str):
        said["content"] = (await turn.user_message(said["content"])).content
        return items
    texts = [part for part in said["content"] if isinstance(part.get("text"), str)]
    if texts:
        judged = (await turn.user_message([{"kind": "text", "text": part["text"]} for part in texts])).content
        for part, left in zip(texts, judged):
            part["text"] = left["text"]
    return items


def _texts(output: Any) -> List[str]:
    """What the model will read of a tool's output: the SDK writes what is no string as Python does."""
    if isinstance(output, str):
        return [output]
    if isinstance(output, list) and output and all(_is_part(part) for part in output):
        return [text for part in output for text in _texts(part)]
    if _is_part(output):
        told = output if isinstance(output, dict) else output.model_dump()
        return [told["text"]] if told.get("type") == "text" else [json.dumps(told)]
    return [str(output)]


def _is_part(value: Any) -> bool:
    return (value if isinstance(value, dict) else {"type": getattr(value, "type", None)}).get("type") in ("text", "image", "file")


def _replaced(output: Any, texts: List[str]) -> Any:
    return texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]


_READING = Reading(_texts, _replaced)
