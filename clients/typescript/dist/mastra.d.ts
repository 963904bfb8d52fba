/**
 * Mastra: every tool call of an agent is asked about.
 *
 *     const agent = guard(guardian, new Agent({ id: "helper", name: "Helper", instructions, model, tools }))
 *
 * @module
 */
import { type AdapterOptions } from "./adapter.js";
import type { Guardian } from "./reeve-aos.js";
/**
 * Guards an agent, itself: each tool of a run is asked about, wherever it comes from and whenever it came, and so are
 * those of its agents, which are told by their names. A call that is denied is a tool's error, whose text the model
 * reads. Tools without `execute` run elsewhere (in the client, or at the provider): nobody is asked about them.
 */
export declare function guard<A extends object>(guardian: Guardian, agent: A, options?: AdapterOptions): A;
/**
 * Tools that are used outside of agents, such as the steps of a workflow, guarded, under the ids that they have. To
 * what is returned no other tool can be added.
 */
export declare function guardTools<T extends Record<string, object>>(guardian: Guardian, tools: T, options?: AdapterOptions): T;
