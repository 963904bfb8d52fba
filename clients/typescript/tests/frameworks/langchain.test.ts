// LangChain.
import assert from "node:assert/strict";
import test from "node:test";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { Command } from "@langchain/langgraph";
import { AIMessage, createAgent, createMiddleware, ToolMessage, tool } from "langchain";
import { guardianMiddleware } from "reeve-aos/langchain";
import { z } from "zod";
import { answer } from "../../pages/langchain-js-1.js";
import { answer as delegated } from "../../pages/langchain-js-2.js";
import { recording, scenarios, Script, type Plain } from "./scenarios.js";

class Model extends BaseChatModel {
  readonly #script: Script;

  constructor(script: Script) {
    super({});
    this.#script = script;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): any {
    return this;
  }

  override async _generate(messages: any[]): Promise<any> {
    const { calls, text } = this.#script.next(messages.map(({ content }) => content));
    const message = new AIMessage({ content: text, tool_calls: calls.map(([id, name, args]) => ({ id, name, args, type: "tool_call" as const })) });
    return { generations: [{ text, message }] };
  }
}

const tools = (plain: readonly Plain[]) => plain.map(({ name, argument, type, run }) => tool(async (inputs: any) => run(inputs), {
  name, description: name, schema: { type: "object", properties: { [argument]: { type } }, required: [argument] } as any,
}));

scenarios({
  name: "LangChain", tellsMessages: true, ends: true,
  answer: (guardian, question, script, plain) => answer(guardian, question, new Model(script), tools(plain)),
});

test("LangChain: an agent that a tool starts", async () => {
  const { guardian, asked, calls } = recording();
  const ran: unknown[] = [];
  const own: Plain[] = [{ name: "note", argument: "text", type: "string", run: ({ text }) => (ran.push(text), "noted") }];
  const inner = new Script([[["note", { text: "inner" }]]]);
  const outer = new Script([[["research", { question: "what?" }]], [["note", { text: "outer" }]]]);
  await delegated(guardian, "Find out.", new Model(outer), new Model(inner), tools(own));
  assert.deepEqual(ran, ["inner", "outer"]);
  const { id } = asked[0]!.params.context.session;
  const told = calls().map(({ toolCallRequest, context }) => [toolCallRequest.toolId, context.agent.name, context.session.metadata?.parent]);
  assert.deepEqual(told, [["research", "Clerk", undefined], ["note", "researcher", id], ["note", "Clerk", undefined]]);
});

const card = "4000 0000 0000 0002"; // a card, which the policy masks
const around = (text: string) => [...text].reverse().join("");

test("LangChain: what a tool commands is judged, be it a message of any form or a value of the state", async () => {
  const done = (id: string) => new ToolMessage({ content: "done", tool_call_id: id });
  const forms: Record<string, (text: string, id: string) => object> = {
    message: (text, id) => ({ messages: [new ToolMessage({ content: text, tool_call_id: id })] }),
    dictionary: (text, id) => ({ messages: [{ role: "tool", content: text, tool_call_id: id }] }),
    "of the user": (text, id) => ({ messages: [done(id), { role: "user", content: text }] }),
    "of the agent": (text, id) => ({ messages: [done(id), new AIMessage(text)] }),
    pair: (text, id) => ({ messages: [done(id), ["human", text]] }),
    text: (text, id) => ({ messages: [done(id)], notes: text }),
    structure: (text, id) => ({ messages: [done(id)], notes: { a: [{ b: text }] } }),
  };
  for (const [form, update] of Object.entries(forms)) {
    const { guardian } = recording();
    const put = tool(async ({ text }: any, { toolCall }: any) => new Command({ update: { ...update(around(text), toolCall.id), kept: 7 } as any }), {
      name: "put", description: "Puts.", schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as any,
    });
    const state = createMiddleware({ name: "state", stateSchema: z.object({ notes: z.any().optional(), kept: z.number().optional() }) });
    const script = new Script([[["put", { text: around(card) }]], [["put", { text: "egap neddibrof a" }]]]);
    const agent = createAgent({ model: new Model(script), tools: [put], middleware: [state, guardianMiddleware(guardian)] });
    const left: any = await agent.invoke({ messages: [{ role: "user", content: "Do it." }] });
    const read = script.seen.join() + JSON.stringify([left.messages.map(({ content }: any) => content), left.notes]);
    assert.equal(left.kept, 7, form);
    assert.doesNotMatch(read, /4000 0000|a forbidden page/, form);
    assert.match(read, /\*\*\*\*/, form);
    assert.match(read, /This is forbidden\./, form);
  }
});
