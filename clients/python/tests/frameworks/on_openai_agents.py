"""The OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Callable

from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from . import scenarios
from .scenarios import Script, code

set_tracing_disabled(True)


class Scripted(Model):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:
        calls, text = self.script.calls(input)
        output: Any = [ResponseFunctionToolCall(
            id=id, call_id=id, name=name, arguments=json.dumps(arguments), type="function_call") for id, name, arguments in calls]
        if text:
            said = ResponseOutputText(text=text, type="output_text", annotations=[])
            output = [ResponseOutputMessage(id="m", content=[said], role="assistant", status="completed", type="message")]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError


class Agents(scenarios.Scenarios):
    page = "openai-agents.md"
    errors_are_results = True

    def model(self, script: Script) -> Any:
        return Scripted(script)

    def tool(self, function: Callable[..., Any]) -> Any:
        return function_tool(function)


class More(scenarios.Framework):
    page = Agents.page

    def tool(self, function: Callable[..., Any]) -> Any:
        return function_tool(function)

    def test_handed_over(self) -> None:
        """An agent that is handed over to is told as one below the first."""
        names = code(self.page, 1)
        names["guardian"] = self.guardian
        first = Script([("note", {"text": "first"})], [("transfer_to_clerk_of_cards", {})])
        second = Script([("note", {"text": "second"})], [("wipe_disk", {"path": "/"})], says="Wiped nothing.")
        answer = asyncio.run(names["answer"]("Do it.", Scripted(first), Scripted(second), self.tools()))
        self.assertEqual((answer, self.ran), ("Wiped nothing.", [("note", "first"), ("note", "second")]))
        calls = [step["context"] for step in self.line.steps("toolCallRequest")]
        self.assertEqual([context["agent"]["name"] for context in calls], ["Clerk", "Clerk of cards", "Clerk of cards"])
        self.assertEqual(calls[1]["session"]["metadata"]["parent"], calls[0]["session"]["id"])
        self.assertEqual(len({context["turnId"] for context in calls}), 1)

    def test_agent_as_tool(self) -> None:
        from reeve_aos.openai_agents import GuardedRunner

        inner = Agent(name="inner", tools=self.tools(), model=Scripted(Script([("wipe_disk", {"path": "/"})])))
        runner = GuardedRunner(self.guardian)
        with self.assertRaisesRegex(TypeError, "whose own tools nobody asks about"):
            runner.guard(Agent(name="Clerk", tools=[inner.as_tool("inner", "Does it.")]))
        outer = Agent(name="Clerk", tools=[runner.guard(inner).as_tool("inner", "Does it.")], model=Scripted(Script([("inner", {"input": "Do it."})])))
        asyncio.run(runner.run(outer, "Do it."))
        self.assertEqual(self.ran, [])
        told = [(step["toolCallRequest"]["toolId"], step["context"]["agent"]["name"]) for step in self.line.steps("toolCallRequest")]
        self.assertEqual(told, [("inner", "Clerk"), ("wipe_disk", "inner")])

    def test_what_cannot_be_held(self) -> None:
        from agents import LocalShellTool

        from reeve_aos.openai_agents import GuardedRunner

        with self.assertRaisesRegex(TypeError, "cannot hold"):
            GuardedRunner(self.guardian).guard(Agent(name="Clerk", tools=[LocalShellTool(executor=lambda request: "ran")]))
