"""Runs both examples with a model that is a script: it looks a customer up, tries to delete
it, and then says what it was told."""

import asyncio
import http.server
import json
import os
import threading
import unittest
from typing import Any, List

QUESTION = "What do we know of Ada? Then delete her."


class Script(http.server.BaseHTTPRequestHandler):
    """A server with the form of OpenAI's chat completions."""

    seen: List[Any] = []

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(request)
        told = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        calls = [("look_up_customer", {"name": "Ada"}), ("delete_customer", {"name": "Ada"})]
        if len(told) < len(calls):
            name, arguments = calls[len(told)]
            message = {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"call_{len(told)}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]}
        else:
            message = {"role": "assistant", "content": " / ".join(told)}
        body = json.dumps({
            "id": "c", "object": "chat.completion", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Examples(unittest.TestCase):
    def setUp(self) -> None:
        Script.seen = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Script)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        os.environ.update(OPENAI_BASE_URL=f"http://127.0.0.1:{server.server_port}/v1", OPENAI_API_KEY="none")

    def check(self, answer: str) -> None:
        record, refusal = answer.split(" / ")
        record = record.replace("'", '"')  # the SDK writes a dictionary as Python does
        self.assertEqual(json.loads(record), {"name": "Ada", "card": "****"})
        self.assertEqual(refusal, "Customers are deleted by people. Instead: Ask the office to do it.")
        tools = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in Script.seen[0]["tools"]}
        self.assertEqual({name: list(properties) for name, properties in tools.items()}, {"look_up_customer": ["name"], "delete_customer": ["name"]})
        self.assertNotIn("4000", json.dumps(Script.seen))
        self.assertEqual(len(Script.seen), 3)

    def test_langchain(self) -> None:
        import langchain_agent

        self.check(langchain_agent.main(QUESTION))

    def test_openai_agents(self) -> None:
        import openai_agents

        self.check(asyncio.run(openai_agents.main(QUESTION)))


if __name__ == "__main__":
    unittest.main()
