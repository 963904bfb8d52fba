/**
 * Mastra: every call of the tools that an agent is given is asked about.
 *
 *     new Agent({ id: "helper", name: "Helper", instructions, model, tools: guardTools(guardian, tools) })
 *
 * @module
 */
import { Adapter, type AdapterOptions } from "./adapter.js";
import type { Guardian, JsonObject } from "./reeve-aos.js";

interface SdkTool {
  readonly id?: string;
  readonly execute?: (input: never, context: never) => unknown;
}

/**
 * The tools, guarded, under the ids that they have. A call that is denied is a tool's error, whose text the model
 * reads. Tools without `execute` run elsewhere and stay as they are: nobody is asked about them.
 */
export function guardTools<T extends Record<string, object>>(guardian: Guardian, tools: T, options: AdapterOptions = {}): T {
  const adapter = new Adapter(guardian, options);
  const guarded = Object.entries(tools).map(([name, tool]) => {
    const { id, execute } = tool as SdkTool;
    if (execute === undefined) {
      return [name, tool];
    }
    // A tool is an object of a class, which the framework knows again.
    const copy = Object.assign(Object.create(Object.getPrototypeOf(tool) as object) as object, tool) as { execute: unknown };
    copy.execute = (input: object, context: unknown) =>
      adapter.turn(threadOf(context)).call(id ?? name, input as JsonObject, (judged) => execute.call(tool, judged as never, context as never));
    return [name, copy];
  });
  return Object.fromEntries(guarded) as T;
}

/** The thread of the agent's memory, which is the session. */
function threadOf(context: unknown): string | undefined {
  return (context as { agent?: { threadId?: string } } | undefined)?.agent?.threadId;
}
