"""LlamaIndex."""

from __future__ import annotations

import contextlib
from typing import Any, Sequence

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from . import scenarios
from .scenarios import CARD, Script, code


def scripted(script: Script) -> MockFunctionCallingLLM:
    def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        calls, text = script.calls([message.model_dump() for message in messages])
        blocks: Any = [ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=arguments) for id, name, arguments in calls]
        return ChatMessage(role="assistant", blocks=blocks or [TextBlock(text=text)])

    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


class Agents(scenarios.Scenarios):
    page = "llama-index.md"
    ends = False  # the framework tells the model of any exception, and goes on

    def model(self, script: Script) -> Any:
        return scripted(script)

    def test_turn_of_the_program(self) -> None:
        """Is what the page does."""


class More(scenarios.Framework):
    def test_retrieval(self) -> None:
        from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

        names = code("llama-index.md", 1)
        names["guardian"] = self.guardian
        nodes = [NodeWithScore(node=TextNode(text="plain"), score=0.5), NodeWithScore(node=TextNode(text="x", metadata={"card": CARD}), score=0.4)]
        judged = names["postprocessor"]().postprocess_nodes(nodes, QueryBundle("cards"))
        self.assertEqual([node.score for node in judged], [0.5, 0.4])
        self.assertEqual(judged[0].node.get_content(), "plain")
        self.assertNotIn(CARD, judged[1].node.get_content(metadata_mode="all"))
        self.assertIn("****", judged[1].node.get_content())

    def test_memory(self) -> None:
        """What an agent puts into its memory and what it gets from there is judged; what is not allowed is neither kept nor read."""
        from llama_index.core.agent.workflow import FunctionAgent
        from reeve_aos import Denied, NotAllowed

        names = code("llama-index.md", 2)
        names["guardian"] = self.guardian
        memory = names["memory"]("s-1")

        def message(text: str) -> ChatMessage:
            return ChatMessage(role="user", content=text)

        async def run(script: Script, said: str) -> None:
            agent = FunctionAgent(tools=[], llm=scripted(script), streaming=False)
            async with self.guardian.session() as session, session.turn():
                await agent.run(user_msg=said, memory=memory)

        def kept() -> Any:
            return [one.content for one in memory.memory.get_all()]

        script = Script(says="All right.")
        scenarios.finished(run(script, "card " + CARD))
        self.assertEqual(kept(), ["card ****", "All right."])
        self.assertNotIn(CARD, script.seen[0])
        self.assertEqual(self.line.steps("memoryContextRetrieval"), [])  # all that it read it had put there, in this session
        with self.assertRaises(Denied):
            memory.put_messages([message("fine"), message("a forbidden page")])
        self.assertEqual(kept(), ["card ****", "All right."])
        # What somebody else has put there.
        memory.memory.put(message("old card " + CARD))
        script = Script(says="Yes.")
        scenarios.finished(run(script, "more"))
        self.assertIn("old card ****", script.seen[0])
        self.assertNotIn(CARD, script.seen[0])
        self.assertEqual(len(self.line.steps("memoryContextRetrieval")), 1)
        memory.memory.put(message("a forbidden page"))
        script = Script()
        with self.assertRaises(Exception):
            scenarios.finished(run(script, "more"))
        self.assertEqual(script.seen, [])
        for fault in ("lost", "cut", "error"):
            self.line.fault = lambda request, fault=fault: fault
            with self.assertRaises(NotAllowed):
                memory.get()
            with self.assertRaises(NotAllowed):
                memory.put(message(fault))
        self.line.fault = lambda request: None
        self.assertNotIn("lost", kept())

    def test_handed_over(self) -> None:
        names = code("llama-index.md", 3)
        names["guardian"] = self.guardian
        first = Script([("note", {"text": "first"})], [("handoff", {"to_agent": "cards", "reason": "cards"})])
        second = Script([("note", {"text": "second"}), ("wipe_disk", {"path": "old"})])
        scenarios.finished(names["answer"]("Do it.", scripted(first), scripted(second), self.tools()))
        self.assertEqual(self.ran, [("note", "first"), ("note", "second")])
        self.assertEqual([step["toolCallRequest"]["toolId"] for step in self.line.steps("toolCallRequest")][:2], ["note", "handoff"])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        self.assertEqual((told["first"]["agent"]["name"], told["second"]["agent"]["name"]), ("Clerk", "cards"))
        self.assertEqual(told["second"]["session"]["metadata"]["parent"], told["first"]["session"]["id"])

    def test_added_later(self) -> None:
        from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
        from llama_index.core.objects import ObjectRetriever
        from llama_index.core.tools import FunctionTool
        from reeve_aos.llama_index import guard

        wipe = FunctionTool.from_defaults(next(tool for tool in self.tools() if tool.__name__ == "wipe_disk"))

        class Retriever(ObjectRetriever[Any]):
            def __init__(self) -> None:
                """Needs no index."""

            async def aretrieve(self, query: str) -> Any:
                return [wipe]

        def agent(**more: Any) -> FunctionAgent:
            return FunctionAgent(name="a", description="Helps.", llm=scripted(Script([("wipe_disk", {"path": "old"})])), streaming=False, **more)

        def appended(run: Any, to: Any) -> Any:
            to.tools.append(wipe)
            return run

        inside = agent(tools=[])
        alone = guard(agent(tools=[]), self.guardian)
        ways = {
            "appended": appended(alone, alone),
            "retrieved": guard(agent(tool_retriever=Retriever()), self.guardian),
            "in a workflow": appended(guard(AgentWorkflow(agents=[inside]), self.guardian), inside),
            "guarded in a workflow": AgentWorkflow(agents=[guard(agent(tools=[wipe]), self.guardian)]),
        }
        for way, run in ways.items():
            with self.subTest(way):
                async def main(run: Any = run) -> None:
                    async with self.guardian.session() as session, session.turn():
                        await run.run(user_msg="Do it.")

                scenarios.finished(main())
                self.assertEqual(self.ran, [])
                self.assertEqual([step["toolCallRequest"]["toolId"] for step in self.line.steps("toolCallRequest")], ["wipe_disk"])
                self.line.asked.clear()

    def test_reasoning_agent(self) -> None:
        """An agent that is told the tools in its prompt, and answers in texts."""
        from llama_index.core.agent.workflow import ReActAgent
        from reeve_aos.llama_index import guard

        script = Script(says='Thought: I wipe.\nAction: wipe_disk\nAction Input: {"path": "old"}')
        agent = guard(ReActAgent(tools=self.tools(), llm=scripted(script), streaming=False), self.guardian)

        async def main() -> None:
            async with self.guardian.session() as session, session.turn():
                await agent.run(user_msg="Do it.", max_iterations=2)

        with contextlib.suppress(Exception):
            scenarios.finished(main())
        self.assertEqual(self.ran, [])
        self.assertIn("Nothing is wiped here.", script.seen[-1])
