"""AG2."""

from __future__ import annotations

from typing import Any, Callable

from ag2.config import LLMClient
from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, ToolCallsEvent
from ag2.tools import tool

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

    def test_delegated(self) -> None:
        names = code("ag2.md", 1)
        names["guardian"] = self.guardian
        inner = Script([("note", {"text": "inner"}), ("wipe_disk", {"path": "/"})])
        outer = Script([("research", {"question": "what?"})], [("note", {"text": "outer"})])
        scenarios.finished(names["answer"]("Find out.", Config(outer), Config(inner), self.tools()))
        self.assertEqual(sorted(self.ran), [("note", "inner"), ("note", "outer")])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        own, below = told["outer"], told["inner"]
        self.assertEqual((own["agent"]["name"], below["agent"]["name"]), ("Clerk", "researcher"))
        self.assertEqual(below["session"]["metadata"]["parent"], own["session"]["id"])
