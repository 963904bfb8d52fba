"""LlamaIndex: every tool call of an agent is asked about.

    agent = guard(FunctionAgent(tools=tools, llm=llm), guardian)
"""

from __future__ import annotations

import copy
import json
from typing import Any, Iterable, List, Optional, Union

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, ToolOutput
from llama_index.core.tools.types import adapt_to_async_tool

from . import AsyncTurn, Denied, Guardian, Reading, T, User
from .adapter import Adapter

__all__ = ["GuardianPostprocessor", "guard", "guard_tools"]


def guard(agent: T, guardian: Guardian, *, name: Optional[str] = None, user: Union[str, User, None] = None) -> T:
    """Guards an agent, or a workflow of agents, itself. Each tool of a run is asked about, whenever the agent has got it:
    those of a retriever and hand-overs, too. `name` is an agent's that is one below another; the agents of a workflow
    are told by their own, below the first. For `user` see reeve_aos.adapter.Adapter."""
    held: Any = agent
    tools_of, first = held.get_tools, getattr(held, "root_agent", None)
    if first is None:
        held.tools = guard_tools(held.tools or (), guardian, agent=name, user=user)  # for a workflow that takes them from here

    async def get_tools(*args: Any, **kwargs: Any) -> List[Any]:
        of = name if first is None else (kwargs.get("agent_name") or args[0])
        return guard_tools(await tools_of(*args, **kwargs), guardian, agent=None if of == first else of, user=user)

    object.__setattr__(held, "get_tools", get_tools)  # an agent is a model, which takes its own fields only
    return agent


def guard_tools(
    tools: Iterable[Any], guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None,
) -> List[Any]:
    """Tools that are used outside of agents, guarded: functions, or tools of the framework. For `agent` and `user` see reeve_aos.adapter.Adapter."""
    adapter = Adapter(guardian, agent=agent, user=user)
    return [tool if hasattr(tool, "_reeve_aos") else _guarded(tool if hasattr(tool, "metadata") else FunctionTool.from_defaults(tool), adapter) for tool in tools]


def _guarded(tool: Any, adapter: Adapter) -> Any:
    original = adapt_to_async_tool(tool)
    guarded = copy.copy(original)
    name = original.metadata.get_name()
    hidden = getattr(original, "ctx_param_name", None)  # the framework's own context

    def parted(arguments: Any) -> Any:
        return {key: value for key, value in arguments.items() if key == hidden}, {
            key: value for key, value in arguments.items() if key != hidden}

    def named(args: Any, kwargs: Any) -> Any:
        return {**({"input": args[0]} if args else {}), **kwargs}

    def denial(kwargs: Any, denied: Denied) -> ToolOutput:
        return ToolOutput(tool_name=name, content=str(denied), raw_input=kwargs, raw_output=str(denied), is_error=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        beside, told = parted(named(args, kwargs))
        try:
            return adapter.turn().call(name, told, lambda judged: original.call(**judged, **beside), reading=_READING)
        except Denied as denied:
            return denial(told, denied)

    async def acall(*args: Any, **kwargs: Any) -> Any:
        beside, told = parted(named(args, kwargs))
        try:
            return await AsyncTurn(adapter.turn()).call(name, told, lambda judged: original.acall(**judged, **beside), reading=_READING)
        except Denied as denied:
            return denial(told, denied)

    guarded.call, guarded.acall, guarded._reeve_aos = call, acall, True
    return guarded


class GuardianPostprocessor(BaseNodePostprocessor):
    """What was retrieved is judged before anybody reads it."""

    adapter: Any

    def __init__(self, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        super().__init__(adapter=Adapter(guardian, agent=agent, user=user))

    def _postprocess_nodes(self, nodes: List[NodeWithScore], query_bundle: Optional[QueryBundle] = None) -> List[NodeWithScore]:
        query = query_bundle.query_str if query_bundle else None
        return _judged(nodes, self.adapter.turn().knowledge_retrieval(_results(nodes), query=query).content.results)

    async def _apostprocess_nodes(self, nodes: List[NodeWithScore], query_bundle: Optional[QueryBundle] = None) -> List[NodeWithScore]:
        query = query_bundle.query_str if query_bundle else None
        asked = AsyncTurn(self.adapter.turn()).knowledge_retrieval(_results(nodes), query=query)
        return _judged(nodes, (await asked).content.results)


def _text(node: NodeWithScore) -> str:
    """What a model reads of a node: its text, and the metadata that belongs to it."""
    return str(node.node.get_content(metadata_mode=MetadataMode.LLM))


def _results(nodes: List[NodeWithScore]) -> Any:
    return [{"id": node.node.node_id, "content": _text(node)} for node in nodes]


def _judged(nodes: List[NodeWithScore], judged: List[Any]) -> List[NodeWithScore]:
    return [node if result["content"] == _text(node) else NodeWithScore(
        node=TextNode(text=result["content"], id_=node.node.node_id), score=node.score) for node, result in zip(nodes, judged)]


def _texts(output: Any) -> List[str]:
    if not isinstance(output, ToolOutput):
        raise TypeError(f"a {type(output).__name__} cannot be judged")
    return [block.text if block.block_type == "text" else json.dumps(block.model_dump(mode="json")) for block in output.blocks]


def _replaced(output: Any, texts: List[str]) -> Any:
    return ToolOutput(tool_name=output.tool_name, content="\n".join(texts), raw_input=output.raw_input, raw_output="\n".join(texts),
                      is_error=output.is_error)


_READING = Reading(_texts, _replaced)
