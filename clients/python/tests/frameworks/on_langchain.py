"""LangChain's agents, and LangGraph with a ToolNode."""

from __future__ import annotations

import asyncio
import datetime
from typing import Annotated, Any, Dict, Iterator, List

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

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

    def test_commanded_state(self) -> None:
        """What a tool puts into the state of the graph, or sends to a node, is read later: it is judged, too."""
        from langchain.agents import AgentState, create_agent
        from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
        from langchain_core.tools import InjectedToolCallId, tool
        from langgraph.graph import START, StateGraph
        from langgraph.prebuilt import ToolNode
        from langgraph.types import Command, Send
        from reeve_aos.langchain import GuardianMiddleware

        class State(AgentState[Any]):
            notes: Any
            kept: Any

        def done(id: str) -> List[BaseMessage]:
            return [ToolMessage("done", tool_call_id=id)]

        forms: Dict[str, Any] = {
            "text": lambda text, id: Command(update={"messages": done(id), "notes": text, "kept": 7}),
            "structure": lambda text, id: Command(update={"messages": done(id), "notes": {"a": [{"b": text}]}, "kept": 7}),
            "model": lambda text, id: Command(update={"messages": done(id), "notes": [AIMessage(text)], "kept": 7}),
            "sent": lambda text, id: Command(update={"messages": done(id), "kept": 7}, goto=[Send("reader", {"notes": text})]),
            "call": lambda text, id: Command(update={"messages": [*done(id), AIMessage("", tool_calls=[
                {"name": "note", "args": {"text": text}, "id": "1"}]), ToolMessage("noted", tool_call_id="1")], "kept": 7}),
        }
        guard = GuardianMiddleware(self.guardian)
        read: List[str] = []
        for form, commands in forms.items():
            with self.subTest(form):

                def put(text: str, id: str) -> Any:
                    """Puts."""
                    return commands(text[::-1], id)

                put.__annotations__ = {"text": str, "id": Annotated[str, InjectedToolCallId]}
                agent: Any
                if form != "sent":
                    agent = create_agent(Model(script=Script([("put", {"text": BACKWARDS})])), [tool(put)], middleware=[guard], state_schema=State)
                    given: Any = {"messages": [("user", "Do it.")]}
                else:
                    graph = StateGraph(State)
                    graph.add_node("tools", ToolNode([tool(put)], wrap_tool_call=guard.wrap_tool_call))
                    graph.add_node("reader", lambda state: {"notes": state["notes"]})
                    graph.add_edge(START, "tools")
                    agent = graph.compile()
                    given = {"messages": [AIMessage("", tool_calls=[{"name": "put", "args": {"text": BACKWARDS}, "id": "1"}])]}
                state = agent.invoke(given)
                read.append(str(state))
                self.assertNotIn(CARD, str(state))
                changed = form not in ("model", "call")  # whose form cannot hold another text: that is denied
                self.assertEqual("****" in str(state.get("notes")), changed)
                self.assertEqual(state.get("kept"), 7 if changed else None)

        def opaque(id: str) -> Any:
            """Gives."""
            return Command(update={"messages": done(id), "notes": object()})

        opaque.__annotations__ = {"id": Annotated[str, InjectedToolCallId]}
        with self.assertRaisesRegex(TypeError, "cannot be judged"):
            create_agent(Model(script=Script([("opaque", {})])), [tool(opaque)], middleware=[guard], state_schema=State).invoke({"messages": [("user", "x")]})

    def test_retrieval(self) -> None:
        from langchain_core.documents import Document
        from langchain_core.retrievers import BaseRetriever

        day = datetime.date(2026, 4, 2)

        class Shelf(BaseRetriever):
            def _get_relevant_documents(self, query: str, *, run_manager: Any) -> List[Document]:
                return [Document(f"about {query}: {CARD}", metadata={"source": "a"}),
                        Document("plain", id="b", metadata={"title": f"card {CARD}", "day": day, "page": 7, "of": object})]

        names = code("langchain.md", 3)
        names["guardian"] = self.guardian
        retriever = names["guarded"](Shelf())
        for found in (retriever.invoke("cards"), asyncio.run(retriever.ainvoke("cards"))):
            self.assertEqual([document.page_content for document in found], ["about cards: ****", "plain"])
            self.assertEqual([document.metadata for document in found], [{"source": "a"}, {"title": "card ****", "day": day, "page": 7, "of": object}])
        self.assertEqual([step["knowledgeStep"]["query"] for step in self.line.steps("knowledgeRetrieval")], ["cards"] * 2)

    def test_memory(self) -> None:
        """What goes into a store and what comes out of it is judged, by every way that a store has; a memory that is
        not allowed is neither kept nor read, and no memory of those put together with it."""
        from langchain_core.tools import tool
        from langgraph.config import get_store
        from langgraph.store.base import GetOp, PutOp, SearchOp
        from langgraph.store.memory import InMemoryStore
        from reeve_aos import Denied, NotAllowed

        names = code("langchain.md", 4)
        names["guardian"] = self.guardian
        below = InMemoryStore()
        store = names["guarded"](below)
        store.put(("notes",), "a", {"text": f"card {CARD}"})
        asyncio.run(store.aput(("notes",), "b", {"text": [f"card {CARD}", 7]}))
        self.assertEqual([below.get(("notes",), key).value["text"] for key in "ab"], ["card ****", ["card ****", 7]])
        below.put(("notes",), "c", {"text": f"card {CARD}"})
        kept: Any = [store.get(("notes",), "c"), asyncio.run(store.aget(("notes",), "c")), *store.search(("notes",), filter={"text": f"card {CARD}"}), *asyncio.run(store.asearch(("notes",)))]
        self.assertEqual((len(kept), [one.value["text"] for one in kept if one.key == "c"]), (6, ["card ****"] * 4))
        self.assertEqual(below.get(("notes",), "c").value, {"text": f"card {CARD}"})
        self.assertIsNone(store.get(("notes",), "z"))
        with self.assertRaises(Denied):
            store.batch([PutOp(("notes",), "d", {"text": "fine"}), PutOp(("notes",), "e", {"text": "a forbidden page"})])
        with self.assertRaises(NotAllowed):
            store.put(("notes",), CARD, {"text": "where it is kept"})
        self.assertEqual([below.get(("notes",), key) for key in ("d", "e", CARD)], [None] * 3)
        below.put(("notes",), "f", {"text": "a forbidden page"})
        for read in (lambda: store.get(("notes",), "f"), lambda: store.search(("notes",)), lambda: store.batch([GetOp(("notes",), "a"), SearchOp(("notes",))])):
            with self.assertRaises(Denied):
                read()
        store.delete(("notes",), "f")
        self.assertIsNone(below.get(("notes",), "f"))
        self.line.fault = lambda request: "lost"
        for ask in (lambda: store.put(("notes",), "g", {"text": "lost"}), lambda: store.get(("notes",), "a")):
            with self.assertRaises(NotAllowed):
                ask()
        self.assertIsNone(below.get(("notes",), "g"))
        self.line.fault = lambda request: None

        def remember(text: str) -> str:
            """Remembers."""
            get_store().put(("notes",), "h", {"text": text[::-1]})
            return "done"

        script = Script([("remember", {"text": BACKWARDS})])
        names["agent"](Model(script=script), [tool(remember)], below).invoke({"messages": [("user", "Do it.")]}, {"configurable": {"thread_id": "t-7"}})
        self.assertEqual(below.get(("notes",), "h").value, {"text": "****"})
        self.assertEqual(self.line.steps("memoryStore")[-1]["context"]["session"]["id"], "t-7")

    def test_stream(self) -> None:
        """What a model streams is read when it has been judged."""
        from langchain.agents import create_agent
        from reeve_aos import Denied

        class Streaming(Model):
            def _stream(self, messages: List[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
                for word in self.script.calls([message.model_dump() for message in messages])[1].split(" "):
                    chunk = ChatGenerationChunk(message=AIMessageChunk(word + " "))
                    if run_manager:
                        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk

        def tokens(text: str) -> Iterator[str]:
            agent = create_agent(Streaming(script=Script(says=text)), tools=[])
            for chunk, _ in agent.stream({"messages": [("user", "Say it.")]}, stream_mode="messages"):
                yield str(chunk.content)

        with self.guardian.session() as session, session.turn() as turn:
            self.assertEqual("".join(turn.stream(tokens(f"It is green. My card is {CARD}, as you know."))).strip(), "It is green. My card is ****, as you know.")
            read: List[str] = []
            with self.assertRaises(Denied):
                read.extend(turn.stream(tokens("It is green. This is a forbidden page.")))
            self.assertNotIn("forbidden", "".join(read))

    def test_sub_agent(self) -> None:
        """An agent that a tool starts is told as one below the agent whose tool it is."""
        names = code("langchain.md", 5)
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

