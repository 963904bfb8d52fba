"""LangChain and LangGraph: every tool call of an agent is asked about.

    agent = create_agent(model, tools, middleware=[GuardianMiddleware(guardian)])

A graph of one's own with a ToolNode:

    guard = GuardianMiddleware(guardian)
    ToolNode(tools, wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call)
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Awaitable, Callable, Dict, List, Optional, Union

from langchain.agents.middleware import AgentMiddleware
from langchain.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.retrievers import BaseRetriever
from langgraph.config import get_config
from langgraph.types import Command

from . import AsyncTurn, Denied, Guardian, Reading, Turn, User
from .adapter import Adapter

__all__ = ["GuardedRetriever", "GuardianMiddleware"]


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
        try:
            thread = get_config().get("configurable", {}).get("thread_id")
        except RuntimeError:  # not in a graph
            thread = None
        said = next((m.id for m in reversed(_messages(state)) if isinstance(m, HumanMessage)), None)
        return self._adapter.turn(thread and str(thread), said)


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


def _results(found: List[Document]) -> List[Dict[str, Any]]:
    return [{"id": document.id or str(document.metadata.get("source") or i), "content": document.page_content} for i, document in enumerate(found)]


def _judged(found: List[Document], judged: List[Dict[str, Any]]) -> List[Document]:
    return [document.model_copy(update={"page_content": result["content"]}) for document, result in zip(found, judged)]


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


def _messages_of(output: Any) -> List[BaseMessage]:
    """What the model will read of a tool's output: a message, or all that it commands, whatever their roles and form."""
    if isinstance(output, ToolMessage):
        return [output]
    if isinstance(output, Command):
        return _commanded(output)
    if isinstance(output, list):
        return [message for one in output for message in _messages_of(one)]
    raise TypeError(f"a {type(output).__name__} cannot be judged")


def _commanded(command: Command[Any]) -> List[BaseMessage]:
    """The messages in a command, which may be written as dictionaries and texts, too."""
    update = command.update
    if isinstance(update, dict):
        update = update.get("messages")
    elif update is not None and not (isinstance(update, list) and all(isinstance(one, (BaseMessage, dict)) for one in update)):
        raise TypeError(f"a command whose update is a {type(update).__name__} cannot be judged")
    if update is None:
        return []
    messages: List[BaseMessage] = convert_to_messages(update if isinstance(update, list) else [update])
    return messages


def _block_texts(message: BaseMessage) -> List[str]:
    blocks: Any = message.content
    if isinstance(blocks, str):
        return [blocks]
    return [block if isinstance(block, str) else block["text"] if block.get("type") == "text" else json.dumps(block) for block in blocks]


def _replaced(output: Any, texts: List[str]) -> Any:
    rest = iter(texts)

    def message_anew(one: BaseMessage) -> BaseMessage:
        told = [next(rest) for _ in _block_texts(one)]
        content = told[0] if isinstance(one.content, str) else [{"type": "text", "text": text} for text in told]
        update = {"content": content, **({"artifact": None} if isinstance(one, ToolMessage) else {})}  # which may say what was taken out
        return one.model_copy(update=update)

    def anew(one: Any) -> Any:
        if isinstance(one, ToolMessage):
            return message_anew(one)
        if isinstance(one, list):
            return [anew(each) for each in one]
        messages = [message_anew(message) for message in _commanded(one)]
        if isinstance(one.update, dict):
            return dataclasses.replace(one, update={**one.update, "messages": messages}) if messages else one
        return dataclasses.replace(one, update=messages)

    return anew(output)


_READING = Reading(lambda output: [text for message in _messages_of(output) for text in _block_texts(message)], _replaced)
