// Vercel's AI SDK.
import assert from "node:assert/strict";
import test from "node:test";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { answer } from "../../pages/vercel-ai-1.js";
import { guardTools } from "reeve-aos/vercel-ai";
import { recording, scenarios, Script, type Plain } from "./scenarios.js";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

export function scripted(script: Script): any {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }: { prompt: unknown }) => {
      const { calls, text } = script.next(prompt);
      const content = calls.map(([toolCallId, toolName, inputs]) => ({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(inputs) }));
      return { content: text === "" ? content : [{ type: "text", text }], finishReason: { unified: text === "" ? "tool-calls" : "stop" }, usage, warnings: [] } as any;
    },
  } as any);
}

const tools = (plain: readonly Plain[]) =>
  Object.fromEntries(plain.map(({ name, argument, type, run }) => [
    name, tool({ description: name, inputSchema: jsonSchema<any>({ type: "object", properties: { [argument]: { type } }, required: [argument] }), execute: async (inputs: any) => run(inputs) }),
  ]));

scenarios({
  name: "AI SDK", tellsMessages: true, opensTurn: true, ends: false,
  answer: (guardian, question, script, plain) => answer(guardian, question, scripted(script), tools(plain)),
});

test("AI SDK: to guarded tools no other is added, and none of them is changed", () => {
  const own = tools([{ name: "note", argument: "text", type: "string", run: () => "noted" }]);
  const guarded: Record<string, any> = guardTools(recording().guardian, own);
  assert.throws(() => Object.assign(guarded, { more: own["note"] }), TypeError);
  assert.throws(() => (guarded["note"].execute = own["note"]!.execute), TypeError);
});

test("AI SDK: an agent that a tool of another starts", async () => {
  const { guardian, asked, calls } = recording();
  const ran: unknown[] = [];
  const note: Plain = { name: "note", argument: "text", type: "string", run: ({ text }) => (ran.push(text), "noted") };
  const wipe: Plain = { name: "wipe_disk", argument: "path", type: "string", run: () => (ran.push("wiped"), "wiped") };
  const inner = new Script([[["note", { text: "inner" }]], [["wipe_disk", { path: "old" }]]]);
  const research: Plain = {
    name: "research", argument: "question", type: "string",
    run: (async () => (await generateText({ model: scripted(inner), tools: guardTools(guardian, tools([note, wipe]), { agent: "researcher" }), stopWhen: isStepCount(5), prompt: "Go." })).text) as any,
  };
  const outer = new Script([[["research", { question: "what?" }]], [["note", { text: "outer" }]]]);
  await guardian.session().turn().run(() => generateText({ model: scripted(outer), tools: guardTools(guardian, tools([research, note])), stopWhen: isStepCount(5), prompt: "Go." }));
  assert.deepEqual(ran, ["inner", "outer"]);
  const { id } = asked[0]!.params.context.session;
  assert.deepEqual(
    calls().map(({ toolCallRequest, context }) => [toolCallRequest.toolId, context.agent.name, context.session.metadata?.parent]),
    [["research", "Clerk", undefined], ["note", "researcher", id], ["wipe_disk", "researcher", id], ["note", "Clerk", undefined]],
  );
});
