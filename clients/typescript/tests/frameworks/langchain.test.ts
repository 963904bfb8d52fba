// LangChain.
import assert from "node:assert/strict";
import test from "node:test";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, tool } from "langchain";
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
