/**
 * Vercel's AI SDK: every call of the tools that a model is given is asked about.
 *
 *     generateText({ model, tools: guardTools(guardian, tools), prompt })
 *
 * @module
 */
import { Adapter } from "./adapter.js";
/**
 * The tools, guarded. A call that is denied is a tool's error, whose text the model reads. Tools without `execute`
 * run elsewhere (in the client, or at the provider) and stay as they are: nobody is asked about them. To what is returned
 * no other tool can be added, and none in it can be changed: such a tool would run unasked.
 */
export function guardTools(guardian, tools, options = {}) {
    const adapter = new Adapter(guardian, options);
    const guarded = Object.entries(tools).map(([name, tool]) => {
        const { execute } = tool;
        if (execute === undefined) {
            return [name, tool];
        }
        const run = (input, more) => adapter.turn().call(name, input, (judged) => last(execute.call(tool, judged, more)));
        return [name, Object.freeze({ ...tool, execute: run })];
    });
    return Object.freeze(Object.fromEntries(guarded));
}
/** A tool that gives its output bit by bit gives the whole of it last. */
async function last(output) {
    if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) {
        return output;
    }
    let whole;
    for await (whole of output)
        ;
    return whole;
}
