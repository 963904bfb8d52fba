"""LangChain and LangGraph: every tool call of an agent is asked about.

    agent = create_agent(model, tools, middleware=[GuardianMiddleware(guardian)])

A graph of one's own with a ToolNode:

    guard = GuardianMiddleware(guardian)
    ToolNode(tools, wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call)
"""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any, Awaitable, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Union, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.retrievers import BaseRetriever
from langgraph.config import get_config
from langgraph.store.base import BaseStore, Item, PutOp
from langgraph.types import Command, Send

from . import AsyncTurn, Denied, Guardian, GuardianError, Reading, Turn, User, _plain, _same
from .adapter import Adapter, output_texts, replaced_output

__all__ = ["GuardedRetriever", "GuardedStore", "GuardianMiddleware"]


class GuardianMiddleware(AgentMiddleware):
    """Asks the guardian about the tool calls of an agent, their results, and the agent's messages.

    The session is LangGraph's thread (`configurable: {"thread_id": …}`), the turn the user's last message.
    For `agent` and `user` see reeve_aos.adapter.Adapter.
    """

    def __init__(self, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        super().__init__()
        self._adapter = Adapter(guardian, agent=agent, user=user)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = request.tool_call
        try:
            return self._turn(request.state).call(call["name"], call["args"], lambda args: handler(_with(request, args)), reading=_READING)
        except Denied as denied:
            return _told(call, denied)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        call = request.tool_call
        turn = AsyncTurn(self._turn(request.state))
        try:
            return await turn.call(call["name"], call["args"], lambda args: handler(_with(request, args)), reading=_READING)
        except Denied as denied:
            return _told(call, denied)

    def before_agent(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        said = self._unjudged(state, HumanMessage)
        if said is None:
            return None
        return _changed(said, self._turn(state).user_message(_parts(said)).content)

    async def abefore_agent(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        said = self._unjudged(state, HumanMessage)
        if said is None:
            return None
        return _changed(said, (await AsyncTurn(self._turn(state)).user_message(_parts(said))).content)

    def after_agent(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        said = self._unjudged(state, AIMessage)
        if said is None:
            return None
        return _changed(said, self._turn(state).agent_message(_parts(said)).content)

    async def aafter_agent(self, state: Any, runtime: Any) -> Optional[Dict[str, Any]]:
        said = self._unjudged(state, AIMessage)
        if said is None:
            return None
        return _changed(said, (await AsyncTurn(self._turn(state)).agent_message(_parts(said))).content)

    def _unjudged(self, state: Any, kind: type) -> Any:
        """The last message, when it is of the kind, says something, and is to be told here."""
        last = (_messages(state) or [None])[-1]
        return last if self._adapter.tells_messages and isinstance(last, kind) and _parts(last) else None

    def _turn(self, state: Any) -> Turn:
        said = next((m.id for m in reversed(_messages(state)) if isinstance(m, HumanMessage)), None)
        return self._adapter.turn(_thread(), said)


def _thread() -> Optional[str]:
    """LangGraph's thread, which is the session."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # not in a graph
        return None
    return str(thread) if thread else None


class GuardedRetriever(BaseRetriever):
    """A retriever whose documents are judged before anybody reads them."""

    retriever: BaseRetriever
    adapter: Any

    def __init__(self, retriever: BaseRetriever, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        super().__init__(retriever=retriever, adapter=Adapter(guardian, agent=agent, user=user))

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> List[Document]:
        found = self.retriever.invoke(query, config={"callbacks": run_manager.get_child()})
        return _judged(found, self.adapter.turn().knowledge_retrieval(_results(found), query=query).content.results)

    async def _aget_relevant_documents(self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun) -> List[Document]:
        found = await self.retriever.ainvoke(query, config={"callbacks": run_manager.get_child()})
        turn = AsyncTurn(self.adapter.turn())
        return _judged(found, (await turn.knowledge_retrieval(_results(found), query=query)).content.results)


class GuardedStore(BaseStore):
    """A store of memories: what is put into it is judged before it is kept, and what is found before anybody reads it.

    The guardian is told each memory with its namespace and key, which may say something as well. One that it does not
    allow raises NotAllowed: of what is put together nothing is kept then, and of what is found nothing is read.
    Where a memory is taken out of the store, only the tool that does it is asked about.
    """

    def __init__(self, store: BaseStore, guardian: Guardian, *, agent: Optional[str] = None, user: Union[str, User, None] = None) -> None:
        self._store = store
        self._adapter = Adapter(guardian, agent=agent, user=user)
        self.supports_ttl = store.supports_ttl
        self.ttl_config = store.ttl_config

    def batch(self, ops: Iterable[Any]) -> List[Any]:
        given, turn = list(ops), self._adapter.turn(_thread())
        if told := _told_memories(given):
            given = _memories_left(given, told, turn.memory_store(told).content)
        found: List[Any] = self._store.batch(given)
        if told := _told_memories(found):
            found = _memories_left(found, told, turn.memory_context_retrieval(told).content)
        return found

    async def abatch(self, ops: Iterable[Any]) -> List[Any]:
        given, turn = list(ops), AsyncTurn(self._adapter.turn(_thread()))
        if told := _told_memories(given):
            given = _memories_left(given, told, (await turn.memory_store(told)).content)
        found: List[Any] = await self._store.abatch(given)
        if told := _told_memories(found):
            found = _memories_left(found, told, (await turn.memory_context_retrieval(told)).content)
        return found


def _memories(given: Any) -> Iterator[Any]:
    """The memories of operations, or of what they found: one, or a list of them."""
    for one in given:
        if isinstance(one, list):
            yield from _memories(one)
        elif isinstance(one, Item) or isinstance(one, PutOp) and one.value is not None:
            yield one


def _told_memories(given: Any) -> List[str]:
    return [json.dumps({"namespace": one.namespace, "key": one.key, "value": one.value}, sort_keys=True, ensure_ascii=False) for one in _memories(given)]


def _memories_left(given: Any, told: List[str], judged: List[str]) -> Any:
    """The same with the values that the guardian left. Where a memory is kept cannot be changed."""
    left = {id(one): after for one, before, after in zip(_memories(given), told, judged) if before != after}

    def anew(one: Any) -> Any:
        if isinstance(one, list):
            return [anew(inner) for inner in one]
        if id(one) not in left:
            return one
        try:
            judged = json.loads(left[id(one)])
        except ValueError as error:
            raise GuardianError("the memory cannot be kept as the guardian left it") from error
        if not isinstance(judged, dict) or (judged.get("namespace"), judged.get("key")) != (list(one.namespace), one.key) or not isinstance(judged.get("value"), dict):
            raise GuardianError("the guardian would change where a memory is kept, or its form")
        if isinstance(one, PutOp):
            return one._replace(value=judged["value"])
        changed = copy.copy(one)
        changed.value = judged["value"]
        return changed

    return [anew(one) for one in given]


def _results(found: List[Document]) -> List[Dict[str, Any]]:
    return [{"id": document.id or str(document.metadata.get("source") or i), "content": document.page_content, "metadata": _metadata(document)}
            for i, document in enumerate(found)]


def _metadata(document: Document) -> Dict[str, Any]:
    """What prompts tell of a document, such as its title. What has no form in JSON is told as they would write it."""
    told: Dict[str, Any] = {}
    for name, value in document.metadata.items():
        try:
            told[str(name)] = _plain(value)
        except TypeError:
            told[str(name)] = str(value)
    return told


def _judged(found: List[Document], judged: List[Dict[str, Any]]) -> List[Document]:
    def left(document: Document, result: Dict[str, Any]) -> Document:
        told, metadata = _metadata(document), result["metadata"]
        kept = {name: value if _same(told[str(name)], metadata[str(name)]) else metadata[str(name)] for name, value in document.metadata.items()}
        return document.model_copy(update={"page_content": result["content"], "metadata": kept})

    return [left(document, result) for document, result in zip(found, judged)]


def _messages(state: Any) -> List[Any]:
    if isinstance(state, list):
        return state
    return list((state.get("messages") if isinstance(state, dict) else getattr(state, "messages", None)) or ())


def _with(request: Any, args: Dict[str, Any]) -> Any:
    return request.override(tool_call={**request.tool_call, "args": args})


def _told(call: Any, denied: Denied) -> ToolMessage:
    return ToolMessage(str(denied), name=call["name"], tool_call_id=call["id"], status="error")


def _parts(message: Any) -> List[Dict[str, Any]]:
    """What a message says, as the guardian is told it. What is no text is told as data."""
    blocks: List[Any] = [message.content] if isinstance(message.content, str) else message.content
    parts: List[Dict[str, Any]] = []
    for block in blocks:
        text = block if isinstance(block, str) else block.get("text")
        if isinstance(text, str):
            if text:
                parts.append({"kind": "text", "text": text})
        elif block.get("type") not in ("tool_use", "tool_call", "function_call"):
            parts.append({"kind": "data", "data": block})
    return parts


def _changed(message: Any, judged: List[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
    """The state with the message as the guardian left it: one with the same id takes its place."""
    if judged == _parts(message):
        return None
    content = judged[0]["text"] if isinstance(message.content, str) else [
        {"type": "text", "text": part["text"]} if part["kind"] == "text" else part["data"] for part in judged]
    return {"messages": [message.model_copy(update={"content": content})]}


# What a tool gave is read as pieces, one after the other: a message, or a value that it puts into the state of the graph.
# A piece is told as texts, and made anew of as many.


def _told_of(output: Any) -> List[str]:
    if isinstance(output, Command):
        return [text for piece in _commanded(output) for text in _told_of(piece)]
    if isinstance(output, list):
        return [text for one in output for text in _told_of(one)]
    if isinstance(output, _Value):
        return output_texts(output.value) or ["null"]
    if isinstance(output, BaseMessage):
        return _block_texts(output) + [json.dumps(beside) for beside in [_beside(output)] if beside]
    raise TypeError(f"a {type(output).__name__} cannot be judged")


def _made_anew(output: Any, rest: Iterator[str]) -> Any:
    if isinstance(output, Command):
        return _commanding(output, [_made_anew(piece, rest) for piece in _commanded(output)])
    if isinstance(output, list):
        return [_made_anew(one, rest) for one in output]
    texts = [next(rest) for _ in _told_of(output)]
    if texts == _told_of(output):
        return output
    if isinstance(output, _Value):
        if not _same(_plain(output.value), output.value):
            raise ValueError("a value of the state is of a type of its own")
        return _Value(replaced_output(output.value, texts))
    blocks = _block_texts(output)
    if texts[len(blocks):] != _told_of(output)[len(blocks):]:
        raise ValueError("a message says more than its content")
    content = texts[0] if isinstance(output.content, str) else [{"type": "text", "text": text} for text in texts[:len(blocks)]]
    update = {"content": content, **({"artifact": None} if isinstance(output, ToolMessage) else {})}  # which may say what was taken out
    return output.model_copy(update=update)


class _Value(NamedTuple):
    """A value that a command puts into the state."""

    value: Any


def _commanded(command: Command[Any]) -> List[Any]:
    """What is in a command: its messages, which may be written as dictionaries and texts, then all else that it puts into
    the state, sends to a node or resumes with."""
    update = command.update
    if update is None:
        pieces = []
    elif isinstance(update, dict):
        pieces = [piece for key, value in update.items() for piece in (_messages_in(value) if key == "messages" else [_Value(value)])]
    elif isinstance(update, list) and all(isinstance(one, (BaseMessage, dict)) for one in update):
        pieces = list(_messages_in(update))
    else:
        raise TypeError(f"a command whose update is a {type(update).__name__} cannot be judged")
    return pieces + [_Value(send.arg) for send in _sends(command)] + ([] if command.resume is None else [_Value(command.resume)])


def _commanding(command: Command[Any], pieces: List[Any]) -> Command[Any]:
    """The command with other pieces, as many as it had."""
    rest = iter(pieces)
    update = command.update
    if isinstance(update, dict):
        update = {key: [next(rest) for _ in _messages_in(value)] if key == "messages" else next(rest).value for key, value in update.items()}
    elif update is not None:
        update = [next(rest) for _ in _messages_in(update)]
    goto: Any = command.goto
    if isinstance(goto, Send):
        goto = Send(goto.node, next(rest).value)
    elif _sends(command):
        goto = [Send(one.node, next(rest).value) if isinstance(one, Send) else one for one in cast(Any, goto)]
    return dataclasses.replace(command, update=update, goto=goto, resume=command.resume if command.resume is None else next(rest).value)


def _messages_in(value: Any) -> List[BaseMessage]:
    messages: List[BaseMessage] = convert_to_messages(value if isinstance(value, list) else [] if value is None else [value])
    return messages


def _sends(command: Command[Any]) -> List[Send]:
    goto: Any = command.goto
    return [one for one in ([goto] if isinstance(goto, (str, Send)) else goto) if isinstance(one, Send)]


def _block_texts(message: BaseMessage) -> List[str]:
    blocks: Any = message.content
    if isinstance(blocks, str):
        return [blocks]
    return [block if isinstance(block, str) else block["text"] if block.get("type") == "text" else json.dumps(block) for block in blocks]


def _beside(message: BaseMessage) -> Dict[str, Any]:
    """What a model may read of a message beside its content."""
    return {name: _plain(getattr(message, name)) for name in ("additional_kwargs", "tool_calls", "invalid_tool_calls") if getattr(message, name, None)}


_READING = Reading(_told_of, lambda output, texts: _made_anew(output, iter(texts)))
