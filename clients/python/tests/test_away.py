"""The guardian is away, slow, or none at all: nothing happens that was not chosen."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import json
import logging
import os
import socket
import ssl
import time
import unittest
import warnings
from typing import Any, Callable, List, Literal

import reeve_aos
from reeve_aos import AsyncTurn, Denied, Guardian, GuardianError, NotAllowed, Step, Unreachable

from .support import CARD, Peer, guardian, server

Requests = List[Any]


def nowhere() -> str:
    """A URL where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/aos"


def verdict(id: Any, **more: Any) -> bytes:
    result = {"decision": "allow", "message": "Fine.", "reasonCode": [], "data": {"decision_id": "0-1"}, **more}
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()


def answering(answer: Callable[[Peer, Any, int], None], seen: Requests) -> Callable[[Peer, int], None]:
    """Serves requests with a function that is given the request and its number, over all connections."""

    def serve(peer: Peer, _: int) -> None:
        while True:
            request = peer.request()
            if request is None:
                return
            seen.append(request)
            answer(peer, json.loads(request[1]), len(seen))

    return serve


class Away(unittest.TestCase):
    def ask(self, guardian: Guardian) -> Any:
        with contextlib.closing(guardian), guardian.session().turn() as turn:
            return turn.user_message("hello")

    def test_down(self) -> None:
        began = time.monotonic()
        with self.assertRaisesRegex(Unreachable, "cannot be reached") as caught:
            self.ask(guardian(url=nowhere(), key="sk-secret"))
        self.assertIsInstance(caught.exception, NotAllowed)
        self.assertNotIn("sk-secret", repr(caught.exception))
        self.assertLess(time.monotonic() - began, 15)

        async def main() -> None:
            async with guardian(url=nowhere(), retries=0).session() as session, session.turn() as turn:
                with self.assertRaises(Unreachable):
                    await turn.user_message("hello")

        asyncio.run(main())

    def test_allow(self) -> None:
        away = guardian(url=nowhere(), retries=0, on_unreachable="allow")
        ran: List[str] = []

        @away.guarded
        def tool(text: str) -> str:
            ran.append(text)
            return text

        with self.assertLogs("reeve_aos", logging.WARNING) as logs, away.session().turn() as turn:
            answer = turn.user_message("hello")
            self.assertEqual((answer.decision, answer.content, answer.raw, answer.reasons), ("allow", "hello", {}, []))
            self.assertIsInstance(answer.unreachable, Unreachable)
            self.assertEqual(tool("x"), "x")
        self.assertEqual(len(logs.records), 1)
        self.assertIn("goes on unguarded", logs.output[0])

    def test_decided(self) -> None:
        asked: List[str] = []

        def reads_only(step: Step[Any], error: Unreachable) -> Literal["allow", "deny"]:
            asked.append(step.method)
            fine = step.method == "steps/toolCallResult" or step.params["toolCallRequest"]["toolId"] == "read"
            return "allow" if fine else "deny"

        away = guardian(url=nowhere(), retries=0, on_unreachable=reads_only)
        with away.session().turn() as turn:
            with self.assertLogs("reeve_aos", logging.WARNING):
                self.assertEqual(turn.guarded(lambda: 1, name="read")(), 1)
            with self.assertRaises(Unreachable):
                turn.guarded(lambda: 1, name="write")()
        self.assertEqual(asked, ["steps/toolCallRequest", "steps/toolCallResult", "steps/toolCallRequest"])
        for answer in (True, "yes", None):  # only "allow" lets pass
            with self.assertRaises(Unreachable):
                self.ask(guardian(url=nowhere(), retries=0, on_unreachable=lambda step, error: answer))

    def test_slow_is_not_away(self) -> None:
        """Else whatever is hard to judge, or what a node holds for a person, would pass."""

        def answer(peer: Peer, request: Any, number: int) -> None:
            if request["method"] == "ping":
                peer.answer(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"status": "connected"}}).encode())
            elif "gateway" in request["params"]["message"]["content"][0]["text"]:
                peer.answer(b"", "504 Gateway Timeout")
            else:
                peer.file.read()

        async def awaited(slow: Guardian) -> None:
            with self.assertRaises(Unreachable):
                await AsyncTurn(slow.session().turn()).user_message("hello")

        with server(answering(answer, [])) as url:
            slow = guardian(url=url, timeout=2, retries=0, on_unreachable="allow")
            with self.assertRaises(Unreachable) as caught:
                slow.session().turn().user_message("a gateway")
            self.assertEqual(caught.exception.method, "steps/message")
            asyncio.run(awaited(slow))
            slow.close()

    def test_slow(self) -> None:
        def silent(peer: Peer, number: int) -> None:
            peer.request()
            peer.file.read()

        def drips(head: bool) -> Callable[[Peer, int], None]:
            def serve(peer: Peer, number: int) -> None:
                peer.request()
                peer.socket.sendall(b"HTTP/1.1 200 OK\r\n" + (b"" if head else b"Content-Length: 9999\r\n\r\n"))
                while True:
                    peer.socket.sendall(b"X-A: b\r\n" if head else b" ")
                    time.sleep(0.05)

            return serve

        for name, serve in (("silent", silent), ("a slow head", drips(True)), ("a slow body", drips(False))):
            with self.subTest(name), server(serve) as url:
                began = time.monotonic()
                with self.assertRaisesRegex(Unreachable, "no answer within the time limit"):
                    self.ask(guardian(url=url, timeout=0.5))
                self.assertLess(time.monotonic() - began, 20)

    def test_slow_to_read(self) -> None:
        def serve(peer: Peer, number: int) -> None:
            peer.file.readline()
            time.sleep(30)

        with server(serve) as url, self.assertRaisesRegex(Unreachable, "time limit"):
            with guardian(url=url, timeout=0.5).session().turn() as turn:
                turn.user_message("x" * (64 << 20))

    def test_cancelled_while_asking(self) -> None:
        """The task ends at once, and the tool is not run."""

        def silent(peer: Peer, number: int) -> None:
            peer.request()
            peer.file.read()

        ran = []

        async def main(url: str) -> None:
            slow = guardian(url=url, timeout=60, retries=0)

            @slow.guarded
            async def tool() -> None:
                ran.append(1)

            async with slow.session() as session, session.turn():
                began = time.monotonic()
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(tool(), 0.2)
                self.assertLess(time.monotonic() - began, 20)

        with server(silent) as url:
            loop = asyncio.new_event_loop()
            loop.run_until_complete(main(url))
            loop.close()
        self.assertEqual(ran, [])

    def test_no_verdict(self) -> None:
        ok: "dict[str, Any]" = {"jsonrpc": "2.0", "id": "ID", "result": {"decision": "allow", "message": ""}}
        request = {"jsonrpc": "2.0", "id": "ID", "method": "steps/message", "params": {"message": {"content": [{"kind": "text", "text": "changed"}]}}}
        result = ok["result"]
        bad: "dict[str, Any]" = {
            "nothing": b"", "no JSON": b"<html>", "not UTF-8": b'"\xff"', "no object": b"[]", "a batch": [ok],
            "another id": {**ok, "id": "other"}, "no id": {"jsonrpc": "2.0", "result": result}, "a null id": {**ok, "id": None},
            "another version": {**ok, "jsonrpc": "1.0"}, "no result": {"jsonrpc": "2.0", "id": "ID"},
            "result and error": {**ok, "error": {"code": 1, "message": ""}}, "a null error": {**ok, "error": None},
            "a bool for a code": {"jsonrpc": "2.0", "id": "ID", "error": {"code": True, "message": ""}},
            "a member twice": b'{"jsonrpc":"2.0","id":"ID","result":{"decision":"deny","decision":"allow","message":""}}',
            "an id twice": b'{"jsonrpc":"2.0","id":"ID","id":"ID","result":{"decision":"allow","message":""}}',
            "trailing": json.dumps(ok).encode() + b"{}", "NaN": json.dumps({**ok, "x": float("nan")}).encode(),
            "too deep": b"[" * 200_000, "too many digits": b'{"x":' + b"9" * 100_000 + b"}",
            "no decision": {**ok, "result": {"message": ""}}, "another decision": {**ok, "result": {"decision": "ALLOW", "message": ""}},
            "a list for a decision": {**ok, "result": {"decision": ["allow"], "message": ""}},
            "allow and modified": {**ok, "result": {**result, "modifiedRequest": request}},
            "modify alone": {**ok, "result": {**result, "decision": "modify"}},
            "a number for codes": {**ok, "result": {**result, "reasonCode": 1}}, "numbers as codes": {**ok, "result": {**result, "reasonCode": [1]}},
            "a list for data": {**ok, "result": {**result, "data": []}}, "no approval": {**ok, "result": {**result, "data": {"approval": 1}}},
            "no message": {**ok, "result": {"decision": "allow"}}, "a number for a message": {**ok, "result": {**result, "message": 1}},
        }
        changes: "dict[str, dict[str, Any]]" = {
            "of another method": {"method": "steps/memoryStore"}, "of another id": {"id": "other"}, "without params": {"params": None},
            "with a part more": {"params": {"message": {"content": [{"kind": "text", "text": "a"}] * 2}}},
            "without parts": {"params": {"message": {"content": []}}},
            "with another kind": {"params": {"message": {"content": [{"kind": "data", "text": "a"}]}}},
            "without a text": {"params": {"message": {"content": [{"kind": "text", "text": None}]}}},
        }
        for name, change in changes.items():
            bad["modified " + name] = {**ok, "result": {**result, "decision": "modify", "modifiedRequest": {**request, **change}}}
        good = {"allowed": ok, "modified": {**ok, "result": {**result, "decision": "modify", "modifiedRequest": request}}}
        current: List[Any] = []

        def answer(peer: Peer, request: Any, number: int) -> None:
            body = current[0] if isinstance(current[0], bytes) else json.dumps(current[0]).encode()
            peer.answer(body.replace(b"ID", request["id"].encode()))

        seen: Requests = []
        with server(answering(answer, seen)) as url, contextlib.closing(guardian(url=url, on_unreachable="allow")) as none:
            with none.session().turn() as turn:
                for name, answered in bad.items():
                    current[:] = [answered]
                    with self.subTest(name), self.assertRaises(GuardianError) as caught:
                        turn.user_message("hello")
                    self.assertLess(len(str(caught.exception)), 400)
                self.assertEqual(len(seen), len(bad))  # what is wrong is not asked for again
                for name, answered in good.items():
                    current[:] = [answered]
                    self.assertEqual(turn.user_message("hello").content, "hello" if name == "allowed" else "changed")

    def test_modified_calls(self) -> None:
        """A call has the inputs that were asked about, by name and in their order, or is not made."""
        inputs: List[Any] = []
        others: "List[dict[str, Any]]" = [{}]

        def answer(peer: Peer, request: Any, number: int) -> None:
            request["params"]["toolCallRequest"].update({"inputs": inputs[0], **others[0]})
            peer.answer(verdict(request["id"], decision="modify", modifiedRequest=request))

        with server(answering(answer, [])) as url, contextlib.closing(guardian(url=url)) as none, none.session().turn() as turn:
            inputs[:] = [[{"name": "a", "value": 9}, {"name": "b", "value": [1]}]]
            self.assertEqual(turn.tool_call_request("t", {"a": 1, "b": 2}).content, {"a": 9, "b": [1]})
            for changed in ([], [{"name": "a", "value": 1}], [{"name": "b", "value": 1}, {"name": "a", "value": 1}],
                            [{"name": "a", "value": 1}, {"name": "b"}], {"a": 1, "b": 2}, [{"name": "a", "value": 1}] * 2):
                inputs[:] = [changed]
                with self.subTest(changed), self.assertRaises(GuardianError):
                    turn.tool_call_request("t", {"a": 1, "b": 2})
            inputs[:] = [[{"name": "a", "value": 9}]]
            for other in ({"toolId": "u"}, {"executionId": "y"}):
                others[:] = [other]
                with self.subTest(other), self.assertRaises(GuardianError):
                    turn.tool_call_request("t", {"a": 1}, execution_id="x")

    def test_modified_steps(self) -> None:
        """A part stays of its kind, a result that of its call, a document has its id, a protocol's message too."""
        changes: List[Any] = []

        def answer(peer: Peer, request: Any, number: int) -> None:
            request["params"].update(changes[0])
            peer.answer(verdict(request["id"], decision="modify", modifiedRequest=request))

        wrong: "dict[str, tuple[Any, Callable[[Any], Any]]]" = {
            "a part": ({"message": {"content": [{"kind": "data", "text": "a"}]}}, lambda t: t.user_message([{"kind": "text", "text": "a"}])),
            "a result": ({"executionId": "y"}, lambda t: t.tool_call_result("x", "a")),
            "a document": ({"knowledgeStep": {"results": [{"content": "c"}]}}, lambda t: t.knowledge_retrieval([{"id": "d", "content": "c"}])),
            "a message": ({"message": {"jsonrpc": "2.0", "id": 2}}, lambda t: t.mcp({"jsonrpc": "2.0", "id": 1})),
        }
        with server(answering(answer, [])) as url, contextlib.closing(guardian(url=url)) as none, none.session().turn() as turn:
            for name, (change, ask) in wrong.items():
                changes[:] = [change]
                with self.subTest(name), self.assertRaisesRegex(GuardianError, "not a verdict"):
                    ask(turn)

    def test_http(self) -> None:
        error = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": "Internal error", "data": {"reason": "Too often."}}}).encode()
        answers = {
            "a redirect": (b"", "307 Temporary Redirect", "Location: http://127.0.0.1:1/"),
            "not found": (b"no", "404 Not Found"), "forbidden": (error, "403 Forbidden"), "created": (b"{}", "201 Created"),
            "too often": (error, "429 Too Many Requests", "Retry-After: 3600"), "busy": (error, "503 Service Unavailable", "Retry-After: 3600"),
            "broken": (b"", "500 Internal Server Error", "Retry-After: 3600"),
        }
        for name, answer in answers.items():
            seen: Requests = []
            with self.subTest(name), server(answering(lambda peer, *_: peer.answer(*answer), seen)) as url:
                with self.assertRaises(GuardianError) as caught:
                    self.ask(guardian(url=url, on_unreachable="allow"))
                self.assertEqual(caught.exception.status, int(answer[1][:3]))
                self.assertEqual("redirect" in str(caught.exception), name == "a redirect")
                self.assertEqual(len(seen), 1)
        with server(answering(lambda peer, *_: peer.answer(b"gateway", "502 Bad Gateway"), [])) as url, self.assertRaises(Unreachable):
            self.ask(guardian(url=url))

    def test_again(self) -> None:
        """What may pass by itself is asked again, in the very same bytes."""
        busy = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": "Internal error"}}).encode()

        def cut(peer: Peer) -> None:
            peer.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
            peer.socket.shutdown(socket.SHUT_RDWR)

        def chunks(peer: Peer) -> None:
            peer.socket.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\r\n")
            peer.socket.shutdown(socket.SHUT_RDWR)

        failures: "dict[str, Callable[[Peer], None]]" = {
            "too often": lambda peer: peer.answer(busy, "429 Too Many Requests", "Retry-After: 0"),
            "busy": lambda peer: peer.answer(busy, "503 Service Unavailable"),
            "broken": lambda peer: peer.answer(b"oops", "500 Internal Server Error"),
            "not recorded": lambda peer: peer.answer(busy),
            "closed": lambda peer: peer.socket.shutdown(socket.SHUT_RDWR),
            "cut off": cut, "cut off in chunks": chunks,
        }
        for name, fail in failures.items():
            seen: Requests = []

            def answer(peer: Peer, request: Any, number: int) -> None:
                fail(peer) if number <= 2 else peer.answer(verdict(request["id"]))

            with self.subTest(name), server(answering(answer, seen)) as url:
                self.assertEqual(self.ask(guardian(url=url)).decision, "allow")
                self.assertEqual([body for _, body in seen], [seen[0][1]] * 3)
        seen = []
        with server(answering(lambda peer, *_: peer.answer(busy), seen)) as url, self.assertRaises(GuardianError):
            self.ask(guardian(url=url))
        self.assertEqual(len(seen), 3)
        for name, fail in failures.items():
            seen = []
            with self.subTest(name), server(answering(lambda peer, *_: fail(peer), seen)) as url:
                with self.assertRaises(NotAllowed):
                    self.ask(guardian(url=url, retries=0))
                self.assertEqual(len(seen), 1)

    def test_retry_after_is_kept(self) -> None:
        times: List[float] = []

        def answer(peer: Peer, request: Any, number: int) -> None:
            times.append(time.monotonic())
            peer.answer(b"", "503 Service Unavailable", "Retry-After: 1") if number == 1 else peer.answer(verdict(request["id"]))

        with server(answering(answer, [])) as url:
            self.ask(guardian(url=url))
        self.assertGreaterEqual(times[1] - times[0], 1.0)
        now = time.time()
        for written, least, most in (
            ("7", 7, 7), (email.utils.formatdate(now + 1000, usegmt=True), 500, 1000), (email.utils.formatdate(now - 1000), 0, 0),
            ("", 0, 0), ("soon", 0, 0), ("-1", 0, 0), ("9" * 10, 0, 0),
        ):
            with self.subTest(written):
                self.assertTrue(least <= reeve_aos._wait(written) <= most)

    def test_the_key_in_an_error(self) -> None:
        def answer(peer: Peer, request: Any, number: int) -> None:
            error = {"code": -32000, "message": "no", "data": {"reason": "sk-echo is wrong"}}
            peer.answer(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())

        with server(answering(answer, [])) as url, self.assertRaisesRegex(GuardianError, "error -32000: .*the key in it") as caught:
            self.ask(guardian(url=url, key="sk-echo"))
        self.assertNotIn("sk-echo", f"{caught.exception}{caught.exception!r}{caught.exception.data}")

    def test_huge(self) -> None:
        def huge(chunked: bool) -> Callable[[Peer, int], None]:
            def serve(peer: Peer, number: int) -> None:
                peer.request()
                block = b" " * (1 << 20)
                if chunked:
                    block = b"100000\r\n" + block + b"\r\n"
                peer.socket.sendall(b"HTTP/1.1 200 OK\r\n" + (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"Content-Length: 99999999999\r\n\r\n"))
                while True:
                    peer.socket.sendall(block)

            return serve

        for chunked in (False, True):
            with self.subTest(chunked=chunked), server(huge(chunked)) as url, self.assertRaisesRegex(GuardianError, "more than 16777216 bytes"):
                self.ask(guardian(url=url, on_unreachable="allow"))

    def test_no_http(self) -> None:
        for garbage in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000):
            def serve(peer: Peer, number: int) -> None:
                peer.request()
                peer.socket.sendall(garbage)
                peer.file.read()

            with self.subTest(garbage[:20]), server(serve) as url, self.assertRaisesRegex(GuardianError, "does not speak HTTP"):
                self.ask(guardian(url=url, on_unreachable="allow"))

    def test_no_tls(self) -> None:
        """A guardian that cannot prove who it is is not away: on_unreachable is not asked."""
        with server(lambda peer, _: peer.socket.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as url:
            with self.assertRaisesRegex(GuardianError, "cannot be trusted"):
                self.ask(guardian(url=url.replace("http:", "https:"), on_unreachable="allow", tls=ssl.create_default_context()))

    def test_tls(self) -> None:
        """The node by TLS: with its authority it is a guardian, and without it a stranger."""
        url, authority = os.environ["REEVE_TLS_URL"], os.environ["REEVE_TLS_AUTHORITY"]
        with contextlib.closing(guardian(url=url, tls=ssl.create_default_context(cafile=authority))) as known, known.session().turn() as turn:
            for _ in range(3):
                self.assertEqual(turn.user_message(f"pay {CARD}").content, "pay ****")
            self.assertEqual(asyncio.run(known.ping_async()).status, "connected")
            self.assertEqual(turn.user_message("x" * 1_000_000).content, "x" * 1_000_000)
        with self.assertRaisesRegex(GuardianError, "cannot be trusted"):
            self.ask(guardian(url=url, on_unreachable="allow"))

    def test_key_goes_to_the_guardian(self) -> None:
        seen: Requests = []
        with server(answering(lambda peer, request, _: peer.answer(verdict(request["id"])), seen)) as url:
            self.ask(guardian(url=url + "?a=b", key="sk-1"))
            self.ask(guardian(url=url))
        self.assertIn(b"\r\nAuthorization: Bearer sk-1\r\n", seen[0][0])
        self.assertTrue(seen[0][0].startswith(b"POST /aos?a=b HTTP/1.1\r\n"))
        self.assertNotIn(b"Authorization", seen[1][0])

    def test_connections_are_kept(self) -> None:
        connections: List[int] = []

        def serve(peer: Peer, number: int) -> None:
            connections.append(number)
            for _ in range(2):  # then it is closed, as an idle one may be at any time
                request = peer.request()
                if request is None:
                    return
                peer.answer(verdict(json.loads(request[1])["id"]))

        with server(serve) as url, contextlib.closing(guardian(url=url, retries=0)) as kept, kept.session().turn() as turn:
            for _ in range(6):
                turn.user_message("hello")
        self.assertEqual(len(connections), 3)

    def test_forked(self) -> None:
        """A child has connections of its own: no answer of one process reaches the other."""
        own = guardian()
        self.addCleanup(own.close)
        with own.session().turn() as turn:
            turn.user_message("hello")
            asyncio.run(own.ping_async())
            with warnings.catch_warnings():  # a fork beside threads is what is tried here
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                try:
                    asyncio.run(own.ping_async())
                    fine = all(turn.user_message(f"child {i}").content == f"child {i}" for i in range(20))
                    os._exit(0 if fine else 1)
                except BaseException:
                    os._exit(2)
            for i in range(20):
                self.assertEqual(turn.user_message(f"parent {i}").content, f"parent {i}")
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_held_and_then_away(self) -> None:
        """What is held stays held when the guardian goes away, even with on_unreachable="allow"."""
        held = {"decision": "deny", "data": {"approval": {"id": "a", "state": "held", "expires_at": ""}}}

        def answer(peer: Peer, request: Any, number: int) -> None:
            if number > 1:
                peer.socket.shutdown(socket.SHUT_RDWR)
            else:
                peer.answer(verdict(request["id"], **held))

        with server(answering(answer, [])) as url, self.assertRaises(Denied) as caught:
            self.ask(guardian(url=url, retries=0, on_unreachable="allow", wait_for_approval=0.7))
        self.assertTrue(caught.exception.pending)


class Copies(unittest.TestCase):
    def test_exceptions_travel(self) -> None:
        """Between processes, as exceptions of workers do."""
        import pickle

        with guardian().session().turn() as turn, self.assertRaises(Denied) as caught:
            turn.user_message("a forbidden thing")
        for error in (caught.exception, Unreachable("away"), GuardianError("no", -1, {"field": "/a", "reason": "b"}, 200)):
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again)), (type(error), str(error)))

    def test_version(self) -> None:
        self.assertRegex(reeve_aos.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
