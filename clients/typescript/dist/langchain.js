/**
 * LangChain and LangGraph: every tool call of an agent is asked about.
 *
 *     createAgent({ model, tools, middleware: [guardianMiddleware(guardian)] })
 *
 * @module
 */
import { coerceMessageLikeToMessage } from "@langchain/core/messages";
import { BaseStore, getConfig } from "@langchain/langgraph";
import { AIMessage, createMiddleware, HumanMessage, ToolMessage } from "langchain";
import { Adapter } from "./adapter.js";
import { GuardianError } from "./reeve-aos.js";
/**
 * Asks the guardian about the tool calls of an agent, their results, and the agent's messages. The session is
 * LangGraph's thread (`configurable: { thread_id }`), the turn the user's last message.
 */
export function guardianMiddleware(guardian, options = {}) {
    const adapter = new Adapter(guardian, options);
    const turnOf = (state, runtime) => {
        const { configurable } = runtime;
        const said = state.messages.filter(isHuman).at(-1);
        return adapter.turn(configurable?.thread_id, said?.id);
    };
    const judged = async (state, kind, ask) => {
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
        const left = content.map((part) => (part.kind === "text" ? { type: "text", text: part.text } : part.data));
        const only = content[0];
        const changed = typeof last.content === "string" && only?.kind === "text" ? only.text : left;
        return { messages: [new (kind === isHuman ? HumanMessage : AIMessage)({ ...last, content: changed })] };
    };
    return createMiddleware({
        name: "reeve-aos",
        beforeAgent: (state, runtime) => judged(state, isHuman, (parts) => turnOf(state, runtime).userMessage(parts)),
        afterAgent: (state, runtime) => judged(state, isAgent, (parts) => turnOf(state, runtime).agentMessage(parts)),
        wrapToolCall: (request, handler) => {
            const { toolCall } = request;
            const run = (args) => handler({ ...request, toolCall: { ...toolCall, args } });
            return adapter.orTold(turnOf(request.state, request.runtime).call(toolCall.name, toolCall.args, run, { reading }), (denied) => new ToolMessage({ content: denied.message, name: toolCall.name, tool_call_id: toolCall.id ?? "", status: "error" }));
        },
    });
}
/**
 * A store of memories: what is put into it is judged before it is kept, and what is found before anybody reads it. The
 * guardian is told each memory with its namespace and key, which may say something as well. One that it does not allow
 * throws NotAllowed: of what is put together nothing is kept then, and of what is found nothing is read. Where a memory
 * is taken out of the store, only the tool that does it is asked about.
 */
export class GuardedStore extends BaseStore {
    #store;
    #adapter;
    constructor(store, guardian, options = {}) {
        super();
        this.#store = store;
        this.#adapter = new Adapter(guardian, options);
    }
    async batch(operations) {
        const turn = this.#adapter.turn(threadOf());
        const given = await remembered(operations, (told) => turn.memoryStore(told));
        const found = await this.#store.batch(given);
        return (await remembered(found, (told) => turn.memoryContextRetrieval(told)));
    }
    start() {
        return this.#store.start();
    }
    stop() {
        return this.#store.stop();
    }
}
const isMemory = (one) => {
    const { namespace, key, value } = (one ?? {});
    return Array.isArray(namespace) && typeof key === "string" && typeof value === "object" && value !== null;
};
/** Operations, or what they found, with the memories as the guardian left them. */
async function remembered(given, ask) {
    const memories = given.flatMap((one) => (Array.isArray(one) ? one : [one])).filter(isMemory);
    if (memories.length === 0) {
        return [...given];
    }
    const told = memories.map(({ namespace, key, value }) => JSON.stringify({ namespace, key, value }));
    const judged = (await ask(told)).content;
    const left = new Map(memories.map((one, i) => [one, judged[i] === told[i] ? one : changed(one, judged[i])]));
    const anew = (one) => (Array.isArray(one) && !isMemory(one) ? one.map(anew) : left.get(one) ?? one);
    return given.map(anew);
}
function changed(memory, text) {
    let judged;
    try {
        judged = JSON.parse(text);
    }
    catch {
        judged = undefined;
    }
    if (!isMemory(judged) || JSON.stringify([judged.namespace, judged.key]) !== JSON.stringify([memory.namespace, memory.key])) {
        throw new GuardianError("the guardian would change where a memory is kept, or its form");
    }
    return { ...memory, value: judged.value };
}
/** LangGraph's thread, which is the session. Outside of a graph there is none. */
function threadOf() {
    try {
        return getConfig()?.configurable?.thread_id;
    }
    catch {
        return undefined;
    }
}
const isHuman = (message) => HumanMessage.isInstance(message);
const isAgent = (message) => AIMessage.isInstance(message);
/** What a message says, as the guardian is told it. What is no text is told as data. */
function partsOf({ content }) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return blocks.flatMap((block) => {
        if (typeof block.text === "string") {
            return block.text === "" ? [] : [{ kind: "text", text: block.text }];
        }
        return /^(tool_use|tool_call|function_call)$/.test(block.type) ? [] : [{ kind: "data", data: block }];
    });
}
function takenApart(output) {
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
    if (output?.lg_name !== "Command") {
        throw new TypeError("what the tool gave cannot be judged");
    }
    return commanded(output);
}
/** What is in a command: what it puts into the state, sends to a node, or resumes with. */
function commanded(command) {
    const { update, resume } = command;
    const entries = Array.isArray(update) ? update : Object.entries(update ?? {});
    if (!entries.every((entry) => Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "string")) {
        throw new TypeError("the update of a command cannot be judged");
    }
    const said = entries.map(([key, value]) => [
        key, key === "messages" ? [value ?? []].flat().map((one) => messagePiece(coerceMessageLikeToMessage(one))) : [valuePiece(value)],
    ]);
    const goto = [command.goto ?? []].flat();
    const isSend = (one) => one?.lg_name === "Send";
    return {
        pieces: [...said.flatMap(([, pieces]) => pieces), ...goto.filter(isSend).map(({ args }) => valuePiece(args)), ...(resume === undefined ? [] : [valuePiece(resume)])],
        made: (taken) => {
            const rest = [...taken];
            const left = said.map(([key, pieces]) => [key, key === "messages" ? rest.splice(0, pieces.length) : rest.shift()]);
            const again = (of, members) => Object.assign(Object.create(Object.getPrototypeOf(of)), of, members);
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
function messagePiece(message) {
    const { content, additional_kwargs, tool_calls, invalid_tool_calls } = message;
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
            message.content = typeof content === "string" ? texts[0] : texts.slice(0, blocks.length).map((text) => ({ type: "text", text }));
            message.artifact = undefined; // which may say what was taken out
            return message;
        },
    };
}
/** A value of the state: a text, or what has a form in JSON. */
function valuePiece(value) {
    const listed = (_, member) => (member instanceof Map || member instanceof Set ? [...member] : member);
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
            return JSON.parse(text);
        },
    };
}
const isPlain = (value) => typeof value !== "object" || value === null || ([Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value)) && Object.values(value).every(isPlain));
const reading = {
    texts: (output) => takenApart(output).pieces.flatMap(({ texts }) => texts),
    replaced(output, texts) {
        const { pieces, made } = takenApart(output);
        const rest = [...texts];
        return made(pieces.map((piece) => piece.take(rest.splice(0, piece.texts.length))));
    },
};
