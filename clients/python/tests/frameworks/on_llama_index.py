"""LlamaIndex."""

from __future__ import annotations

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

    def test_handed_over(self) -> None:
        names = code("llama-index.md", 2)
        names["guardian"] = self.guardian
        first = Script([("note", {"text": "first"})], [("handoff", {"to_agent": "cards", "reason": "cards"})])
        second = Script([("note", {"text": "second"}), ("wipe_disk", {"path": "/"})])
        scenarios.finished(names["answer"]("Do it.", scripted(first), scripted(second), self.tools()))
        self.assertEqual(self.ran, [("note", "first"), ("note", "second")])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        self.assertEqual((told["first"]["agent"]["name"], told["second"]["agent"]["name"]), ("Clerk", "cards"))
        self.assertEqual(told["second"]["session"]["metadata"]["parent"], told["first"]["session"]["id"])
