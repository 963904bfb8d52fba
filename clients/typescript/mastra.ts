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

interface SdkStore {
  getStore(name: string): Promise<object | undefined>;
}

interface SdkMessage {
  readonly content?: unknown;
}

type Method = (...args: never[]) => Promise<unknown>;

const guardedStores = new WeakSet<object>();

/**
 * Guards a memory, itself: what is put into its storage is judged before it is kept (messages, and the working memory of
 * a resource), and what it gives before anybody reads it (messages that are listed or recalled, working memories). What the
 * guardian does not allow throws: of what is put together nothing is kept then, and of what is given nothing is read.
 * Other memories of the same storage are guarded with it. Observational memory is switched off: it is read by other ways.
 */
export function guardMemory<M extends object>(guardian: Guardian, memory: M, options: AdapterOptions = {}): M {
  const { storage } = memory as unknown as { storage?: SdkStore };
  if (storage === undefined || typeof storage.getStore !== "function") {
    throw new TypeError("a memory of this kind, or of this version of the framework, has a storage that this module cannot hold");
  }
  if (!guardedStores.has(storage)) {
    guardedStores.add(storage);
    const adapter = new Adapter(guardian, options);
    const getStore = storage.getStore.bind(storage);
    storage.getStore = async (name) => {
      const store = await getStore(name);
      if (name === "memory" && store !== undefined) {
        guardStore(adapter, store);
      }
      return store;
    };
  }
  return memory;
}

function guardStore(adapter: Adapter, store: object): void {
  if (guardedStores.has(store)) {
    return;
  }
  guardedStores.add(store);
  const held = store as unknown as Record<string, unknown>;
  const over = (name: string, make: (original: Method) => Method) => {
    const original = held[name];
    if (typeof original === "function") {
      held[name] = make((original as Method).bind(store));
    }
  };
  Object.defineProperty(store, "supportsObservationalMemory", { value: false });
  const keep = (texts: string[], thread: string | undefined) => adapter.turn(thread).memoryStore(texts);
  const read = (texts: string[], thread: string | undefined) => adapter.turn(thread).memoryContextRetrieval(texts);
  for (const name of ["saveMessages", "updateMessages"]) {
    over(name, (original) => async (args: { messages: SdkMessage[] }) => original({ ...args, messages: await left(args.messages, keep) } as never));
  }
  for (const name of ["listMessages", "listMessagesByResourceId", "listMessagesById"]) {
    over(name, (original) => async (args: never) => {
      const found = (await original(args)) as { messages: SdkMessage[] };
      return { ...found, messages: await left(found.messages, read) };
    });
  }
  over("updateResource", (original) => async (args: { workingMemory?: string }) => original((await working(args, keep)) as never));
  over("saveResource", (original) => async (args: { resource: { workingMemory?: string } }) => original({ ...args, resource: await working(args.resource, keep) } as never));
  over("getResourceById", (original) => async (args: never) => working((await original(args)) as { workingMemory?: string } | null, read));
  over("getThreadById", (original) => async (args: never) => {
    const thread = (await original(args)) as { id?: string; metadata?: { workingMemory?: string } } | null;
    return thread?.metadata === undefined ? thread : { ...thread, metadata: await working(thread.metadata, read, thread.id) };
  });
}

type Asked = (texts: string[], thread: string | undefined) => Promise<{ readonly content: readonly string[] }>;

/** Messages as the guardian left them. The content of each is told as JSON. */
async function left(messages: readonly SdkMessage[], ask: Asked): Promise<SdkMessage[]> {
  const where = messages.filter(({ content }) => content !== undefined);
  if (where.length === 0) {
    return [...messages];
  }
  const texts = where.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
  const { content: judged } = await ask(texts, (where[0] as { threadId?: string }).threadId);
  return messages.map((message) => {
    const i = where.indexOf(message);
    return i < 0 || judged[i] === texts[i] ? message : { ...message, content: typeof message.content === "string" ? judged[i] : (JSON.parse(judged[i]!) as unknown) };
  });
}

/** What has a working memory, with what the guardian left of that. */
async function working<W extends { readonly workingMemory?: string } | null>(of: W, ask: Asked, thread?: string): Promise<W> {
  if (typeof of?.workingMemory !== "string" || of.workingMemory === "") {
    return of;
  }
  const { content } = await ask([of.workingMemory], thread);
  return content[0] === of.workingMemory ? of : { ...of, workingMemory: content[0] };
}
