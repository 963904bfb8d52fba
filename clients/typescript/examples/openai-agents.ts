// An agent of the OpenAI Agents SDK with guarded function tools.
//
//     npm install ./clients/typescript @openai/agents zod
//     reeve serve --policy clients/typescript/examples/policy.yaml
//     node clients/typescript/examples/openai-agents.ts "What do we know of Ada? Then delete her."
//
// The model is any with OpenAI's chat completions: OPENAI_API_KEY and OPENAI_BASE_URL say which.
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { Denied, Guardian } from "reeve-aos";
import { z } from "zod";

const guardian = new Guardian({ agent: { id: "office", name: "Office helper" } });

/** Lets the model read why a call was denied, and what to do instead. */
function tellTheModel(_: unknown, error: unknown): string {
  if (error instanceof Denied) {
    return error.message;
  }
  throw error;
}

const lookUpCustomer = tool({
  name: "look_up_customer",
  description: "Looks a customer up.",
  parameters: z.object({ name: z.string() }),
  execute: guardian.guarded(({ name }: { name: string }) => ({ name, card: "4000 0000 0000 0002" }), { name: "look_up_customer" }),
  errorFunction: tellTheModel,
});

const deleteCustomer = tool({
  name: "delete_customer",
  description: "Deletes a customer for good.",
  parameters: z.object({ name: z.string() }),
  execute: guardian.guarded(async ({ name }: { name: string }) => `${name} is deleted.`, { name: "delete_customer" }),
  errorFunction: tellTheModel,
});

async function main(question: string): Promise<string> {
  // Without tracingDisabled the SDK tells OpenAI what the agent does.
  const runner = new Runner({ modelProvider: new OpenAIProvider({ useResponses: false }), tracingDisabled: true });
  const agent = new Agent({ name: "Office helper", model: process.env["OPENAI_MODEL"] ?? "gpt-5-mini", tools: [lookUpCustomer, deleteCustomer] });
  return guardian.session({ user: "bo" }).turn().run(async (turn) => {
    const { content } = await turn.userMessage(question);
    const { finalOutput } = await runner.run(agent, content);
    return (await turn.agentMessage(String(finalOutput))).content;
  });
}

console.log(await main(process.argv[2] ?? ""));
