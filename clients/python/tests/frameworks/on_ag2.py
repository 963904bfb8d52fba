"""AG2."""

from __future__ import annotations

from typing import Any, Callable

from ag2.config import LLMClient
from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, ToolCallsEvent
from ag2.tools import tool

from reeve_aos import NotAllowed

from . import scenarios
from .scenarios import Script, code


class Config:
    """A model's configuration, of which the framework makes a client."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.streaming = False

    def copy(self) -> Config:
        return self

    def create(self) -> LLMClient:
        return Client(self.script)


class Client(LLMClient):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def __call__(self, messages: Any, context: Any, **_: Any) -> ModelResponse:
        import json

        calls, text = self.script.calls([repr(vars(message)) + repr([vars(r) for r in getattr(message, "results", ())])
                                         + repr([vars(p) for r in getattr(message, "results", ()) for p in r.result.parts])
                                         + repr([vars(p) for p in getattr(message, "parts", ())]) for message in messages])
        if text:
            await context.send(ModelMessage(text))
            return ModelResponse(ModelMessage(text))
        return ModelResponse(tool_calls=ToolCallsEvent([
            ToolCallEvent(name, id=id, arguments=json.dumps(arguments)) for id, name, arguments in calls]))


class Agents(scenarios.Scenarios):
    page = "ag2.md"

    def model(self, script: Script) -> Any:
        return Config(script)

    def tool(self, function: Callable[..., Any]) -> Any:
        return tool(function)


class More(scenarios.Framework):
    def tool(self, function: Callable[..., Any]) -> Any:
        return tool(function)

    def test_other_versions(self) -> None:
        """An agent whose subtasks cannot be held is not run at all."""
        from types import SimpleNamespace

        from ag2.agent import AGENT_CONTEXT_DEPENDENCY_KEY
        from reeve_aos.ag2 import GuardianMiddleware

        for agent in (SimpleNamespace(), SimpleNamespace(_task_config=None)):
            with self.assertRaisesRegex(TypeError, "cannot hold"):
                GuardianMiddleware(self.guardian)(None, SimpleNamespace(dependencies={AGENT_CONTEXT_DEPENDENCY_KEY: agent}))

    def test_delegated(self) -> None:
        names = code("ag2.md", 1)
        names["guardian"] = self.guardian
        inner = Script([("note", {"text": "inner"}), ("wipe_disk", {"path": "old"})])
        outer = Script([("research", {"question": "what?"})], [("note", {"text": "outer"})])
        scenarios.finished(names["answer"]("Find out.", Config(outer), Config(inner), self.tools()))
        self.assertEqual(sorted(self.ran), [("note", "inner"), ("note", "outer")])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        own, below = told["outer"], told["inner"]
        self.assertEqual((own["agent"]["name"], below["agent"]["name"]), ("Clerk", "researcher"))
        self.assertEqual(below["session"]["metadata"]["parent"], own["session"]["id"])

    def test_added_later(self) -> None:
        """Tools of a call, those that an agent is given later, and those of subtasks."""
        from ag2 import Agent
        from ag2.agent import TaskConfig
        from reeve_aos.ag2 import GuardianMiddleware

        wipe = tool(self.wipe_disk)

        def agent(script: Script, **more: Any) -> Agent[Any]:
            return Agent("clerk", config=Config(script), middleware=[GuardianMiddleware(self.guardian)], **more)

        def wiping() -> Script:
            return Script([("wipe_disk", {"path": "old"})])

        def appended() -> Any:
            clerk = agent(wiping())
            clerk.tools.append(wipe)
            return clerk.ask("Do it.")

        def subtask(below: Script, **more: Any) -> Any:
            return agent(Script([("run_subtask", {"task": "Wipe."})]), tasks=TaskConfig(config=Config(below), **more.pop("tasks", {})), **more).ask("Do it.")

        below = wiping()
        for way, asks in {
            "appended": appended,
            "of the call": lambda: agent(wiping()).ask("Do it.", tools=[wipe]),
            "of a subtask": lambda: subtask(wiping(), tools=[wipe]),
            "of a subtask only": lambda: subtask(below, tasks={"extra_tools": [self.wipe_disk]}),
        }.items():
            with self.subTest(way):
                self.line.asked.clear()
                scenarios.finished(asks())
                self.assertEqual(self.ran, [])
                self.assertEqual(self.line.steps("toolCallRequest")[-1]["toolCallRequest"]["toolId"], "wipe_disk")
        self.assertIn("Nothing is wiped here.", below.seen[-1])
        told = [(step["toolCallRequest"]["toolId"], step["context"]["agent"]["name"]) for step in self.line.steps("toolCallRequest")]
        self.assertEqual(told, [("run_subtask", "Clerk"), ("wipe_disk", "subtask")])

        self.use(retries=0)
        self.line.fault = lambda asked: "lost" if "wipe_disk" in str(asked["params"].get("toolCallRequest")) else None
        with self.assertRaises(NotAllowed):
            scenarios.finished(subtask(wiping(), tools=[wipe]))
        self.assertEqual(self.ran, [])

    def wipe_disk(self, path: str) -> str:
        """Wipes a disk."""
        self.ran.append(path)
        return "wiped"
