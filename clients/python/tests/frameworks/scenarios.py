"""What every adapter has to do, whatever the framework: one table, run on the real framework by the code
of its page in docs/frameworks, with a model that follows a script."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import inspect
import json
import pathlib
import re
import threading
import time
import unittest
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from reeve_aos import Guardian, NotAllowed

from ..support import CARD, URL, Peer, answer_approval, guardian, server

PAGES = pathlib.Path(__file__).parents[4] / "docs" / "frameworks"
BACKWARDS = CARD[::-1]  # which the node does not know again in a tool's inputs

Call = Tuple[str, Dict[str, Any]]


class Script:
    """A model: it makes these calls, one list after the other, and then says this."""

    def __init__(self, *steps: List[Call], says: str = "That is all.") -> None:
        self._steps: List[Union[List[Call], str]] = [*steps, says]
        self.seen: List[str] = []
        """What the model was given to read, each time that it was asked."""

    def next(self, prompt: Any) -> Union[List[Call], str]:
        self.seen.append(prompt if isinstance(prompt, str) else json.dumps(prompt, default=str, ensure_ascii=False))
        return self._steps[min(len(self.seen), len(self._steps)) - 1]

    def calls(self, prompt: Any) -> Tuple[List[Tuple[str, str, Dict[str, Any]]], str]:
        """The next calls, each with an id, and the text that is said without any."""
        step = self.next(prompt)
        if isinstance(step, str):
            return [], step
        return [(f"call_{uuid.uuid4().hex[:8]}", name, arguments) for name, arguments in step], ""


class Line:
    """The line to the real node, which can break: it tells of what passes, and dies as it is told."""

    def __init__(self) -> None:
        self.asked: List[Any] = []
        self.fault: Callable[[Any], Optional[str]] = lambda request: None
        """Of a request: None lets it pass, "lost" drops it before the node hears it, "cut" its answer; else that is the answer."""
        host, port = URL.split("//")[1].rstrip("/").split(":")

        def serve(peer: Peer, number: int) -> None:
            while True:
                request = peer.request()
                if request is None:
                    return
                asked = json.loads(request[1])
                fault = self.fault(asked)
                self.asked.append(asked)
                if fault == "lost":
                    return
                if fault not in (None, "cut"):
                    peer.answer(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": fault}}).encode())
                    continue
                with contextlib.closing(http.client.HTTPConnection(host, int(port))) as node:
                    node.request("POST", "/aos", request[1], {"Content-Type": "application/json"})
                    answer = node.getresponse().read()
                if fault == "cut":
                    return
                peer.answer(answer)

        self._serve = serve

    @contextlib.contextmanager
    def open(self) -> Iterator[str]:
        with server(self._serve) as url:
            yield url

    def steps(self, *methods: str) -> List[Any]:
        return [asked["params"] for asked in self.asked if asked["method"].rsplit("/", 1)[-1] in methods]


def code(page: str, number: int = 0) -> Dict[str, Any]:
    """The names that a snippet of a page defines."""
    snippets = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    names: Dict[str, Any] = {"__name__": page}
    exec(compile(snippets[number], f"{page}[{number}]", "exec"), names)
    return names


def finished(answer: Any) -> Any:
    """What a page's code answers, awaited if it is to be."""
    if not inspect.isawaitable(answer):
        return answer

    async def awaited() -> Any:
        return await answer

    return asyncio.run(awaited())


class Framework(unittest.TestCase):
    """How a framework's models and tools are made, and which page is run: its first snippet defines
    answer(question, model, tools)."""

    page: str
    tells_messages = True  # the framework lets one change what the user and the agent say
    parallel = True  # the framework runs the calls of one answer side by side
    errors_are_results = False  # the framework makes a text of a tool's exception before anybody else sees it
    ends = True  # what is not allowed for want of a guardian ends the run

    def model(self, script: Script) -> Any:
        raise NotImplementedError

    def tool(self, function: Callable[..., Any]) -> Any:
        return function

    def setUp(self) -> None:
        self.ran: List[Any] = []
        self.line = Line()
        self.url = self.enterContext(self.line.open())
        self.guardian: Guardian = guardian(url=self.url)
        self.addCleanup(lambda: self.guardian.close())

    def tools(self) -> List[Any]:
        ran = self.ran

        def note(text: str) -> str:
            """Notes a text."""
            ran.append(("note", text))
            return f"noted {text}"

        def wipe_disk(path: str) -> str:
            """Wipes a disk."""
            ran.append(("wipe_disk", path))
            return "wiped"

        def write_file(path: str) -> str:
            """Writes a file."""
            ran.append(("write_file", path))
            return f"wrote {path}"

        def turned(text: str) -> str:
            """Turns a text around."""
            ran.append(("turned", text))
            return text[::-1]

        def transfer(amount: int) -> str:
            """Transfers money."""
            ran.append(("transfer", amount))
            return f"sent {amount}"

        def breaks(text: str) -> str:
            """Always breaks."""
            ran.append(("breaks", text))
            raise ValueError(text[::-1])

        return [self.tool(function) for function in (note, wipe_disk, write_file, turned, transfer, breaks)]

    def ask(self, script: Script, question: str = "Do what is to be done.") -> str:
        """Runs the page's code."""
        names = code(self.page)
        names["guardian"] = self.guardian
        return str(finished(names["answer"](question, self.model(script), self.tools())))

    def use(self, **settings: Any) -> None:
        self.guardian.close()
        self.guardian = guardian(url=self.url, **settings)


class Scenarios(Framework):
    """The table."""

    def test_allowed(self) -> None:
        script = Script([("note", {"text": "hello"})])
        self.assertIn("That is all.", self.ask(script))
        self.assertEqual(self.ran, [("note", "hello")])
        self.assertIn("noted hello", script.seen[-1])
        contexts = [step["context"] for step in self.line.steps("toolCallRequest", "toolCallResult")]
        self.assertEqual(len(contexts), 2)
        self.assertEqual({context["agent"]["id"] for context in contexts}, {"clerk"})
        self.assertEqual(len({(context["session"]["id"], context["turnId"]) for context in contexts}), 1)

    def test_denied(self) -> None:
        script = Script([("wipe_disk", {"path": "old"})])
        self.ask(script)
        self.assertEqual(self.ran, [])
        self.assertIn("Nothing is wiped here. Instead: Move it to the archive.", script.seen[-1])

    def test_arguments_changed(self) -> None:
        script = Script([("write_file", {"path": "/srv/passwd"})])
        self.ask(script)
        self.assertEqual(self.ran, [("write_file", "/workspace/file")])
        self.assertIn("wrote /workspace/file", script.seen[-1])

    def test_result_changed(self) -> None:
        script = Script([("turned", {"text": f"it is {CARD}"[::-1]})])
        self.ask(script)
        self.assertEqual(len(self.ran), 1)
        self.assertIn("it is ****", script.seen[-1])
        self.assertNotIn(CARD, script.seen[-1])

    def test_result_denied(self) -> None:
        script = Script([("turned", {"text": "egap neddibrof a"})])
        self.ask(script)
        self.assertEqual(len(self.ran), 1)
        self.assertIn("This is forbidden.", script.seen[-1])
        self.assertNotIn("a forbidden page", script.seen[-1])

    def test_error_changed(self) -> None:
        """What a tool says when it fails is judged, too."""
        script = Script([("breaks", {"text": BACKWARDS})])
        with contextlib.suppress(Exception):
            self.ask(script)
        self.assertTrue(self.ran)  # some frameworks try again by themselves
        self.assertNotIn(CARD, "".join(script.seen))
        self.assertEqual([step["result"]["isError"] for step in self.line.steps("toolCallResult")], [not self.errors_are_results])

    def test_pending(self) -> None:
        script = Script([("transfer", {"amount": 7})])
        self.ask(script)
        self.assertEqual(self.ran, [])
        self.assertIn("second pair of eyes", script.seen[-1])

    def test_approved(self) -> None:
        """It waits until a person has agreed."""
        self.use(wait_for_approval=60.0)
        script = Script([("transfer", {"amount": 8})])
        failed: List[BaseException] = []

        def approve() -> None:
            """Asks the node what is held, as another would, and agrees."""
            try:
                until = time.monotonic() + 50
                while not self.line.steps("toolCallRequest"):
                    assert time.monotonic() < until, "nothing was asked"
                    time.sleep(0.05)
                asked = next(a for a in self.line.asked if a["method"] == "steps/toolCallRequest")
                held = self.held(asked)
                self.assertEqual(self.ran, [])
                answer_approval(held, "approve")
            except BaseException as error:
                failed.append(error)

        person = threading.Thread(target=approve)
        person.start()
        self.ask(script)
        person.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.ran, [("transfer", 8)])
        self.assertIn("sent 8", script.seen[-1])

    def held(self, asked: Any) -> str:
        """The id of the approval that a question waits for: it is asked again, as a repeat."""
        host, port = URL.split("//")[1].rstrip("/").split(":")
        with contextlib.closing(http.client.HTTPConnection(host, int(port))) as node:
            node.request("POST", "/aos", json.dumps(asked), {"Content-Type": "application/json"})
            answer = json.loads(node.getresponse().read())
        return str(answer["result"]["data"]["approval"]["id"])

    def ends_for_want_of_a_guardian(self, script: Script) -> None:
        began = time.monotonic()
        try:
            self.ask(script)
        except BaseException as error:
            chain: List[BaseException] = []
            end: Optional[BaseException] = error
            while end is not None and end not in chain:
                chain.append(end)
                end = end.__cause__ or end.__context__
            self.assertTrue(any(isinstance(one, NotAllowed) or "guardian" in str(one) for one in chain), repr(error))
        else:
            self.assertFalse(self.ends, "the run went on")
        self.assertLess(time.monotonic() - began, 30)

    def test_killed_before(self) -> None:
        """Nobody is there: nothing runs, whichever question is the first."""
        for method in ("steps/", "steps/toolCallRequest"):
            with self.subTest(method):
                self.use(retries=0, timeout=5.0)
                self.line.fault = lambda asked: "lost" if asked["method"].startswith(method) else None
                self.ends_for_want_of_a_guardian(Script([("note", {"text": "hello"})]))
                self.assertEqual(self.ran, [])

    def test_killed_during(self) -> None:
        """The node hears the question, and dies before it has answered."""
        self.use(retries=0, timeout=5.0)
        self.line.fault = lambda asked: "cut" if asked["method"] == "steps/toolCallRequest" else None
        self.ends_for_want_of_a_guardian(Script([("note", {"text": "hello"})]))
        self.assertEqual(self.ran, [])

    def test_killed_after(self) -> None:
        """The tool has run, and its result cannot be reported: the model does not read it."""
        for fault in ("lost", "cut"):
            with self.subTest(fault):
                self.ran.clear()
                self.use(retries=0, timeout=5.0)
                self.line.fault = lambda asked: fault if asked["method"] == "steps/toolCallResult" else None
                script = Script([("turned", {"text": "olleh"})])
                self.ends_for_want_of_a_guardian(script)
                self.assertEqual(self.ran, [("turned", "olleh")])
                self.assertNotIn("hello", "".join(script.seen))

    def test_error_answered(self) -> None:
        self.use(retries=0)
        self.line.fault = lambda asked: "Internal error" if asked["method"] == "steps/toolCallRequest" else None
        self.ends_for_want_of_a_guardian(Script([("note", {"text": "hello"})]))
        self.assertEqual(self.ran, [])

    def test_side_by_side(self) -> None:
        """Of two calls in one answer each has its own verdict."""
        if not self.parallel:
            return
        script = Script([("note", {"text": "one"}), ("wipe_disk", {"path": "old"})])
        self.ask(script)
        self.assertEqual(self.ran, [("note", "one")])
        self.assertIn("noted one", script.seen[-1])
        self.assertIn("Nothing is wiped here.", script.seen[-1])

    def test_messages(self) -> None:
        script = Script(says=f"Your card is {CARD}.")
        said = self.ask(script, f"My card is {CARD}.")
        roles = [step["message"]["role"] for step in self.line.steps("message")]
        if not self.tells_messages:
            self.assertEqual(roles, [])
            return
        self.assertEqual(roles, ["user", "agent"])
        self.assertIn("My card is ****.", script.seen[0])
        self.assertNotIn(CARD, "".join(script.seen) + said)
        self.assertIn("Your card is ****.", said)

    def test_message_denied(self) -> None:
        """A message that is denied reaches neither the model nor the user."""
        if not self.tells_messages:
            return
        script = Script()
        with contextlib.suppress(Exception):
            self.ask(script, "Something forbidden.")
        self.assertEqual(script.seen, [])
        with contextlib.suppress(Exception):
            self.assertNotIn("forbidden page", self.ask(Script(says="A forbidden page.")))

    def test_turn_of_the_program(self) -> None:
        """In a turn that the program opened everything belongs to it, and its messages are not told twice."""
        with self.guardian.session(user="ada") as session, session.turn() as turn:
            self.ask(Script([("note", {"text": "hello"})]))
        self.assertEqual(
            [(asked["method"], asked["params"]["context"]["session"]["id"], asked["params"]["context"]["turnId"]) for asked in self.line.asked],
            [("steps/toolCallRequest", session.id, turn.id), ("steps/toolCallResult", session.id, turn.id)])
