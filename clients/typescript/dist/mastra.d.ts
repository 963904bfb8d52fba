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
/**
 * Guards a memory, itself: what is put into its storage is judged before it is kept (messages, and the working memory of
 * a resource), and what it gives before anybody reads it (messages that are listed or recalled, working memories). What the
 * guardian does not allow throws: of what is put together nothing is kept then, and of what is given nothing is read.
 * Other memories of the same storage are guarded with it. Observational memory is switched off: it is read by other ways.
 */
export declare function guardMemory<M extends object>(guardian: Guardian, memory: M, options?: AdapterOptions): M;
