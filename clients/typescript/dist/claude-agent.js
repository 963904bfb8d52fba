/**
 * The Claude Agent SDK: every tool call of an agent is asked about, Claude Code's own tools, too.
 *
 *     for await (const message of query({ prompt, options: guard(guardian, options) })) …
 *
 * @module
 */
import { Adapter } from "./adapter.js";
import { Denied } from "./reeve-aos.js";
/** A hook that takes longer is one that has failed: it must not be cut off while a person is waited for. */
const week = 7 * 24 * 60 * 60; // in seconds; the guardian's own limits end it long before
/**
 * The options, with hooks that ask about each tool call, its result, and what the user says. The session is the SDK's,
 * each prompt is a turn, and an agent below is told by its type. Claude Code blocks what a hook of these fails at.
 */
export function guard(guardian, options, more = {}) {
    const asking = new Asking(new Adapter(guardian, more));
    const hooks = { ...options.hooks };
    const add = (event, hook) => {
        hooks[event] = [...(hooks[event] ?? []), { hooks: [hook], timeout: week, onFailure: "block" }];
    };
    add("UserPromptSubmit", (told) => asking.said(told));
    add("PreToolUse", (told) => asking.before(told));
    add("PostToolUse", (told) => asking.after(told));
    add("PostToolUseFailure", (told) => asking.failed(told));
    return { ...options, hooks };
}
class Asking {
    #adapter;
    #calls = new Map();
    #ended = new Map(); // sessions that read what they may not, and why
    constructor(adapter) {
        this.#adapter = adapter;
    }
    #turn(told) {
        return this.#adapter.turn(told.session_id, told.prompt_id, told.agent_id === undefined ? undefined : (told.agent_type ?? told.agent_id));
    }
    async said(told) {
        if (!this.#adapter.tellsMessages) {
            return {};
        }
        try {
            const { content, message } = await this.#turn(told).userMessage(told.prompt);
            // Claude Code lets nobody change what the user says.
            return content === told.prompt ? {} : { decision: "block", reason: `${message} The prompt could pass as: ${content}` };
        }
        catch (error) {
            return { decision: "block", reason: sentence(error) };
        }
    }
    async before(told) {
        const ended = this.#ended.get(told.session_id);
        if (ended !== undefined) {
            return { continue: false, stopReason: ended, ...decided("deny", ended) };
        }
        try {
            const turn = this.#turn(told);
            const { executionId, content, decision } = await turn.toolCallRequest(told.tool_name, told.tool_input);
            this.#calls.set(told.tool_use_id, { turn, executionId });
            // What is allowed as it is says nothing: what else may stop the call still does.
            return decision === "modify" ? decided("allow", "The policy changed the call.", { updatedInput: content }) : {};
        }
        catch (error) {
            const why = sentence(error);
            return error instanceof Denied ? decided("deny", why) : { continue: false, stopReason: why, ...decided("deny", why) };
        }
    }
    async after(told) {
        const response = told.tool_response;
        const call = this.#calls.get(told.tool_use_id);
        this.#calls.delete(told.tool_use_id);
        const found = textsOf(response);
        try {
            if (call === undefined) {
                throw new Error("nobody was asked about the call");
            }
            const given = found.length > 0 ? found : [JSON.stringify(response ?? null)];
            const { content } = await call.turn.toolCallResult(call.executionId, given);
            if (content.every((text, i) => text === given[i])) {
                return {};
            }
            if (found.length === 0) {
                throw new Error("the result may be read in another form only, and it has no text that could be changed");
            }
            return replaced(anew(response, content));
        }
        catch (error) {
            const why = sentence(error);
            // A result of another form would be put aside, and the whole be read. One that has no text at all cannot be
            // withheld: the run ends.
            const withheld = replaced(eachText(response, () => `The result is withheld: ${why}`));
            return error instanceof Denied && found.length > 0 ? withheld : { continue: false, stopReason: why, ...withheld };
        }
    }
    async failed(told) {
        const call = this.#calls.get(told.tool_use_id);
        this.#calls.delete(told.tool_use_id);
        if (call === undefined) {
            return {}; // it was not made: its denial, or a refusal of Claude Code's own
        }
        let why = "The tool's error may not be read.";
        try {
            if ((await call.turn.toolCallResult(call.executionId, told.error, { isError: true })).content === told.error) {
                return {};
            }
        }
        catch (error) {
            why = sentence(error);
        }
        // Claude Code lets no hook keep an error's text from the model. What the model makes of it does not happen.
        this.#ended.set(told.session_id, why);
        return { continue: false, stopReason: why };
    }
}
function sentence(error) {
    return error instanceof Error ? error.message : String(error);
}
function decided(permissionDecision, reason, more = {}) {
    return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, permissionDecisionReason: reason, ...more } };
}
function replaced(output) {
    return { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput: output } };
}
const kinds = new Set(["text", "image", "audio", "resource", "resource_link", "file", "create", "update"]); // of parts and results
/** A value of JSON with other texts. Its form is its own: Claude Code knows each tool's. */
function eachText(value, change) {
    if (typeof value === "string") {
        return change(value);
    }
    if (Array.isArray(value)) {
        return value.map((one) => eachText(one, change));
    }
    if (typeof value === "object" && value !== null) {
        return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, key === "type" && kinds.has(one) ? one : eachText(one, change)]));
    }
    return value;
}
function textsOf(value) {
    const found = [];
    eachText(value, (text) => (found.push(text), text));
    return found;
}
function anew(value, texts) {
    const rest = texts.values();
    return eachText(value, () => rest.next().value);
}
