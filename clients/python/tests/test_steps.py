"""Every step, against the real node: allowed, modified, denied."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import unittest
from typing import Any, Callable, Coroutine

from reeve_aos import AsyncTurn, Denied, GuardianError, Knowledge, Turn, Unreachable, Verdict

from .support import AGENT, CARD, answer_approval, guardian, relay

# Each step with a text that the node masks, lets pass or denies.
STEPS: "dict[str, tuple[Callable[[Any, str], Any], Callable[[Any], str]]]" = {
    "agent_trigger": (lambda t, s: t.agent_trigger("email", s, id="mail-1", metadata={"n": 1}), lambda c: c),
    "agent_trigger, parts": (lambda t, s: t.agent_trigger("email", [{"kind": "data", "data": {"a": s}}]), lambda c: c[0]["data"]["a"]),
    "knowledge_retrieval": (
        lambda t, s: t.knowledge_retrieval([{"id": "d-1", "content": s, "mimeType": "text/plain"}], query="q", keywords=["k"], reasoning="why"),
        lambda c: c.results[0]["content"]),
    "knowledge_retrieval, query": (lambda t, s: t.knowledge_retrieval([], query=s), lambda c: c.query),
    "memory_store": (lambda t, s: t.memory_store(["one", s], reasoning="why"), lambda c: c[1]),
    "memory_context_retrieval": (lambda t, s: t.memory_context_retrieval([s]), lambda c: c[0]),
    "message of the user": (lambda t, s: t.user_message(s), lambda c: c),
    "message of the agent": (
        lambda t, s: t.agent_message(s, citation=[{"kind": "site", "url": "https://a.example"}], reasoning="why"), lambda c: c),
    "message of the system": (lambda t, s: t.system_message(s, metadata={"n": 1}), lambda c: c),
    "message of parts": (
        lambda t, s: t.user_message([{"kind": "text", "text": "see:"}, {"kind": "text", "text": s}]), lambda c: c[1]["text"]),
    "tool_call_request": (lambda t, s: t.tool_call_request("note", {"text": s, "n": 1, "none": None}, reasoning="why"), lambda c: c["text"]),
    "a2a": (lambda t, s: t.a2a({
        "jsonrpc": "2.0", "id": "a-1", "method": "message/send", "params": {"message": {
            "kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": s}]}}}, reasoning="why"),
        lambda c: c["params"]["message"]["parts"][0]["text"]),
    "mcp": (lambda t, s: t.mcp({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "note", "arguments": {"text": s}}}),
        lambda c: c["params"]["arguments"]["text"]),
    "mcp, the answer": (lambda t, s: t.mcp({
        "jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": s}], "isError": False}}),
        lambda c: c["result"]["content"][0]["text"]),
}


class Steps(unittest.TestCase):
    def setUp(self) -> None:
        self.guardian = guardian()
        self.addCleanup(self.guardian.close)

    def test_each(self) -> None:
        for name, (step, text) in STEPS.items():
            with self.subTest(name), self.guardian.session(user="ada") as session, session.turn() as turn:
                self.check(name, lambda s: step(turn, s), text)

    def test_each_awaited(self) -> None:
        async def main() -> None:
            for name, (step, text) in STEPS.items():
                async with self.guardian.session() as session, session.turn() as turn:
                    assert isinstance(turn, AsyncTurn)
                    answers = [await self.caught(step(turn, s)) for s in ("plain", f"pay {CARD}", "a forbidden thing")]
                    with self.subTest(name):
                        self.check(name, lambda _: answers.pop(0), text)

        asyncio.run(main())

    @staticmethod
    async def caught(step: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await step
        except Denied as denied:
            return denied

    def check(self, name: str, ask: Callable[[str], Any], text: Callable[[Any], str]) -> None:
        allowed = ask("plain")
        self.assertEqual((allowed.decision, text(allowed.content)), ("allow", "plain"))
        self.assertRegex(allowed.decision_id, r"^\d+-\d+$")
        modified = ask(f"pay {CARD}")
        self.assertEqual((modified.decision, text(modified.content)), ("modify", "pay ****"))
        self.assertEqual(modified.reasons, ["pii.card"])
        self.assertTrue(modified.message and modified.reasoning)
        try:
            denied = ask("a forbidden thing")
            if not isinstance(denied, Denied):
                self.fail(f"{name} was not denied: {denied}")
        except Denied as raised:
            denied = raised
        self.assertEqual(denied.reasons, ["nothing-forbidden"])
        self.assertEqual(denied.instead, ["Ask for something else."])
        self.assertEqual(str(denied), "This is forbidden. Instead: Ask for something else.")
        self.assertFalse(denied.pending)

    def test_result(self) -> None:
        with self.guardian.session().turn() as turn:
            call = turn.tool_call_request("note", {}).execution_id
            self.assertEqual(turn.tool_call_result(call, f"it is {CARD}").content, "it is ****")
            call = turn.tool_call_request("note", {}, execution_id="own").execution_id
            self.assertEqual(call, "own")
            self.assertEqual(turn.tool_call_result(call, ["one", CARD], is_error=True).content, ["one", "****"])
            call = turn.tool_call_request("note", {}).execution_id
            self.assertEqual(turn.tool_call_result(call, []).content, [])
            with self.assertRaises(Denied):
                turn.tool_call_result("nobody asked", "text")

    def test_knowledge_is_whole(self) -> None:
        with self.guardian.session().turn() as turn:
            got = turn.knowledge_retrieval([{"id": "d", "content": CARD}], query=CARD, keywords=["a", CARD]).content
            self.assertEqual(got, Knowledge([{"id": "d", "content": "****"}], "****", ["a", "****"]))

    def test_params_are_whole(self) -> None:
        with self.guardian.session().turn() as turn:
            sources = [{"kind": "site", "url": f"https://a.example/?card={CARD}"}]
            answer = turn.agent_message("see there", citation=sources, metadata={"card": CARD})
            self.assertEqual(answer.content, "see there")
            self.assertEqual(answer.params["citation"], [{"kind": "site", "url": "https://a.example/?card=****"}])
            self.assertEqual(answer.params["message"]["metadata"], {"card": "****"})
            self.assertEqual(turn.user_message("hello").params["message"]["content"], [{"kind": "text", "text": "hello"}])
            memory = ["one"]
            answer_of_memory = turn.memory_store(memory)
            memory.append("two")
            self.assertEqual(answer_of_memory.content, ["one"])
            self.assertEqual(turn.memory_context_retrieval("one").content, "one")

    def test_values_are_exact(self) -> None:
        inputs = {"big": 12345678901234567890123, "small": 5e-324, "one": 1.0, "text": "\u0000\u2028\"\\ é 😀", "deep": [{"a": [None, True]}]}
        with self.guardian.session().turn() as turn:
            verdict = turn.tool_call_request("note", {**inputs, "card": CARD})
            self.assertEqual(repr(verdict.content), repr({**inputs, "card": "****"}))

    def test_ping(self) -> None:
        self.assertEqual(self.guardian.ping().status, "connected")
        self.assertEqual(asyncio.run(self.guardian.ping_async()).status, "connected")

    def test_errors_of_the_node(self) -> None:
        with self.guardian.session().turn() as turn:
            with self.assertRaises(GuardianError) as caught:
                turn.user_message([])
            self.assertEqual((caught.exception.code, caught.exception.status), (-32602, 200))
            self.assertEqual(caught.exception.data["field"], "/params/message/content")
            with self.assertRaisesRegex(GuardianError, "what JSON has no form for"):
                turn.tool_call_request("note", {"n": float("nan")})
            with self.assertRaisesRegex(GuardianError, "what JSON has no form for"):
                turn.user_message("\ud800")
        # The node may also find the credential wrong. on_unreachable has nothing to say about that.
        with guardian(key="wrong", on_unreachable="allow").session().turn() as turn, self.assertRaises(GuardianError) as caught:
            turn.user_message("hello")
        self.assertEqual(caught.exception.status, 401)
        self.assertNotIn("wrong", f"{caught.exception!r}{caught.exception}".replace("missing or wrong", ""))

    def test_retry_counts_once(self) -> None:
        """The node gave its answer, the line lost it, and the same step was asked about again."""
        asks: "list[Callable[[Turn], Verdict[Any]]]" = [
            lambda t: t.user_message(CARD),
            lambda t: t.tool_call_request("note", {"text": CARD}),
            lambda t: t.mcp({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "n", "arguments": {"text": CARD}}}),
            lambda t: t.memory_store([CARD]),
        ]
        for ask in asks:
            with relay(lost=2) as url, contextlib.closing(guardian(url=url)) as line:
                with line.session().turn() as turn:
                    first = ask(turn)
                    after = turn.user_message("and then")
            self.assertEqual((first.decision, first.repeat), ("modify", True))
            self.assertEqual(after.repeat, False)
            log, index = first.decision_id.split("-")
            self.assertEqual(after.decision_id, f"{log}-{int(index) + 1}")  # one record, not three

    def test_sessions_go_on_elsewhere(self) -> None:
        one, two = guardian(), guardian()
        self.addCleanup(one.close)
        self.addCleanup(two.close)
        with one.session(user={"id": "ada", "name": "Ada"}, metadata={"n": 1}) as session, session.turn() as turn:
            call = turn.tool_call_request("note", {}).execution_id
        with two.session(user="ada", id=session.id, metadata={"n": 1}).turn() as turn:
            self.assertEqual(turn.tool_call_result(call, "late").decision, "allow")


class Approvals(unittest.TestCase):
    def setUp(self) -> None:
        self.guardian = guardian()
        self.addCleanup(self.guardian.close)

    def test_pending(self) -> None:
        with self.guardian.session().turn() as turn, self.assertRaises(Denied) as caught:
            turn.tool_call_request("transfer", {"amount": 250})
        denied = caught.exception
        self.assertTrue(denied.pending)
        assert denied.approval
        self.assertEqual((denied.approval.state, denied.reasons), ("held", ["approval_required", "transfer"]))

    def asked(self, person: Callable[[], None], ask: Callable[[], Any]) -> Any:
        thread = threading.Thread(target=person)
        thread.start()
        try:
            return ask()
        finally:
            thread.join()

    def held(self, turn: Turn) -> str:
        with self.assertRaises(Denied) as caught:
            turn.tool_call_request("transfer", {"amount": 250})
        assert caught.exception.approval
        return caught.exception.approval.id

    def test_waited_for(self) -> None:
        patient = guardian(wait_for_approval=60)
        self.addCleanup(patient.close)
        done = []

        @patient.guarded
        def transfer(amount: int) -> str:
            done.append(amount)
            return "sent"

        @patient.guarded(name="transfer")
        async def later(amount: int) -> str:
            return transfer.__wrapped__(amount)  # type: ignore[attr-defined,no-any-return]

        with patient.session() as session, session.turn() as turn:
            with self.guardian.session(id=session.id).turn() as other:
                approval = self.held(other)  # the same act, so the same approval
            self.assertEqual(self.asked(lambda: answer_approval(approval, "approve"), lambda: transfer(250)), "sent")
            with self.guardian.session(id=session.id).turn() as other:
                approval = self.held(other)  # it was used: the next needs another
            self.assertEqual(self.asked(lambda: answer_approval(approval, "approve"), lambda: asyncio.run(later(250))), "sent")
            with self.guardian.session(id=session.id).turn() as other:
                approval = self.held(other)
            with self.assertRaises(Denied) as caught:
                self.asked(lambda: answer_approval(approval, "deny"), lambda: transfer(250))
        self.assertFalse(caught.exception.pending)
        self.assertEqual(done, [250, 250])

    def test_not_for_ever(self) -> None:
        began = time.monotonic()
        impatient = guardian(wait_for_approval=0.6)
        self.addCleanup(impatient.close)
        with impatient.session().turn() as turn, self.assertRaises(Denied) as caught:
            turn.tool_call_request("transfer", {"amount": 1})
        self.assertTrue(caught.exception.pending)
        self.assertGreater(time.monotonic() - began, 0.6)


class Names(unittest.TestCase):
    def test_documentation(self) -> None:
        for name in ("agent_message", "agent_trigger", "a2a", "tool_call_result"):
            for turn in (Turn, AsyncTurn):
                self.assertEqual(getattr(turn, name).__name__, name)
                self.assertIn("(4.", getattr(turn, name).__doc__)

    def test_refused_settings(self) -> None:
        refused: "list[dict[str, Any]]" = [
            {"agent": {}}, {"url": "ftp://a"}, {"url": "http://user:secret@a"}, {"url": "http:///aos"}, {"key": "a\r\nb: c"},
            {"key": "é"}, {"timeout": 0}, {"on_unreachable": "maybe"}, {"url": "http://a\r\nb: c/"}, {"url": "http://a b/"},
            {"url": ""}, {"agent": ""}, {"agent": {"id": ""}}, {"agent": {"id": "", "name": "Clerk"}}, {"retries": -1}, {"retries": 0.5},
        ]
        for settings in refused:
            with self.subTest(settings), self.assertRaises(ValueError):
                guardian(**settings)

    def test_empty_ids(self) -> None:
        session = guardian(url="http://127.0.0.1:1/", retries=0).session()
        turn = session.turn()
        ids: "list[Callable[[], Any]]" = [
            lambda: session.guardian.session(id=""), lambda: session.turn(""), lambda: turn.user_message("a", id=""),
            lambda: turn.agent_trigger("email", "a", id=""), lambda: turn.tool_call_request("t", {}, execution_id=""),
        ]
        for each in ids:
            with self.assertRaisesRegex(ValueError, "id is empty"):
                each()

    def test_key_is_hidden(self) -> None:
        own = guardian(key="sk-very-secret", url="http://127.0.0.1:1/aos?token=very-secret", retries=0)
        with self.assertRaises(Unreachable) as caught:
            own.ping()
        shown = [repr(own), repr(caught.exception), repr(vars(own)), repr(vars(own._wire._key))]
        self.assertNotIn("very-secret", "".join(shown))

    def test_agent_is_completed(self) -> None:
        agent = guardian(agent="helper").agent
        self.assertEqual(agent, {"id": "helper", "name": "helper", "instructions": "", "version": "0", "provider": {"name": "", "url": ""}})
        with guardian(agent="helper").session(user="ada").turn() as turn:
            self.assertIsInstance(turn.user_message("hello"), Verdict)
        self.assertEqual(guardian().agent, AGENT)


if __name__ == "__main__":
    unittest.main()
