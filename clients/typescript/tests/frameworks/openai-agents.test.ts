// The OpenAI Agents SDK.
import assert from "node:assert/strict";
import test from "node:test";
import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { Guardian } from "reeve-aos";
import { GuardedRunner } from "reeve-aos/openai-agents";
import { answer } from "../../pages/openai-agents-js-1.js";
import { scenarios, Script, type Plain } from "./scenarios.js";

setTracingDisabled(true);

const scripted = (script: Script): any => ({
  async getResponse({ input }: { input: unknown }) {
    const { calls, text } = script.next(input);
    const made = calls.map(([callId, name, inputs]) => ({ type: "function_call", id: callId, callId, name, arguments: JSON.stringify(inputs), status: "completed" }));
    const said = { type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
    return { usage: new Usage(), output: text === "" ? made : [said] };
  },
});

const tools = (plain: readonly Plain[]) => plain.map(({ name, argument, type, run }) => tool({
  name, description: name, strict: true,
  parameters: { type: "object", properties: { [argument]: { type } }, required: [argument], additionalProperties: false } as any,
  execute: async (inputs: any) => run(inputs),
}));

scenarios({
  name: "OpenAI Agents", tellsMessages: true, ends: true, errorsAreResults: true,
  answer: (guardian, question, script, plain) => answer(guardian, question, scripted(script), tools(plain)),
});

test("OpenAI Agents: an agent that is a tool, and one that is handed over to", async () => {
  const asked: any[] = [];
  const guardian = new Guardian({
    agent: { id: "clerk", name: "Clerk" },
    fetch: (url, init) => {
      asked.push(JSON.parse(String(init!.body)));
      return fetch(url, init);
    },
  });
  const ran: string[] = [];
  const own: Plain[] = [
    { name: "note", argument: "text", type: "string", run: ({ text }) => (ran.push(String(text)), "noted") },
    { name: "wipe_disk", argument: "path", type: "string", run: () => (ran.push("wiped"), "wiped") },
  ];
  const agent = (name: string, ...steps: readonly (readonly [string, Record<string, unknown>][])[]) =>
    new Agent({ name, model: scripted(new Script(steps)), tools: tools(own) });
  const runner = new GuardedRunner(guardian, new Runner({ tracingDisabled: true }));

  const inner = agent("inner", [["wipe_disk", { path: "/" }], ["note", { text: "inner" }]]);
  assert.throws(() => runner.guard(new Agent({ name: "outer", tools: [inner.asTool({ toolName: "inner" })] })), /whose own tools nobody asks about/);
  const outer = new Agent({ name: "outer", model: scripted(new Script([[["inner", { input: "Do it." }]]])), tools: [runner.guard(inner).asTool({ toolName: "inner" })] });
  await runner.run(outer, "Do it.");
  const calls = () => asked.filter(({ method }) => method === "steps/toolCallRequest").map(({ params }) => [params.toolCallRequest.toolId, params.context.agent.name, params.context.session.metadata?.parent !== undefined]);
  assert.deepEqual(calls(), [["inner", "Clerk", false], ["wipe_disk", "inner", true], ["note", "inner", true]]);
  assert.deepEqual(ran, ["inner"]);

  asked.length = 0;
  const second = agent("second", [["note", { text: "second" }]]);
  const first = new Agent({ name: "first", model: scripted(new Script([[["note", { text: "first" }]], [["transfer_to_second", {}]]])), tools: tools(own), handoffs: [second] });
  await runner.run(first, "Do it.");
  assert.deepEqual(calls(), [["note", "Clerk", false], ["note", "second", true]]);
  assert.deepEqual(ran, ["inner", "first", "second"]);
});
