/**
 * LangChain and LangGraph: every tool call of an agent is asked about.
 *
 *     createAgent({ model, tools, middleware: [guardianMiddleware(guardian)] })
 *
 * @module
 */
import { AIMessage, createMiddleware, HumanMessage, ToolMessage } from "langchain";
import { Adapter } from "./adapter.js";
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
/** What the model will read of a tool's output: a message, or those in what it commands. */
function messagesOf(output) {
    if (ToolMessage.isInstance(output)) {
        return [output];
    }
    const { update } = (output ?? {});
    if (update !== undefined) {
        return [update.messages ?? []].flat().filter((message) => ToolMessage.isInstance(message));
    }
    throw new TypeError("what the tool gave cannot be judged");
}
const textsOf = ({ content }) => typeof content === "string" ? [content] : content.map((block) => (block.type === "text" && typeof block["text"] === "string" ? block["text"] : JSON.stringify(block)));
const reading = {
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
