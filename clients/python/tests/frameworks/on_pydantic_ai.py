"""Pydantic AI."""

from __future__ import annotations

import datetime
from typing import Any, List

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from . import scenarios
from .scenarios import Script, code


def scripted(script: Script) -> FunctionModel:
    async def respond(messages: List[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls, text = script.calls([repr(message) for message in messages])
        return ModelResponse(parts=[ToolCallPart(name, arguments, id) for id, name, arguments in calls] or [TextPart(text)])

    return FunctionModel(respond)


class Order(BaseModel):
    day: datetime.date
    note: str


class Agents(scenarios.Scenarios):
    page = "pydantic-ai.md"

    def model(self, script: Script) -> Any:
        return scripted(script)


class More(scenarios.Framework):
    page = Agents.page

    def test_delegated(self) -> None:
        """An agent that a tool starts is told as one below the agent whose tool it is."""
        names = code(self.page, 1)
        names["guardian"] = self.guardian
        inner = Script([("note", {"text": "inner"}), ("wipe_disk", {"path": "old"})])
        outer = Script([("research", {"question": "what?"})], [("note", {"text": "outer"})])
        scenarios.finished(names["answer"]("Find out.", scripted(outer), scripted(inner), self.tools()))
        self.assertEqual(self.ran, [("note", "inner"), ("note", "outer")])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        own, below = told["outer"], told["inner"]
        self.assertEqual((own["agent"]["name"], below["agent"]["name"]), ("Clerk", "researcher"))
        self.assertEqual(below["session"]["metadata"]["parent"], own["session"]["id"])

    def test_typed_arguments(self) -> None:
        """A tool gets its typed arguments, of which the guardian is told as JSON."""
        from pydantic_ai import Agent

        from reeve_aos.pydantic_ai import GuardianCapability

        got: List[Any] = []

        def order(order: Order) -> Order:
            got.append(order)
            return order

        script = Script([("order", {"order": {"day": "2026-04-02", "note": "x"}})])
        Agent(scripted(script), tools=[order], capabilities=[GuardianCapability(self.guardian)]).run_sync("Do it.")
        self.assertEqual(got, [Order(day=datetime.date(2026, 4, 2), note="x")])

    def test_added_later(self) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.toolsets import FunctionToolset

        from reeve_aos.pydantic_ai import GuardianCapability

        def agent() -> Agent[Any, Any]:
            return Agent(scripted(Script([("wipe_disk", {"path": "old"})])), capabilities=[GuardianCapability(self.guardian)])

        wipe = next(tool for tool in self.tools() if tool.__name__ == "wipe_disk")
        later = agent()
        later.tool_plain(wipe)
        other = agent()
        with other.override(toolsets=[FunctionToolset([wipe])]):
            other.run_sync("Do it.")
        later.run_sync("Do it.")
        agent().run_sync("Do it.", toolsets=[FunctionToolset([wipe])])
        self.assertEqual(self.ran, [])
        self.assertEqual([step["toolCallRequest"]["toolId"] for step in self.line.steps("toolCallRequest")], ["wipe_disk"] * 3)
