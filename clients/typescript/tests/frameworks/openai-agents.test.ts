// The OpenAI Agents SDK.
import assert from "node:assert/strict";
import test from "node:test";
import { Agent, handoff, Runner, RunState, setTracingDisabled, tool, Usage } from "@openai/agents";
import { NotAllowed } from "reeve-aos";
import { GuardedRunner } from "reeve-aos/openai-agents";
import { answer } from "../../pages/openai-agents-js-1.js";
import { recording, scenarios, Script, type Plain } from "./scenarios.js";

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
  const { guardian, asked, calls } = recording();
  const ran: string[] = [];
  const own: Plain[] = [
    { name: "note", argument: "text", type: "string", run: ({ text }) => (ran.push(String(text)), "noted") },
    { name: "wipe_disk", argument: "path", type: "string", run: () => (ran.push("wiped"), "wiped") },
  ];
  const agent = (name: string, ...steps: readonly (readonly [string, Record<string, unknown>][])[]) =>
    new Agent({ name, model: scripted(new Script(steps)), tools: tools(own) });
  const runner = new GuardedRunner(guardian, new Runner({ tracingDisabled: true }));

  const inner = agent("inner", [["wipe_disk", { path: "old" }], ["note", { text: "inner" }]]);
  assert.throws(() => runner.guard(new Agent({ name: "outer", tools: [inner.asTool({ toolName: "inner" })] })), /whose own tools nobody asks about/);
  const outer = new Agent({ name: "outer", model: scripted(new Script([[["inner", { input: "Do it." }]]])), tools: [runner.guard(inner).asTool({ toolName: "inner" })] });
  await runner.run(outer, "Do it.");
  const told = () => calls().map(({ toolCallRequest, context }) => [toolCallRequest.toolId, context.agent.name, context.session.metadata?.parent !== undefined]);
  assert.deepEqual(told(), [["inner", "Clerk", false], ["wipe_disk", "inner", true], ["note", "inner", true]]);
  assert.deepEqual(ran, ["inner"]);

  asked.length = 0;
  const second = agent("second", [["note", { text: "second" }]]);
  const first = new Agent({ name: "first", model: scripted(new Script([[["note", { text: "first" }]], [["transfer_to_second", {}]]])), tools: tools(own), handoffs: [second] });
  await runner.run(first, "Do it.");
  assert.deepEqual(told(), [["note", "Clerk", false], ["transfer_to_second", "Clerk", false], ["note", "second", true]]);
  assert.deepEqual(ran, ["inner", "first", "second"]);
});

const wiping: readonly (readonly [string, Record<string, unknown>][])[] = [[["wipe_disk", { path: "old" }]]];

test("OpenAI Agents: the function of a hand-over runs when it is allowed, and with the input that was", async () => {
  const handOver = async (name: string, path: string, settings = {}) => {
    const { guardian } = recording(settings);
    const ran: string[] = [];
    const other = new Agent({ name: "Other", model: scripted(new Script([], "Other.")) });
    const inputType = { type: "object", properties: { path: { type: "string" } }, required: ["path"], additionalProperties: false } as any;
    const way = handoff(other, { toolNameOverride: name, inputType, onHandoff: (_: unknown, input: any) => void ran.push(typeof input === "string" ? JSON.parse(input).path : input.path) });
    const instructions: unknown[] = [];
    const model = scripted(new Script([[[name, { path }]]], "I stayed."));
    const agent = new Agent({ name: "Clerk", instructions: "Be brief.", handoffs: [way], model: { getResponse: (request: any) => (instructions.push(request.systemInstructions), model.getResponse(request)) } as any });
    const { finalOutput } = await new GuardedRunner(guardian, new Runner({ tracingDisabled: true })).run(agent, "Do it.");
    return { ran, finalOutput, read: String(instructions.at(-1)) };
  };
  const denied = await handOver("wipe_handover", "old");
  assert.deepEqual([denied.ran, denied.finalOutput], [[], "I stayed."]);
  assert.match(denied.read, /^Be brief\.\n\nThe call of wipe_handover was not made\. Nothing is wiped here\. Instead: Move it to the archive\.$/);
  const changed = await handOver("write_file", "/srv/passwd");
  assert.deepEqual([changed.ran, changed.finalOutput], [["/workspace/file"], "Other."]);
  const away = (url: any, init: any) => (/toolCallRequest/.test(init.body) ? Promise.reject(new TypeError("fetch failed")) : fetch(url, init));
  await assert.rejects(handOver("note", "old", { fetch: away, retries: 0 }), (error) => error instanceof NotAllowed);
});

test("OpenAI Agents: what is added to a guarded agent later is asked about, too", async () => {
  const ran: string[] = [];
  const [wipe] = tools([{ name: "wipe_disk", argument: "path", type: "string", run: () => (ran.push("wiped"), "wiped") }]);
  const other = (...given: any[]) => new Agent({ name: "other", tools: given, model: scripted(new Script(wiping)) });
  const handing = (agent: any, given: any[]) => {
    agent.handoffs.push(other(...given));
    agent.model = scripted(new Script([[["transfer_to_other", {}]]]));
  };
  const ways: Record<string, (agent: any) => any> = {
    pushed: (agent) => void agent.tools.push(wipe),
    assigned: (agent) => void (agent.tools = [wipe]),
    "cloned with": (agent) => agent.clone({ tools: [wipe] }),
    "a clone's clone": (agent) => agent.clone({ name: "Clone" }).clone({ tools: [wipe] }),
    "clone's": (agent) => {
      const clone = agent.clone({});
      clone.tools.push(wipe);
      return clone;
    },
    "handed over to": (agent) => handing(agent, [wipe]),
    "given to whom it is handed over": (agent) => {
      handing(agent, []);
      agent.handoffs[0].tools.push(wipe);
    },
    "given to whom a hand-over hands over": (agent) => {
      handing(agent, []);
      agent.handoffs = [handoff(other())];
      agent.handoffs[0].agent.tools.push(wipe);
    },
  };
  for (const [way, add] of Object.entries(ways)) {
    const { guardian, calls } = recording();
    const runner = new Runner({ tracingDisabled: true });
    const agent = new GuardedRunner(guardian, runner).guard(new Agent({ name: "Clerk", model: scripted(new Script(wiping)) }));
    const run = add(agent) ?? agent;
    await guardian.session().turn().run(() => runner.run(run, "Do it."));
    assert.deepEqual([way, ran, calls().at(-1)?.toolCallRequest.toolId], [way, [], "wipe_disk"]);
  }
  const { guardian } = recording();
  const agent = new GuardedRunner(guardian, new Runner()).guard(new Agent({ name: "Clerk" }));
  agent.tools.push({ type: "shell", name: "shell" } as any);
  await assert.rejects(new Runner().run(agent, "Do it."), /cannot hold/);
});

test("OpenAI Agents: a run that goes on does so with guarded agents only", async () => {
  const ran: string[] = [];
  const wipe = tool({ name: "wipe_disk", description: "wipes", needsApproval: true, parameters: { type: "object", properties: {}, required: [], additionalProperties: false } as any, execute: async () => (ran.push("wiped"), "wiped") });
  const { guardian, calls } = recording();
  const sdk = new Runner({ tracingDisabled: true });
  const runner = new GuardedRunner(guardian, sdk);
  const goOn = async (agent: any) => {
    const state: any = (await sdk.run(agent, "Do it.")).state;
    state.approve(state.getInterruptions()[0]);
    return runner.run(agent, await RunState.fromString(agent, state.toString()));
  };
  const agent = () => new Agent({ name: "Clerk", tools: [wipe], model: scripted(new Script(wiping)) });
  await assert.rejects(goOn(agent()), /is not guarded/);
  await goOn(runner.guard(agent()));
  assert.deepEqual([ran, calls().length], [[], 1]);
});

test("OpenAI Agents: a tool that reads its arguments in the call reads those that were allowed", async () => {
  const { guardian } = recording();
  const ran: unknown[] = [];
  const write = tool({
    name: "write_file", description: "writes", parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"], additionalProperties: false } as any,
    execute: async (_, __, details: any) => (ran.push(JSON.parse(details.toolCall.arguments).path), "written"),
  });
  const agent = new Agent({ name: "Clerk", tools: [write], model: scripted(new Script([[["write_file", { path: "/srv/passwd" }]]])) });
  await new GuardedRunner(guardian, new Runner({ tracingDisabled: true })).run(agent, "Do it.");
  assert.deepEqual(ran, ["/workspace/file"]);
});
