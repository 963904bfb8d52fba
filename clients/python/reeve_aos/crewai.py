"""CrewAI: every tool call of the crews of this process is asked about.

    install(guardian)
"""

from __future__ import annotations

import contextvars
import json
from typing import Any, List, Optional, Tuple, Union

from crewai.hooks import HookAborted
from crewai.hooks.dispatch import InterceptionPoint, register, unregister

from . import AsyncTurn, Guardian, GuardianError, OpenCall, User
from .adapter import Adapter

__all__ = ["GuardedStorage", "Installed", "install"]

# Of each call that is being made here, those within another's last (of a coworker who was asked): its arguments, and what
# hears its end, or what the model is told instead.
_Open = Tuple[Any, Union[OpenCall, str]]
_calls: contextvars.ContextVar[Tuple[_Open, ...]] = contextvars.ContextVar("reeve_aos_crewai", default=())


class Installed:
    """The hooks, as long as they are installed."""

    def __init__(self, guardian: Guardian, *, user: Union[str, User, None] = None) -> None:
        self._adapter = Adapter(guardian, user=user)
        register(InterceptionPoint.PRE_TOOL_CALL, self._before)
        register(InterceptionPoint.POST_TOOL_CALL, self._after)

    def remove(self) -> None:
        """Takes the hooks away: nobody is asked any more."""
        unregister(InterceptionPoint.PRE_TOOL_CALL, self._before)
        unregister(InterceptionPoint.POST_TOOL_CALL, self._after)

    def _before(self, context: Any) -> None:
        # CrewAI goes on after any exception of a hook but HookAborted: whatever happens here must be one.
        try:
            agent = str(getattr(context.agent, "role", "") or "").strip()
            turn = self._adapter.turn(_id(context.crew), _id(context.task), agent or None)
            call = turn.begin(context.tool_name, context.tool_input)
            context.tool_input.clear()  # the framework keeps this very dictionary
            context.tool_input.update(call.inputs)
            _calls.set((*_calls.get(), (context.tool_input, call)))
        except Exception as error:
            _calls.set((*_calls.get(), (context.tool_input, str(error) or type(error).__name__)))
            raise HookAborted(str(error), "reeve_aos") from error

    def _after(self, context: Any) -> str:
        # Nor may anything be raised here: CrewAI would let the result pass as it is.
        # The framework tells of both ends with the same dictionary. Calls within this one whose end was not told are over.
        calls = _calls.get()
        at = next((i for i in reversed(range(len(calls))) if calls[i][0] is context.tool_input), None)
        call = None if at is None else calls[at][1]
        _calls.set(calls if at is None else calls[:at])
        if isinstance(call, str):
            return call
        if call is None:
            return "The result is withheld: nobody was asked about the call."
        try:
            return str(call.ended(str(context.tool_result)))
        except Exception as error:
            return f"The result is withheld: {error}"


def install(guardian: Guardian, *, user: Union[str, User, None] = None) -> Installed:
    """Asks about every tool call from now on. Install it after all other hooks, which could change what it has judged.

    The session is the crew, and each task is a turn. An agent whose role is the guardian's own agent's name is that
    agent; all others are told as sessions below it. For `user` see reeve_aos.adapter.Adapter.
    """
    return Installed(guardian, user=user)


class GuardedStorage:
    """A storage of memories (`Memory(storage=GuardedStorage(storage, guardian))`): what is put into it is judged before
    it is kept, and what is found before anybody reads it.

    What the guardian does not allow raises NotAllowed: of what is put together nothing is kept then, and of what is
    found nothing is read. The vector by which a memory is found is made by the framework before the memory is judged.
    """

    def __init__(self, storage: Any, guardian: Guardian, *, user: Union[str, User, None] = None) -> None:
        self._storage = storage
        self._adapter = Adapter(guardian, user=user)

    def _kept(self, records: List[Any]) -> List[Any]:
        return _left(records, self._adapter.turn().memory_store(_told(records)).content) if records else []

    def _found(self, records: List[Any]) -> List[Any]:
        return _left(records, self._adapter.turn().memory_context_retrieval(_told(records)).content) if records else []

    def save(self, records: List[Any]) -> None:
        self._storage.save(self._kept(list(records)))

    async def asave(self, records: List[Any]) -> None:
        records = list(records)
        turn = AsyncTurn(self._adapter.turn())
        await self._storage.asave(_left(records, (await turn.memory_store(_told(records))).content) if records else [])

    def update(self, record: Any) -> None:
        self._storage.update(self._kept([record])[0])

    def search(self, *args: Any, **kwargs: Any) -> Any:
        found = list(self._storage.search(*args, **kwargs))
        return list(zip(self._found([record for record, _ in found]), [score for _, score in found]))

    async def asearch(self, *args: Any, **kwargs: Any) -> Any:
        found = list(await self._storage.asearch(*args, **kwargs))
        records = [record for record, _ in found]
        turn = AsyncTurn(self._adapter.turn())
        left = _left(records, (await turn.memory_context_retrieval(_told(records))).content) if records else []
        return list(zip(left, [score for _, score in found]))

    def get_record(self, record_id: str) -> Any:
        record = self._storage.get_record(record_id)
        return None if record is None else self._found([record])[0]

    def list_records(self, *args: Any, **kwargs: Any) -> Any:
        return self._found(list(self._storage.list_records(*args, **kwargs)))

    def __getattr__(self, name: str) -> Any:
        if name not in _BESIDE:  # a way to read or write that came later is not guarded
            raise AttributeError(f"{name} of a storage is not guarded")
        return getattr(self._storage, name)


# What of a storage tells and keeps no memory.
_BESIDE = ("adelete", "close", "count", "delete", "get_scope_info", "list_categories", "list_scopes", "reset", "touch_records")


def _told(records: List[Any]) -> List[str]:
    """Of each memory its text, and what belongs to it."""
    return [text for record in records for text in (record.content, json.dumps(record.metadata, default=str, sort_keys=True, ensure_ascii=False))]


def _left(records: List[Any], judged: List[str]) -> List[Any]:
    left = []
    for record, before, after in zip(records, _pairs(_told(records)), _pairs(judged)):
        changed = {} if before[0] == after[0] else {"content": after[0]}
        if before[1] != after[1]:
            try:
                changed["metadata"] = json.loads(after[1])
            except ValueError as error:
                raise GuardianError("the memory cannot be kept as the guardian left it") from error
        left.append(record.model_copy(update=changed) if changed else record)
    return left


def _pairs(texts: List[str]) -> Any:
    return list(zip(texts[::2], texts[1::2]))


def _id(thing: Any) -> Optional[str]:
    own = getattr(thing, "id", None)
    return None if own is None else str(own)
