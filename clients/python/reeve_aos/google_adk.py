"""Google's Agent Development Kit: every tool call of a runner's agents is asked about.

    runner = Runner(…, plugins=[GuardianPlugin(guardian)])
"""

from __future__ import annotations

import copy
from typing import Any, List, Optional, Sequence, Union

from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.plugins.base_plugin import BasePlugin

from . import AsyncTurn, Denied, Guardian, Reading, Turn, User
from .adapter import Adapter, output_texts, replaced_output

__all__ = ["GuardedMemoryService", "GuardianPlugin"]


class GuardianPlugin(BasePlugin):
    """Asks the guardian about the tool calls of all agents of a runner, their results, and the messages.

    A tool is held where it runs, so that no callback changes a call after it was judged. The session is the runner's,
    and each invocation is a turn. The root agent is the guardian's own; all others are told as sessions below it. For
    `user` see reeve_aos.adapter.Adapter; without one it is the runner's.
    """

    def __init__(self, guardian: Guardian, *, user: Union[str, User, None] = None) -> None:
        super().__init__(name="reeve_aos")
        self._guardian = guardian
        self._user = user

    def _adapter(self, invocation: Any) -> Adapter:
        return Adapter(self._guardian, user=self._user or invocation.user_id)

    def _turn(self, invocation: Any) -> Turn:
        agent = invocation.agent  # of a workflow, whose nodes are no agents, None
        below = agent.name if agent is not None and agent.name != agent.root_agent.name else None
        return self._adapter(invocation).turn(invocation.session.id, invocation.invocation_id, below)

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> Any:
        if not self._adapter(invocation_context).tells_messages:
            return None
        turn = AsyncTurn(self._turn(invocation_context))
        return await _judged(user_message, turn.user_message)

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> Any:
        """What the user reads of an agent, beside calls, too."""
        if not self._adapter(invocation_context).tells_messages or event.author == "user" or event.partial:
            return None
        content = await _judged(event.content, AsyncTurn(self._turn(invocation_context)).agent_message)
        return None if content is None else event.model_copy(update={"content": content})

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Puts guarded tools in the place of those that the model's calls will be looked up in."""
        for name, tool in llm_request.tools_dict.items():
            if not hasattr(tool, "_reeve_aos"):
                llm_request.tools_dict[name] = self._guarded(tool)

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        """A tool that no model request has brought, such as a node of a workflow, is run here."""
        if hasattr(tool, "_reeve_aos"):
            return None
        if getattr(tool, "_require_confirmation", False):
            raise RuntimeError(f"{tool.name} needs a confirmation, and is called where no plugin can both ask for it and hold the tool")
        result = await self._guarded(tool).run_async(args=tool_args, tool_context=tool_context)
        # To the framework None means that no plugin has run the tool: it would run it again, and nobody would be asked.
        return {"result": None} if result is None else result

    def _guarded(self, tool: Any) -> Any:
        original = tool.run_async
        inner = getattr(getattr(tool, "agent", None), "name", None)  # of an agent that is a tool

        async def run_async(*, args: Any, tool_context: Any) -> Any:
            turn = self._turn(tool_context._invocation_context)

            async def run(judged: Any) -> Any:
                with turn.of(inner).opened():
                    return await original(args=judged, tool_context=tool_context)

            try:
                return await AsyncTurn(turn).call(tool.name, args, run, reading=_READING)
            except Denied as denied:
                return {"error": str(denied)}

        guarded = copy.copy(tool)
        object.__setattr__(guarded, "_reeve_aos", True)
        object.__setattr__(guarded, "run_async", run_async)
        return guarded


class GuardedMemoryService(BaseMemoryService):
    """A memory service: what is put into it is judged before it is kept, and what is found before anybody reads it.

    One that the guardian does not allow raises NotAllowed: of what is put together nothing is kept then, and of what is
    found nothing is read.
    """

    def __init__(self, service: Any, guardian: Guardian) -> None:
        self._service = service
        self._guardian = guardian

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} of a memory service is not guarded")

    def _turn(self, user_id: str, session: Optional[str] = None) -> AsyncTurn:
        return AsyncTurn(Adapter(self._guardian, user=user_id).turn(session))

    async def add_session_to_memory(self, session: Any) -> None:
        events = await _remembered(session.events, self._turn(session.user_id, session.id).memory_store)
        await self._service.add_session_to_memory(session.model_copy(update={"events": events}))

    async def add_events_to_memory(self, *, events: Sequence[Any], user_id: str, session_id: Optional[str] = None, **kwargs: Any) -> None:
        judged = await _remembered(events, self._turn(user_id, session_id).memory_store)
        await self._service.add_events_to_memory(events=judged, user_id=user_id, session_id=session_id, **kwargs)

    async def add_memory(self, *, memories: Sequence[Any], user_id: str, **kwargs: Any) -> None:
        judged = await _remembered(memories, self._turn(user_id).memory_store)
        await self._service.add_memory(memories=judged, user_id=user_id, **kwargs)

    async def search_memory(self, *, user_id: str, **kwargs: Any) -> Any:
        found = await self._service.search_memory(user_id=user_id, **kwargs)
        memories = await _remembered(found.memories, self._turn(user_id).memory_context_retrieval)
        return found.model_copy(update={"memories": memories})

    async def delete_memory(self, **kwargs: Any) -> None:
        await self._service.delete_memory(**kwargs)


async def _remembered(entries: Sequence[Any], ask: Any) -> List[Any]:
    """Events or memories with the texts that the guardian left."""
    where = [(i, j) for i, entry in enumerate(entries) for j, part in enumerate((entry.content and entry.content.parts) or ()) if part.text]
    if not where:
        return list(entries)
    texts = [entries[i].content.parts[j].text for i, j in where]
    judged = (await ask(texts)).content
    left = list(entries)
    for (i, j), before, after in zip(where, texts, judged):
        if before != after:
            parts = list(left[i].content.parts)
            parts[j] = parts[j].model_copy(update={"text": after})
            left[i] = left[i].model_copy(update={"content": left[i].content.model_copy(update={"parts": parts})})
    return left


async def _judged(content: Any, ask: Any) -> Optional[Any]:
    """Content as the guardian left it; None when it is as it was."""
    where = [i for i, part in enumerate((content and content.parts) or ()) if part.text and not part.thought]
    if not where:
        return None
    texts = [content.parts[i].text for i in where]
    judged = [part["text"] for part in (await ask([{"kind": "text", "text": text} for text in texts])).content]
    if judged == texts:
        return None
    parts = list(content.parts)
    for i, text in zip(where, judged):
        parts[i] = parts[i].model_copy(update={"text": text})
    return content.model_copy(update={"parts": parts})


_READING = Reading(output_texts, replaced_output)
