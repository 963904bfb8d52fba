"""Guarded tools, against the real node."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import pathlib
import threading
import time
import traceback
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional

from reeve_aos import Denied, GuardianError, ToolFailed, Verdict

from .support import CARD, guardian


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Order:
    number: int
    note: str


class Guarded(unittest.TestCase):
    def setUp(self) -> None:
        self.guardian = guardian()
        self.addCleanup(self.guardian.close)
        self.turn = self.guardian.session(user="ada").turn()
        self.turn.__enter__()
        self.addCleanup(self.turn.__exit__)

    def test_allowed(self) -> None:
        @self.guardian.guarded
        def add(a: int, b: int = 2) -> int:
            """Adds."""
            return a + b

        self.assertEqual((add(1), add(b=3, a=1)), (3, 4))
        self.assertEqual((add.__name__, add.__doc__, str(inspect.signature(add))), ("add", "Adds.", "(a: 'int', b: 'int' = 2) -> 'int'"))
        with self.assertRaises(TypeError):
            add()  # type: ignore[call-arg]

    def test_denied_is_not_run(self) -> None:
        ran = []

        @self.guardian.guarded
        def wipe_disk(path: str = "/") -> None:
            ran.append(path)

        with self.assertRaises(Denied) as caught:
            wipe_disk()
        self.assertEqual(caught.exception.instead, ["Move it to the archive."])
        self.assertEqual(caught.exception.method, "steps/toolCallRequest")
        self.assertEqual(ran, [])

        @self.guardian.guarded
        def note(text: str = "a forbidden default") -> None:
            ran.append(text)

        with self.assertRaises(Denied):
            note()
        self.assertEqual(ran, [])

    def test_modified_inputs_are_what_runs(self) -> None:
        @self.guardian.guarded
        def write_file(path: str, lines: List[Any], *more: str, mode: Optional[Dict[str, Any]] = None, **extra: Any) -> Any:
            return [path, lines, more, mode, extra]

        kept = object()
        whole = write_file("/srv/passwd", ["a", {"b": CARD}], f"x {CARD}", "y", mode={"m": (1, CARD)}, card=CARD, n=1.5)
        self.assertEqual(whole, ["/workspace/file", ["a", {"b": "****"}], ("x ****", "y"), {"m": (1, "****")}, {"card": "****", "n": 1.5}])

        seen: List[Any] = []

        @self.guardian.guarded(leave_out=["context"])
        def look(text: str, order: Any, context: object) -> str:
            seen.extend([text, order, context])
            return "done"

        order = [Order(1, "plain"), pathlib.Path("/x"), (1, "y")]
        look(CARD, order, kept)
        self.assertEqual(seen[0], "****")
        self.assertEqual(seen[1], order)
        self.assertIs(seen[1][0], order[0])
        self.assertIs(seen[2], kept)

    def test_what_json_has_no_form_for(self) -> None:
        @self.guardian.guarded
        def keep(what: Any) -> Any:
            return what

        day = datetime.date(2026, 4, 2)
        own: Dict[str, Any] = {"a": [1]}
        kept = keep(own)
        own["a"].append(2)
        self.assertEqual(kept, {"a": [1]})  # what was judged, whatever becomes of the caller's
        for value in (day, datetime.datetime(2026, 4, 2, 8), decimal.Decimal("1.10"), uuid.uuid4(), pathlib.PurePosixPath("/x"), Color.RED,
                      Order(1, "x"), True, None):
            self.assertIs(keep(value), value)
        structures: List[Any] = [(1, (2, [])), {"a": [1.5]}, []]
        for copied in structures:
            self.assertEqual(repr(keep(copied)), repr(copied))
        for bad in (b"x", {1, 2}, object(), {1: 2}, float("inf"), [b"x"]):
            with self.subTest(bad), self.assertRaisesRegex(TypeError, "keep: the argument what .*JSON has no form for"):
                keep(bad)
        with self.assertRaisesRegex(GuardianError, "the guardian changed what, and a Order cannot be made"):
            keep(Order(1, CARD))

        @self.guardian.guarded
        def remind(day: Any) -> Any:
            return day

        self.assertEqual(remind(3), 7)
        self.assertEqual(remind({"any": "thing"}), 7)
        with self.assertRaisesRegex(GuardianError, "a date cannot be made"):
            remind(day)

        @self.guardian.guarded
        def both(a: int, /, **more: Any) -> None: ...

        with self.assertRaisesRegex(TypeError, "two arguments that are named a"):
            both(1, a=2)

    def test_result(self) -> None:
        @self.guardian.guarded
        def fetch(what: Any) -> Any:
            return {"text": f"it is {CARD}", "structure": {"card": CARD, "n": 1}, "plain": "as it is", "nothing": None}[what]

        self.assertEqual(fetch("text"), "it is ****")
        self.assertEqual(fetch("structure"), {"card": "****", "n": 1})
        self.assertEqual(fetch("plain"), "as it is")
        self.assertIsNone(fetch("nothing"))

        @self.guardian.guarded
        def account(whole: bool) -> Any:
            iban = "DE89370400440532013000"
            return {"iban": iban} if whole else iban

        # A notice in the place of the whole: as a string it is returned, and a dictionary it is not.
        self.assertRegex(account(False), r"^\[removed by policy: Accounts stay")
        with self.assertRaisesRegex(Denied, "Accounts stay where they are"):
            account(True)

        @self.guardian.guarded
        def trap() -> str:
            return "a forbidden page"

        with self.assertRaises(Denied) as caught:
            trap()
        self.assertEqual(caught.exception.method, "steps/toolCallResult")  # it has run
        self.assertNotIn("page", str(caught.exception))

        @self.guardian.guarded
        def stream() -> Any:
            yield 1

        stream = self.guardian.guarded(lambda: iter("ab"), name="stream")
        with self.assertRaisesRegex(TypeError, "what stream returned is a str_.*cannot be judged"):
            stream()

    def test_stream(self) -> None:
        """What the user reads was judged before, whatever the tokens are cut like."""
        text = f"It is green. My card is {CARD}, as you know. That is all"
        for size in (1, 3, 7, 1000):
            tokens = [text[i:i + size] for i in range(0, len(text), size)]
            for within in (0.0, 60.0):
                with self.subTest(size=size, within=within):
                    pieces = list(self.turn.stream(tokens, within=within))
                    self.assertEqual("".join(pieces), "It is green. My card is ****, as you know. That is all")
        self.assertEqual(list(self.turn.stream([])), [])
        self.assertEqual(next(self.turn.stream(iter(["It is green. ", "And"]))), "It is green. ")

        read: List[str] = []
        with self.assertRaises(Denied):
            for piece in self.turn.stream(["It is green. ", "This is forb", "idden. ", "So it is."]):
                read.append(piece)
        self.assertEqual(read, ["It is green. "])

        # What would be changed has been read in part: nothing follows.
        ask = self.turn.agent_message

        def changed(text: str) -> Verdict[str]:
            return dataclasses.replace(ask(text), content=text.replace("Tell nobody", "Tell"))

        setattr(self.turn, "agent_message", changed)
        read = []
        with self.assertRaises(Denied):
            for piece in self.turn.stream(["Tell n", "obody. "], within=0.0):
                read.append(piece)
        self.assertEqual(read, ["Tell "])
        delattr(self.turn, "agent_message")

        async def tokens_later() -> AsyncIterator[str]:
            for token in ["One. ", f"Two {CARD}. ", "Three."]:
                yield token

        async def main() -> List[str]:
            async with self.guardian.session() as session, session.turn() as turn:
                return [piece async for piece in turn.stream(tokens_later())]

        self.assertEqual("".join(asyncio.run(main())), "One. Two ****. Three.")

    def test_stream_that_is_silent(self) -> None:
        """What waits for the end of its sentence is judged when it is old enough, though no other token comes."""

        async def main() -> List[str]:
            read: List[str] = []
            more = asyncio.Event()

            async def tokens() -> AsyncIterator[str]:
                yield f"My card is {CARD}, and"
                await more.wait()  # until what was said has been read
                yield " so on."

            async with self.guardian.session() as session, session.turn() as turn:
                async for piece in turn.stream(tokens(), within=0.05):
                    read.append(piece)
                    more.set()
            return read

        self.assertEqual("".join(asyncio.run(asyncio.wait_for(main(), 30))), "My card is ****, and so on.")

        async def breaks() -> AsyncIterator[str]:
            yield "One. "
            raise OSError("the line is cut")

        async def broken() -> List[str]:
            async with self.guardian.session() as session, session.turn() as turn:
                return [piece async for piece in turn.stream(breaks())]

        with self.assertRaisesRegex(OSError, "the line is cut"):
            asyncio.run(broken())

    def test_stream_without_gaps(self) -> None:
        """It is handed on in pieces, too."""
        letters = ["ab" * 50] * 100
        pieces = list(self.turn.stream(letters))
        self.assertEqual("".join(pieces), "".join(letters))
        self.assertLessEqual(max(map(len, pieces)), 4100)

    def test_generators(self) -> None:
        """What is forbidden may lie across the pieces."""
        began: List[str] = []

        @self.guardian.guarded
        def write_file(path: str, halves: List[str]) -> Iterator[str]:
            began.append(path)
            yield from ("".join(reversed(half)) for half in halves)  # which the policy does not know again in the inputs

        self.assertEqual(list(write_file("/srv/a", ["a", "b"])), ["a", "b"])
        self.assertEqual(list(write_file("/srv/a", ["0000 0004", "2000 0000 "])), ["****"])
        with self.assertRaises(Denied):
            next(write_file("/srv/a", ["brof", "neddi"]))
        unread = write_file("/srv/a", ["a"])
        self.assertEqual(began, ["/workspace/file"] * 3)
        self.assertEqual(list(unread), ["a"])

        @self.guardian.guarded
        def rows() -> Iterator[Dict[str, Any]]:
            yield {"n": 1}
            yield {"card": CARD}

        self.assertEqual(list(rows()), [{"n": 1}, {"card": "****"}])

        @self.guardian.guarded
        def endless() -> Iterator[str]:
            while True:
                yield "x" * (1 << 20)

        with self.assertRaisesRegex(ValueError, "more than can be judged"):
            next(endless())

        @self.guardian.guarded
        def wipe_all() -> Iterator[str]:
            began.append("wiped")
            yield "wiped"

        with self.assertRaises(Denied):
            next(wipe_all())
        self.assertNotIn("wiped", began)

        @self.guardian.guarded
        async def pages(halves: List[str]) -> AsyncIterator[str]:
            for half in halves:
                yield "".join(reversed(half))

        async def main() -> List[str]:
            async with self.guardian.session() as session, session.turn():
                return [page async for page in pages(["0000 0004", "2000 0000 "])]

        self.assertEqual(asyncio.run(main()), ["****"])

    def test_tool_raises(self) -> None:
        @self.guardian.guarded
        def fail(text: str) -> None:
            raise OSError(2, "".join(reversed(text)))  # which the policy does not know again in the inputs

        with self.assertRaisesRegex(OSError, "drab"):
            fail("bard")
        with self.assertRaises(ToolFailed) as caught:
            fail("".join(reversed(CARD)))
        self.assertEqual(str(caught.exception), "FileNotFoundError: [Errno 2] ****")
        self.assertNotIn(CARD, "".join(traceback.format_exception(None, caught.exception, None)))
        self.assertIsNone(caught.exception.__context__)
        with self.assertRaises(Denied) as denied:
            fail("neddibrof")
        self.assertIsNone(denied.exception.__context__)

    def test_async(self) -> None:
        ran = []

        @self.guardian.guarded
        async def write_file(path: str) -> str:
            await asyncio.sleep(0)
            ran.append(path)
            if path == "never":
                raise KeyError("x")
            return CARD

        @self.guardian.guarded
        async def wipe() -> None:
            ran.append("wipe")

        @self.guardian.guarded
        async def fail(text: str) -> None:
            raise RuntimeError("".join(reversed(text)))

        @self.guardian.guarded
        async def keep(lines: List[str]) -> List[str]:
            return lines

        class Tool:
            async def __call__(self, a: int) -> int:
                return a

        async def main() -> None:
            async with self.guardian.session() as session, session.turn() as turn:
                self.assertEqual(await write_file("/srv/passwd"), "****")
                with self.assertRaises(Denied):
                    await wipe()
                with self.assertRaisesRegex(RuntimeError, "drab"):
                    await fail("bard")
                with self.assertRaises(ToolFailed) as failed:
                    await fail("".join(reversed(CARD)))
                self.assertIsNone(failed.exception.__context__)
                lines = ["a"]
                task = asyncio.create_task(keep(lines))
                await asyncio.sleep(0)  # it asks
                lines.append("what nobody judged")
                self.assertEqual(await task, ["a"])
                self.assertEqual(await self.guardian.guarded(Tool(), name="tool")(1), 1)
                self.assertEqual(await turn.guarded(functools.partial(Tool().__call__, 5), name="partial")(), 5)

        asyncio.run(main())
        self.assertEqual(ran, ["/workspace/file"])

    def test_names(self) -> None:
        with self.assertRaisesRegex(ValueError, "no name of its own"):
            self.guardian.guarded(functools.partial(print, 1))
        with self.assertRaisesRegex(ValueError, "leave_out names what look does not take: contxt"):
            self.guardian.guarded(lambda context: 1, name="look", leave_out=["contxt"])


class Where(unittest.TestCase):
    """Which session and turn a call belongs to."""

    def setUp(self) -> None:
        self.guardian, self.other = guardian(), guardian(agent="other")
        self.addCleanup(self.guardian.close)
        self.addCleanup(self.other.close)
        self.where = self.guardian.guarded(self.place, name="where")
        self.elsewhere = self.other.guarded(self.place, name="where")
        self.asked: List[Any] = []
        for one in (self.guardian, self.other):
            one._judge = functools.partial(self.note, one._judge)  # type: ignore[method-assign]

    def note(self, judge: Any, step: Any, until: float) -> Verdict[Any]:
        context = step.params["context"]
        self.asked.append((context["agent"]["id"], context["session"]["id"], context["turnId"]))
        answer: Verdict[Any] = judge(step, until)
        return answer

    def place(self) -> str:
        return "here"

    def last(self) -> Any:
        return self.asked[-1]

    def test_nested(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "no turn of this guardian is open here"):
            self.where()
        with self.guardian.session(id="outer-" + uuid.uuid4().hex) as outer, outer.turn() as first:
            self.where()
            self.assertEqual(self.last(), ("clerk", outer.id, first.id))
            with self.guardian.session() as inner, inner.turn() as second:
                self.where()
                self.assertEqual(self.last(), ("clerk", inner.id, second.id))
                with self.other.session() as foreign, foreign.turn() as third:
                    self.where()
                    self.assertEqual(self.last(), ("clerk", inner.id, second.id))
                    self.elsewhere()
                    self.assertEqual(self.last(), ("other", foreign.id, third.id))
                first.guarded(self.place)()
                self.assertEqual(self.last(), ("clerk", outer.id, first.id))
            self.where()
            self.assertEqual(self.last(), ("clerk", outer.id, first.id))
            with self.assertRaisesRegex(RuntimeError, "no turn"):
                self.elsewhere()
        with self.assertRaisesRegex(RuntimeError, "no turn"):
            self.where()

    def test_left_after_an_exception(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            with self.guardian.session() as session, session.turn():
                raise ZeroDivisionError
        with self.assertRaisesRegex(RuntimeError, "no turn"):
            self.where()

    def test_threads(self) -> None:
        sessions = [self.guardian.session() for _ in range(16)]

        def work(session: Any) -> None:
            for _ in range(4):
                with session.turn():
                    self.assertEqual(self.where(), "here")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, sessions))
        self.assertEqual({s for _, s, _ in self.asked}, {s.id for s in sessions})
        self.assertEqual(len(self.asked), 16 * 4 * 2)
        self.assertEqual(len(set(self.asked)), 16 * 4)  # each call and its result in one turn of its own

        with self.guardian.session() as session, session.turn() as turn:
            failures: List[BaseException] = []

            def bare() -> None:
                try:
                    self.where()
                except BaseException as error:
                    failures.append(error)

            for target in (bare, functools.partial(contextvars.copy_context().run, bare)):
                thread = threading.Thread(target=target)
                thread.start()
                thread.join()
        self.assertEqual([type(f) for f in failures], [RuntimeError])
        self.assertEqual(self.last(), ("clerk", session.id, turn.id))

    def test_tasks(self) -> None:
        guarded = self.guardian.guarded(self.place_async, name="where")

        async def work() -> Any:
            async with self.guardian.session() as session, session.turn():
                results = await asyncio.gather(*(guarded() for _ in range(3)), asyncio.to_thread(self.where))
                self.assertEqual(results, ["here"] * 4)
                return session.id

        async def main() -> List[Any]:
            return await asyncio.gather(*(work() for _ in range(20)))

        sessions = asyncio.run(main())
        self.assertEqual(sorted(s for _, s, _ in self.asked), sorted(s for s in sessions for _ in range(8)))

    async def place_async(self) -> str:
        await asyncio.sleep(0)
        return "here"

    def test_cancelled(self) -> None:
        told = threading.Event()
        judged: List[Any] = []
        judge = self.guardian._judge

        def watch(step: Any, until: float) -> Any:
            answer = judge(step, until)
            judged.append((step.method, step.params.get("result")))
            if step.method == "steps/toolCallResult":
                told.set()
            return answer

        self.guardian._judge = watch  # type: ignore[method-assign]

        async def main() -> None:
            started = asyncio.Event()

            @self.guardian.guarded
            async def endless() -> None:
                started.set()
                await asyncio.Event().wait()

            async with self.guardian.session() as session, session.turn():
                task = asyncio.create_task(endless())
                await started.wait()
                began = time.monotonic()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertLess(time.monotonic() - began, 5)
            self.assertTrue(await asyncio.to_thread(told.wait, 20))

        asyncio.run(main())
        self.assertEqual(judged[1], ("steps/toolCallResult", {"outputs": [{"kind": "text", "text": "CancelledError"}], "isError": True}))

    def test_interrupted(self) -> None:
        @self.guardian.guarded
        def stop() -> None:
            raise KeyboardInterrupt

        with self.guardian.session() as session, session.turn(), self.assertRaises(KeyboardInterrupt):
            stop()
        self.guardian._wire.threads().shutdown(wait=True)
        self.assertEqual(len(self.asked), 2)


if __name__ == "__main__":
    unittest.main()
