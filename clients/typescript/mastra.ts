/**
 * Mastra: every tool call of an agent is asked about.
 *
 *     const agent = guard(guardian, new Agent({ id: "helper", name: "Helper", instructions, model, tools }))
 *
 * @module
 */
import { Adapter, type AdapterOptions } from "./adapter.js";
import type { Guardian, JsonObject, Turn } from "./reeve-aos.js";

interface SdkTool {
  readonly id?: string;
  readonly execute?: (input: never, context: never) => unknown;
}

interface SdkAgent {
  readonly name: string;
  /** Makes the tools of a run: its own, and those of its memory, workspace, skills, agents and of the call. */
  convertTools(how: { readonly threadId?: string }): Promise<Record<string, object>>;
  listAgents(...args: never[]): Record<string, SdkAgent> | Promise<Record<string, SdkAgent>>;
}

const guardedAgents = new WeakSet<object>();

/**
 * Guards an agent, itself: each tool of a run is asked about, wherever it comes from and whenever it came, and so are
 * those of its agents, which are told by their names. A call that is denied is a tool's error, whose text the model
 * reads. Tools without `execute` run elsewhere (in the client, or at the provider): nobody is asked about them.
 */
export function guard<A extends object>(guardian: Guardian, agent: A, options: AdapterOptions = {}): A {
  if (guardedAgents.has(agent)) {
    return agent;
  }
  const held = agent as unknown as SdkAgent;
  const { convertTools, listAgents } = held;
  if (typeof convertTools !== "function" || typeof listAgents !== "function") {
    throw new TypeError("an agent of this kind, or of this version of the framework, has tools that this module cannot hold");
  }
  const adapter = new Adapter(guardian, options);
  held.convertTools = async (how) => guarded(await convertTools.call(held, how), (name) => name, () => adapter.turn(how.threadId));
  const below = (agents: Record<string, SdkAgent>) => {
    Object.values(agents).forEach((one) => guard(guardian, one, { ...options, agent: one.name }));
    return agents;
  };
  held.listAgents = (...args) => {
    const agents = listAgents.apply(held, args);
    return agents instanceof Promise ? agents.then(below) : below(agents);
  };
  guardedAgents.add(agent);
  return agent;
}

/**
 * Tools that are used outside of agents, such as the steps of a workflow, guarded, under the ids that they have. To
 * what is returned no other tool can be added.
 */
export function guardTools<T extends Record<string, object>>(guardian: Guardian, tools: T, options: AdapterOptions = {}): T {
  const adapter = new Adapter(guardian, options);
  return Object.freeze(guarded(tools, (name, { id }) => id ?? name, (context) => adapter.turn(threadOf(context))));
}

function guarded<T extends Record<string, object>>(tools: T, idOf: (name: string, tool: SdkTool) => string, turnOf: (context: unknown) => Turn): T {
  const copies = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool as SdkTool;
    if (execute === undefined) {
      return [name, tool];
    }
    // A tool is an object of a class, which the framework knows again.
    const copy = Object.assign(Object.create(Object.getPrototypeOf(tool) as object) as object, tool) as { execute: unknown };
    copy.execute = (input: object, context: unknown) =>
      turnOf(context).call(idOf(name, tool as SdkTool), input as JsonObject, (judged) => execute.call(tool, judged as never, context as never));
    return [name, copy];
  });
  return Object.fromEntries(copies) as T;
}

/** The thread of the agent's memory, which is the session. */
function threadOf(context: unknown): string | undefined {
  return (context as { agent?: { threadId?: string } } | undefined)?.agent?.threadId;
}
