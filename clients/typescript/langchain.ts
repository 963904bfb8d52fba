/**
 * LangChain and LangGraph: every tool call of an agent is asked about.
 *
 *     createAgent({ model, tools, middleware: [guardianMiddleware(guardian)] })
 *
 * @module
 */
import { type BaseMessage, type BaseMessageLike, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { BaseStore, getConfig, type Operation, type OperationResults } from "@langchain/langgraph";
import { AIMessage, createMiddleware, HumanMessage, ToolMessage } from "langchain";
import { Adapter, type AdapterOptions } from "./adapter.js";
import { type Guardian, GuardianError, type JsonObject, type Part, type Reading, type Turn, type Verdict } from "./reeve-aos.js";

/**
 * Asks the guardian about the tool calls of an agent, their results, and the agent's messages. The session is
 * LangGraph's thread (`configurable: { thread_id }`), the turn the user's last message.
 */
export function guardianMiddleware(guardian: Guardian, options: AdapterOptions = {}): ReturnType<typeof createMiddleware> {
  const adapter = new Adapter(guardian, options);
  const turnOf = (state: { messages: unknown[] }, runtime: unknown): Turn => {
    const { configurable } = runtime as { configurable?: { thread_id?: string } };
    const said = state.messages.filter(isHuman).at(-1);
    return adapter.turn(configurable?.thread_id, said?.id);
  };
  const judged = async (state: { messages: unknown[] }, kind: (message: unknown) => message is Said, ask: (parts: Part[]) => Promise<Verdict<Part[]>>) => {
    const last = state.messages.at(-1);
    if (!adapter.tellsMessages || !kind(last)) {
      return undefined;
    }
    const parts = partsOf(last);
    if (parts.length === 0) {
      return undefined;
    }
    const { content } = await ask(parts);
    if (JSON.stringify(content) === JSON.stringify(parts)) {
      return undefined;
    }
    const left = content.map((part) => (part.kind === "text" ? { type: "text", text: part.text } : (part as { data: object }).data));
    const only = content[0];
    const changed = typeof last.content === "string" && only?.kind === "text" ? only.text : left;
    return { messages: [new (kind === isHuman ? HumanMessage : AIMessage)({ ...(last as object), content: changed } as never)] };
  };
  return createMiddleware({
    name: "reeve-aos",
    beforeAgent: (state, runtime) => judged(state, isHuman, (parts) => turnOf(state, runtime).userMessage(parts)) as never,
    afterAgent: (state, runtime) => judged(state, isAgent, (parts) => turnOf(state, runtime).agentMessage(parts)) as never,
    wrapToolCall: (request, handler) => {
      const { toolCall } = request;
      const run = (args: JsonObject) => handler({ ...request, toolCall: { ...toolCall, args } });
      return adapter.orTold(
        turnOf(request.state, request.runtime).call(toolCall.name, toolCall.args as JsonObject, run, { reading }),
        (denied) => new ToolMessage({ content: denied.message, name: toolCall.name, tool_call_id: toolCall.id ?? "", status: "error" }),
      );
    },
  }) as never;
}

/**
 * A store of memories: what is put into it is judged before it is kept, and what is found before anybody reads it. The
 * guardian is told each memory with its namespace and key, which may say something as well. One that it does not allow
 * throws NotAllowed: of what is put together nothing is kept then, and of what is found nothing is read. Where a memory
 * is taken out of the store, only the tool that does it is asked about.
 */
export class GuardedStore extends BaseStore {
  readonly #store: BaseStore;
  readonly #adapter: Adapter;

  constructor(store: BaseStore, guardian: Guardian, options: AdapterOptions = {}) {
    super();
    this.#store = store;
    this.#adapter = new Adapter(guardian, options);
  }

  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const turn = this.#adapter.turn(threadOf());
    const given = await remembered(operations, (told) => turn.memoryStore(told));
    const found = await this.#store.batch(given as Op);
    return (await remembered(found as unknown[], (told) => turn.memoryContextRetrieval(told))) as OperationResults<Op>;
  }

  override start(): void | Promise<void> {
    return this.#store.start();
  }

  override stop(): void | Promise<void> {
    return this.#store.stop();
  }
}

interface Memory {
  readonly namespace: string[];
  readonly key: string;
  readonly value: object;
}

const isMemory = (one: unknown): one is Memory => {
  const { namespace, key, value } = (one ?? {}) as Partial<Memory>;
  return Array.isArray(namespace) && typeof key === "string" && typeof value === "object" && value !== null;
};

/** Operations, or what they found, with the memories as the guardian left them. */
async function remembered(given: readonly unknown[], ask: (told: string[]) => Promise<Verdict<string[]>>): Promise<unknown[]> {
  const memories = given.flatMap((one) => (Array.isArray(one) ? (one as unknown[]) : [one])).filter(isMemory);
  if (memories.length === 0) {
    return [...given];
  }
  const told = memories.map(({ namespace, key, value }) => JSON.stringify({ namespace, key, value }));
  const judged = (await ask(told)).content;
  const left = new Map(memories.map((one, i) => [one as unknown, judged[i] === told[i] ? one : changed(one, judged[i]!)]));
  const anew = (one: unknown): unknown => (Array.isArray(one) && !isMemory(one) ? one.map(anew) : left.get(one) ?? one);
  return given.map(anew);
}

function changed(memory: Memory, text: string): Memory {
  let judged: unknown;
  try {
    judged = JSON.parse(text);
  } catch {
    judged = undefined;
  }
  if (!isMemory(judged) || JSON.stringify([judged.namespace, judged.key]) !== JSON.stringify([memory.namespace, memory.key])) {
    throw new GuardianError("the guardian would change where a memory is kept, or its form");
  }
  return { ...memory, value: judged.value };
}

/** LangGraph's thread, which is the session. Outside of a graph there is none. */
function threadOf(): string | undefined {
  try {
    return (getConfig() as { configurable?: { thread_id?: string } } | undefined)?.configurable?.thread_id;
  } catch {
    return undefined;
  }
}

interface Said {
  readonly id?: string;
  readonly content: string | readonly { readonly type: string; readonly text?: string }[];
}

const isHuman = (message: unknown): message is Said => HumanMessage.isInstance(message);
const isAgent = (message: unknown): message is Said => AIMessage.isInstance(message);

/** What a message says, as the guardian is told it. What is no text is told as data. */
function partsOf({ content }: Said): Part[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return blocks.flatMap((block): Part[] => {
    if (typeof block.text === "string") {
      return block.text === "" ? [] : [{ kind: "text", text: block.text }];
    }
    return /^(tool_use|tool_call|function_call)$/.test(block.type) ? [] : [{ kind: "data", data: block }];
  });
}

/**
 * A part of what a tool gave: a message, or a value that it puts into the state of the graph. It is told as texts, and
 * takes as many.
 */
interface Piece {
  readonly texts: readonly string[];
  readonly take: (texts: readonly string[]) => unknown;
}

/** What a model will read of a tool's output, now or later: the messages and values, and the output made of others. */
interface Taken {
  readonly pieces: readonly Piece[];
  readonly made: (taken: readonly unknown[]) => unknown;
}

function takenApart(output: unknown): Taken {
  if (ToolMessage.isInstance(output)) {
    return { pieces: [messagePiece(output)], made: ([message]) => message };
  }
  if (Array.isArray(output)) {
    const parts = output.map(takenApart);
    return {
      pieces: parts.flatMap(({ pieces }) => pieces),
      made: (taken) => {
        const rest = [...taken];
        return parts.map(({ pieces, made }) => made(rest.splice(0, pieces.length)));
      },
    };
  }
  if ((output as { lg_name?: unknown } | null | undefined)?.lg_name !== "Command") {
    throw new TypeError("what the tool gave cannot be judged");
  }
  return commanded(output as Commanded);
}

interface Commanded {
  readonly update?: Record<string, unknown> | [string, unknown][] | null;
  readonly goto?: unknown;
  readonly resume?: unknown;
}

/** What is in a command: what it puts into the state, sends to a node, or resumes with. */
function commanded(command: Commanded): Taken {
  const { update, resume } = command;
  const entries: [string, unknown][] = Array.isArray(update) ? update : Object.entries(update ?? {});
  if (!entries.every((entry) => Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "string")) {
    throw new TypeError("the update of a command cannot be judged");
  }
  const said = entries.map(([key, value]): [string, readonly Piece[]] => [
    key, key === "messages" ? [value ?? []].flat().map((one) => messagePiece(coerceMessageLikeToMessage(one as BaseMessageLike))) : [valuePiece(value)],
  ]);
  const goto = [command.goto ?? []].flat() as unknown[];
  const isSend = (one: unknown): one is { node: string; args: unknown } => (one as { lg_name?: unknown } | null)?.lg_name === "Send";
  return {
    pieces: [...said.flatMap(([, pieces]) => pieces), ...goto.filter(isSend).map(({ args }) => valuePiece(args)), ...(resume === undefined ? [] : [valuePiece(resume)])],
    made: (taken) => {
      const rest = [...taken];
      const left = said.map(([key, pieces]): [string, unknown] => [key, key === "messages" ? rest.splice(0, pieces.length) : rest.shift()]);
      const again = <T extends object>(of: T, members: object): T => Object.assign(Object.create(Object.getPrototypeOf(of) as object) as object, of, members) as T;
      const sent = goto.map((one) => (isSend(one) ? again(one, { args: rest.shift() }) : one));
      return again(command, {
        ...(update === undefined || update === null ? {} : { update: Array.isArray(update) ? left : Object.fromEntries(left) }),
        ...(goto.length === 0 ? {} : { goto: sent }),
        ...(resume === undefined ? {} : { resume: rest.shift() }),
      });
    },
  };
}

/** A message. What it says beside its content is told, too, and cannot be changed. */
function messagePiece(message: BaseMessage): Piece {
  const { content, additional_kwargs, tool_calls, invalid_tool_calls } = message as BaseMessage & { tool_calls?: unknown[]; invalid_tool_calls?: unknown[] };
  const blocks = typeof content === "string" ? [content] : content.map((block) => (block.type === "text" && typeof block["text"] === "string" ? block["text"] : JSON.stringify(block)));
  const beside = { ...additional_kwargs, ...(tool_calls?.length ? { tool_calls } : {}), ...(invalid_tool_calls?.length ? { invalid_tool_calls } : {}) };
  const said = Object.keys(beside).length === 0 ? [] : [JSON.stringify(beside)];
  return {
    texts: [...blocks, ...said],
    take: (texts) => {
      if (texts.slice(blocks.length).some((text, i) => text !== said[i])) {
        throw new RangeError("a message says more than its content");
      }
      if (texts.every((text, i) => text === [...blocks, ...said][i])) {
        return message;
      }
      message.content = typeof content === "string" ? texts[0]! : texts.slice(0, blocks.length).map((text) => ({ type: "text", text }));
      (message as { artifact?: unknown }).artifact = undefined; // which may say what was taken out
      return message;
    },
  };
}

/** A value of the state: a text, or what has a form in JSON. */
function valuePiece(value: unknown): Piece {
  const listed = (_: string, member: unknown) => (member instanceof Map || member instanceof Set ? [...member] : member);
  const told = typeof value === "string" ? value : (JSON.stringify(value, listed) ?? "null");
  return {
    texts: [told],
    take: ([text]) => {
      if (text === told) {
        return value;
      }
      if (typeof value === "string") {
        return text;
      }
      if (!isPlain(value)) {
        throw new RangeError("a value of the state is of a class of its own");
      }
      return JSON.parse(text!) as unknown;
    },
  };
}

const isPlain = (value: unknown): boolean =>
  typeof value !== "object" || value === null || ([Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value) as never) && Object.values(value).every(isPlain));

const reading: Reading = {
  texts: (output) => takenApart(output).pieces.flatMap(({ texts }) => texts),
  replaced(output, texts) {
    const { pieces, made } = takenApart(output);
    const rest = [...texts];
    return made(pieces.map((piece) => piece.take(rest.splice(0, piece.texts.length))));
  },
};
