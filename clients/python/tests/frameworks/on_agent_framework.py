"""Microsoft Agent Framework."""

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, List

from agent_framework import (
    BaseChatClient, ChatResponse, ChatResponseUpdate, Content, FunctionInvocationLayer, Message, ResponseStream, tool,
)

from . import scenarios
from .scenarios import Script, code


class Client(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc]
    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        def contents() -> List[Content]:
            calls, text = self.script.calls([message.to_dict() for message in messages])
            return [Content.from_function_call(id, name, arguments=arguments) for id, name, arguments in calls] or [Content.from_text(text)]

        async def respond() -> ChatResponse:
            return ChatResponse(messages=Message("assistant", contents()))

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            yield ChatResponseUpdate(role="assistant", contents=contents())

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates) if stream else respond()


class Agents(scenarios.Scenarios):
    page = "agent-framework.md"

    def model(self, script: Script) -> Any:
        return Client(script)

    def tool(self, function: Callable[..., Any]) -> Any:
        return tool(function, approval_mode="never_require")


class More(scenarios.Framework):
    def test_delegated(self) -> None:
        names = code("agent-framework.md", 1)
        names["guardian"] = self.guardian
        inner = Script([("note", {"text": "inner"}), ("wipe_disk", {"path": "old"})])
        outer = Script([("researcher", {"task": "what?"})], [("note", {"text": "outer"})])
        scenarios.finished(names["answer"]("Find out.", Client(outer), Client(inner), self.tools()))
        self.assertEqual(sorted(self.ran), [("note", "inner"), ("note", "outer")])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        own, below = told["outer"], told["inner"]
        self.assertEqual((own["agent"]["name"], below["agent"]["name"]), ("Clerk", "researcher"))
        self.assertEqual(below["session"]["metadata"]["parent"], own["session"]["id"])

    def tool(self, function: Callable[..., Any]) -> Any:
        return tool(function, approval_mode="never_require")

    def test_added_later(self) -> None:
        """Tools of a call, those that an agent is given later, and those of an agent that becomes a tool."""
        from agent_framework import Agent

        from reeve_aos.agent_framework import guard

        def agent(**more: Any) -> Agent:
            return Agent(Client(Script([("wipe_disk", {"path": "old"})])), middleware=guard(self.guardian), **more)

        wipe = next(tool for tool in self.tools() if tool.name == "wipe_disk")
        scenarios.finished(agent().run("Do it.", tools=[wipe]))
        later = agent(tools=[])
        later.default_options["tools"] = [*(later.default_options.get("tools") or ()), wipe]
        scenarios.finished(later.run("Do it."))
        inner = agent(name="inner", tools=[wipe])
        outer = Agent(Client(Script([("inner", {"task": "Do it."})])), tools=[inner.as_tool()], middleware=guard(self.guardian))
        scenarios.finished(outer.run("Do it."))
        self.assertEqual(self.ran, [])
        self.assertEqual([step["toolCallRequest"]["toolId"] for step in self.line.steps("toolCallRequest")], ["wipe_disk", "wipe_disk", "inner", "wipe_disk"])
