"""Google's Agent Development Kit."""

from __future__ import annotations

from typing import Any, AsyncGenerator, List

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from . import scenarios
from .scenarios import CARD, Script, code, finished


class Model(BaseLlm):
    script: Any

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        calls, text = self.script.calls([content.model_dump(exclude_none=True) for content in llm_request.contents])
        parts = [types.Part(function_call=types.FunctionCall(id=id, name=name, args=arguments)) for id, name, arguments in calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts or [types.Part(text=text)]))


class Agents(scenarios.Scenarios):
    page = "google-adk.md"

    def model(self, script: Script) -> Any:
        return Model(model="scripted", script=script)

    def test_callbacks(self) -> None:
        """What another plugin or a callback of the agent makes of a call is what is judged."""
        from reeve_aos.google_adk import GuardianPlugin

        def elsewhere(tool: Any, args: Any, tool_context: Any) -> None:
            args["path"] = "/srv/other"

        script = Script([("write_file", {"path": "/srv/passwd"})])
        agent = LlmAgent(name="clerk", model=self.model(script), tools=self.tools(), before_tool_callback=elsewhere)
        run(InMemoryRunner(agent, plugins=[GuardianPlugin(self.guardian)]))
        self.assertEqual(self.ran, [("write_file", "/workspace/file")])
        self.assertEqual(self.line.steps("toolCallRequest")[0]["toolCallRequest"]["inputs"], [{"name": "path", "value": "/srv/other"}])


def run(runner: Any) -> List[Any]:
    async def main() -> List[Any]:
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="ada")
        said = types.UserContent("Do it.")
        return [event async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=said)]

    return list(scenarios.finished(main()))


class More(scenarios.Framework):
    def model(self, script: Script) -> Any:
        return Model(model="scripted", script=script)

    def test_handed_over(self) -> None:
        names = code("google-adk.md", 1)
        names["guardian"] = self.guardian
        second = Script([("note", {"text": "second"}), ("wipe_disk", {"path": "old"})])
        first = Script([("note", {"text": "first"})], [("transfer_to_agent", {"agent_name": "cards"})])
        run(names["runner"](self.model(first), self.model(second), self.tools()))
        self.assertEqual(self.ran, [("note", "first"), ("note", "second")])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        own, below = told["first"], told["second"]
        self.assertEqual((own["agent"]["name"], below["agent"]["name"], own["user"]["id"]), ("Clerk", "cards", "ada"))
        self.assertEqual(below["session"]["metadata"]["parent"], own["session"]["id"])
        self.assertEqual(below["turnId"], own["turnId"])

    def test_memory(self) -> None:
        """What goes into a memory service and what comes out of it is judged; what is not allowed is neither kept nor read."""
        from google.adk.events import Event
        from google.adk.memory import InMemoryMemoryService
        from google.adk.sessions import Session
        from reeve_aos import Denied, NotAllowed

        names = code("google-adk.md", 2)
        names["guardian"] = self.guardian
        below = InMemoryMemoryService()
        service = names["guarded"](below)

        def event(text: str) -> Any:
            return Event(author="user", content=types.Content(role="user", parts=[types.Part(text=text)]))

        def found(of: Any, query: str) -> List[str]:
            answer = finished(of.search_memory(app_name="app", user_id="ada", query=query))
            return sorted(part.text for memory in answer.memories for part in memory.content.parts)

        def whole(*texts: str) -> Any:
            return Session(id="s-1", app_name="app", user_id="ada", events=[event(text) for text in texts])

        finished(service.add_session_to_memory(whole("card " + CARD, "plain card")))
        self.assertEqual(found(below, "card"), ["card ****", "plain card"])
        finished(service.add_events_to_memory(app_name="app", user_id="ada", session_id="s-2", events=[event("other card " + CARD)]))
        self.assertEqual(found(below, "other"), ["other card ****"])
        with self.assertRaises(Denied):
            finished(service.add_session_to_memory(whole("fine", "a forbidden page")))
        self.assertEqual(found(below, "fine"), [])
        finished(below.add_events_to_memory(app_name="app", user_id="ada", session_id="s-3", events=[event("old card " + CARD), event("gone: a forbidden page")]))
        self.assertEqual(found(service, "old"), ["old card ****"])
        with self.assertRaises(Denied):
            found(service, "gone")
        self.line.fault = lambda request: "lost"
        with self.assertRaises(NotAllowed):
            found(service, "old")
        self.line.fault = lambda request: None
        self.assertEqual(self.line.steps("memoryStore")[0]["context"]["session"]["id"], "s-1")

    def test_agent_as_tool(self) -> None:
        from reeve_aos.google_adk import GuardianPlugin

        inner = LlmAgent(name="inner", description="Helps.", model=self.model(Script([("wipe_disk", {"path": "old"}), ("note", {"text": "in"})])), tools=self.tools())
        outer = LlmAgent(name="outer", model=self.model(Script([("inner", {"request": "Do it."})])), tools=[AgentTool(inner)])
        run(InMemoryRunner(outer, plugins=[GuardianPlugin(self.guardian)]))
        self.assertEqual(self.ran, [("note", "in")])
        told = {step["toolCallRequest"]["toolId"]: step["context"]["agent"]["name"] for step in self.line.steps("toolCallRequest")}
        self.assertEqual(told, {"inner": "Clerk", "wipe_disk": "inner", "note": "inner"})

    def test_workflow(self) -> None:
        """A tool that is a node of a workflow is run once, as it was judged, also when it gives nothing."""
        from google.adk.tools.function_tool import FunctionTool
        from google.adk.workflow import Workflow
        from reeve_aos.google_adk import GuardianPlugin

        def given() -> Any:
            return {"path": "/srv/passwd"}

        def write_file(path: str) -> None:
            self.ran.append(("write_file", path))

        workflow = Workflow(name="files", edges=[("START", given, FunctionTool(write_file))])
        run(InMemoryRunner(node=workflow, app_name="files", plugins=[GuardianPlugin(self.guardian)]))
        self.assertEqual(self.ran, [("write_file", "/workspace/file")])

    def test_text_beside_calls(self) -> None:
        """What an agent says while it calls a tool is read, too."""
        from reeve_aos.google_adk import GuardianPlugin

        class Talking(Model):
            async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
                async for response in super().generate_content_async(llm_request, stream):
                    if any(part.function_call for part in response.content.parts):
                        response.content.parts.insert(0, types.Part(text=f"I note {CARD}."))
                    yield response

        agent = LlmAgent(name="clerk", model=Talking(model="scripted", script=Script([("note", {"text": "hello"})])), tools=self.tools())
        said = [part.text for event in run(InMemoryRunner(agent, plugins=[GuardianPlugin(self.guardian)])) for part in event.content.parts if part.text]
        self.assertEqual((said, self.ran), (["I note ****.", "That is all."], [("note", "hello")]))

    def test_added_later(self) -> None:
        """Tools and agents that come after the runner was made."""
        from reeve_aos.google_adk import GuardianPlugin

        wipe = next(tool for tool in self.tools() if tool.__name__ == "wipe_disk")
        wiping = self.model(Script([("wipe_disk", {"path": "old"})]))
        agent = LlmAgent(name="clerk", model=wiping)
        runner = InMemoryRunner(agent, plugins=[GuardianPlugin(self.guardian)])
        agent.tools.append(wipe)
        run(runner)
        first = LlmAgent(name="first", model=self.model(Script([("transfer_to_agent", {"agent_name": "second"})])))
        runner = InMemoryRunner(first, plugins=[GuardianPlugin(self.guardian)])
        second = LlmAgent(name="second", description="Wipes.", model=self.model(Script([("wipe_disk", {"path": "old"})])), tools=[wipe])
        first.sub_agents.append(second)
        second.parent_agent = first
        run(runner)
        self.assertEqual(self.ran, [])
        self.assertEqual([step["toolCallRequest"]["toolId"] for step in self.line.steps("toolCallRequest")], ["wipe_disk", "transfer_to_agent", "wipe_disk"])
