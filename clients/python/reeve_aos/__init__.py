"""Ask a guardian before an agent acts: a client for AOS 0.1.0.

    guardian = Guardian(agent={"id": "helper", "name": "Helper"})

    @guardian.guarded
    def send_mail(to: str, text: str) -> str: ...

    with guardian.session(user="ada") as session, session.turn() as turn:
        question = turn.user_message("Tell Bo that the build is green.").content
        send_mail("bo@example.com", "It is green.")

Each step of the agent is a question to the guardian. What it allows happens; what it
modifies happens as modified; what it denies raises Denied. When it cannot be asked,
nothing happens either: Unreachable and GuardianError are raised instead.

With `async with`, the same steps are awaited. One Guardian serves any number of threads
and tasks. The file needs Python 3.9 and nothing else.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import dataclasses
import datetime
import decimal
import email.utils
import enum
import functools
import http.client
import inspect
import io
import json
import logging
import math
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import (
    TYPE_CHECKING, Any, AsyncIterable, AsyncIterator, Awaitable, Callable, ContextManager, Coroutine, Dict, Generator, Generic, Iterable, Iterator,
    List, Literal, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, TypedDict, TypeVar, Union, cast, overload,
)

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

__version__ = "0.1.0"
__all__ = [
    "Agent", "Approval", "AsyncTurn", "Denied", "Guardian", "GuardianError", "Knowledge", "NotAllowed", "OpenCall",
    "Organization", "Ping", "Provider", "Reading", "Session", "Step", "ToolFailed", "Turn", "Unreachable", "User", "Verdict",
]

Object = Dict[str, Any]  # a JSON object
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Content = TypeVar("Content", str, List[Object])  # one text; or the parts of section 3.4
Texts = TypeVar("Texts", str, List[str])

_log = logging.getLogger("reeve_aos")


# --- Who acts ---------------------------------------------------------------


class Provider(TypedDict, total=False):
    """Who provides an agent (3.1.1)."""

    name: str
    url: str
    metadata: Object


class Organization(TypedDict, total=False):
    """An organization (3.11)."""

    id: str
    name: str
    metadata: Object


class Agent(TypedDict, total=False):
    """What an agent says about itself (3.1), the same for the whole of a session. Only `id` or `name`
    is needed here: what the text requires besides is sent empty (version: "0"). Without `tools`, they are unknown; [] says that there are none."""

    id: str
    name: str
    description: str
    instructions: str
    version: str
    provider: Provider
    model: Object
    tools: List[Object]
    mcpServers: List[Object]
    resources: List[Object]
    organization: Organization
    metadata: Object


class User(TypedDict, total=False):
    """For whom an agent acts (3.10). Only `id` is needed here; without an organization it is the agent's."""

    id: str
    name: str
    email: str
    organization: Organization
    metadata: Object


# --- What a guardian answers ------------------------------------------------


class Approval(NamedTuple):
    """People were asked about an act."""

    id: str
    state: str  # held, approved, used, denied, expired or revoked
    expires_at: str


@dataclasses.dataclass(frozen=True)
class Verdict(Generic[T]):
    """The guardian's answer to a step."""

    decision: Literal["allow", "deny", "modify"]
    content: T
    """What passes on: what was asked about, or with `modify` what the guardian made of it."""
    params: Object
    """All of the params that pass on: beside the content such as citations and metadata."""
    raw: Object
    """The answer as it came (5.1.1); empty when nobody could be asked."""
    method: str
    """The step, as AOS names it, such as steps/toolCallRequest."""
    execution_id: str = ""
    """Of a tool call: the id that its result answers."""
    unreachable: Optional[Unreachable] = None
    """Why the guardian could not be asked, when the step goes on nevertheless (see on_unreachable)."""

    @property
    def message(self) -> str:
        """Says to a person what was decided and why."""
        return str(self.raw.get("message", ""))

    @property
    def reasoning(self) -> str:
        """Every rule that applied, and what it says."""
        return str(self.raw.get("reasoning", ""))

    @property
    def reasons(self) -> List[str]:
        """The stable codes of the rules that applied."""
        return list(self.raw.get("reasonCode", []))

    @property
    def data(self) -> Object:
        """What the guardian adds: the rules, the risk, the path of a receipt and more."""
        return cast(Object, self.raw.get("data", {}))

    @property
    def decision_id(self) -> str:
        """The place of the decision in the guardian's ledger."""
        return str(self.data.get("decision_id", ""))

    @property
    def instead(self) -> List[str]:
        """What the agent could do instead."""
        return list(self.data.get("instead", []))

    @property
    def conditions(self) -> List[str]:
        """Sentences under which the step is allowed."""
        return list(self.data.get("conditions", []))

    @property
    def repeat(self) -> bool:
        """It is the recorded answer to a step that was asked about before."""
        return self.data.get("repeat") is True

    @property
    def approval(self) -> Optional[Approval]:
        """What people were asked about this act, if they were."""
        asked = self.data.get("approval")
        return Approval(asked["id"], asked["state"], asked["expires_at"]) if asked else None

    @property
    def pending(self) -> bool:
        """It is denied for now: a person must agree first."""
        return self.decision == "deny" and self.approval is not None and self.approval.state == "held"

    def _obeyed(self) -> Verdict[T]:
        """This verdict, unless it is a denial: that is raised."""
        if self.decision == "deny":
            raise Denied(self)
        return self


class NotAllowed(Exception):
    """The step must not happen. Denied, Unreachable and GuardianError are the reasons there are."""

    method: str = ""
    """Which step, as AOS names it. With steps/toolCallResult a guarded tool has run, and its result is withheld."""
    _again: Optional[float] = None  # asking again after so many seconds may help


class Denied(NotAllowed):
    """The guardian said no. The text says why and what to do instead, so that a model can read it."""

    def __init__(self, verdict: Verdict[Any], message: Optional[str] = None) -> None:
        super().__init__(verdict, message)
        self.verdict = verdict
        self.method = verdict.method
        self.message = verdict.message if message is None else message
        self.reasons = verdict.reasons
        self.instead = verdict.instead
        self.decision_id = verdict.decision_id
        self.approval = verdict.approval
        self.pending = verdict.pending

    def __str__(self) -> str:
        return " ".join([self.message] + (["Instead:", *self.instead] if self.instead else []))


class Unreachable(NotAllowed):
    """The guardian did not answer: it is down, too slow, or behind a gateway that cannot reach it."""


class GuardianError(NotAllowed):
    """The guardian answered, and it was no verdict: an error, or what no guardian answers."""

    def __init__(
        self, message: str, code: Optional[int] = None, data: Any = None, status: Optional[int] = None,
    ) -> None:
        super().__init__(message, code, data, status)
        self.message = message
        self.code = code  # of JSON-RPC
        self.data = data  # of -32602: field, reason, expected
        self.status = status  # of HTTP

    def __str__(self) -> str:
        text = self.message if self.code is None else f"the guardian answered error {self.code}: {self.message}"
        if isinstance(self.data, dict):
            text += "".join(f": {self.data[key]}" for key in ("field", "reason") if self.data.get(key))
        return text[:2000]


class ToolFailed(Exception):
    """A tool raised an exception, and the guardian changed its text. This is what is left of it: it has no
    cause and no context, since a traceback would show what was taken out."""


class Ping(NamedTuple):
    """How the guardian is (5.3.1)."""

    status: Literal["connected", "error"]  # error: it cannot record decisions, and gives none
    version: str
    timestamp: str
    metadata: Object


# --- Sessions and turns -----------------------------------------------------

# The turns that are open here, the innermost last. Tasks inherit it; threads do so when
# they are started with contextvars.copy_context().run.
_open_turns: contextvars.ContextVar[Tuple[Turn, ...]] = contextvars.ContextVar("reeve_aos_turns", default=())


class _Guards:
    """What has guarded()."""

    def _turn(self) -> Turn:
        raise NotImplementedError

    @overload
    def guarded(self, tool: F, *, name: Optional[str] = None, leave_out: Iterable[str] = (),
                wait_for_approval: Optional[float] = None) -> F: ...

    @overload
    def guarded(self, *, name: Optional[str] = None, leave_out: Iterable[str] = (),
                wait_for_approval: Optional[float] = None) -> Callable[[F], F]: ...

    def guarded(self, tool: Optional[F] = None, *, name: Optional[str] = None, leave_out: Iterable[str] = (),
                wait_for_approval: Optional[float] = None) -> Any:
        """Makes a tool, plain or async, that is asked for before it runs and whose result is
        judged before the caller has it. It runs with the inputs that the guardian made of the
        caller's, and returns what the guardian made of its result.

        The inputs are the arguments by name, defaults too. They are JSON values, or dates,
        paths, decimals, UUIDs, enums, dataclasses and Pydantic models, told as JSON. What JSON
        has no form for (a connection, the framework's context) is named in `leave_out`: the
        guardian is not told of it. The result is a string or such a value.

        An exception of the tool is its result, too, and is raised again when that may be read.
        A plain tool blocks while it asks, as it does while it works.
        """
        if tool is None:
            return functools.partial(self.guarded, name=name, leave_out=tuple(leave_out), wait_for_approval=wait_for_approval)
        wait = None if wait_for_approval is None else _seconds(wait_for_approval)
        return _guarded(tool, self._turn, name, frozenset(leave_out), wait)


class Guardian(_Guards):
    """The guardian of one agent.

    url:            the node's, with or without /aos; else REEVE_URL, else http://127.0.0.1:8080/aos
    key:            API key or token; else REEVE_KEY, else none
    timeout:        seconds that a step waits for its verdict, all retries included
    retries:        how often a lost answer is asked for again. The ids are the same, so the
                    guardian counts the step once
    on_unreachable: "deny" raises Unreachable. "allow" goes on unguarded: a warning is logged
                    once, and each verdict has `unreachable`. A function is given the Step and
                    the Unreachable, and returns "allow" or "deny". A guardian that is slow but
                    alive is not away: then Unreachable is raised in any case
    wait_for_approval: seconds to wait when a person must agree first; then it is Denied. The
                    guardian may keep its answer back so long, so that a silent one is waited for, too
    tls:            for https; None means the system's authorities
    """

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        agent: Union[str, Agent],
        key: Optional[str] = None,
        timeout: float = 5.0,
        retries: int = 2,
        on_unreachable: Union[Literal["deny", "allow"], Callable[[Step[Any], Unreachable], Literal["deny", "allow"]]] = "deny",
        wait_for_approval: float = 0.0,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        if on_unreachable not in ("deny", "allow") and not callable(on_unreachable):
            raise ValueError('on_unreachable is "deny", "allow", or a function that decides')
        if timeout == 0:
            raise ValueError("timeout is a number of seconds above 0")
        if not isinstance(retries, int) or retries < 0:
            raise ValueError("retries is a whole number, 0 or more")
        own: Object = {"id": agent, "name": agent} if isinstance(agent, str) else copy.deepcopy(cast(Object, agent))
        if not (own.get("id") or own.get("name")) or own.get("id") == "":
            raise ValueError('the agent needs an id or a name, such as {"id": "helper"}')
        own.setdefault("id", own.get("name"))
        own.setdefault("name", own["id"])
        own.setdefault("instructions", "")
        own.setdefault("version", "0")
        own["provider"] = {"name": "", "url": "", **own.get("provider", {})}
        self.agent = own
        self._timeout = _seconds(timeout)
        self._on_unreachable = on_unreachable
        self._wait_for_approval = _seconds(wait_for_approval)
        self._retries = retries
        self._wire = _Wire(
            (os.environ.get("REEVE_URL") or "http://127.0.0.1:8080/aos") if url is None else url,
            os.environ.get("REEVE_KEY", "") if key is None else key, tls,
        )
        self._warned = False

    def __repr__(self) -> str:
        return f"Guardian({self._wire.name!r}, agent={self.agent['id']!r})"

    def session(
        self, user: Union[str, User, None] = None, id: Optional[str] = None, metadata: Optional[Object] = None,
    ) -> Session:
        """A conversation or task, from its beginning to its end. One that goes on elsewhere, or
        later, is named by its id. Without a user the agent acts for nobody."""
        return Session(self, user, id, metadata)

    def ping(self) -> Ping:
        """Asks whether the guardian is there and able to record."""
        return self._ping(time.monotonic() + self._timeout)

    async def ping_async(self) -> Ping:
        """ping(), awaited."""
        return await self._wire.in_thread(self._ping, time.monotonic() + self._timeout)

    def close(self) -> None:
        """Ends idle connections. The guardian can be asked again."""
        self._wire.close()

    @property
    def open_turn(self) -> Optional[Turn]:
        """The innermost turn of this guardian that is open here."""
        for turn in reversed(_open_turns.get()):
            if turn.session.guardian is self:
                return turn
        return None

    def _turn(self) -> Turn:
        turn = self.open_turn
        if turn is not None:
            return turn
        raise RuntimeError(
            "no turn of this guardian is open here: use `with session.turn():` around the call, or turn.guarded(tool). "
            "A thread does not inherit the turn that it is started in; contextvars.copy_context().run passes it on"
        )

    def _ping(self, until: float) -> Ping:
        answer = self._wire.call("ping", {"timestamp": _now()}, uuid.uuid4().hex, until, self._retries)
        status = answer.get("status")
        if status not in ("connected", "error"):
            raise GuardianError("the guardian's status is neither connected nor error")
        return Ping(status, str(answer.get("version", "")), str(answer.get("timestamp", "")), answer.get("metadata", {}))

    def _ask(self, step: Step[T], wait: Optional[float] = None) -> Verdict[T]:
        """Asks until there is a verdict to obey; that of a held act is waited for."""
        until = time.monotonic() + (self._wait_for_approval if wait is None else wait)
        try:
            verdict = self._judge(step, self._limit(until))
        except Unreachable as error:
            if self._on_unreachable == "deny" or self._alive():
                raise
            return self._unjudged(step, error)
        for pause in _pauses(until):
            if not verdict.pending:
                break
            time.sleep(pause)
            with suppress(Unreachable):  # it is still held, whatever on_unreachable says
                verdict = self._judge(step, self._limit(until))
        return verdict._obeyed()

    async def _ask_async(self, step: Step[T], wait: Optional[float] = None) -> Verdict[T]:
        """_ask(), awaited."""
        until = time.monotonic() + (self._wait_for_approval if wait is None else wait)
        try:
            verdict = await self._wire.in_thread(self._judge, step, self._limit(until))
        except Unreachable as error:
            if self._on_unreachable == "deny" or await self._wire.in_thread(self._alive):
                raise
            return self._unjudged(step, error)
        for pause in _pauses(until):
            if not verdict.pending:
                break
            await asyncio.sleep(pause)
            with suppress(Unreachable):
                verdict = await self._wire.in_thread(self._judge, step, self._limit(until))
        return verdict._obeyed()

    def _tell(self, step: Step[Any]) -> None:
        """Asks without waiting: for what is recorded, and whose verdict nobody needs."""

        def tell() -> None:
            with suppress(NotAllowed):
                self._judge(step, time.monotonic() + self._timeout)

        with suppress(RuntimeError):  # the program is about to end
            self._wire.threads().submit(tell)

    def _limit(self, until: float) -> float:
        """When a question must be answered: a node may itself wait for the person."""
        return max(time.monotonic() + self._timeout, until)

    def _judge(self, step: Step[T], until: float) -> Verdict[T]:
        """Asks for the verdict. Asking again with the same step is a repeat, however late."""
        context = {**step.params["context"], "timestamp": _now()}
        params = {**step.params, "context": context}
        try:
            return step._verdict(self._wire.call(step.method, params, context["stepId"], until, self._retries))
        except NotAllowed as error:
            error.method = step.method
            raise

    def _alive(self) -> bool:
        """Whether a guardian that did not judge a step answers at all. If it does, it is not away:
        else what is hard to judge, or waits for a person, would pass."""
        try:
            self._wire.call("ping", {"timestamp": _now()}, uuid.uuid4().hex, time.monotonic() + min(self._timeout, 2.0), 0)
        except Unreachable:
            return False
        except GuardianError:
            pass
        return True

    def _unjudged(self, step: Step[T], error: Unreachable) -> Verdict[T]:
        """What on_unreachable makes of a step that nobody judged."""
        choice = self._on_unreachable(step, error) if callable(self._on_unreachable) else self._on_unreachable
        if choice != "allow":
            raise error
        if not self._warned:
            self._warned = True
            _log.warning("The agent %s goes on unguarded: %s", self.agent["id"], error)
        return Verdict("allow", step.content, step.params, {}, step.method, step.execution_id, error)


class Session:
    """A conversation or task: `with guardian.session(user="ada") as session`."""

    def __init__(self, guardian: Guardian, user: Union[str, User, None], id: Optional[str], metadata: Optional[Object]) -> None:
        self.guardian = guardian
        self.id = _id(id, "session")
        self._user: Optional[Object] = None
        if user is not None:
            own: Object = {"id": user} if isinstance(user, str) else copy.deepcopy(cast(Object, user))
            own.setdefault("organization", guardian.agent.get("organization", {"id": ""}))
            self._user = own
        self._metadata = copy.deepcopy(metadata)
        self._agent = guardian.agent

    def below(self, agent: str) -> Session:
        """The session of an agent that this one starts or hands over to. Labels of what it reads are
        this session's, too."""
        session = Session(self.guardian, None, f"{self.id}/{agent}", {**(self._metadata or {}), "parent": self.id})
        session._user = self._user
        session._agent = {**self._agent, "name": agent}
        return session

    def turn(self, id: Optional[str] = None) -> Turn:
        """One loop between user and agent: `with session.turn() as turn`, or `async with`."""
        return Turn(self, id)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


@dataclasses.dataclass(frozen=True)
class Step(Generic[T]):
    """A question to the guardian."""

    method: str
    """As AOS names it, such as steps/toolCallRequest."""
    params: Object
    read: Callable[[Object], T] = dataclasses.field(repr=False)
    """Reads the content from params, these or modified ones. Raises when they are not of the step's form."""
    execution_id: str = ""

    @property
    def content(self) -> T:
        """What the question is about: what the agent goes on with when it is allowed."""
        return self.read(self.params)

    def _verdict(self, answer: Object) -> Verdict[T]:
        """Reads an answer. One that is not exactly a verdict is no verdict."""
        decision, modified = answer.get("decision"), answer.get("modifiedRequest")
        try:
            if decision not in ("allow", "deny", "modify") or (decision == "modify") != (modified is not None):
                raise ValueError(f"the decision is {decision!r:.40}")
            params = self.params
            if modified is not None:
                _expect(modified["jsonrpc"] == "2.0" and modified["method"] == self.method)
                _expect(modified["id"] == self.params["context"]["stepId"])
                params = modified["params"]
            verdict = Verdict(decision, self.read(params), params, answer, self.method, self.execution_id)
            texts = [answer["message"], *verdict.reasons, *verdict.instead, *verdict.conditions, *(verdict.approval or ())]
            _expect(isinstance(verdict.data, dict) and all(isinstance(text, str) for text in texts))
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise GuardianError(f"the guardian's answer to {self.method} is not a verdict: {error!r:.200}") from error
        return verdict


# --- The steps of AOS 0.1.0, section 4. Each becomes a method of Turn and AsyncTurn ---


def _agent_trigger(
    turn: Turn, type: str, content: Content, *, id: Optional[str] = None, metadata: Optional[Object] = None,
) -> Step[Content]:
    """An event wakes the agent (4.1). type and id are the event's, such as "email" and the mail's id."""
    parts, read = _parts(content)
    trigger = _some(type="autonomous", event={"type": type, "id": _id(id, "event")}, content=parts, metadata=metadata)
    return turn._step("steps/agentTrigger", lambda p: read(p["trigger"]["content"]), trigger=trigger)


class Knowledge(NamedTuple):
    """What was retrieved, and by what query (3.14)."""

    results: List[Object]  # id, content, and optionally mimeType and metadata
    query: Optional[str]
    keywords: Optional[List[str]]


def _knowledge_retrieval(
    turn: Turn, results: Sequence[Object], *, query: Optional[str] = None, keywords: Optional[Sequence[str]] = None,
    reasoning: Optional[str] = None,
) -> Step[Knowledge]:
    """Knowledge was retrieved, and the model is about to read it (4.2). A result is
    {"id": …, "content": …}, optionally with mimeType and metadata."""
    sent = Knowledge(list(results), query, None if keywords is None else list(keywords))

    def read(p: Object) -> Knowledge:
        step = p["knowledgeStep"]
        _expect(len(step["results"]) == len(sent.results) and all(
            isinstance(r["id"], str) and isinstance(r["content"], str) for r in step["results"]))
        return Knowledge(step["results"], step.get("query"), step.get("keywords"))

    step = _some(query=query, keywords=sent.keywords, results=sent.results)
    return turn._step("steps/knowledgeRetrieval", read, knowledgeStep=step, reasoning=reasoning)


def _memory_store(turn: Turn, memory: Texts, *, reasoning: Optional[str] = None) -> Step[Texts]:
    """Memories are about to be stored (4.3). What has structure is given as JSON text."""
    return turn._memory("steps/memoryStore", memory, reasoning)


def _memory_context_retrieval(turn: Turn, memory: Texts, *, reasoning: Optional[str] = None) -> Step[Texts]:
    """Memories were fetched, and the model is about to read them (4.4)."""
    return turn._memory("steps/memoryContextRetrieval", memory, reasoning)


def _user_message(
    turn: Turn, content: Content, *, id: Optional[str] = None, metadata: Optional[Object] = None,
) -> Step[Content]:
    """The user said something, and the agent is about to read it (4.5)."""
    return turn._message("user", content, id, (), metadata, None)


def _agent_message(
    turn: Turn, content: Content, *, id: Optional[str] = None, citation: Sequence[Object] = (),
    metadata: Optional[Object] = None, reasoning: Optional[str] = None,
) -> Step[Content]:
    """The agent answers, and the user is about to read it (4.5). Sources are cited as
    {"kind": "site", "url": …} or {"kind": "file", "id": …, "name": …}."""
    return turn._message("agent", content, id, citation, metadata, reasoning)


def _system_message(
    turn: Turn, content: Content, *, id: Optional[str] = None, metadata: Optional[Object] = None, reasoning: Optional[str] = None,
) -> Step[Content]:
    """The system says something, such as a guardrail, and the user is about to read it (4.5)."""
    return turn._message("system", content, id, (), metadata, reasoning)


def _tool_call_request(
    turn: Turn, tool: str, inputs: Mapping[str, Any], *, execution_id: Optional[str] = None, reasoning: Optional[str] = None,
) -> Step[Object]:
    """A tool is about to be called (4.6). Its result answers the verdict's execution_id."""
    sent = dict(inputs)
    execution = _id(execution_id, "execution")

    def read(p: Object) -> Object:
        judged = p["toolCallRequest"]
        _expect(judged["toolId"] == tool and judged["executionId"] == execution)
        values = [(i["name"], i["value"]) for i in judged["inputs"]]
        _expect([name for name, _ in values] == list(sent))
        return dict(values)

    call = {"executionId": execution, "toolId": tool, "inputs": [{"name": n, "value": v} for n, v in sent.items()]}
    return turn._step("steps/toolCallRequest", read, execution, toolCallRequest=call, reasoning=reasoning)


def _tool_call_result(turn: Turn, execution_id: str, outputs: Texts, *, is_error: bool = False) -> Step[Texts]:
    """A tool has ended, and the model is about to read its output (4.6): one text, or several."""
    texts = [outputs] if isinstance(outputs, str) else list(outputs)

    def read(p: Object) -> Texts:
        _expect(p["executionId"] == execution_id)
        judged = _texts(p["result"]["outputs"], len(texts))
        return judged[0] if isinstance(outputs, str) else judged

    result = {"outputs": [{"kind": "text", "text": text} for text in texts], "isError": is_error}
    return turn._step("steps/toolCallResult", read, execution_id, executionId=execution_id, result=result)


def _a2a(turn: Turn, message: Object, *, reasoning: Optional[str] = None) -> Step[Object]:
    """An A2A message, before it is sent or after it was received (4.7)."""
    return turn._protocol("protocols/A2A", message, reasoning)


def _mcp(turn: Turn, message: Object, *, reasoning: Optional[str] = None) -> Step[Object]:
    """An MCP message, before it is sent or after it was received (4.8)."""
    return turn._protocol("protocols/MCP", message, reasoning)


def _asked(build: Callable[Concatenate[Turn, P], Step[T]]) -> Callable[Concatenate[Turn, P], Verdict[T]]:
    """Makes a method of Turn that asks about the step."""

    def method(turn: Turn, /, *args: P.args, **kwargs: P.kwargs) -> Verdict[T]:
        return turn.session.guardian._ask(build(turn, *args, **kwargs))

    return _named(method, build)


def _awaited(build: Callable[Concatenate[Turn, P], Step[T]]) -> Callable[Concatenate[AsyncTurn, P], Coroutine[Any, Any, Verdict[T]]]:
    """Makes a method of AsyncTurn that asks about the step."""

    async def method(turn: AsyncTurn, /, *args: P.args, **kwargs: P.kwargs) -> Verdict[T]:
        return await turn.session.guardian._ask_async(build(turn.turn, *args, **kwargs))

    return _named(method, build)


def _named(method: F, build: Callable[..., Any]) -> F:
    """Gives a method the documentation and parameters of the step, and its name."""
    functools.update_wrapper(method, build)
    method.__name__ = method.__qualname__ = build.__name__[1:]
    return method


class Turn(_Guards):
    """One loop between user and agent: `with session.turn() as turn`. Each step returns a
    Verdict, whose `content` is what the agent goes on with, or raises NotAllowed."""

    def __init__(self, session: Session, id: Optional[str] = None) -> None:
        self.session = session
        self.id = _id(id, "turn")

    agent_trigger = _asked(_agent_trigger)
    knowledge_retrieval = _asked(_knowledge_retrieval)
    memory_store = _asked(_memory_store)
    memory_context_retrieval = _asked(_memory_context_retrieval)
    user_message = _asked(_user_message)
    agent_message = _asked(_agent_message)
    system_message = _asked(_system_message)
    tool_call_request = _asked(_tool_call_request)
    tool_call_result = _asked(_tool_call_result)
    a2a = _asked(_a2a)
    mcp = _asked(_mcp)

    def call(
        self, tool: str, inputs: Mapping[str, Any], run: Callable[[Object], T], *, reading: Optional[Reading] = None,
        wait_for_approval: Optional[float] = None,
    ) -> T:
        """One guarded call of a tool that is known by its name and inputs: asks, runs it with the
        inputs that the guardian left, reports what it gave, and returns what was left of that.
        `reading` says how an output is told that is no string and no JSON value."""
        course = _guarded_call(self, tool, *_told_and_merged(tool, inputs, run), reading or _reading(tool))
        return cast(T, _driven(self, course, None if wait_for_approval is None else _seconds(wait_for_approval)))

    def stream(self, tokens: Iterable[str], *, within: float = 1.0) -> Iterator[str]:
        """The agent's answer, as far as the user may read it: sentence by sentence, each judged with what
        stands before it, and the whole at its end. A text without an end of a sentence is judged
        when it is `within` seconds old and another token comes, or 1000 characters long (4000 where it
        has no gap to be cut at). Denied is raised
        where it may not go on; so it is when the guardian would change what has been read already."""
        written = _Written(_seconds(within))
        for token in tokens:
            piece = written.add(token)
            if piece:
                yield written.shown(self.agent_message(written.asked(piece)))
        if written.rest():
            yield written.ended(self.agent_message(written.whole()))

    def of(self, agent: Optional[str]) -> Turn:
        """The same turn of an agent that this one starts or hands over to, such as a sub-agent. It is
        told as a session below this one, with a name of its own; None and the guardian's own
        name are this agent."""
        own = self.session.guardian.agent
        if agent in (None, "", own["id"], own["name"]) or agent == self.session._agent["name"]:
            return self
        return self.session.below(cast(str, agent)).turn(self.id)

    def begin(
        self, tool: str, inputs: Mapping[str, Any], *, reading: Optional[Reading] = None, wait_for_approval: Optional[float] = None,
    ) -> OpenCall:
        """The first half of call(), for a framework that has hooks before and after a tool, and none around it."""
        course = _guarded_call(self, tool, *_told_and_merged(tool, inputs, lambda judged: judged), reading or _reading(tool))
        return OpenCall(self, course, None if wait_for_approval is None else _seconds(wait_for_approval))

    def opened(self) -> ContextManager[None]:
        """Opens the turn for what is called meanwhile, unless it is open here."""
        return _inside(self)

    def __enter__(self) -> Turn:
        _open_turns.set((*_open_turns.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        # No reset(token): a generator may be closed in another context than it began in.
        _open_turns.set(tuple(turn for turn in _open_turns.get() if turn is not self))

    async def __aenter__(self) -> AsyncTurn:
        self.__enter__()
        return AsyncTurn(self)

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    def _turn(self) -> Turn:
        return self

    def _step(self, method: str, read: Callable[[Object], T], execution_id: str = "", /, **params: Any) -> Step[T]:
        """A step of this turn, with an id of its own. A param that is None is left out. The others are
        copied: what is judged is what passes on, whatever becomes of the caller's objects meanwhile."""
        session = _some(id=self.session.id, metadata=self.session._metadata)
        context = _some(
            agent=self.session._agent, session=session, turnId=self.id, stepId=uuid.uuid4().hex,
            timestamp=_now(), user=self.session._user,
        )
        return Step(method, {"context": context, **copy.deepcopy(_some(**params))}, read, execution_id)

    def _message(
        self, role: str, content: Content, id: Optional[str], citation: Sequence[Object], metadata: Optional[Object],
        reasoning: Optional[str],
    ) -> Step[Content]:
        parts, read = _parts(content)
        message = _some(id=_id(id, "message"), role=role, content=parts, metadata=metadata)
        return self._step("steps/message", lambda p: read(p["message"]["content"]),
                          message=message, citation=list(citation), reasoning=reasoning)

    def _memory(self, method: str, memory: Texts, reasoning: Optional[str]) -> Step[Texts]:
        sent = [memory] if isinstance(memory, str) else list(memory)

        def read(p: Object) -> Texts:
            judged: List[str] = p["memory"]
            _expect(len(judged) == len(sent) and all(isinstance(text, str) for text in judged))
            return judged[0] if isinstance(memory, str) else judged

        return self._step(method, read, memory=sent, reasoning=reasoning)

    def _protocol(self, method: str, message: Object, reasoning: Optional[str]) -> Step[Object]:
        own = message.get("id")

        def read(p: Object) -> Object:
            _expect(isinstance(p["message"], dict) and p["message"].get("id") == own)
            return cast(Object, p["message"])

        return self._step(method, read, message=message, reasoning=reasoning)


class AsyncTurn(_Guards):
    """A Turn whose steps are awaited: `async with session.turn() as turn`."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.session = turn.session
        self.id = turn.id

    agent_trigger = _awaited(_agent_trigger)
    knowledge_retrieval = _awaited(_knowledge_retrieval)
    memory_store = _awaited(_memory_store)
    memory_context_retrieval = _awaited(_memory_context_retrieval)
    user_message = _awaited(_user_message)
    agent_message = _awaited(_agent_message)
    system_message = _awaited(_system_message)
    tool_call_request = _awaited(_tool_call_request)
    tool_call_result = _awaited(_tool_call_result)
    a2a = _awaited(_a2a)
    mcp = _awaited(_mcp)

    async def call(
        self, tool: str, inputs: Mapping[str, Any], run: Callable[[Object], Union[Awaitable[T], T]], *,
        reading: Optional[Reading] = None, wait_for_approval: Optional[float] = None,
    ) -> T:
        """Turn.call, awaited. What runs the tool may be async, too."""
        course = _guarded_call(self.turn, tool, *_told_and_merged(tool, inputs, run), reading or _reading(tool))
        return cast(T, await _driven_async(self.turn, course, None if wait_for_approval is None else _seconds(wait_for_approval)))

    async def stream(self, tokens: AsyncIterable[str], *, within: float = 1.0) -> AsyncIterator[str]:
        """Turn.stream, awaited. What is `within` seconds old is judged though no other token comes."""
        written = _Written(_seconds(within))
        queue: asyncio.Queue[Union[str, BaseException, None]] = asyncio.Queue(1)

        async def read() -> None:
            # All in one task: what reads from a network may belong to the task that began it.
            end: Optional[BaseException] = None
            try:
                async for token in tokens:
                    await queue.put(token)
            except Exception as error:
                end = error
            await queue.put(end)

        reader = asyncio.ensure_future(read())
        waiting: Optional[asyncio.Future[Union[str, BaseException, None]]] = None
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(queue.get())
                if not (await asyncio.wait({waiting}, timeout=written.left()))[0]:
                    piece = written.due()
                else:
                    token, waiting = waiting.result(), None
                    if isinstance(token, BaseException):
                        raise token
                    if token is None:
                        break
                    piece = written.add(token)
                if piece:
                    yield written.shown(await self.agent_message(written.asked(piece)))
        finally:
            reader.cancel()
            if waiting is not None:
                waiting.cancel()
        if written.rest():
            yield written.ended(await self.agent_message(written.whole()))

    def of(self, agent: Optional[str]) -> AsyncTurn:
        """See Turn.of."""
        return AsyncTurn(self.turn.of(agent))

    def _turn(self) -> Turn:
        return self.turn


def _some(**members: Any) -> Object:
    """An object without the members that are None: the text's optional members may be absent, never null."""
    return {name: value for name, value in members.items() if value is not None}


def _parts(content: Content) -> Tuple[List[Object], Callable[[Any], Content]]:
    """Content as parts, and what reads judged parts in the form in which the content was given."""
    if isinstance(content, str):
        return [{"kind": "text", "text": content}], lambda parts: _texts(parts, 1)[0]
    sent = list(content)
    kinds = [part.get("kind") for part in sent]

    def read(parts: Any) -> Content:
        _expect(isinstance(parts, list) and [part["kind"] for part in parts] == kinds)
        return cast(Content, parts)

    return sent, read


def _texts(parts: Any, count: int) -> List[str]:
    """The texts of exactly so many text parts."""
    texts = [part["text"] for part in parts]
    _expect(len(texts) == count and all(part["kind"] == "text" and isinstance(part["text"], str) for part in parts))
    return texts


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("it is not of the form that belongs to the step")


def _id(given: Optional[str], what: str) -> str:
    """An id that was given, or a new one. An empty one is a mistake: it would be everybody's."""
    if given == "":
        raise ValueError(f"the {what}'s id is empty")
    return uuid.uuid4().hex if given is None else given


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def _seconds(value: float) -> float:
    if not 0 <= value < threading.TIMEOUT_MAX / 2:
        raise ValueError(f"{value!r} is no number of seconds to wait")
    return value


def _pauses(until: float) -> Iterator[float]:
    """The pauses between questions about a held act, until the time is over."""
    pause = 0.25
    while time.monotonic() < until:
        yield max(0.0, min(pause, until - time.monotonic()))
        pause = min(pause * 1.5, 2.0)


class _Written:
    """An answer while it is written: what the user has read of it, and what nobody has judged."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._read = ""
        self._rest = ""
        self._since = 0.0
        self._before = ""

    def add(self, token: str) -> str:
        """Takes a token, and returns what is to be judged now; "" when it waits for more."""
        if not self._rest or self._since == math.inf:
            self._since = time.monotonic()
        self._rest += token
        ends = [match.end() for match in _SENTENCE.finditer(self._rest)]
        if ends:
            return self._rest[:ends[-1]]
        if len(self._rest) < 1000 and time.monotonic() - self._since < self._within:
            return ""
        return self.due()

    def due(self) -> str:
        """What is to be judged when the time is over, or the text has become long; "" when it cannot be cut."""
        # Not between digits: what is to be masked may go on behind the gap.
        gaps = [match.end() for match in _GAP.finditer(self._rest)]
        if gaps:
            return self._rest[:gaps[-1]]
        self._since = math.inf  # until another token comes
        if len(self._rest) < 4000:
            return ""
        return self._rest[:len(self._rest.rstrip("0123456789 -./"))] or self._rest  # what has no gaps at all

    def left(self) -> Optional[float]:
        """In how many seconds the time is over; None when nothing waits."""
        if not self._rest or self._since == math.inf:
            return None
        return max(0.0, self._since + self._within - time.monotonic())

    def asked(self, piece: str) -> str:
        """A piece with what stands before it, since what is forbidden may lie across them."""
        gap = _GAP.search(self._read, max(0, len(self._read) - 500))
        self._before = self._read[gap.end():] if gap and len(self._read) > 500 else self._read
        self._rest = self._rest[len(piece):]
        self._since = time.monotonic()
        return self._before + piece

    def shown(self, judged: Verdict[str]) -> str:
        return self._new(self._before, judged)

    def rest(self) -> str:
        return self._rest or self._read

    def whole(self) -> str:
        return self._read + self._rest

    def ended(self, judged: Verdict[str]) -> str:
        return self._new(self._read, judged)

    def _new(self, before: str, judged: Verdict[str]) -> str:
        """What the user has not read yet of a judged text."""
        if not judged.content.startswith(before):
            raise Denied(dataclasses.replace(judged, decision="deny"), judged.message or "What follows may not be read behind what stands before it.")
        new = judged.content[len(before):]
        self._read += new
        return new


_SENTENCE = re.compile(r"""[.!?…]["')\]]*\s+(?!\d)|[。！？]|\n+""")
_GAP = re.compile(r"(?<=\D)\s+(?=\D)")


# --- Guarded tools ----------------------------------------------------------


class Reading(NamedTuple):
    """How a tool's output is told to the guardian, and made anew of what the guardian left of it."""

    texts: Callable[[Any], List[str]]
    """The texts of an output. TypeError when it cannot be judged."""
    replaced: Callable[[Any, List[str]], Any]
    """The output with other texts, as many as it had. ValueError when it cannot hold them."""


class OpenCall:
    """A guarded call that a framework makes in two halves: what asks before it, and what hears its end."""

    def __init__(self, turn: Turn, course: Generator[Union[Step[Any], _Run], Any, Any], wait: Optional[float]) -> None:
        self._turn, self._course, self._wait = turn, course, wait
        todo = self._course.send(turn.session.guardian._ask(cast("Step[Any]", next(self._course)), wait))
        run = cast(_Run, todo)
        self.inputs: Object = run.tool(run.inputs)
        """What the tool is to run with."""

    def ended(self, output: Any) -> Any:
        """Reports what the tool gave, and returns what was left of it."""
        return self._reported(lambda: self._course.send(output))

    def failed(self, error: Exception) -> NoReturn:
        """Reports that the tool raised, and raises that again, or what was left of it."""
        self._reported(lambda: self._course.throw(error))
        raise error

    def _reported(self, resume: Callable[[], Any]) -> Any:
        try:
            self._course.send(self._turn.session.guardian._ask(resume(), self._wait))
        except StopIteration as end:
            return end.value
        raise RuntimeError("a call that has ended goes on")


def _reading(tool: str) -> Reading:
    """How outputs are read that are strings or JSON values."""
    return Reading(functools.partial(_told_output, tool), _output_of)


class _Run(NamedTuple):
    """What a guarded call asks whoever drives it to do: run the tool with these inputs."""

    tool: Callable[[Object], Any]
    inputs: Object


def _guarded_call(
    turn: Turn, tool: str, inputs: Mapping[str, Any], run: Callable[[Object], Any], reading: Reading,
) -> Generator[Union[Step[Any], _Run], Any, Any]:
    """The one course that every guarded call takes, plain or async: it yields what is to be asked
    and run, is sent the verdict or output, and returns what the caller may have."""
    verdict = yield _tool_call_request(turn, tool, inputs)
    call = verdict.execution_id
    failed: Optional[Exception] = None
    output, told = None, []
    try:
        output = yield _Run(run, verdict.content)
        told = reading.texts(output)
    except Exception as error:
        failed = error
    except BaseException as error:  # cancelled or interrupted: whoever did so does not wait
        turn.session.guardian._tell(_tool_call_result(turn, call, _told_error(error), is_error=True))
        raise
    if failed is not None:  # outside of its handler, so that what is raised here does not carry it along
        told = _told_error(failed)
        _raise_again(failed, told, (yield _tool_call_result(turn, call, told, is_error=True)))
    return _heard(output, told, (yield _tool_call_result(turn, call, told)), reading)


def _driven(turn: Turn, course: Generator[Union[Step[Any], _Run], Any, Any], wait: Optional[float]) -> Any:
    """Drives a guarded call, and blocks while it asks and runs."""
    answer: Any = None
    failed: Optional[BaseException] = None
    while True:
        try:
            todo = course.send(answer) if failed is None else course.throw(failed)
        except StopIteration as end:
            return end.value
        answer = failed = None
        try:
            if isinstance(todo, _Run):
                with _inside(turn):
                    answer = todo.tool(todo.inputs)
            else:
                answer = turn.session.guardian._ask(todo, wait)
        except BaseException as error:  # thrown into the course outside of this handler, which else is its context
            failed = error


async def _driven_async(turn: Turn, course: Generator[Union[Step[Any], _Run], Any, Any], wait: Optional[float]) -> Any:
    """_driven(), awaited."""
    answer: Any = None
    failed: Optional[BaseException] = None
    while True:
        try:
            todo = course.send(answer) if failed is None else course.throw(failed)
        except StopIteration as end:
            return end.value
        answer = failed = None
        try:
            if isinstance(todo, _Run):
                with _inside(turn):
                    answer = todo.tool(todo.inputs)
                    if inspect.isawaitable(answer):
                        answer = await answer
            else:
                answer = await turn.session.guardian._ask_async(todo, wait)
        except BaseException as error:
            failed = error


@contextmanager
def _inside(turn: Turn) -> Iterator[None]:
    """The turn is open in what a tool calls: an agent that the tool starts finds it."""
    if turn in _open_turns.get():
        yield
        return
    with turn:
        yield


def _guarded(tool: F, turn_here: Callable[[], Turn], name: Optional[str], leave_out: frozenset[str], wait: Optional[float]) -> F:
    """See _Guards.guarded."""
    tool_id = name or getattr(tool, "__name__", "")
    if not tool_id:
        raise ValueError(f"{tool!r} has no name of its own: give it one, as in guarded(tool, name=\"search\")")
    signature = inspect.signature(tool)
    unknown = leave_out - set(signature.parameters)
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        raise ValueError(f"leave_out names what {tool_id} does not take: {', '.join(sorted(unknown))}")
    reading = _reading(tool_id)

    def course(args: Tuple[Any, ...], kwargs: Object, run: Callable[..., Any]) -> Tuple[Turn, Generator[Union[Step[Any], _Run], Any, Any]]:
        turn = turn_here()
        bound, inputs = _told_inputs(tool_id, signature, leave_out, args, kwargs)

        def with_judged(judged: Object) -> Any:
            _put_back(bound, inputs, judged)
            return run(*bound.args, **bound.kwargs)

        return turn, _guarded_call(turn, tool_id, inputs, with_judged, reading)

    if _is(inspect.isasyncgenfunction, tool):

        @functools.wraps(tool)
        def guarded_async_generator(*args: Any, **kwargs: Any) -> Any:
            async def gathered(*args: Any, **kwargs: Any) -> Any:
                pieces = _Pieces(tool_id)
                async for piece in tool(*args, **kwargs):
                    pieces.add(piece)
                return pieces.whole()

            async def rest() -> Any:
                for piece in await _driven_async(turn, steps, wait):
                    yield piece

            turn, steps = course(args, kwargs, gathered)
            return rest()

        return cast(F, guarded_async_generator)

    if _is(inspect.isgeneratorfunction, tool):

        @functools.wraps(tool)
        def guarded_generator(*args: Any, **kwargs: Any) -> Any:
            def gathered(*args: Any, **kwargs: Any) -> Any:
                pieces = _Pieces(tool_id)
                for piece in tool(*args, **kwargs):
                    pieces.add(piece)
                return pieces.whole()

            def rest() -> Any:
                yield from _driven(turn, steps, wait)

            turn, steps = course(args, kwargs, gathered)
            return rest()

        return cast(F, guarded_generator)

    if _is(inspect.iscoroutinefunction, tool):

        @functools.wraps(tool)
        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            async def run(*args: Any, **kwargs: Any) -> Any:
                return _copied(await tool(*args, **kwargs))

            turn, steps = course(args, kwargs, run)
            return await _driven_async(turn, steps, wait)

        return cast(F, guarded_async)

    @functools.wraps(tool)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        turn, steps = course(args, kwargs, lambda *args, **kwargs: _copied(tool(*args, **kwargs)))
        return _driven(turn, steps, wait)

    return cast(F, guarded)


class _Pieces:
    """What a generator tool gives, gathered: it is judged as one, since what is forbidden may lie
    across its pieces."""

    most = 4 << 20  # characters: no node reads more

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._pieces: List[Any] = []
        self._size = 0

    def add(self, piece: Any) -> None:
        self._size += len(piece) if isinstance(piece, str) else len(json.dumps(_plain(piece)))
        self._pieces.append(_copied(piece))
        if self._size + len(self._pieces) > self.most:
            raise ValueError(f"{self._tool} gives more than can be judged")

    def whole(self) -> List[Any]:
        return _Streamed(self._pieces) if all(isinstance(piece, str) for piece in self._pieces) else self._pieces


class _Streamed(List[str]):
    """The pieces of one text."""


def _is(kind: Callable[[Any], bool], tool: Any) -> bool:
    """Whether a tool, or what it calls, is such a function."""
    while isinstance(tool, functools.partial):
        tool = tool.func
    return kind(tool) or kind(getattr(tool, "__call__", None))


def _told_inputs(
    tool: str, signature: inspect.Signature, leave_out: frozenset[str], args: Tuple[Any, ...], kwargs: Object,
) -> Tuple[inspect.BoundArguments, Object]:
    """The arguments of a call, and those that the guardian is told of. Defaults are among them:
    it is to judge what the tool will really do."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    inputs: Object = {}
    for holder, name in _arguments(bound):
        if name in leave_out:
            continue
        if name in inputs:
            raise TypeError(f"{tool} is called with two arguments that are named {name}")
        try:
            holder[name] = _copied(holder[name])
            inputs[name] = _plain(holder[name])
        except TypeError as error:
            raise TypeError(f"{tool}: the argument {name} {error}; name it in leave_out if the guardian need not know it") from None
    return bound, inputs


def _told_and_merged(tool: str, inputs: Mapping[str, Any], run: Callable[[Object], Any]) -> Tuple[Object, Callable[[Object], Any]]:
    """Inputs as the guardian is told them, and what runs the tool with those that it changed."""
    own = {name: _copied(value) for name, value in inputs.items()}
    told: Object = {}
    for name, value in own.items():
        try:
            told[name] = _plain(value)
        except TypeError as error:
            raise TypeError(f"{tool}: the argument {name} {error}") from None
    return told, lambda judged: run({name: _merged(name, own[name], told[name], value) for name, value in judged.items()})


def _arguments(bound: inspect.BoundArguments) -> Iterator[Tuple[Object, str]]:
    """Each argument, as the dictionary that holds it and its name there."""
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            yield from ((bound.arguments[name], extra) for extra in list(bound.arguments[name]))
        elif parameter.kind is not parameter.VAR_POSITIONAL or bound.arguments[name]:
            yield bound.arguments, name


def _put_back(bound: inspect.BoundArguments, told: Object, judged: Object) -> None:
    """Gives the call the inputs that the guardian made of those that it was told."""
    for holder, name in _arguments(bound):
        if name in told:
            holder[name] = _merged(name, holder[name], told[name], judged[name])


def _merged(where: str, value: Any, told: Any, judged: Any) -> Any:
    """value, with those of its JSON values that the guardian changed."""
    if _same(told, judged):
        return value
    if type(value) is dict and isinstance(judged, dict):
        return {k: _merged(f"{where}.{k}", value[k], told[k], v) if k in told else v for k, v in judged.items()}
    if type(value) in (list, tuple) and isinstance(judged, list) and len(judged) == len(value):
        return type(value)(_merged(f"{where}[{i}]", v, told[i], judged[i]) for i, v in enumerate(value))
    if value is None or type(value) in (bool, int, float, str, dict, list, tuple):
        return judged
    raise GuardianError(f"the guardian changed {where}, and a {type(value).__name__} cannot be made of what it answered")


def _copied(value: Any) -> Any:
    """value with lists and dictionaries of its own: what was judged, whatever becomes of the caller's
    meanwhile. What they hold besides JSON is the caller's."""
    if type(value) is dict:
        return {key: _copied(member) for key, member in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value


def _same(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same: unlike in Python, 1, 1.0 and true are three."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _plain(value: Any) -> Any:
    """value as JSON has it. TypeError for what JSON has no form for."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise TypeError(f"is {value}, which JSON has no form for")
        return float(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("has a key that is no string, which JSON has no form for")
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(element) for element in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump") and not isinstance(value, type):  # a Pydantic model
        return _plain(value.model_dump(mode="json"))
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID, os.PathLike)):
        return str(value)
    raise TypeError(f"is a {type(value).__name__}, which JSON has no form for")


def _told_output(tool: str, output: Any) -> List[str]:
    """A tool's output as the texts that the guardian reads."""
    if output is None:
        return []
    if isinstance(output, str):
        return [str.__str__(output)]
    if isinstance(output, _Streamed):
        return ["".join(output)]
    try:
        return [json.dumps(_plain(output), ensure_ascii=False)]
    except TypeError as error:
        raise TypeError(f"what {tool} returned {error}: it cannot be judged. Return a string or a JSON value") from None


def _told_error(error: BaseException) -> List[str]:
    return [f"{type(error).__name__}: {error}".rstrip(": ")]


def _heard(output: Any, told: List[str], judged: Verdict[List[str]], reading: Reading) -> Any:
    """The output in the form that the guardian let pass. A notice that it put in the place of
    something else than a string would not be of its type: that is Denied."""
    if judged.content == told:
        return output
    try:
        return reading.replaced(output, judged.content)
    except ValueError:
        raise Denied(dataclasses.replace(judged, decision="deny"), " ".join([judged.message, *judged.content])) from None


def _output_of(output: Any, texts: List[str]) -> Any:
    """What _told_output told of, with another text."""
    if isinstance(output, _Streamed):
        return texts
    return texts[0] if isinstance(output, str) else json.loads(texts[0])


def _raise_again(error: Exception, told: List[str], judged: Verdict[List[str]]) -> NoReturn:
    """Raises the exception of a tool, or its text as the guardian made it."""
    if judged.content != told:
        raise ToolFailed(judged.content[0])
    raise error


# --- JSON-RPC over HTTP -----------------------------------------------------

_MAX_ANSWER = 16 << 20  # bytes
_MAX_DIGITS = 4300  # of an integer: reading longer ones takes time that grows with their square


class _Wire:
    """Asks, and asks again, within a time limit. All of it blocks; asyncio uses threads."""

    def __init__(self, url: str, key: str, tls: Optional[ssl.SSLContext]) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.fragment:
            raise ValueError("the guardian's url is http://HOST:PORT/aos or https://HOST/aos; credentials are given as key")
        if not all("!" <= c <= "~" for c in key):
            raise ValueError("the key holds characters that no key has")  # which is not shown
        path = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + ("?" + parts.query if parts.query else "")
        if not all("!" <= c <= "~" for c in path + parts.netloc):
            raise ValueError("the guardian's url holds characters that no url has")
        self.name = f"{parts.scheme}://{parts.netloc}{parts.path}"  # without the query, which may hold a secret
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: reeve-aos/{__version__}\r\n"
            "Content-Type: application/json\r\nAccept: application/json\r\n"
        )
        self._key = _Secret(key)
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        # Both under the lock:
        self._idle: List[_Connection] = []
        self._threads: Optional[ThreadPoolExecutor] = None

    def _of_this_process(self) -> None:
        """A process that was forked must not use its parent's connections, and has none of its threads."""
        if self._process != os.getpid():
            self._reset()

    def close(self) -> None:
        self._of_this_process()
        with self._lock:
            idle, self._idle = self._idle, []
            threads, self._threads = self._threads, None
        for connection in idle:
            connection.close()
        if threads is not None:
            threads.shutdown(wait=False)

    def threads(self) -> ThreadPoolExecutor:
        self._of_this_process()
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(64, thread_name_prefix="reeve_aos")
            return self._threads

    async def in_thread(self, work: Callable[..., T], *args: Any) -> T:
        """Awaits what blocks. When the task is cancelled the work goes on unheard until its time limit."""
        return await asyncio.get_running_loop().run_in_executor(self.threads(), functools.partial(work, *args))

    def call(self, method: str, params: Object, id: str, until: float, retries: int) -> Object:
        """One JSON-RPC call. Sending it again is safe: its bytes are the same, and so are the ids
        by which the guardian knows the step again."""
        try:
            text = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, ensure_ascii=False, allow_nan=False)
            body = text.encode()
        except (TypeError, ValueError) as error:
            raise GuardianError(f"{method} cannot be asked about: it holds what JSON has no form for ({error})") from error
        pause = 0.1
        while True:
            try:
                return _result(id, *self._post(body, until))
            except (Unreachable, GuardianError) as error:
                if isinstance(error, GuardianError) and self._key.is_in(f"{error.message} {error.data}"):
                    # Whoever answers knows the key, and might tell it to the log that this ends in.
                    error.message, error.data = "the guardian answered an error, and the key in it", None
                    error.args = (error.message, error.code, error.data, error.status)
                if error._again is None or retries == 0 or time.monotonic() + max(pause, error._again) >= until:
                    raise
                time.sleep(max(pause, error._again))
            retries, pause = retries - 1, pause * 4

    def _post(self, body: bytes, until: float) -> Tuple[int, str, bytes]:
        """Sends a body, and returns status, Retry-After and body of the answer."""
        head = f"{self._head}{self._key.header()}Content-Length: {len(body)}\r\n\r\n".encode("ascii")
        try:
            connection = self._kept()
            if connection is not None:
                with suppress(OSError, http.client.HTTPException):  # the other side may have closed it meanwhile
                    return self._exchange(connection, head, body, until)
            return self._exchange(_Connection(self._host, self._port, self._tls, until), head, body, until)
        except ssl.SSLError as error:
            if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
                raise self._lost(error) from error
            raise GuardianError(f"{self.name} cannot be trusted: {error}") from error
        except (OSError, http.client.IncompleteRead) as error:
            raise self._lost(error) from error
        except http.client.HTTPException as error:
            raise GuardianError(f"{self.name} does not speak HTTP: {type(error).__name__}") from error

    def _lost(self, error: Exception) -> Unreachable:
        why = "no answer within the time limit" if isinstance(error, (socket.timeout, TimeoutError)) else str(error) or type(error).__name__
        lost = Unreachable(f"the guardian at {self.name} cannot be reached: {why}")
        lost._again = 0.0
        return lost

    def _exchange(self, connection: _Connection, head: bytes, body: bytes, until: float) -> Tuple[int, str, bytes]:
        keep = False
        try:
            status, after, answer, keep = connection.post(head + body, until)
        finally:
            if keep:
                self._keep(connection)
            else:
                connection.close()
        return status, after, answer

    def _kept(self) -> Optional[_Connection]:
        self._of_this_process()
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: _Connection) -> None:
        with self._lock:
            if len(self._idle) < 8:
                self._idle.append(connection)
                return
        connection.close()


class _Secret:
    """A key that no traceback with variables and no repr shows."""

    def __init__(self, key: str) -> None:
        self._reveal: Callable[[], str] = lambda: key

    def header(self) -> str:
        return f"Authorization: Bearer {self._reveal()}\r\n" if self._reveal() else ""

    def is_in(self, text: str) -> bool:
        return bool(self._reveal()) and self._reveal() in text


def _result(id: str, status: int, after: str, body: bytes) -> Object:
    """The result in an answer, which is read strictly: a member that is there twice, or an
    answer to another question, decides nothing."""
    answer: Any = None
    reason = ""
    try:
        answer = json.loads(
            body.decode(), object_pairs_hook=_object, parse_int=_integer, parse_constant=_no_constant,
        )
    except (ValueError, RecursionError) as error:
        reason = f": {error!s:.100}"
    told = answer.get("error") if isinstance(answer, dict) else None
    failure: NotAllowed
    if isinstance(told, dict) and type(told.get("code")) is int and "result" not in answer:
        failure = GuardianError(str(told.get("message", "")), told["code"], told.get("data"), status)
    elif status in (502, 503, 504):
        failure = Unreachable(f"a gateway could not reach the guardian (HTTP status {status})")
    elif 300 <= status < 400:
        failure = GuardianError("the guardian answered a redirect, which is not followed", status=status)
    elif status != 200:
        failure = GuardianError(f"the guardian answered with the HTTP status {status}", status=status)
    elif not isinstance(answer, dict):
        failure = GuardianError("the guardian's answer is not a JSON object" + reason, status=status)
    elif answer.get("jsonrpc") != "2.0" or "error" in answer or not isinstance(answer.get("result"), dict):
        failure = GuardianError("the guardian's answer is not a JSON-RPC 2.0 answer", status=status)
    elif answer.get("id") != id:
        failure = GuardianError("the guardian answered another question than was asked", status=status)
    else:
        return cast(Object, answer["result"])
    if status in (429, 500, 502, 503, 504) or status == 200 and isinstance(failure, GuardianError) and failure.code == -32603:
        failure._again = _wait(after)
    raise failure


def _wait(after: str) -> float:
    """What a Retry-After header says, in seconds."""
    if after.isascii() and after.isdigit() and len(after) < 10:
        return float(after)
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - time.time())
    return 0.0


def _object(members: List[Tuple[str, Any]]) -> Object:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a member is there twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Connection:
    """An HTTP connection on which every wait ends at one moment, however slowly the other side
    answers. To http.client it is the socket to read from. It uses no proxy and follows no redirect."""

    def __init__(self, host: str, port: int, tls: Optional[ssl.SSLContext], until: float) -> None:
        self._until = until
        self._socket = self._dial(host, port)
        if tls is not None:
            plain = self._socket
            try:
                plain.settimeout(self._left())
                self._socket = tls.wrap_socket(plain, server_hostname=host)
            except BaseException:
                plain.close()
                raise

    def post(self, request: bytes, until: float) -> Tuple[int, str, bytes, bool]:
        """Sends a request; returns status, Retry-After and body, and whether the connection can be used again."""
        self._until = until
        rest = memoryview(request)
        while rest:
            self._socket.settimeout(self._left())
            rest = rest[self._socket.send(rest[: 1 << 16]):]
        response = http.client.HTTPResponse(cast(socket.socket, self), method="POST")
        try:
            response.begin()
            body = response.read(_MAX_ANSWER + 1)
            if len(body) > _MAX_ANSWER:
                raise GuardianError(f"the guardian's answer has more than {_MAX_ANSWER} bytes", status=response.status)
            if response.length:
                raise http.client.IncompleteRead(body)
            keep = response.isclosed() and not response.will_close
            return response.status, response.headers.get("Retry-After") or "", body, keep
        finally:
            response.close()

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def read_into(self, buffer: Any) -> int:
        self._socket.settimeout(self._left())
        return self._socket.recv_into(buffer)

    def close(self) -> None:
        self._socket.close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # it was never open
            self._socket.close()

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        return left

    def _dial(self, host: str, port: int) -> socket.socket:
        """Connects to the first address that answers, each within its share of the time."""
        failure: OSError = OSError(f"{host} has no address")
        addresses = self._look_up(host, port)
        for tried, (family, kind, protocol, _, address) in enumerate(addresses):
            dialed = socket.socket(family, kind, protocol)
            try:
                dialed.settimeout(self._left() / (len(addresses) - tried))
                dialed.connect(address)
                dialed.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return dialed
            except OSError as error:
                dialed.close()
                failure = error
            except BaseException:
                dialed.close()
                raise
        raise failure

    def _look_up(self, host: str, port: int) -> List[Tuple[Any, ...]]:
        """The addresses of a name. The system may take longer than we wait, so that a thread asks it."""
        found: List[Any] = []

        def ask() -> None:
            try:
                found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as error:
                found.append(OSError(f"{host} has no address: {error}"))

        thread = threading.Thread(target=ask, name="reeve_aos lookup", daemon=True)
        thread.start()
        thread.join(self._left())
        if not found:
            raise socket.timeout("timed out")
        if isinstance(found[0], OSError):
            raise found[0]
        return cast("List[Tuple[Any, ...]]", found[0])


class _Reader(io.RawIOBase):
    """What http.client reads an answer from. Closing it leaves the connection open."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._connection.read_into(buffer)
