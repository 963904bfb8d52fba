/**
 * Mastra: every tool call of an agent is asked about.
 *
 *     const agent = guard(guardian, new Agent({ id: "helper", name: "Helper", instructions, model, tools }))
 *
 * @module
 */
import { Adapter } from "./adapter.js";
const guardedAgents = new WeakSet();
/**
 * Guards an agent, itself: each tool of a run is asked about, wherever it comes from and whenever it came, and so are
 * those of its agents, which are told by their names. A call that is denied is a tool's error, whose text the model
 * reads. Tools without `execute` run elsewhere (in the client, or at the provider): nobody is asked about them.
 */
export function guard(guardian, agent, options = {}) {
    if (guardedAgents.has(agent)) {
        return agent;
    }
    const held = agent;
    const { convertTools, listAgents } = held;
    if (typeof convertTools !== "function" || typeof listAgents !== "function") {
        throw new TypeError("an agent of this kind, or of this version of the framework, has tools that this module cannot hold");
    }
    const adapter = new Adapter(guardian, options);
    held.convertTools = async (how) => guarded(await convertTools.call(held, how), (name) => name, () => adapter.turn(how.threadId));
    const below = (agents) => {
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
export function guardTools(guardian, tools, options = {}) {
    const adapter = new Adapter(guardian, options);
    return Object.freeze(guarded(tools, (name, { id }) => id ?? name, (context) => adapter.turn(threadOf(context))));
}
function guarded(tools, idOf, turnOf) {
    const copies = Object.entries(tools).map(([name, tool]) => {
        const { execute } = tool;
        if (execute === undefined) {
            return [name, tool];
        }
        // A tool is an object of a class, which the framework knows again.
        const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)), tool);
        copy.execute = (input, context) => turnOf(context).call(idOf(name, tool), input, (judged) => execute.call(tool, judged, context));
        return [name, copy];
    });
    return Object.fromEntries(copies);
}
/** The thread of the agent's memory, which is the session. */
function threadOf(context) {
    return context?.agent?.threadId;
}
