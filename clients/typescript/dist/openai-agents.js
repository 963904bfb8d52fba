/**
 * The OpenAI Agents SDK: every function tool and hand-over of an agent, and of those that it hands over to, is asked about.
 *
 *     const guarded = new GuardedRunner(guardian, new Runner());
 *     const { finalOutput } = await guarded.run(agent, "Tell Bo that the build is green.");
 *
 * @module
 */
import { Adapter } from "./adapter.js";
/** Agents that are guarded already. */
const guardedAgents = new WeakSet();
/** Functions of tools and hand-overs that ask first. */
const asking = new WeakSet();
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
        const state = input;
        if (typeof state?.currentAgent === "object" && !guardedAgents.has(state.currentAgent)) {
            throw new TypeError("the state is of an agent that is not guarded: read it with runner.guard(agent)");
        }
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
    /**
     * The agent with guarded tools and hand-overs, for a turn that the program opens, for streams, and for asTool(). What is
     * given to it later, and to its clones, is guarded, too.
     */
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
        const guarded = agent.clone({});
        this.#copies.set(agent, guarded);
        return this.#held(guarded);
    }
    /** Whoever reads the tools and hand-overs of the agent, and of its clones, finds guarded ones, whenever they came. */
    #held(agent) {
        guardedAgents.add(agent);
        const { asTool, clone, getEnabledHandoffs, getMcpTools } = agent;
        const reads = (name, guarded) => {
            let members = [...agent[name]]; // a list of its own: another agent's stays as it is
            const get = () => {
                members.forEach((member, i) => (members[i] = guarded(member)));
                return members;
            };
            Object.defineProperty(agent, name, { configurable: true, enumerable: true, get, set: (given) => (members = [...given]) });
            get(); // what cannot be held is refused now
        };
        reads("tools", (tool) => this.#tool(agent, tool));
        reads("handoffs", (handoff) => this.#handoff(agent, handoff));
        agent.clone = (config) => this.#held(clone.call(agent, config));
        agent.asTool = (...args) => {
            const tool = asTool.apply(agent, args);
            agentTools.set(tool, agent.name);
            return tool;
        };
        // The SDK makes hand-overs of those that are given as agents, each time that it asks.
        agent.getEnabledHandoffs = async (...args) => (await getEnabledHandoffs.apply(agent, args)).map((handoff) => this.#handoff(agent, handoff));
        agent.getMcpTools = async (...args) => (await getMcpTools.apply(agent, args)).map((tool) => this.#tool(agent, tool));
        return agent;
    }
    /**
     * A hand-over is asked about as the call of a tool, which it is to the model. It may have a function, which runs
     * here. When it is denied the agent stays, and reads why in its instructions: the SDK has no other place for it.
     */
    #handoff(source, given) {
        if (!("onInvokeHandoff" in given)) {
            return this.agent(given);
        }
        const { onInvokeHandoff, toolName } = given;
        if (asking.has(onInvokeHandoff)) {
            return given;
        }
        const guarded = Object.assign(Object.create(Object.getPrototypeOf(given)), given);
        guarded.agent = this.agent(given.agent); // by which a run that was written down finds its agents
        const invoke = async (context, input) => {
            const run = async (judged) => this.agent((await onInvokeHandoff.call(given, context, written(judged, input))));
            return this.#adapter.orTold(this.#turn(source).call(toolName, inputsOf(input), run, { reading: transferred }), (denied) => {
                const { instructions } = source;
                const told = (before) => `${before}\n\nThe call of ${toolName} was not made. ${denied.message}`.trim();
                return source.clone({ instructions: typeof instructions === "function" ? async (...args) => told(await instructions(...args)) : told(instructions ?? "") });
            });
        };
        asking.add(invoke);
        guarded.onInvokeHandoff = invoke;
        return guarded;
    }
    #tool(source, tool) {
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
        const asks = async (context, input, details) => {
            const turn = this.#turn(source);
            const run = (judged) => {
                const left = written(judged, input);
                return turn.of(inner).run(() => invoke.call(tool, context, left, inner === undefined ? saying(details, left) : details));
            };
            return this.#adapter.orTold(turn.call(name, inputsOf(input), run, { reading }), (denied) => denied.message);
        };
        asking.add(asks);
        return { ...tool, invoke: asks };
    }
    #turn({ name }) {
        return this.#adapter.turn(undefined, undefined, name === this.#first ? undefined : name);
    }
}
/** What a model says as arguments: an object, or (to a hand-over) another value. */
function inputsOf(input) {
    const value = JSON.parse(input || "{}");
    return isObject(value) ? value : { input: value };
}
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** The arguments with which it runs, written anew from what was judged: a member that stood twice stands once. */
const written = (judged, input) => JSON.stringify(isObject(JSON.parse(input || "{}")) ? judged : judged["input"]);
/** What a tool is told of its call, with the arguments that it runs with. */
const saying = (details, left) => details?.toolCall === undefined ? details : Object.create(details, { toolCall: { enumerable: true, value: { ...details.toolCall, arguments: left } } });
/** What the model will read of a hand-over that was made. */
const transferred = {
    texts: (agent) => [JSON.stringify({ assistant: agent.name })],
    replaced() {
        throw new RangeError("a hand-over is made, or is not");
    },
};
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
