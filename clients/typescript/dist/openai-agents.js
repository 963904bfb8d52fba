/**
 * The OpenAI Agents SDK: every function tool of an agent, and of those that it hands over to, is asked about.
 *
 *     const guarded = new GuardedRunner(guardian, new Runner());
 *     const { finalOutput } = await guarded.run(agent, "Tell Bo that the build is green.");
 *
 * @module
 */
import { Adapter } from "./adapter.js";
/** Agents that are guarded already. */
const guardedAgents = new WeakSet();
/** Tools that are guarded already. */
const guardedTools = new WeakSet();
/** Tools that are agents whose own tools are guarded, with the agents' names. */
const agentTools = new WeakMap();
/**
 * Runs agents as the SDK's runner does, and asks the guardian about their messages and tool calls. The session
 * is the run's `conversationId`, and each run is a turn.
 */
export class GuardedRunner {
    #adapter;
    #runner;
    constructor(guardian, runner, options = {}) {
        this.#adapter = new Adapter(guardian, options);
        this.#runner = runner;
    }
    /** Runner.run(), guarded. */
    async run(agent, input, options = {}) {
        const guarded = this.guard(agent);
        const run = (said) => this.#runner.run(guarded, said, options);
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
    guard(agent) {
        return new Guarding(this.#adapter, agent.name).agent(agent);
    }
}
/** Makes guarded copies of agents that hand over to each other, perhaps in a circle. */
class Guarding {
    #adapter;
    #first;
    #copies = new Map();
    constructor(adapter, first) {
        this.#adapter = adapter;
        this.#first = first;
    }
    agent(agent) {
        if (guardedAgents.has(agent)) {
            return agent;
        }
        const known = this.#copies.get(agent);
        if (known !== undefined) {
            return known;
        }
        const name = agent.name === this.#first ? undefined : agent.name;
        const guarded = agent.clone({ tools: agent.tools.map((tool) => this.#tool(tool, name)) });
        this.#copies.set(agent, guarded);
        guardedAgents.add(guarded);
        guarded.handoffs = agent.handoffs.map((handoff) => this.#handoff(handoff));
        const { asTool, getMcpTools } = guarded;
        guarded.asTool = (...args) => {
            const tool = asTool.apply(guarded, args);
            agentTools.set(tool, agent.name);
            return tool;
        };
        guarded.getMcpTools = async (...args) => (await getMcpTools.apply(guarded, args)).map((tool) => this.#tool(tool, name));
        return guarded;
    }
    #handoff(handoff) {
        const { onInvokeHandoff } = handoff;
        if (typeof onInvokeHandoff !== "function") {
            return this.agent(handoff);
        }
        const guarded = Object.assign(Object.create(Object.getPrototypeOf(handoff)), handoff);
        guarded.onInvokeHandoff = async (context, input) => this.agent((await onInvokeHandoff.call(handoff, context, input)));
        return guarded;
    }
    #tool(tool, agent) {
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
        const guarded = {
            ...tool,
            invoke: async (context, input, details) => {
                const turn = this.#adapter.turn(undefined, undefined, agent);
                const run = (judged) => turn.of(inner).run(() => invoke.call(tool, context, JSON.stringify(judged), details));
                return this.#adapter.orTold(turn.call(name, JSON.parse(input || "{}"), run, { reading }), (denied) => denied.message);
            },
        };
        guardedTools.add(guarded);
        return guarded;
    }
}
/** What the user said, as the guardian left it: a text, or the last of the user's items. */
async function said(input, ask) {
    if (typeof input === "string") {
        return ask(input);
    }
    if (!Array.isArray(input)) {
        return input; // a run that goes on: the user says nothing
    }
    const items = structuredClone(input);
    const last = items.filter((item) => item.role === "user").at(-1);
    if (typeof last?.content === "string") {
        last.content = await ask(last.content);
    }
    else {
        for (const part of last?.content ?? []) {
            if (typeof part.text === "string") {
                part.text = await ask(part.text);
            }
        }
    }
    return items;
}
const isPart = (value) => typeof value === "object" && value !== null && /^(text|image|file)$/.test(String(value.type));
/** What the model will read of a tool's output: a text, parts, or JSON. */
const reading = {
    texts(output) {
        const parts = Array.isArray(output) && output.length > 0 && output.every(isPart) ? output : [output];
        return parts.map((part) => (isPart(part) && part.type === "text" && typeof part.text === "string" ? part.text : typeof part === "string" ? part : (JSON.stringify(part) ?? "undefined")));
    },
    replaced: (_, texts) => (texts.length === 1 ? texts[0] : texts.map((text) => ({ type: "text", text }))),
};
