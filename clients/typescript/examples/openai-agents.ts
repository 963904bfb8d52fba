// An agent of the OpenAI Agents SDK whose function tools are guarded. See ../README.md.
//
// It asks an OpenAI-compatible model, named by OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL,
// and a guardian, named by REEVE_URL and REEVE_KEY.
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { Guardian, NotAllowed } from "reeve-aos";
import { z } from "zod";

const instructions = "You help the office with its customers.";
const guardian = new Guardian({ agent: { id: "office", name: "Office", instructions } });

// A denial tells the model why, and what to do instead.
const errorFunction = (_: unknown, error: unknown) => (error instanceof NotAllowed ? `This did not happen. ${error.message}` : "The tool failed.");

const customers = new Map([["ada", "Ada Lovelace, card 4111 1111 1111 1111"]]);

const lookUp = tool({
  name: "look_up_customer",
  description: "Looks a customer up.",
  parameters: z.object({ name: z.string() }),
  execute: guardian.guarded(async ({ name }: { name: string }) => customers.get(name) ?? "There is no such customer.", { name: "look_up_customer" }),
  errorFunction,
});

const remove = tool({
  name: "delete_customer",
  description: "Deletes a customer.",
  parameters: z.object({ name: z.string() }),
  execute: guardian.guarded(async ({ name }: { name: string }) => (customers.delete(name) ? "Done." : "There is no such customer."), { name: "delete_customer" }),
  errorFunction,
});

const agent = new Agent({ name: "Office", instructions, tools: [lookUp, remove], model: process.env["OPENAI_MODEL"] ?? "gpt-5.5" });
const runner = new Runner({ modelProvider: new OpenAIProvider({ useResponses: false }), tracingDisabled: true });

const answer = await guardian.session({ user: "ada" }).turn().run(async (turn) => {
  const { content: question } = await turn.message("user", process.argv[2] ?? "Which card does Ada have? Then delete her.");
  const { finalOutput } = await runner.run(agent, question);
  return (await turn.message("agent", finalOutput ?? "I have no answer.")).content;
});
console.log(answer);
console.log(`${customers.size} customer is left.`);
