"""A2G: an agent asks before each call of a tool, and reports how it went. Its messages are
signed with an Ed25519 key of the agent's own, so that nobody else speaks in its name.

    from reeve_aos.a2g import A2GClient, SigningKey

    key = SigningKey.generate()  # or SigningKey.read("agent.pem")
    governance = A2GClient("did:example:helper", signing=key)
    governance.register(["write_file"], name="Helper")

    def write_file(path: str, content: str) -> int: ...

    governance.call("write_file", {"path": "/tmp/a.txt", "content": "Hello"}, write_file)

It fails closed: whatever is no verdict that allows the call is an exception, and nothing runs.
Signing needs the package cryptography: pip install 'reeve-aos[a2g]'.
"""

from __future__ import annotations

import datetime
import json
import os
import ssl
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, TypeVar, Union

from . import GuardianError, NotAllowed, Unreachable, _plain, _seconds, _Wire

__all__ = ["A2GClient", "Beat", "Refused", "Registered", "SigningKey", "Verdict"]

Object = Dict[str, Any]
R = TypeVar("R")


class SigningKey:
    """An agent's Ed25519 key. No repr shows it."""

    def __init__(self, private: Any) -> None:
        """private: an Ed25519PrivateKey of the package cryptography."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not isinstance(private, Ed25519PrivateKey):
            raise TypeError("the key is no Ed25519 private key")
        self._private = private

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: Union[str, bytes], password: Optional[bytes] = None) -> SigningKey:
        """A key as PKCS #8 has it, such as `openssl genpkey -algorithm ed25519` writes it."""
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        return cls(load_pem_private_key(pem.encode() if isinstance(pem, str) else pem, password))

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]], password: Optional[bytes] = None) -> SigningKey:
        """The key in a PEM file."""
        with open(path, "rb") as file:
            return cls.from_pem(file.read(), password)

    def pem(self) -> str:
        """The key as PKCS #8: for a file that only the agent can read."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        text: bytes = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return text.decode()

    @property
    def public_key(self) -> str:
        """The public half, as an agent registers with it."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        raw: bytes = self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return "ed25519:" + raw.hex()

    def sign(self, message: bytes) -> Object:
        """A signature of a message, as A2G has it: it counts once, and for five minutes."""
        timestamp, nonce = str(int(time.time() * 1000)), str(uuid.uuid4())
        signed: bytes = self._private.sign(f"{timestamp}:{nonce}:".encode() + message)
        return {"timestamp": timestamp, "nonce": nonce, "hash": signed.hex()}

    def __repr__(self) -> str:
        return f"SigningKey({self.public_key!r})"


@dataclass(frozen=True)
class Verdict:
    """What was decided about an intent."""

    verdict: str  # APPROVED, CONDITIONAL, DENIED or ESCALATE
    intent_id: str
    tool: str
    #: What to call the tool with: as sent, or as the verdict has changed it.
    arguments: Object
    #: Sentences that the approval depends on.
    conditions: List[str] = field(default_factory=list)
    #: The risk: score, level, threats and more.
    risk: Object = field(default_factory=dict)
    #: The limits of what runs: memory, time, files, hosts.
    manifest: Object = field(default_factory=dict)
    expires_at: Optional[datetime.datetime] = None
    message: str = ""  # of a denial
    instead: List[str] = field(default_factory=list)  # of a denial: what the agent could do
    blocked_by: str = ""  # of a denial: static_policy, risk, capability, identity, approval or expired
    #: All that was answered.
    raw: Object = field(default_factory=dict, repr=False)

    @property
    def allowed(self) -> bool:
        """Whether the tool may be called now: it was approved, that has not expired, and nobody
        has reported yet that it was done."""
        return (
            self.verdict in ("APPROVED", "CONDITIONAL") and self.raw.get("used") is not True
            and self.expires_at is not None and datetime.datetime.now(datetime.timezone.utc) < self.expires_at
        )

    @property
    def pending(self) -> bool:
        """A person must agree first: ask again with the same intent_id."""
        return self.verdict == "ESCALATE"

    @property
    def decision(self) -> str:
        """The record's place in the ledger."""
        return str(self.raw.get("decision", ""))


class Refused(NotAllowed):
    """The tool must not be called. str(refused) is written for a model."""

    def __init__(self, verdict: Verdict) -> None:
        said = verdict.message or {
            "ESCALATE": "A person must agree first.", "DENIED": "It was denied.",
        }.get(verdict.verdict, "The approval has expired, or was used.")
        super().__init__(" ".join([said, *verdict.instead]))
        self.verdict = verdict


@dataclass(frozen=True)
class Registered:
    """What a registration was answered."""

    #: Whether every message must be signed from now on.
    signed: bool
    #: What the agent may do, as g2a/policy says it.
    policy: Object
    #: Why the key verifies nothing; empty where it does.
    warning: str = ""


@dataclass(frozen=True)
class Beat:
    """What a heartbeat was answered."""

    status: str  # the agent's standing
    #: The messages of the governing side that wait for the agent: g2a/policy, g2a/directive, g2a/revoke.
    pending: List[Object]


class A2GClient:
    """Asks before an agent's tools are called. It is safe for threads.

    agent_did: the agent's name, such as did:example:helper
    signing:   the agent's key, with which every message is signed; None signs nothing
    url:       else /a2g of REEVE_URL, else http://127.0.0.1:8080/a2g. No proxy, no redirect
    key:       an API key or token; else REEVE_KEY
    timeout:   seconds that a call may take, with its retries
    """

    def __init__(
        self, agent_did: str, *, signing: Optional[SigningKey] = None, url: Optional[str] = None, key: Optional[str] = None,
        timeout: float = 5.0, retries: int = 2, tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        if url is None:
            url = urllib.parse.urljoin(os.environ.get("REEVE_URL") or "http://127.0.0.1:8080", "/a2g")
        if timeout == 0 or not isinstance(retries, int) or retries < 0:
            raise ValueError("timeout is a number of seconds above 0, and retries a whole number, 0 or more")
        self.agent_did = agent_did
        self._signing = signing
        self._timeout, self._retries = _seconds(timeout), retries
        self._wire = _Wire(url, os.environ.get("REEVE_KEY", "") if key is None else key, tls)

    def __repr__(self) -> str:
        return f"A2GClient({self._wire.name!r}, {self.agent_did!r})"

    def close(self) -> None:
        """Closes idle connections. The client can be used again."""
        self._wire.close()

    def register(self, capabilities: Iterable[str] = (), **metadata: Any) -> Registered:
        """Registers the agent, with its public key. From then on it is believed nothing that is not signed."""
        params: Object = {"capabilities_requested": list(capabilities), "metadata": metadata}
        if self._signing is not None:
            params["public_key"] = self._signing.public_key
        answer = self._call("a2g/register", params)
        policy = answer.get("policy")
        return Registered(answer.get("signatures") == "required", policy if isinstance(policy, dict) else {}, str(answer.get("warning", "")))

    def ask(
        self, tool: str, arguments: Mapping[str, Any], *, intent_id: Optional[str] = None, session_id: Optional[str] = None,
        parent_intent: Optional[str] = None, reasoning: Optional[str] = None,
    ) -> Verdict:
        """Asks whether a tool may be called. A denial is a verdict, and no exception."""
        given = _plain(arguments)
        intent_id = intent_id or str(uuid.uuid4())
        context = {"session_id": session_id, "parent_intent": parent_intent, "reasoning": reasoning}
        params: Object = {"intent_id": intent_id, "tool": tool, "arguments": given}
        told = {name: value for name, value in context.items() if value is not None}
        if told:
            params["context"] = told
        try:
            return _verdict(self._call("a2g/intent", params), intent_id, tool, given)
        except GuardianError as error:
            if error.code != _POLICY_VIOLATION:
                raise
            return _denial(error, intent_id, tool, given)

    def report(
        self, intent_id: str, status: str = "SUCCESS", *, result: Any = None, error: Optional[str] = None, metrics: Optional[Mapping[str, float]] = None,
        tool: Optional[str] = None, arguments: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Says how an approved call went: SUCCESS, FAILURE, TIMEOUT or ABORTED."""
        said = {"result": result, "error": error, "metrics": metrics, "tool": tool, "arguments": arguments}
        self._call("a2g/report", {"intent_id": intent_id, "status": status, **{name: _plain(value) for name, value in said.items() if value is not None}})

    def heartbeat(self, status: str = "") -> Beat:
        """Says that the agent is there, and fetches what waits for it."""
        answer = self._call("a2g/heartbeat", {"status": status} if status else {})
        pending = answer.get("pending")
        return Beat(str(answer.get("status", "")), [m for m in pending if isinstance(m, dict)] if isinstance(pending, list) else [])

    def call(
        self, tool: str, arguments: Mapping[str, Any], run: Callable[..., R], *, wait_for_approval: float = 0.0, session_id: Optional[str] = None,
        parent_intent: Optional[str] = None, reasoning: Optional[str] = None,
    ) -> R:
        """Asks, calls run with the arguments as the verdict has them, by their names, and reports
        how it went. Raises Refused where it must not run, and what run raises."""
        intent, until = str(uuid.uuid4()), time.monotonic() + _seconds(wait_for_approval)
        given = _plain(arguments)
        pause = 0.25
        while True:
            verdict = self.ask(tool, given, intent_id=intent, session_id=session_id, parent_intent=parent_intent, reasoning=reasoning)
            left = until - time.monotonic()
            if not verdict.pending or left <= 0:
                break
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 2.0)
        if not verdict.allowed:
            raise Refused(verdict)
        begun = time.monotonic()
        try:
            result = run(**verdict.arguments)
        except Exception as error:
            self.report(intent, "FAILURE", error=f"{type(error).__name__}: {error}", metrics=_took(begun))
            raise
        self.report(intent, result=result, metrics=_took(begun))
        return result

    def _call(self, method: str, params: Object) -> Object:
        """One call. It is signed anew each time, since a signature counts once; by its ids the
        other side knows it again."""
        params = {"agent_did": self.agent_did, **params}
        until = time.monotonic() + self._timeout
        id, pause, retries = str(uuid.uuid4()), 0.1, self._retries
        while True:
            try:
                return self._wire.call(method, self._signed(params), id, until, 0)
            except (Unreachable, GuardianError) as error:
                if error._again is None or retries == 0 or time.monotonic() + max(pause, error._again) >= until:
                    error.method = method
                    raise
                time.sleep(max(pause, error._again))
            retries, pause = retries - 1, pause * 4

    def _signed(self, params: Object) -> Object:
        if self._signing is None:
            return params
        message = json.dumps(params, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return {**params, "context": {**params.get("context", {}), "signature": self._signing.sign(message.encode())}}


_POLICY_VIOLATION = -32000


def _took(begun: float) -> Dict[str, float]:
    return {"duration_ms": round((time.monotonic() - begun) * 1000)}


def _verdict(answer: Object, intent_id: str, tool: str, given: Object) -> Verdict:
    """Reads a verdict. One that is not exactly one allows nothing."""
    said, changed = answer.get("verdict"), answer.get("modified_arguments")
    if answer.get("intent_id") != intent_id:
        raise GuardianError("the verdict is about another intent than was asked about")
    if said not in ("APPROVED", "CONDITIONAL", "ESCALATE", "DENIED"):
        raise GuardianError("the verdict is none of APPROVED, CONDITIONAL, ESCALATE and DENIED")
    if changed is not None and (not isinstance(changed, dict) or said == "APPROVED"):
        raise GuardianError("the verdict changes the arguments in a way that none may")
    expires = _time(answer.get("expires_at"))
    if said in ("APPROVED", "CONDITIONAL") and expires is None:
        raise GuardianError("the verdict does not say when it expires")
    return Verdict(
        verdict=said, intent_id=intent_id, tool=tool, arguments=given if changed is None else changed,
        conditions=_texts(answer, "conditions"), risk=_members(answer, "risk_assessment"),
        manifest=_members(answer, "capability_manifest"), expires_at=expires, raw=answer,
    )


def _denial(error: GuardianError, intent_id: str, tool: str, given: Object) -> Verdict:
    """The verdict that an error of a denial is."""
    data = error.data if isinstance(error.data, dict) else {}
    if data.get("intent_id", intent_id) != intent_id:
        raise GuardianError("the denial is about another intent than was asked about")
    return Verdict(
        verdict="DENIED", intent_id=intent_id, tool=tool, arguments=given, risk=_members(data, "risk_assessment"), message=error.message,
        instead=_texts(data, "instead"), blocked_by=str(data.get("blocked_by") or ""), raw=data,
    )


def _members(holder: Object, name: str) -> Object:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _texts(holder: Object, name: str) -> List[str]:
    value = holder.get(name)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _time(text: Any) -> Optional[datetime.datetime]:
    if not isinstance(text, str):
        return None
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
