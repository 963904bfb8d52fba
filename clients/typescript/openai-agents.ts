/**
 * The OpenAI Agents SDK: every function tool of an agent, and of those that it hands over to, is asked about.
 *
 *     const guarded = new GuardedRunner(guardian, new Runner());
 *     const { finalOutput } = await guarded.run(agent, "Tell Bo that the build is green.");
 *
 * @module
 */
import { Adapter, type AdapterOptions } from "./adapter.js";
import type { Guardian, JsonObject, Reading } from "./reeve-aos.js";

// What is used of the SDK, whose own types differ from one version to the next.

interface SdkTool {
  readonly type: string;
  readonly name?: string;
  readonly invoke?: (context: unknown, input: string, details?: unknown) => Promise<unknown>;
  /** Only agents that are tools have it. */
  readonly on?: unknown;
}

interface SdkAgent {
  readonly name: string;
  readonly tools: readonly unknown[];
  handoffs: unknown[];
  clone(config: never): unknown;
  getMcpTools(...args: never[]): Promise<unknown[]>;
  asTool(...args: never[]): object;
}

interface SdkHandoff {
  readonly onInvokeHandoff: (context: unknown, input: string) => unknown;
}

interface SdkResult {
  readonly finalOutput?: unknown;
}

interface SdkRunner {
  run(agent: never, input: never, options?: never): Promise<unknown>;
}

/** Of a run, what the guardian left. */
export interface GuardedResult<R> {
  /** The agent's answer. */
  readonly finalOutput: unknown;
  /** The run, whose own finalOutput nobody has judged. */
  readonly result: R;
}

/** Agents that are guarded already. */
const guardedAgents = new WeakSet<object>();
/** Tools that are guarded already. */
const guardedTools = new WeakSet<object>();
/** Tools that are agents whose own tools are guarded, with the agents' names. */
const agentTools = new WeakMap<object, string>();

/**
 * Runs agents as the SDK's runner does, and asks the guardian about their messages and tool calls. The session
 * is the run's `conversationId`, and each run is a turn.
 */
export class GuardedRunner<R extends SdkRunner> {
  readonly #adapter: Adapter;
  readonly #runner: R;

  constructor(guardian: Guardian, runner: R, options: Pick<AdapterOptions, "user"> = {}) {
    this.#adapter = new Adapter(guardian, options);
    this.#runner = runner;
  }

  /** Runner.run(), guarded. */
  async run(agent: object, input: unknown, options: { readonly conversationId?: string } & Record<string, unknown> = {}): Promise<GuardedResult<Awaited<ReturnType<R["run"]>>>> {
    const guarded = this.guard(agent);
    const run = (said: unknown) => this.#runner.run(guarded as never, said as never, options as never) as Promise<Awaited<ReturnType<R["run"]>> & SdkResult>;
    if (!this.#adapter.tellsMessages) {
      const result = await run(input);
      return { finalOutput: result.finalOutput, result };
    }
    return this.#adapter.turn(options.conversationId).run(async (turn) => {
      const result = await run(await said(input, async (text) => (await turn.userMessage(text)).content));
      const { finalOutput } = result;
      if (typeof finalOutput === "string") {
        return { finalOutput: finalOutput === "" ? "" : (await turn.agentMessage(finalOutput)).content, result };
      }
      const answer = finalOutput === undefined ? finalOutput : JSON.parse((await turn.agentMessage(JSON.stringify(finalOutput))).content);
      return { finalOutput: answer, result };
    });
  }

  /** The agent with guarded tools, for a turn that the program opens, for streams, and for asTool(). */
  guard<A extends object>(agent: A): A {
    return new Guarding(this.#adapter, (agent as unknown as SdkAgent).name).agent(agent as unknown as SdkAgent) as unknown as A;
  }
}

/** Makes guarded copies of agents that hand over to each other, perhaps in a circle. */
class Guarding {
  readonly #adapter: Adapter;
  readonly #first: string;
  readonly #copies = new Map<object, SdkAgent>();

  constructor(adapter: Adapter, first: string) {
    this.#adapter = adapter;
    this.#first = first;
  }

  agent(agent: SdkAgent): SdkAgent {
    if (guardedAgents.has(agent)) {
      return agent;
    }
    const known = this.#copies.get(agent);
    if (known !== undefined) {
      return known;
    }
    const name = agent.name === this.#first ? undefined : agent.name;
    const guarded = agent.clone({ tools: agent.tools.map((tool) => this.#tool(tool as SdkTool, name)) } as never) as SdkAgent;
    this.#copies.set(agent, guarded);
    guardedAgents.add(guarded);
    guarded.handoffs = agent.handoffs.map((handoff) => this.#handoff(handoff));
    const { asTool, getMcpTools } = guarded;
    guarded.asTool = (...args: never[]) => {
      const tool = asTool.apply(guarded, args);
      agentTools.set(tool, agent.name);
      return tool;
    };
    guarded.getMcpTools = async (...args: never[]) => (await getMcpTools.apply(guarded, args)).map((tool) => this.#tool(tool as SdkTool, name));
    return guarded;
  }

  #handoff(handoff: unknown): unknown {
    const { onInvokeHandoff } = handoff as SdkHandoff;
    if (typeof onInvokeHandoff !== "function") {
      return this.agent(handoff as SdkAgent);
    }
    const guarded = Object.assign(Object.create(Object.getPrototypeOf(handoff) as object) as object, handoff) as { onInvokeHandoff: unknown };
    guarded.onInvokeHandoff = async (context: unknown, input: string) => this.agent((await onInvokeHandoff.call(handoff, context, input)) as SdkAgent);
    return guarded;
  }

  #tool(tool: SdkTool, agent: string | undefined): SdkTool {
    if (guardedTools.has(tool) || tool.type === "hosted_tool") {
      return tool;
    }
    const { invoke, name } = tool;
    if (tool.type !== "function" || invoke === undefined || name === undefined) {
      throw new TypeError(`a tool of the type ${tool.type} runs what this module cannot hold: make it a function tool`);
    }
    const inner = agentTools.get(tool);
    if (tool.on !== undefined && inner === undefined) {
      throw new TypeError(`the tool ${name} is an agent whose own tools nobody asks about: use runner.guard(agent).asTool(…)`);
    }
    const guarded: SdkTool = {
      ...tool,
      invoke: async (context, input, details) => {
        const turn = this.#adapter.turn(undefined, undefined, agent);
        const run = (judged: JsonObject) => turn.of(inner).run(() => invoke.call(tool, context, JSON.stringify(judged), details));
        return this.#adapter.orTold(turn.call(name, JSON.parse(input || "{}") as JsonObject, run, { reading }), (denied) => denied.message);
      },
    };
    guardedTools.add(guarded);
    return guarded;
  }
}

/** What the user said, as the guardian left it: a text, or the last of the user's items. */
async function said(input: unknown, ask: (text: string) => Promise<string>): Promise<unknown> {
  if (typeof input === "string") {
    return ask(input);
  }
  if (!Array.isArray(input)) {
    return input; // a run that goes on: the user says nothing
  }
  const items = structuredClone(input) as { role?: string; content?: string | { text?: string }[] }[];
  const last = items.filter((item) => item.role === "user").at(-1);
  if (typeof last?.content === "string") {
    last.content = await ask(last.content);
  } else {
    for (const part of last?.content ?? []) {
      if (typeof part.text === "string") {
        part.text = await ask(part.text);
      }
    }
  }
  return items;
}

const isPart = (value: unknown): value is { type: string; text?: string } =>
  typeof value === "object" && value !== null && /^(text|image|file)$/.test(String((value as { type?: unknown }).type));

/** What the model will read of a tool's output: a text, parts, or JSON. */
const reading: Reading = {
  texts(output) {
    const parts = Array.isArray(output) && output.length > 0 && output.every(isPart) ? output : [output];
    return parts.map((part: unknown) => (isPart(part) && part.type === "text" && typeof part.text === "string" ? part.text : typeof part === "string" ? part : (JSON.stringify(part) ?? "undefined")));
  },
  replaced: (_, texts) => (texts.length === 1 ? texts[0] : texts.map((text) => ({ type: "text", text }))),
};
