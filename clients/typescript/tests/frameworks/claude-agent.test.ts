// The Claude Agent SDK, with Claude Code's own program, and a model that is an endpoint here. scripts/test-adapters brings it.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { createSdkMcpServer, query, tool, type Options } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { answer } from "../../pages/claude-agent-js-1.js";
import { guard } from "reeve-aos/claude-agent";
import { recording, scenarios, Script, type Plain } from "./scenarios.js";

/** The Messages interface: it answers as the script says, in a stream if that is asked for. */
async function endpoint<R>(script: Script, own: ReadonlySet<string>, body: (url: string) => Promise<R>): Promise<R> {
  const server = createServer((incoming, outgoing) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    incoming.on("end", () => {
      const asked = text === "" ? {} : JSON.parse(text);
      let content: Record<string, unknown>[] = [{ type: "text", text: "ok" }];
      if (asked.tools?.length > 0) { // else it asks for a title or the like
        const { calls, text } = script.next(asked.messages);
        content = calls.map(([id, name, input]) => ({ type: "tool_use", id: `toolu_${id}`, name: own.has(name) ? `mcp__own__${name}` : name, input }));
        content = content.length > 0 ? content : [{ type: "text", text }];
      }
      tell(outgoing, asked, content);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function tell(outgoing: ServerResponse, asked: { model?: string; stream?: boolean }, content: Record<string, unknown>[]): void {
  const reason = content[0]!["type"] === "tool_use" ? "tool_use" : "end_turn";
  const whole = { id: "msg_1", type: "message", role: "assistant", model: asked.model, content, stop_reason: reason, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } };
  outgoing.setHeader("Content-Type", asked.stream === true ? "text/event-stream" : "application/json");
  if (asked.stream !== true) {
    outgoing.end(JSON.stringify(whole));
    return;
  }
  const event = (type: string, members: object = {}) => outgoing.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
  event("message_start", { message: { ...whole, content: [], stop_reason: null } });
  content.forEach((block, index) => {
    const call = block["type"] === "tool_use";
    event("content_block_start", { index, content_block: call ? { ...block, input: {} } : { type: "text", text: "" } });
    event("content_block_delta", { index, delta: call ? { type: "input_json_delta", partial_json: JSON.stringify(block["input"]) } : { type: "text_delta", text: block["text"] } });
    event("content_block_stop", { index });
  });
  event("message_delta", { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 1 } });
  event("message_stop");
  outgoing.end();
}

/** Claude Code in a folder of its own, with a model that follows the script, and these tools. */
async function claude<R>(script: Script, plain: readonly Plain[], body: (options: Options) => Promise<R>): Promise<R> {
  const home = await mkdtemp(join(tmpdir(), "claude"));
  const tools = plain.map(({ name, argument, type, run }) =>
    tool(name, name, { [argument]: type === "string" ? z.string() : z.number() } as any, async (inputs: any) => ({ content: [{ type: "text" as const, text: run(inputs) }] })));
  try {
    return await endpoint(script, new Set(plain.map(({ name }) => name)), (url) => body({
      env: { ...process.env, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", IS_SANDBOX: "1", HOME: home, CLAUDE_CONFIG_DIR: home },
      cwd: home, mcpServers: { own: createSdkMcpServer({ name: "own", tools }) }, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true, settingSources: [],
    }));
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

scenarios({
  name: "Claude Agent SDK", tellsMessages: true, opensTurn: true, ends: false, stopsAtErrors: true,
  answer: (guardian, question, script, plain) => claude(script, plain, (options) => answer(guardian, question, options)),
});

test("Claude Agent SDK: Claude Code's own tools are asked about, and what they give is changed in its own form", async () => {
  const { guardian, calls } = recording({ timeout: 20_000 });
  const script = new Script([[["Bash", { command: "printf '%s' '2000 0000 0000 0004' | rev" }]], [["Bash", { command: "echo a forbidden page" }]]]);
  await claude(script, [], (options) => answer(guardian, "Do it.", options));
  assert.deepEqual(calls().map(({ toolCallRequest }) => toolCallRequest.toolId), ["Bash", "Bash"]);
  assert.match(script.seen[1]!, /\*\*\*\*/);
  assert.doesNotMatch(script.seen.join(), /4000 0000/);
  assert.match(script.seen[2]!, /This is forbidden\./);
});

test("Claude Agent SDK: what the user says is judged by a hook when the program has opened no turn", async () => {
  const { guardian, asked } = recording({ timeout: 20_000 });
  const script = new Script([]);
  await claude(script, [], async (options) => {
    for await (const _ of query({ prompt: "Something forbidden.", options: guard(guardian, options) }));
  }).catch(() => {});
  assert.deepEqual([script.seen, asked.map(({ method }) => method)], [[], ["steps/message"]]);
});

test("Claude Agent SDK: an agent below is told by its type", async () => {
  const { guardian, calls } = recording({ timeout: 20_000 });
  const script = new Script([[["Agent", { description: "Reads", prompt: "Read.", subagent_type: "reader" }]], [["Bash", { command: "echo hello" }]]]);
  await claude(script, [], (options) => answer(guardian, "Do it.", { ...options, agents: { reader: { description: "Reads.", prompt: "Read." } } }));
  assert.deepEqual(calls().map(({ toolCallRequest, context }) => [toolCallRequest.toolId, context.agent.name]), [["Agent", "Clerk"], ["Bash", "reader"]]);
});
