"""LangChain's agents, and LangGraph with a ToolNode."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, List

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from . import scenarios
from .scenarios import BACKWARDS, CARD, Script, code, finished


class Model(BaseChatModel):
    script: Any

    def _generate(self, messages: List[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        calls, text = self.script.calls([message.model_dump() for message in messages])
        made = [{"id": id, "name": name, "args": arguments, "type": "tool_call"} for id, name, arguments in calls]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=made))])

    def bind_tools(self, tools: Any, **_: Any) -> Model:
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


class Agents(scenarios.Scenarios):
    page = "langchain.md"

    def model(self, script: Script) -> Any:
        return Model(script=script)

    def test_threads(self) -> None:
        """The session is the thread, and the turn is the user's message."""
        self.ask(Script([("note", {"text": "a"}), ("note", {"text": "b"})]))
        contexts = [asked["params"]["context"] for asked in self.line.asked]
        self.assertEqual(len(contexts), 6)
        self.assertEqual({context["session"]["id"] for context in contexts}, {"thread-1"})
        self.assertEqual(len({context["turnId"] for context in contexts}), 1)


class AgentsAwaited(Agents):
    def ask(self, script: Script, question: str = "Do what is to be done.") -> str:
        names = code(self.page, 1)
        names["guardian"] = self.guardian
        return str(asyncio.run(names["answer"](question, self.model(script), self.tools())))


class Graphs(Agents):
    """A graph of one's own: its tools are asked about, and its messages are the program's to tell."""

    tells_messages = False

    def ask(self, script: Script, question: str = "Do what is to be done.") -> str:
        names = code(self.page, 2)
        names["guardian"] = self.guardian
        return str(names["answer"](question, self.model(script), self.tools()))

    def test_threads(self) -> None:
        pass


class More(scenarios.Framework):
    def test_commands(self) -> None:
        """What a tool commands the model to read is judged, whatever the messages' role and form."""
        from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
        from langchain_core.tools import InjectedToolCallId, tool
        from langgraph.types import Command

        def answer(content: str, id: str) -> Any:
            return {"role": "tool", "content": content, "tool_call_id": id}

        forms: List[Any] = [
            lambda text, id: [ToolMessage(text, tool_call_id=id)],
            lambda text, id: [answer(text, id)],
            lambda text, id: [ToolMessage("done", tool_call_id=id), HumanMessage(text)],
            lambda text, id: [ToolMessage("done", tool_call_id=id), SystemMessage([{"type": "text", "text": text}])],
            lambda text, id: [answer("done", id), ("user", text)],
        ]
        for form in forms:

            def commands(text: str, id: str) -> Any:
                """Commands."""
                return Command(update={"messages": form(text[::-1], id)})

            commands.__annotations__ = {"text": str, "id": Annotated[str, InjectedToolCallId]}
            for number in range(3):
                script = Script([("commands", {"text": BACKWARDS})], [("commands", {"text": "egap neddibrof a"})])
                names = code("langchain.md", number)
                names["guardian"] = self.guardian
                finished(names["answer"]("Do it.", Model(script=script), [tool(commands)]))
                self.assertIn("****", script.seen[1])
                self.assertIn("This is forbidden.", script.seen[2])
                self.assertNotIn(CARD, "".join(script.seen))
                self.assertNotIn("a forbidden page", "".join(script.seen))

    def test_retrieval(self) -> None:
        from langchain_core.documents import Document
        from langchain_core.retrievers import BaseRetriever

        class Shelf(BaseRetriever):
            def _get_relevant_documents(self, query: str, *, run_manager: Any) -> List[Document]:
                return [Document(f"about {query}: {CARD}", metadata={"source": "a"}), Document("plain", id="b")]

        names = code("langchain.md", 3)
        names["guardian"] = self.guardian
        retriever = names["guarded"](Shelf())
        for found in (retriever.invoke("cards"), asyncio.run(retriever.ainvoke("cards"))):
            self.assertEqual([document.page_content for document in found], ["about cards: ****", "plain"])
        self.assertEqual([step["knowledgeStep"]["query"] for step in self.line.steps("knowledgeRetrieval")], ["cards"] * 2)

    def test_sub_agent(self) -> None:
        """An agent that a tool starts is told as one below the agent whose tool it is."""
        names = code("langchain.md", 4)
        names["guardian"] = self.guardian
        inner = Script([("note", {"text": "inner"})])
        outer = Script([("research", {"question": "what?"}), ("note", {"text": "outer"})])
        names["answer"]("Find out.", Model(script=outer), Model(script=inner), self.tools())
        self.assertEqual(sorted(self.ran), [("note", "inner"), ("note", "outer")])
        told = {step["toolCallRequest"]["inputs"][0]["value"]: step["context"] for step in self.line.steps("toolCallRequest")}
        own, below = told["outer"], told["inner"]
        self.assertEqual((own["agent"]["name"], below["agent"]["name"], own["agent"]["id"]), ("Clerk", "researcher", below["agent"]["id"]))
        self.assertEqual(below["session"]["metadata"]["parent"], own["session"]["id"])
        self.assertEqual(own["turnId"], below["turnId"])

