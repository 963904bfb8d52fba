"""CrewAI, with a model that writes its calls as text, and one that has calls of its own."""

from __future__ import annotations

import json
import os
from typing import Any, Callable

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true", CREWAI_TESTING="true")

from crewai import BaseLLM
from crewai.tools import tool

from . import scenarios
from .scenarios import CARD, Script, code, finished


class Writes(BaseLLM):
    script: Any = None

    def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        calls, text = self.script.calls(messages)
        if calls:
            _id, name, arguments = calls[0]
            return f"Thought: I act.\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        return f"Thought: I know.\nFinal Answer: {text}"

    async def acall(self, messages: Any, tools: Any = None, **more: Any) -> Any:
        return self.call(messages, tools, **more)

    def supports_function_calling(self) -> bool:
        return False


class Calls(Writes):
    def call(self, messages: Any, tools: Any = None, **_: Any) -> Any:
        calls, text = self.script.calls(messages)
        return [{"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for id, name, arguments in calls] or text

    def supports_function_calling(self) -> bool:
        return True


class Texts(scenarios.Scenarios):
    page = "crewai.md"
    parallel = False
    ends = False  # the framework lets a hook stop a call, and not the run
    errors_are_results = True
    kind = Writes

    def model(self, script: Script) -> Any:
        model = self.kind(model="scripted")
        model.script = script
        return model

    def tool(self, function: Callable[..., Any]) -> Any:
        return tool(function)

    def ask(self, script: Script, question: str = "Do what is to be done.") -> str:
        from crewai.hooks.dispatch import clear_all

        names = code(self.page)
        names["guardian"] = self.guardian
        clear_all()
        installed = names["install"](self.guardian)
        try:
            return str(names["answer"](question, self.model(script), self.tools()))
        finally:
            installed.remove()

    def test_roles(self) -> None:
        """Who works for another is told as one below the guardian's own agent, and held as it is."""
        from crewai import Agent, Crew, Task

        hired = Script([("note", {"text": "second"})], [("wipe_disk", {"path": "old"})])
        asked = {"task": "Do it.", "context": "Now.", "coworker": "Researcher"}
        first = Script([("delegate_work_to_coworker", asked)], [("note", {"text": "first"})])
        tools = [tool for tool in self.tools() if tool.name in ("note", "wipe_disk")]
        clerk = Agent(role="Clerk", goal="Help.", backstory="You help.", llm=self.model(first), tools=tools, allow_delegation=True)
        other = Agent(role="Researcher", goal="Find.", backstory="You find.", llm=self.model(hired), tools=tools, allow_delegation=False)
        from crewai.hooks.dispatch import clear_all

        names = code(self.page)
        clear_all()
        installed = names["install"](self.guardian)
        try:
            Crew(agents=[clerk, other], tasks=[Task(description="Do it.", expected_output="An answer.", agent=clerk)]).kickoff()
        finally:
            installed.remove()
        self.assertEqual(self.ran, [("note", "second"), ("note", "first")])
        told = [(step["toolCallRequest"]["toolId"], step["context"]["agent"]["name"], "parent" in step["context"]["session"].get("metadata", {})) for step in self.line.steps("toolCallRequest")]
        self.assertEqual([one for one in told if not one[0].startswith("delegate")], [("note", "Researcher", True), ("wipe_disk", "Researcher", True), ("note", "Clerk", False)])
        self.assertEqual([one[1:] for one in told if one[0].startswith("delegate")], [("Clerk", False)])
        self.assertNotIn("withheld", "".join(first.seen + hired.seen))

    def test_memory(self) -> None:
        """What goes into a storage and what comes out of it is judged; what is not allowed is neither kept nor read."""
        from crewai.memory.types import MemoryRecord
        from reeve_aos import Denied, NotAllowed

        kept: Any = {}

        class Storage:
            def save(self, records: Any) -> None:
                kept.update({record.id: record for record in records})

            def update(self, record: Any) -> None:
                kept[record.id] = record

            def search(self, query_embedding: Any, **more: Any) -> Any:
                return [(record, 0.5) for record in kept.values()]

            def get_record(self, record_id: str) -> Any:
                return kept.get(record_id)

            def list_records(self, **more: Any) -> Any:
                return list(kept.values())

            def unheard_of(self) -> None: ...

            async def asave(self, records: Any) -> None:
                self.save(records)

            async def asearch(self, query_embedding: Any, **more: Any) -> Any:
                return self.search(query_embedding)

        def one(id: str, content: str, **metadata: Any) -> Any:
            return MemoryRecord(id=id, content=content, metadata=metadata)

        names = code(self.page, 1)
        names["guardian"] = self.guardian
        storage = names["memory"](Storage(), llm=self.model(Script()), embedder=lambda texts: [[0.0] for _ in texts])._storage
        storage.save([one("a", f"card {CARD}", of=CARD)])
        finished(storage.asave([one("b", f"card {CARD}")]))
        storage.update(one("c", f"card {CARD}"))
        self.assertEqual({(record.content, record.metadata.get("of")) for record in kept.values()}, {("card ****", "****"), ("card ****", None)})
        with self.assertRaises(Denied):
            storage.save([one("d", "fine"), one("e", "a forbidden page")])
        self.assertEqual(sorted(kept), ["a", "b", "c"])
        kept["a"] = one("a", f"old {CARD}")
        found = [*[record for record, _ in storage.search([0.0])], *[record for record, _ in finished(storage.asearch([0.0]))], *storage.list_records(), storage.get_record("a")]
        self.assertEqual([record.content for record in found if record.id == "a"], ["old ****"] * 4)
        kept["f"] = one("f", "a forbidden page")
        for read in (lambda: storage.search([0.0]), lambda: finished(storage.asearch([0.0])), lambda: storage.list_records(), lambda: storage.get_record("f")):
            with self.assertRaises(Denied):
                read()
        self.line.fault = lambda request: "lost"
        with self.assertRaises(NotAllowed):
            storage.save([one("g", "lost")])
        self.assertNotIn("g", kept)
        with self.assertRaises(AttributeError):
            storage.unheard_of()

    def test_turn_of_the_program(self) -> None:
        """Is what the page does."""


class Functions(Texts):
    kind = Calls
    parallel = True
