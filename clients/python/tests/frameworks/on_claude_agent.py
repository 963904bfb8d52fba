"""The Claude Agent SDK, with Claude Code's own program, and a model that is an endpoint here. scripts/test-adapters brings it."""

from __future__ import annotations

import contextlib
import http.server
import json
import tempfile
import threading
from typing import Any, Callable, Dict, Iterator, List

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

from . import scenarios
from .scenarios import BACKWARDS, CARD, Script, code

# What the tools of the table are called by Claude Code.
OWN = "mcp__own__"


@contextlib.contextmanager
def endpoint(script: Script) -> Iterator[str]:
    """The Messages interface: it answers as the script says, in a stream if that is asked for."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content: List[Dict[str, Any]] = [{"type": "text", "text": "ok"}]
            if asked.get("tools"):  # else it asks for a title or the like
                calls, text = script.calls([message for message in asked["messages"]])
                content = [{"type": "tool_use", "id": f"toolu_{id}", "name": name, "input": arguments} for id, name, arguments in calls]
                content = content or [{"type": "text", "text": text}]
            reason = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
            whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model"), "content": content,
                     "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if asked.get("stream") else "application/json")
            self.end_headers()
            if not asked.get("stream"):
                self.wfile.write(json.dumps(whole).encode())
                return
            self.event("message_start", message={**whole, "content": [], "stop_reason": None})
            for i, block in enumerate(content):
                call = block["type"] == "tool_use"
                self.event("content_block_start", index=i, content_block={**block, "input": {}} if call else {"type": "text", "text": ""})
                self.event("content_block_delta", index=i, delta={"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                           if call else {"type": "text_delta", "text": block["text"]})
                self.event("content_block_stop", index=i)
            self.event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 1})
            self.event("message_stop")

        def event(self, kind: str, **members: Any) -> None:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode())

        def log_message(self, *_: Any) -> None:
            """Tells nobody."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


class Claude(scenarios.Framework):
    page = "claude-agent.md"

    def tool(self, function: Callable[..., Any]) -> Any:
        (name, kind), = ((name, kind) for name, kind in function.__annotations__.items() if name != "return")

        async def run(arguments: Dict[str, Any]) -> Dict[str, Any]:
            return {"content": [{"type": "text", "text": function(arguments[name])}]}

        return tool(function.__name__, function.__doc__ or "", {name: {"str": str, "int": int}.get(kind, kind)})(run)

    def options(self, url: str, **more: Any) -> ClaudeAgentOptions:
        home = self.enterContext(tempfile.TemporaryDirectory())
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
               "IS_SANDBOX": "1", "HOME": home, "CLAUDE_CONFIG_DIR": home}
        own = create_sdk_mcp_server("own", tools=self.tools())
        return ClaudeAgentOptions(env=env, cwd=home, mcp_servers={"own": own}, permission_mode="bypassPermissions", setting_sources=[], **more)

    def ask(self, script: Script, question: str = "Do what is to be done.", **more: Any) -> str:
        script._steps = [step if isinstance(step, str) else [
            (f"{OWN}{name}" if name[0].islower() else name, arguments) for name, arguments in step] for step in script._steps]
        names = code(self.page)
        names["guardian"] = self.guardian
        with endpoint(script) as url:
            return str(scenarios.finished(names["answer"](question, self.options(url, **more))))


class Agents(Claude, scenarios.Scenarios):
    ends = False  # a run that is stopped raises nothing

    def test_turn_of_the_program(self) -> None:
        """Is what the page does."""

    def test_error_changed(self) -> None:
        """An error's text cannot be kept from the model: the run ends before it does anything more."""
        self.ask(Script([("breaks", {"text": BACKWARDS})], [("note", {"text": "more"})]))
        self.assertEqual(self.ran, [("breaks", BACKWARDS)])
        self.assertEqual([step["result"]["isError"] for step in self.line.steps("toolCallResult")], [False])

    def test_own_tools(self) -> None:
        """Claude Code's own tools are asked about, and what they give is changed in its own form."""
        script = Script([("Bash", {"command": f"printf '%s' '{BACKWARDS}' | rev"})], [("Bash", {"command": "echo a forbidden page"})])
        self.ask(script)
        self.assertEqual([step["toolCallRequest"]["toolId"] for step in self.line.steps("toolCallRequest")], ["Bash", "Bash"])
        self.assertIn("****", script.seen[1])
        self.assertNotIn(CARD, "".join(script.seen))
        self.assertIn("This is forbidden.", script.seen[2])

    def test_said_without_a_turn(self) -> None:
        """What the user says is judged by a hook when the program has opened no turn."""
        from claude_agent_sdk import query
        from reeve_aos.claude_agent import guard

        async def main(url: str) -> None:
            async for _ in query(prompt="Something forbidden.", options=guard(self.options(url), self.guardian)):
                pass

        script = Script()
        with endpoint(script) as url, contextlib.suppress(Exception):
            scenarios.finished(main(url))
        self.assertEqual(script.seen, [])
        self.assertEqual(len(self.line.steps("message")), 1)
