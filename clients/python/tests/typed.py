"""What a type checker makes of the client. It is checked, and never run."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional

from typing_extensions import assert_type

from reeve_aos import Agent, AsyncTurn, Denied, Guardian, Knowledge, Ping, Session, Step, Turn, Unreachable, Verdict

agent: Agent = {"id": "helper", "provider": {"name": "Birch", "url": "https://birch.example"}}
guardian = Guardian(agent=agent)
Guardian(agent="helper", on_unreachable="allow")
Guardian(agent={"identity": "helper"})  # type: ignore[arg-type]
Guardian(agent="helper", on_unreachable="maybe")  # type: ignore[arg-type]
Guardian("http://127.0.0.1:8080")  # type: ignore[call-arg]


def decide(step: Step[Any], error: Unreachable) -> Literal["allow", "deny"]:
    return "allow" if step.method == "steps/message" else "deny"


Guardian(agent="helper", on_unreachable=decide)


@guardian.guarded
def add(a: int, b: int = 2) -> int:
    return a + b


@guardian.guarded(name="fetch", leave_out=["limit"])
async def fetch(url: str, limit: Optional[int] = None) -> str:
    return url


add("one")  # type: ignore[arg-type]


def sync() -> None:
    assert_type(guardian.ping(), Ping)
    assert_type(add(1), int)
    with guardian.session(user="ada") as session, session.turn() as turn:
        assert_type(session, Session)
        assert_type(turn, Turn)
        assert_type(turn.user_message("hello"), Verdict[str])
        assert_type(turn.agent_message([{"kind": "text", "text": "hello"}]).content, List[Dict[str, Any]])
        assert_type(turn.agent_trigger("email", "mail").content, str)
        assert_type(turn.knowledge_retrieval([{"id": "d", "content": "c"}]).content, Knowledge)
        assert_type(turn.memory_store(["one"]).content, List[str])
        assert_type(turn.memory_context_retrieval("one").content, str)
        assert_type(turn.tool_call_request("t", {"a": 1}).content, Dict[str, Any])
        assert_type(turn.tool_call_result("x", "text").content, str)
        assert_type(turn.tool_call_result("x", ["text"], is_error=True).content, List[str])
        assert_type(turn.a2a({}).content, Dict[str, Any])
        assert_type(turn.mcp({}).content, Dict[str, Any])
        assert_type(turn.guarded(add)(1), int)
        turn.message("boss", "hello")  # type: ignore[attr-defined]
        turn.user_message(1)  # type: ignore[type-var]
        turn.user_message()  # type: ignore[call-arg]
        turn.tool_call_result("x", "text", iserror=True)  # type: ignore[call-arg]


async def asynchronous() -> None:
    assert_type(await guardian.ping_async(), Ping)
    assert_type(await fetch("https://a.example"), str)
    async with guardian.session() as session, session.turn() as turn:
        assert_type(turn, AsyncTurn)
        assert_type(await turn.user_message("hello"), Verdict[str])
        assert_type((await turn.tool_call_request("t", {"a": 1})).content, Dict[str, Any])
        assert_type((await turn.knowledge_retrieval([])).content, Knowledge)
        assert_type(await turn.guarded(fetch)("https://a.example"), str)
        await turn.user_message(1)  # type: ignore[type-var]
        turn.user_message("hello").content  # type: ignore[attr-defined]


def denied(error: Denied) -> None:
    assert_type(error.instead, List[str])
    assert_type(error.pending, bool)
