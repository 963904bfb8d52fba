// Vercel's AI SDK.
import assert from "node:assert/strict";
import test from "node:test";
import { jsonSchema, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { answer } from "../../pages/vercel-ai-1.js";
import { guardTools } from "reeve-aos/vercel-ai";
import { recording, scenarios, type Plain, type Script } from "./scenarios.js";

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
