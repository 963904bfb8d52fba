// LangChain.
import assert from "node:assert/strict";
import test from "node:test";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { Command, InMemoryStore } from "@langchain/langgraph";
import { AIMessage, createAgent, createMiddleware, ToolMessage, tool } from "langchain";
import { NotAllowed } from "reeve-aos";
import { guardianMiddleware } from "reeve-aos/langchain";
import { z } from "zod";
import { answer } from "../../pages/langchain-js-1.js";
import { answer as delegated } from "../../pages/langchain-js-2.js";
import { guarded } from "../../pages/langchain-js-3.js";
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

test("LangChain: memories that go into a store, and come out of it", async () => {
  const { guardian } = recording();
  const below = new InMemoryStore();
  const store = guarded(guardian, below);
  const at = ["notes"];
  await store.put(at, "a", { text: `card ${card}`, page: 7 });
  assert.deepEqual((await below.get(at, "a"))?.value, { text: "card ****", page: 7 });
  await below.put(at, "b", { text: `card ${card}` });
  assert.deepEqual((await store.get(at, "b"))?.value, { text: "card ****" });
  assert.deepEqual((await store.search(at)).map(({ value }) => value["text"]), ["card ****", "card ****"]);
  assert.deepEqual((await below.get(at, "b"))?.value, { text: `card ${card}` });
  assert.equal(await store.get(at, "z"), null);
  await assert.rejects(store.batch([{ namespace: at, key: "c", value: { text: "fine" } }, { namespace: at, key: "d", value: { text: "a forbidden page" } }]), /forbidden/);
  await assert.rejects(store.put(at, card, { text: "where it is kept" }), NotAllowed);
  assert.deepEqual([await below.get(at, "c"), await below.get(at, "d"), await below.get(at, card)], [null, null, null]);
  await below.put(at, "e", { text: "a forbidden page" });
  await assert.rejects(store.get(at, "e"), /forbidden/);
  await assert.rejects(store.search(at), /forbidden/);
  await store.delete(at, "e");
  assert.equal(await below.get(at, "e"), null);
});
