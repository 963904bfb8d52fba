/**
 * LangChain and LangGraph: every tool call of an agent is asked about.
 *
 *     createAgent({ model, tools, middleware: [guardianMiddleware(guardian)] })
 *
 * @module
 */
import { AIMessage, createMiddleware, HumanMessage, ToolMessage } from "langchain";
import { Adapter, type AdapterOptions } from "./adapter.js";
import type { Guardian, JsonObject, Part, Reading, Turn, Verdict } from "./reeve-aos.js";

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

/** What the model will read of a tool's output: a message, or those in what it commands. */
function messagesOf(output: unknown): ToolMessage[] {
  if (ToolMessage.isInstance(output)) {
    return [output];
  }
  const { update } = (output ?? {}) as { update?: { messages?: unknown } };
  if (update !== undefined) {
    return [update.messages ?? []].flat().filter((message) => ToolMessage.isInstance(message));
  }
  throw new TypeError("what the tool gave cannot be judged");
}

const textsOf = ({ content }: ToolMessage): string[] =>
  typeof content === "string" ? [content] : content.map((block) => (block.type === "text" && typeof block["text"] === "string" ? block["text"] : JSON.stringify(block)));

const reading: Reading = {
  texts: (output) => messagesOf(output).flatMap(textsOf),
  replaced(output, texts) {
    const rest = [...texts];
    for (const message of messagesOf(output)) {
      const left = rest.splice(0, textsOf(message).length);
      message.content = typeof message.content === "string" ? (left[0] ?? "") : left.map((text) => ({ type: "text", text }));
      message.artifact = undefined; // which may say what was taken out
    }
    return output;
  },
};
