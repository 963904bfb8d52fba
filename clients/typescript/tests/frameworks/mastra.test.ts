// Mastra.
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { answer } from "../../pages/mastra-1.js";
import { scenarios, type Plain, type Script } from "./scenarios.js";

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };

/** A model of the specification that the AI SDK and Mastra share. */
function scripted(script: Script): any {
  const next = ({ prompt }: { prompt: unknown }) => {
    const { calls, text } = script.next(prompt);
    const content = calls.map(([toolCallId, toolName, inputs]) => ({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(inputs) }));
    return { content: text === "" ? content : [{ type: "text", text }], finishReason: { unified: text === "" ? "tool-calls" : "stop", raw: undefined } };
  };
  return {
    specificationVersion: "v3", provider: "scripted", modelId: "scripted", supportedUrls: {},
    doGenerate: async (options: any) => ({ ...next(options), usage, warnings: [] }),
    doStream: async (options: any) => {
      const { content, finishReason } = next(options);
      const parts = content.flatMap((part: any): object[] => part.type !== "text" ? [part] : [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: part.text }, { type: "text-end", id: "1" }]);
      return { stream: (ReadableStream as any).from([{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }]) };
    },
  };
}

const tools = (plain: readonly Plain[]) =>
  Object.fromEntries(plain.map(({ name, argument, type, run }) => [
    name, createTool({ id: name, description: name, inputSchema: z.object({ [argument]: type === "string" ? z.string() : z.number() }), execute: async (inputs: any) => run(inputs) }),
  ]));

scenarios({
  name: "Mastra", tellsMessages: true, opensTurn: true, ends: false,
  answer: (guardian, question, script, plain) => answer(guardian, question, scripted(script), tools(plain)),
});
