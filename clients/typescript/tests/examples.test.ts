// The examples, with a model that follows a script.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test from "node:test";
import { fileURLToPath } from "node:url";

interface Message {
  readonly role: string;
  readonly content: string;
  readonly tool_call_id?: string;
}

/** An OpenAI-compatible server that gives these messages, one after the other, and keeps what it was told. */
async function model(script: object[], body: (url: string, told: Message[][]) => Promise<void>): Promise<void> {
  const told: Message[][] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      told.push((JSON.parse(text) as { messages: Message[] }).messages);
      const message = { role: "assistant", content: null, ...script[told.length - 1] };
      const choice = { index: 0, message, finish_reason: "tool_calls" in message ? "tool_calls" : "stop" };
      response.setHeader("Content-Type", "application/json").end(JSON.stringify({
        id: `c-${told.length}`, object: "chat.completion", created: 0, model: "scripted", choices: [choice],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, told);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const call = (id: string, name: string, inputs: object) => ({ tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(inputs) } }] });

test("the OpenAI Agents SDK: one call is denied, and one output masked", async () => {
  const script = [call("1", "look_up_customer", { name: "Ada" }), call("2", "delete_customer", { name: "Ada" }), { content: "Ada stays." }];
  await model(script, async (url, told) => {
    const program = fileURLToPath(new URL("../examples/openai-agents.js", import.meta.url));
    const example = spawn(process.execPath, [program, "What do we know of Ada? Then delete her."], {
      env: { ...process.env, OPENAI_BASE_URL: url, OPENAI_API_KEY: "none", OPENAI_MODEL: "scripted" },
    });
    let output = "";
    for (const stream of [example.stdout, example.stderr]) {
      stream.setEncoding("utf8").on("data", (piece: string) => (output += piece));
    }
    assert.equal(await new Promise((resolve) => example.on("close", resolve)), 0, output);
    assert.equal(output, "Ada stays.\n");

    const results = told.at(-1)!.filter(({ role }) => role === "tool").map(({ content }) => content);
    assert.deepEqual(JSON.parse(results[0] ?? ""), { name: "Ada", card: "****" });
    assert.equal(results[1], "Customers are deleted by people. Instead: Ask the office to do it.");
    assert.doesNotMatch(JSON.stringify(told), /4000/);
    assert.equal(told.length, 3);
  });
});
