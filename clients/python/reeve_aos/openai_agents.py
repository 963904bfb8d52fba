"""The OpenAI Agents SDK: every function tool and hand-over of an agent, and of those that it hands over to, is asked about.

    runner = GuardedRunner(guardian)
    result = await runner.run(agent, "Tell Bo that the build is green.")
"""

from __future__ import annotations

import copy
import inspect
import json
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple, Union, cast

from agents import (
    Agent, CodeInterpreterTool, FileSearchTool, FunctionTool, Handoff, HostedMCPTool, ImageGenerationTool, Runner, RunState, ToolSearchTool,
    WebSearchTool, handoff,
)

from . import AsyncTurn, Denied, Guardian, Reading, User, _object
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
        if isinstance(input, RunState):
            _guarded_state(input)
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
        """The agent with guarded tools and hand-overs, for a turn that the program opens, for streams, and for as_tool().
        What is given to it later, and to its clones, is guarded, too."""
        return _Guarding(self._adapter, agent.name).agent(agent)


class _Guarding:
    """Makes guarded copies of agents that hand over to each other, perhaps in a circle."""

    def __init__(self, adapter: Adapter, first: str) -> None:
        self._adapter = adapter
        self._first = first
        self._copies: Dict[int, Tuple[Agent[Any], Agent[Any]]] = {}  # with the agents, whose ids else are another's one day

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        if isinstance(agent, _Guarded):
            return agent
        if id(agent) in self._copies:
            return self._copies[id(agent)][1]
        guarded = agent.clone()
        own = vars(guarded)
        tools, handoffs = own.pop("tools"), own.pop("handoffs")
        kind = type(agent)
        guarded.__class__ = type(kind.__name__, (_Guarded, kind), {"_guarding": self, "__module__": kind.__module__, "__qualname__": kind.__qualname__})
        self._copies[id(agent)] = (agent, guarded)
        guarded.tools, guarded.handoffs = tools, handoffs
        _ = guarded.tools, guarded.handoffs  # what cannot be held is refused now
        return guarded

    def handoff(self, source: Agent[Any], given: Any) -> Handoff[Any, Any]:
        """A hand-over is asked about as the call of a tool, which it is to the model. It may have a function, which
        runs here. When it is denied the agent stays, and reads why."""
        told = given if isinstance(given, Handoff) else handoff(self.agent(given))
        original, transferred, filtered = told.on_invoke_handoff, told.get_transfer_message, told.input_filter

        async def invoke(context: Any, arguments: str) -> Any:
            async def run(judged: Any) -> Any:
                return self.agent(await original(context, _arguments(judged, arguments)))

            try:
                turn = AsyncTurn(self._adapter.turn(agent=self.name(source)))
                return await turn.call(told.tool_name, _inputs(arguments), run, reading=Reading(lambda agent: [transferred(agent)], _no_other))
            except Denied as denied:
                stays = source.clone()
                setattr(stays, _DENIED, str(denied))
                return stays

        async def filter(data: Any) -> Any:
            if any(getattr(getattr(item, "target_agent", None), _DENIED, None) for item in data.new_items):
                return data  # else the agent would not read why
            left = filtered and filtered(data)
            return await left if inspect.isawaitable(left) else left

        setattr(invoke, _ASKED, True)
        guarded = copy.copy(told)
        guarded.on_invoke_handoff = invoke
        setattr(guarded, "get_transfer_message", lambda agent: getattr(agent, _DENIED, None) or transferred(agent))
        if filtered is not None:
            guarded.input_filter = filter
        target = told._agent_ref and told._agent_ref()
        if target is not None:  # by which a run that was written down finds its agents
            held = self.agent(cast("Agent[Any]", target))
            guarded._agent_ref = weakref.ref(held)
        return guarded

    def tool(self, source: Agent[Any], tool: Any) -> Any:
        inner = getattr(tool, "_agent_instance", None)
        if not isinstance(tool, FunctionTool):
            raise TypeError(f"a {type(tool).__name__} runs what this module cannot hold: make it a function tool")
        if getattr(tool, "_is_agent_tool", False) and not isinstance(inner, _Guarded):
            raise TypeError(f"the tool {tool.name} is an agent whose own tools nobody asks about: use runner.guard(agent).as_tool(…)")
        original = tool.on_invoke_tool

        async def invoke(context: Any, arguments: str) -> Any:
            turn = self._adapter.turn(agent=self.name(source))

            async def run(judged: Any) -> Any:
                left = context.tool_arguments = _arguments(judged, arguments)  # which a tool may read in its context, too
                if inner is None and context.tool_call is not None:
                    context.tool_call = context.tool_call.model_copy(update={"arguments": left})
                with turn.of(inner and inner.name).opened():
                    return await original(context, left)

            try:
                return await AsyncTurn(turn).call(tool.name, _inputs(arguments), run, reading=_READING)
            except Denied as denied:
                return str(denied)

        setattr(invoke, _ASKED, True)
        guarded = copy.copy(tool)
        guarded.on_invoke_tool = invoke
        return guarded

    def name(self, agent: Agent[Any]) -> Optional[str]:
        """By which an agent is told; None is the guardian's own."""
        return None if agent.name == self._first else agent.name


class _Guarded(Agent[Any]):
    """What is added to an agent's class: whoever reads its tools and hand-overs finds guarded ones, when ever they came."""

    _guarding: _Guarding

    @property
    def tools(self) -> List[Any]:
        return self._held("_tools", _HOSTED, self._guarding.tool)

    @tools.setter
    def tools(self, given: List[Any]) -> None:
        self.__dict__["_tools"] = list(given)  # a list of its own: another agent's stays as it is

    @property
    def handoffs(self) -> List[Any]:
        return self._held("_handoffs", (), self._guarding.handoff)

    @handoffs.setter
    def handoffs(self, given: List[Any]) -> None:
        self.__dict__["_handoffs"] = list(given)

    async def get_mcp_tools(self, run_context: Any) -> List[Any]:
        return [self._guarding.tool(self, tool) for tool in await super().get_mcp_tools(run_context)]

    def _held(self, name: str, free: Any, guarded: Callable[[Agent[Any], Any], Any]) -> List[Any]:
        members: List[Any] = self.__dict__[name]
        for i, member in enumerate(members):
            runs = getattr(member, "on_invoke_tool", None) or getattr(member, "on_invoke_handoff", None)
            if not isinstance(member, free) and not getattr(runs, _ASKED, False):
                members[i] = guarded(self, member)
        return members


_ASKED = "_reeve_aos_asked"  # of what a tool or hand-over runs: it asks first
_DENIED = "_reeve_aos_denied"  # of an agent that was not allowed to hand over: why


def _inputs(arguments: str) -> Dict[str, Any]:
    """What a model says as arguments: an object, or (to a hand-over) another value. A member that is there twice could
    be read in two ways."""
    value = json.loads(arguments or "{}", object_pairs_hook=_object)
    return value if isinstance(value, dict) else {"input": value}


def _arguments(judged: Dict[str, Any], arguments: str) -> str:
    """The arguments with which it runs, written anew from what was judged."""
    return json.dumps(judged if isinstance(json.loads(arguments or "{}"), dict) else judged["input"])


def _no_other(agent: Any, texts: List[str]) -> Any:
    raise ValueError("a hand-over is made, or is not")


def _guarded_state(state: Any) -> None:
    """Refuses to go on with a run whose agent nobody asks about."""
    for agent in (getattr(state, "_current_agent", None), getattr(state, "_starting_agent", None)):
        if not isinstance(agent, _Guarded):
            raise TypeError("the state is of an agent that is not guarded: read it with runner.guard(agent)")


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
