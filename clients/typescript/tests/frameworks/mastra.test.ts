// Mastra.
import assert from "node:assert/strict";
import test from "node:test";
import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { answer } from "../../pages/mastra-1.js";
import { guarded } from "../../pages/mastra-2.js";
import { guard, guardTools } from "reeve-aos/mastra";
import { recording, scenarios, Script, type Plain } from "./scenarios.js";

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

test("Mastra: every tool of a run is asked about, wherever it comes from and whenever it came", async () => {
  const ran: string[] = [];
  const wipe = tools([{ name: "wipe_disk", argument: "path", type: "string", run: () => (ran.push("wiped"), "wiped") }]);
  const agent = (name: string, script: Script, more = {}) => new Agent({ id: name, name, instructions: "Help.", model: scripted(script), ...more });
  const wiping = () => new Script([[["wipe_disk", { path: "old" }]]]);
  const later: Record<string, object> = {};
  const inner = agent("inner", wiping(), { tools: wipe, description: "Wipes." });
  const ways: Record<string, () => [Agent, object?]> = {
    "of the call": () => [agent("clerk", wiping()), { toolsets: { more: wipe } }],
    "added later": () => [agent("clerk", wiping(), { tools: later })],
    "of a function": () => [agent("clerk", wiping(), { tools: () => later })],
    "of an agent below": () => [agent("clerk", new Script([[["agent-inner", { prompt: "Wipe." }]]]), { agents: { inner } })],
  };
  for (const [way, made] of Object.entries(ways)) {
    const { guardian, calls } = recording();
    const [given, options] = made();
    const guarded = guard(guardian, given);
    Object.assign(later, wipe);
    await guardian.session().turn().run(() => guarded.generate("Do it.", options as any));
    delete later["wipe_disk"];
    assert.deepEqual([way, ran, calls().at(-1)?.toolCallRequest.toolId], [way, [], "wipe_disk"]);
    if (way === "of an agent below") {
      assert.deepEqual(calls().map(({ toolCallRequest, context }) => [toolCallRequest.toolId, context.agent.name]), [["agent-inner", "Clerk"], ["wipe_disk", "inner"]]);
    }
  }
  const { guardian } = recording();
  const given: Record<string, object> = guardTools(guardian, wipe);
  assert.throws(() => Object.assign(given, { more: wipe["wipe_disk"] }), TypeError);
  assert.throws(() => guard(guardian, {}), /cannot hold/);
});

test("Mastra: an agent by a name of its own", async () => {
  const { guardian, asked, calls } = recording();
  const note = tools([{ name: "note", argument: "text", type: "string", run: () => "noted" }]);
  const inner = new Agent({ id: "inner", name: "Inner", instructions: "Help.", model: scripted(new Script([[["note", { text: "hello" }]]])), tools: note });
  await guardian.session().turn().run(() => guard(guardian, inner, { agent: "researcher" }).generate("Do it."));
  const [call] = calls();
  assert.deepEqual([call?.context.agent.name, call?.context.session.metadata?.parent], ["researcher", asked[0]!.params.context.session.id.replace(/\/researcher$/, "")]);
});

test("Mastra: what is put into a memory and what is recalled from it is judged", async () => {
  const { guardian, asked } = recording();
  const storage = new InMemoryStore();
  const memory = guarded(guardian, new MockMemory({ storage }));
  const agent = (script: Script) => new Agent({ id: "clerk", name: "Clerk", instructions: "Help.", model: scripted(script), memory });
  const run = (script: Script, said: string) =>
    guardian.session().turn().run(() => guard(guardian, agent(script)).generate(said, { memory: { thread: "t-1", resource: "ada" } } as any));
  await run(new Script([], "All right."), "My card is 4000 0000 0000 0002.");
  const kept = async () => JSON.stringify([...(storage as any).stores.memory.db.messages.values()]);
  assert.match(await kept(), /My card is \*\*\*\*\./);
  assert.doesNotMatch(await kept(), /4000/);
  assert.ok(asked.some(({ method }) => method === "steps/memoryStore"));

  // What somebody else has put there.
  const put = (text: string) => {
    const [one] = [...(storage as any).stores.memory.db.messages.values()];
    (storage as any).stores.memory.db.messages.set(text, { ...one, id: text, createdAt: new Date(), content: JSON.stringify({ format: 2, parts: [{ type: "text", text }] }) });
  };
  put("An old card: 4000 0000 0000 0002.");
  const script = new Script([], "Yes.");
  await run(script, "More.");
  assert.match(script.seen[0]!, /An old card: \*\*\*\*\./);
  assert.doesNotMatch(script.seen.join(), /4000/);
  assert.ok(asked.some(({ method }) => method === "steps/memoryContextRetrieval"));
  put("a forbidden page");
  const silent = new Script([]);
  await run(silent, "More.").catch(() => {});
  assert.deepEqual(silent.seen, []);
  assert.throws(() => guarded(guardian, {} as MockMemory), /cannot hold/);
});

test("Mastra: working memory, and messages that are recalled by their ids, as a search by meaning does, are judged", async () => {
  const { guardian } = recording();
  const storage = new InMemoryStore();
  guarded(guardian, new MockMemory({ storage, enableWorkingMemory: true } as any));
  const held = (storage as any).stores.memory.db;
  await guardian.session().turn().run(async () => {
    const store: any = await storage.getStore("memory");
    await store.updateResource({ resourceId: "ada", workingMemory: "Ada's card is 4000 0000 0000 0002." });
    assert.doesNotMatch(JSON.stringify([...held.resources.values()]), /4000/);
    assert.match((await store.getResourceById({ resourceId: "ada" })).workingMemory, /Ada's card is \*\*\*\*\./);
    await assert.rejects(store.updateResource({ resourceId: "ada", workingMemory: "a forbidden page" }));

    // What somebody else has put there.
    held.resources.set("bob", { ...held.resources.get("ada"), id: "bob", workingMemory: "Bob's card is 4000 0000 0000 0002." });
    assert.match((await store.getResourceById({ resourceId: "bob" })).workingMemory, /Bob's card is \*\*\*\*\./);
    const now = new Date();
    await store.saveThread({ thread: { id: "t-1", resourceId: "ada", title: "t", createdAt: now, updatedAt: now, metadata: {} } });
    held.threads.set("t-1", { ...held.threads.get("t-1"), metadata: { workingMemory: "Card 4000 0000 0000 0002." } });
    assert.match((await store.getThreadById({ threadId: "t-1" })).metadata.workingMemory, /Card \*\*\*\*\./);
    await store.saveMessages({ messages: [{ id: "m-1", threadId: "t-1", resourceId: "ada", role: "user", createdAt: now, content: { format: 2, parts: [{ type: "text", text: "hello" }] } }] });
    held.messages.set("m-1", { ...held.messages.get("m-1"), content: JSON.stringify({ format: 2, parts: [{ type: "text", text: "An old card: 4000 0000 0000 0002." }] }) });
    const recalled = JSON.stringify(await store.listMessagesById({ messageIds: ["m-1"] }));
    assert.match(recalled, /An old card: \*\*\*\*\./);
    assert.doesNotMatch(recalled, /4000/);
  });
});

test("Mastra: an agent's stream is judged before it is read", async () => {
  const { guardian } = recording();
  const agent = (text: string) => guard(guardian, new Agent({ id: "clerk", name: "Clerk", instructions: "Help.", model: scripted(new Script([], text)) }));
  const read = (text: string, into: string[]) =>
    guardian.session().turn().run(async (turn) => {
      const { textStream } = await agent(text).stream("Say it.");
      for await (const piece of turn.stream(textStream as any)) {
        into.push(piece);
      }
    });
  const said: string[] = [];
  await read("It is green. My card is 4000 0000 0000 0002, as you know.", said);
  assert.equal(said.join(""), "It is green. My card is ****, as you know.");
  const denied: string[] = [];
  await assert.rejects(read("It is green. This is a forbidden page. So it is.", denied));
  assert.doesNotMatch(denied.join(""), /forbidden/);
});
