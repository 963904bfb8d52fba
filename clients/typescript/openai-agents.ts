/**
 * The OpenAI Agents SDK: every function tool and hand-over of an agent, and of those that it hands over to, is asked about.
 *
 *     const guarded = new GuardedRunner(guardian, new Runner());
 *     const { finalOutput } = await guarded.run(agent, "Tell Bo that the build is green.");
 *
 * @module
 */
import { Adapter, type AdapterOptions } from "./adapter.js";
import type { Guardian, JsonObject, Reading, Turn } from "./reeve-aos.js";

// What is used of the SDK, whose own types differ from one version to the next.

interface SdkTool {
  readonly type: string;
  readonly name?: string;
  readonly invoke?: (context: unknown, input: string, details?: unknown) => Promise<unknown>;
  /** Only agents that are tools have it. */
  readonly on?: unknown;
  /** Of a hosted tool. */
  readonly providerData?: { readonly execution?: unknown };
}

interface SdkAgent {
  readonly name: string;
  readonly instructions: unknown;
  tools: unknown[];
  handoffs: unknown[];
  clone(config: never): unknown;
  getEnabledHandoffs(...args: never[]): Promise<unknown[]>;
  getMcpTools(...args: never[]): Promise<unknown[]>;
  asTool(...args: never[]): object;
}

interface SdkHandoff {
  readonly toolName: string;
  readonly agent: SdkAgent;
  readonly onInvokeHandoff: (context: unknown, input: string) => unknown;
}

interface SdkDetails {
  readonly toolCall?: { readonly arguments?: string };
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
/** Functions of tools and hand-overs that ask first. */
const asking = new WeakSet<object>();
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
    const state = input as { readonly currentAgent?: object } | null | undefined;
    if (typeof state?.currentAgent === "object" && !guardedAgents.has(state.currentAgent)) {
      throw new TypeError("the state is of an agent that is not guarded: read it with runner.guard(agent)");
    }
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

  /**
   * The agent with guarded tools and hand-overs, for a turn that the program opens, for streams, and for asTool(). What is
   * given to it later, and to its clones, is guarded, too.
   */
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
    const guarded = agent.clone({} as never) as SdkAgent;
    this.#copies.set(agent, guarded);
    return this.#held(guarded);
  }

  /** Whoever reads the tools and hand-overs of the agent, and of its clones, finds guarded ones, whenever they came. */
  #held(agent: SdkAgent): SdkAgent {
    guardedAgents.add(agent);
    const { asTool, clone, getEnabledHandoffs, getMcpTools } = agent;
    const reads = (name: "tools" | "handoffs", guarded: (member: never) => unknown): void => {
      let members = [...agent[name]]; // a list of its own: another agent's stays as it is
      const get = (): unknown[] => {
        members.forEach((member, i) => (members[i] = guarded(member as never)));
        return members;
      };
      Object.defineProperty(agent, name, { configurable: true, enumerable: true, get, set: (given: unknown[]) => (members = [...given]) });
      get(); // what cannot be held is refused now
    };
    reads("tools", (tool) => this.#tool(agent, tool));
    reads("handoffs", (handoff) => this.#handoff(agent, handoff));
    agent.clone = (config) => this.#held(clone.call(agent, config) as SdkAgent);
    agent.asTool = (...args: never[]) => {
      const tool = asTool.apply(agent, args);
      agentTools.set(tool, agent.name);
      return tool;
    };
    // The SDK makes hand-overs of those that are given as agents, each time that it asks.
    agent.getEnabledHandoffs = async (...args: never[]) => (await getEnabledHandoffs.apply(agent, args)).map((handoff) => this.#handoff(agent, handoff as SdkHandoff));
    agent.getMcpTools = async (...args: never[]) => (await getMcpTools.apply(agent, args)).map((tool) => this.#tool(agent, tool as SdkTool));
    return agent;
  }

  /**
   * A hand-over is asked about as the call of a tool, which it is to the model. It may have a function, which runs
   * here. When it is denied the agent stays, and reads why in its instructions: the SDK has no other place for it.
   */
  #handoff(source: SdkAgent, given: SdkAgent | SdkHandoff): unknown {
    if (!("onInvokeHandoff" in given)) {
      return this.agent(given);
    }
    const { onInvokeHandoff, toolName } = given;
    if (asking.has(onInvokeHandoff)) {
      return given;
    }
    const guarded = Object.assign(Object.create(Object.getPrototypeOf(given) as object) as object, given) as { agent: unknown; onInvokeHandoff: unknown };
    guarded.agent = this.agent(given.agent); // by which a run that was written down finds its agents
    const invoke = async (context: unknown, input: string) => {
      const run = async (judged: JsonObject) => this.agent((await onInvokeHandoff.call(given, context, written(judged, input))) as SdkAgent);
      return this.#adapter.orTold(this.#turn(source).call(toolName, inputsOf(input), run, { reading: transferred }), (denied) => {
        const { instructions } = source;
        const told = (before: unknown) => `${before as string}\n\nThe call of ${toolName} was not made. ${denied.message}`.trim();
        return source.clone({ instructions: typeof instructions === "function" ? async (...args: unknown[]) => told(await instructions(...args)) : told(instructions ?? "") } as never);
      });
    };
    asking.add(invoke);
    guarded.onInvokeHandoff = invoke;
    return guarded;
  }

  #tool(source: SdkAgent, tool: SdkTool): SdkTool {
    const { invoke, name } = tool;
    if ((invoke !== undefined && asking.has(invoke)) || (tool.type === "hosted_tool" && tool.providerData?.execution !== "client")) {
      return tool;
    }
    if (tool.type !== "function" || invoke === undefined || name === undefined) {
      throw new TypeError(`a tool of the type ${tool.type} runs what this module cannot hold: make it a function tool`);
    }
    const inner = agentTools.get(tool);
    if (tool.on !== undefined && inner === undefined) {
      throw new TypeError(`the tool ${name} is an agent whose own tools nobody asks about: use runner.guard(agent).asTool(…)`);
    }
    const asks = async (context: unknown, input: string, details?: SdkDetails) => {
      const turn = this.#turn(source);
      const run = (judged: JsonObject) => {
        const left = written(judged, input);
        return turn.of(inner).run(() => invoke.call(tool, context, left, inner === undefined ? saying(details, left) : details));
      };
      return this.#adapter.orTold(turn.call(name, inputsOf(input), run, { reading }), (denied) => denied.message);
    };
    asking.add(asks);
    return { ...tool, invoke: asks as NonNullable<SdkTool["invoke"]> };
  }

  #turn({ name }: SdkAgent): Turn {
    return this.#adapter.turn(undefined, undefined, name === this.#first ? undefined : name);
  }
}

/** What a model says as arguments: an object, or (to a hand-over) another value. */
function inputsOf(input: string): JsonObject {
  const value = JSON.parse(input || "{}") as JsonObject;
  return isObject(value) ? value : { input: value };
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** The arguments with which it runs, written anew from what was judged: a member that stood twice stands once. */
const written = (judged: JsonObject, input: string): string => JSON.stringify(isObject(JSON.parse(input || "{}")) ? judged : judged["input"]);

/** What a tool is told of its call, with the arguments that it runs with. */
const saying = (details: SdkDetails | undefined, left: string): SdkDetails | undefined =>
  details?.toolCall === undefined ? details : (Object.create(details, { toolCall: { enumerable: true, value: { ...details.toolCall, arguments: left } } }) as SdkDetails);

/** What the model will read of a hand-over that was made. */
const transferred: Reading = {
  texts: (agent) => [JSON.stringify({ assistant: (agent as SdkAgent).name })],
  replaced() {
    throw new RangeError("a hand-over is made, or is not");
  },
};

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
