"""LlamaIndex: every tool call of an agent is asked about.

    agent = guard(FunctionAgent(tools=tools, llm=llm), guardian)
"""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory.types import BaseMemory
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, ToolOutput
from llama_index.core.tools.types import adapt_to_async_tool

from . import AsyncTurn, Denied, Guardian, Reading, T, User
from .adapter import Adapter

__all__ = ["GuardedMemory", "GuardianPostprocessor", "guard", "guard_tools"]


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


class GuardedMemory(BaseMemory):
    """A memory (`agent.run(…, memory=GuardedMemory(memory, guardian))`): what is put into it is judged before it is kept,
    and what it gives before anybody reads it; a text that is known in a session is not judged in it again.

    What the guardian does not allow raises NotAllowed: of what is put together nothing is kept then, and of what is
    given nothing is read. Give it to the agent and keep the memory inside to yourself: what that is told by others is
    judged when it is read, and what others read of it is not.
    """

    memory: Any
    adapter: Any
    _known: Dict[Tuple[str, str], str] = PrivateAttr(default_factory=dict)  # by session and text, what was left of it

    def __init__(self, memory: BaseMemory, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        super().__init__(memory=memory, adapter=Adapter(guardian, agent=agent, user=user))

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "GuardedMemory":
        raise TypeError("a guarded memory is made of one: GuardedMemory(memory, guardian)")

    def put(self, message: ChatMessage) -> None:
        self.memory.put(self._told([message], "memory_store")[0])

    async def aput(self, message: ChatMessage) -> None:
        await self.memory.aput((await self._atold([message], "memory_store"))[0])

    def put_messages(self, messages: List[ChatMessage]) -> None:
        self.memory.put_messages(self._told(messages, "memory_store"))

    async def aput_messages(self, messages: List[ChatMessage]) -> None:
        await self.memory.aput_messages(await self._atold(messages, "memory_store"))

    def set(self, messages: List[ChatMessage]) -> None:
        self.memory.set(self._told(messages, "memory_store"))

    async def aset(self, messages: List[ChatMessage]) -> None:
        await self.memory.aset(await self._atold(messages, "memory_store"))

    def get(self, input: Optional[str] = None, **kwargs: Any) -> List[ChatMessage]:
        return self._told(self.memory.get(input=input, **kwargs), "memory_context_retrieval")

    async def aget(self, input: Optional[str] = None, **kwargs: Any) -> List[ChatMessage]:
        return await self._atold(await self.memory.aget(input=input, **kwargs), "memory_context_retrieval")

    def get_all(self) -> List[ChatMessage]:
        return self._told(self.memory.get_all(), "memory_context_retrieval")

    async def aget_all(self) -> List[ChatMessage]:
        return await self._atold(await self.memory.aget_all(), "memory_context_retrieval")

    def reset(self) -> None:
        self.memory.reset()

    async def areset(self) -> None:
        await self.memory.areset()

    def _told(self, messages: Iterable[ChatMessage], step: str) -> List[ChatMessage]:
        turn, messages = self.adapter.turn(), list(messages)
        new = self._new(turn.session.id, messages)
        return self._left(turn.session.id, messages, new, getattr(turn, step)(new).content if new else [])

    async def _atold(self, messages: Iterable[ChatMessage], step: str) -> List[ChatMessage]:
        turn, messages = self.adapter.turn(), list(messages)
        new = self._new(turn.session.id, messages)
        return self._left(turn.session.id, messages, new, (await getattr(AsyncTurn(turn), step)(new)).content if new else [])

    def _new(self, session: str, messages: List[ChatMessage]) -> List[str]:
        """The texts that were not judged in this session, each once."""
        found = dict.fromkeys(text for message in messages for text in _remembered(message))
        return [text for text in found if (session, text) not in self._known]

    def _left(self, session: str, messages: List[ChatMessage], new: List[str], judged: List[str]) -> List[ChatMessage]:
        left = {**{text: self._known.get((session, text), text) for message in messages for text in _remembered(message)}, **dict(zip(new, judged))}
        if len(self._known) > _KNOWN:
            self._known.clear()
        for before, after in left.items():
            self._known[session, before] = self._known[session, after] = after
        return [_anew(message, lambda text: left.get(text, text)) for message in messages]


_KNOWN = 20_000  # texts of messages: then they are judged once more


def _block(block: Any) -> str:
    return block.text if block.block_type == "text" else json.dumps(block.model_dump(mode="json"))


def _beside(message: ChatMessage) -> str:
    return json.dumps(message.additional_kwargs, default=str, sort_keys=True, ensure_ascii=False) if message.additional_kwargs else ""


def _remembered(message: ChatMessage) -> List[str]:
    """What a model may read of a message."""
    return [text for text in [*map(_block, message.blocks), _beside(message)] if text]


def _anew(message: ChatMessage, left: Callable[[str], str]) -> ChatMessage:
    """A message with the texts that were left. What is no text becomes one, or goes, where it was changed."""
    if all(left(text) == text for text in _remembered(message)):
        return message
    blocks = [block if left(_block(block)) == _block(block) else TextBlock(text=left(_block(block))) for block in message.blocks]
    beside = message.additional_kwargs if left(_beside(message)) == _beside(message) else {}
    return ChatMessage(role=message.role, blocks=blocks, additional_kwargs=beside)


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
