"""The OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
from typing import Any, Callable, Dict, List

from agents import Agent, Model, ModelResponse, Runner, RunState, Usage, function_tool, handoff, set_tracing_disabled
from agents.extensions.handoff_filters import remove_all_tools
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from pydantic import BaseModel

from reeve_aos import NotAllowed

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
        second = Script([("note", {"text": "second"})], [("wipe_disk", {"path": "old"})], says="Wiped nothing.")
        answer = asyncio.run(names["answer"]("Do it.", Scripted(first), Scripted(second), self.tools()))
        self.assertEqual((answer, self.ran), ("Wiped nothing.", [("note", "first"), ("note", "second")]))
        calls = [step["context"] for step in self.line.steps("toolCallRequest")]
        self.assertEqual([context["agent"]["name"] for context in calls], ["Clerk", "Clerk", "Clerk of cards", "Clerk of cards"])
        self.assertEqual(calls[2]["session"]["metadata"]["parent"], calls[0]["session"]["id"])
        self.assertEqual(len({context["turnId"] for context in calls}), 1)

    def hand_over(self, name: str, arguments: Dict[str, Any], **settings: Any) -> Script:
        """An agent that is to hand over by a hand-over with a function, which notes its input."""
        from reeve_aos.openai_agents import GuardedRunner

        class Where(BaseModel):
            path: str

        def noted(context: Any, where: Where) -> None:
            self.ran.append(("handed over", where.path))

        other = Agent(name="Other", model=Scripted(Script(says="Other.")))
        way = handoff(other, tool_name_override=name, on_handoff=noted, input_type=Where, **settings)
        script = Script([(name, arguments)])
        asyncio.run(GuardedRunner(self.guardian).run(Agent(name="Clerk", model=Scripted(script), handoffs=[way]), "Do it."))
        return script

    def test_hand_over_denied(self) -> None:
        """The function of a hand-over does not run, the agent stays, and its model reads why."""
        for settings in ({}, {"input_filter": remove_all_tools}):
            with self.subTest(settings=settings):
                script = self.hand_over("wipe_handover", {"path": "old"}, **settings)
                self.assertEqual(self.ran, [])
                self.assertIn("Nothing is wiped here. Instead: Move it to the archive.", script.seen[1])

    def test_hand_over_changed(self) -> None:
        self.hand_over("write_file", {"path": "/srv/passwd"})
        self.assertEqual(self.ran, [("handed over", "/workspace/file")])

    def test_hand_over_with_nobody_to_ask(self) -> None:
        self.use(retries=0, timeout=5.0)
        self.line.fault = lambda asked: "lost" if asked["method"] == "steps/toolCallRequest" else None
        with self.assertRaises(NotAllowed):
            self.hand_over("note", {"path": "old"})
        self.assertEqual(self.ran, [])

    def test_added_later(self) -> None:
        """Tools and agents that are added after guard(), and those of clones, are asked about; what cannot be held is refused."""
        from agents import LocalShellTool

        from reeve_aos.openai_agents import GuardedRunner

        wipe = next(tool for tool in self.tools() if tool.name == "wipe_disk")
        runner = GuardedRunner(self.guardian)

        def handing(agent: Agent[Any], tools: List[Any]) -> None:
            agent.handoffs.append(Agent(name="Other", tools=tools, model=Scripted(Script([("wipe_disk", {"path": "old"})]))))
            agent.model = Scripted(Script([("transfer_to_other", {})]))

        def cloned(agent: Agent[Any]) -> Agent[Any]:
            clone = agent.clone(name="Clone")
            clone.tools.append(wipe)
            return clone

        def later(agent: Agent[Any]) -> Agent[Any]:
            handing(agent, [])
            agent.model = Scripted(Script([("transfer_to_other", {})]))
            agent.handoffs[-1]._agent_ref().tools.append(wipe)
            return agent

        def retooled(agent: Agent[Any]) -> Agent[Any]:
            agent.tools.append(function_tool(lambda: None, name_override="wipe_disk"))
            agent.tools[-1].on_invoke_tool = wipe.on_invoke_tool
            return agent

        ways: Dict[str, Callable[[Agent[Any]], Any]] = {
            "appended": lambda agent: agent.tools.append(wipe),
            "assigned": lambda agent: setattr(agent, "tools", [wipe]),
            "cloned with": lambda agent: agent.clone(tools=[wipe]),
            "replaced": lambda agent: dataclasses.replace(agent, tools=[wipe]),
            "copied": lambda agent: cloned(copy.copy(agent)),
            "clone's": cloned,
            "handed over to": lambda agent: handing(agent, [wipe]),
            "given to whom it is handed over": later,
            "another function": retooled,
        }
        for way, add in ways.items():
            with self.subTest(way):
                agent = runner.guard(Agent(name="Clerk", model=Scripted(Script([("wipe_disk", {"path": "old"})]))))
                agent = add(agent) or agent
                with self.guardian.session() as session, session.turn():
                    asyncio.run(Runner.run(agent, "Do it."))
                self.assertEqual(self.ran, [])
                self.assertEqual(self.line.steps("toolCallRequest")[-1]["toolCallRequest"]["toolId"], "wipe_disk")
        agent = runner.guard(Agent(name="Clerk", model=Scripted(Script())))
        agent.tools.append(LocalShellTool(executor=lambda request: "ran"))
        with self.assertRaisesRegex(TypeError, "cannot hold"):
            asyncio.run(Runner.run(agent, "Do it."))

    def test_state(self) -> None:
        """A run that goes on does so with guarded agents only."""
        from reeve_aos.openai_agents import GuardedRunner

        transfer = function_tool(self.noted, name_override="wipe_disk", needs_approval=True)
        agent = Agent(name="Clerk", model=Scripted(Script([("wipe_disk", {"path": "old"})])), tools=[transfer])

        async def go_on(first: Agent[Any], then: Agent[Any]) -> None:
            state = (await Runner.run(first, "Do it.")).to_state()
            state.approve(state.get_interruptions()[0])
            await runner.run(first, await RunState.from_json(then, state.to_json()))

        runner = GuardedRunner(self.guardian)
        with self.assertRaisesRegex(TypeError, "is not guarded"):
            asyncio.run(go_on(agent, agent))
        agent.model = Scripted(Script([("wipe_disk", {"path": "old"})]))
        guarded = runner.guard(agent)
        asyncio.run(go_on(guarded, guarded))
        self.assertEqual(self.ran, [])
        self.assertEqual(len(self.line.steps("toolCallRequest")), 1)

    def noted(self, path: str) -> str:
        self.ran.append(path)
        return path

    def test_arguments_in_the_context(self) -> None:
        """A tool that reads its arguments in its context reads those that were allowed."""
        from reeve_aos.openai_agents import GuardedRunner

        def write_file(context: ToolContext[Any], path: str) -> str:
            self.ran.append([json.loads(text)["path"] for text in (context.tool_arguments, context.tool_call.arguments)])
            return path

        agent = Agent(name="Clerk", model=Scripted(Script([("write_file", {"path": "/srv/passwd"})])), tools=[function_tool(write_file)])
        asyncio.run(GuardedRunner(self.guardian).run(agent, "Do it."))
        self.assertEqual(self.ran, [["/workspace/file", "/workspace/file"]])

    def test_agent_as_tool(self) -> None:
        from reeve_aos.openai_agents import GuardedRunner

        inner = Agent(name="inner", tools=self.tools(), model=Scripted(Script([("wipe_disk", {"path": "old"})])))
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
