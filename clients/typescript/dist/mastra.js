/**
 * Mastra: every call of the tools that an agent is given is asked about.
 *
 *     new Agent({ id: "helper", name: "Helper", instructions, model, tools: guardTools(guardian, tools) })
 *
 * @module
 */
import { Adapter } from "./adapter.js";
/**
 * The tools, guarded, under the ids that they have. A call that is denied is a tool's error, whose text the model
 * reads. Tools without `execute` run elsewhere and stay as they are: nobody is asked about them.
 */
export function guardTools(guardian, tools, options = {}) {
    const adapter = new Adapter(guardian, options);
    const guarded = Object.entries(tools).map(([name, tool]) => {
        const { id, execute } = tool;
        if (execute === undefined) {
            return [name, tool];
        }
        // A tool is an object of a class, which the framework knows again.
        const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)), tool);
        copy.execute = (input, context) => adapter.turn(threadOf(context)).call(id ?? name, input, (judged) => execute.call(tool, judged, context));
        return [name, copy];
    });
    return Object.fromEntries(guarded);
}
/** The thread of the agent's memory, which is the session. */
function threadOf(context) {
    return context?.agent?.threadId;
}
