/**
 * Vercel's AI SDK: every call of the tools that a model is given is asked about.
 *
 *     generateText({ model, tools: guardTools(guardian, tools), prompt })
 *
 * @module
 */
import { Adapter, type AdapterOptions } from "./adapter.js";
import type { Guardian, JsonObject } from "./reeve-aos.js";

interface SdkTool {
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
}

/**
 * The tools, guarded. A call that is denied is a tool's error, whose text the model reads. Tools without `execute`
 * run elsewhere (in the client, or at the provider) and stay as they are: nobody is asked about them. To what is returned
 * no other tool can be added, and none in it can be changed: such a tool would run unasked.
 */
export function guardTools<T extends Record<string, object>>(guardian: Guardian, tools: T, options: AdapterOptions = {}): T {
  const adapter = new Adapter(guardian, options);
  const guarded = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool as SdkTool;
    if (execute === undefined) {
      return [name, tool];
    }
    const run = (input: object, more: unknown) => adapter.turn().call(name, input as JsonObject, (judged) => last(execute.call(tool, judged as never, more as never)));
    return [name, Object.freeze({ ...tool, execute: run })];
  });
  return Object.freeze(Object.fromEntries(guarded)) as T;
}

/** A tool that gives its output bit by bit gives the whole of it last. */
async function last(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) {
    return output;
  }
  let whole: unknown;
  for await (whole of output as AsyncIterable<unknown>);
  return whole;
}
