// What every adapter has to do, whatever the framework: one table, run on the real framework by the code of its
// page in docs/frameworks, with a model that follows a script.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import test from "node:test";
import { Guardian, NotAllowed, type GuardianOptions } from "reeve-aos";

/** The id of a call, the tool's name, and its arguments. */
export type Call = readonly [id: string, name: string, inputs: Record<string, unknown>];

/** A tool of the tests: its one argument, whose type is the word, and what it does. */
export interface Plain {
  readonly name: string;
  readonly argument: string;
  readonly type: "string" | "number";
  readonly run: (inputs: Record<string, unknown>) => string;
}

/** A model: it makes these calls, one list after the other, and then says this. */
export class Script {
  /** What the model was given to read, each time that it was asked. */
  readonly seen: string[] = [];
  readonly #steps: readonly (readonly [name: string, inputs: Record<string, unknown>][])[];
  readonly #says: string;

  constructor(steps: readonly (readonly [string, Record<string, unknown>][])[], says = "That is all.") {
    this.#steps = steps;
    this.#says = says;
  }

  /** The next calls, or else what is said. */
  next(prompt: unknown): { calls: Call[]; text: string } {
    this.seen.push(JSON.stringify(prompt));
    const step = this.#steps[this.seen.length - 1] ?? [];
    const calls = step.map(([name, inputs], i): Call => [`call_${this.seen.length}_${i}_${Math.random().toString(36).slice(2, 8)}`, name, inputs]);
    return { calls, text: calls.length === 0 ? this.#says : "" };
  }
}

export interface Framework {
  readonly name: string;
  /** Runs the page's code. */
  readonly answer: (guardian: Guardian, question: string, script: Script, tools: readonly Plain[]) => Promise<unknown>;
  /** The page tells the messages by itself, or has the adapter tell them. */
  readonly tellsMessages: boolean;
  /** The page opens its own turn. */
  readonly opensTurn?: boolean;
  /** What is not allowed for want of a guardian ends the run; else the model reads it. */
  readonly ends: boolean;
  /** The framework makes a text of a tool's error before anybody else sees it. */
  readonly errorsAreResults?: boolean;
  /** An error's text reaches the model whatever is judged of it: the run ends before anything more is done. */
  readonly stopsAtErrors?: boolean;
}

interface Asked {
  readonly id: string;
  readonly method: string;
  readonly params: any;
}

const turnedAround = (text: string) => [...text].reverse().join("");
const card = "4000 0000 0000 0002"; // a card, which the policy masks

/** The real node behind a line that can break, and tells of what passes. */
async function line(body: (url: string, asked: Asked[], faults: { of: (asked: Asked) => "lost" | "cut" | "error" | undefined }) => Promise<void>): Promise<void> {
  const asked: Asked[] = [];
  const faults: { of: (asked: Asked) => "lost" | "cut" | "error" | undefined } = { of: () => undefined };
  const server = createServer((incoming, outgoing) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    incoming.on("end", async () => {
      const call = JSON.parse(text) as Asked;
      const fault = faults.of(call);
      asked.push(call);
      if (fault === "lost") {
        outgoing.destroy();
      } else if (fault === "error") {
        outgoing.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, error: { code: -32603, message: "Internal error" } }));
      } else {
        const answer = await (await fetch(`${process.env["REEVE_URL"]}/aos`, { method: "POST", headers: { "Content-Type": "application/json" }, body: text })).text();
        if (fault === "cut") {
          outgoing.destroy();
        } else {
          outgoing.setHeader("Content-Type", "application/json").end(answer);
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}/aos`, asked, faults);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A request to the node's own socket, as reeve's command line makes them. */
function operator(method: string, path: string, body?: object): Promise<any> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: process.env["REEVE_SOCKET"], host: "localhost", method, path, headers: { "Content-Type": "application/json" } }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      answer.on("end", () => (answer.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(`${answer.statusCode} ${text}`))));
    });
    call.on("error", reject).end(body && JSON.stringify(body));
  });
}

/** A guardian of the real node, with what it was asked. */
export function recording(settings: Partial<GuardianOptions> = {}): { guardian: Guardian; asked: Asked[]; calls: () => Asked["params"][] } {
  const asked: Asked[] = [];
  const guardian = new Guardian({
    agent: { id: "clerk", name: "Clerk" },
    fetch: (url, init) => {
      asked.push(JSON.parse(String(init!.body)));
      return fetch(url, init);
    },
    ...settings,
  });
  return { guardian, asked, calls: () => asked.filter(({ method }) => method === "steps/toolCallRequest").map(({ params }) => params) };
}

/** Runs the table on a framework. */
export function scenarios(framework: Framework): void {
  const scenario = (
    name: string,
    body: (on: {
      ask: (script: Script, question?: string, settings?: Partial<GuardianOptions>) => Promise<string>;
      ends: (script: Script) => Promise<void>;
      guardian: (settings?: Partial<GuardianOptions>) => Guardian;
      tools: readonly Plain[];
      ran: unknown[];
      asked: Asked[];
      faults: { of: (asked: Asked) => "lost" | "cut" | "error" | undefined };
    }) => Promise<void>,
  ) =>
    test(`${framework.name}: ${name}`, async () => {
      await line(async (url, asked, faults) => {
        const ran: unknown[] = [];
        const plain = (name: string, argument: string, type: "string" | "number", run: (value: any) => string): Plain => ({
          name, argument, type,
          run: (inputs) => {
            ran.push([name, inputs[argument]]);
            return run(inputs[argument]);
          },
        });
        const tools = [
          plain("note", "text", "string", (text) => `noted ${text}`),
          plain("wipe_disk", "path", "string", () => "wiped"),
          plain("write_file", "path", "string", (path) => `wrote ${path}`),
          plain("turned", "text", "string", turnedAround),
          plain("transfer", "amount", "number", (amount) => `sent ${amount}`),
          plain("breaks", "text", "string", (text) => {
            throw new Error(turnedAround(text));
          }),
        ];
        const guardian = (settings: Partial<GuardianOptions> = {}) => new Guardian({ agent: { id: "clerk", name: "Clerk" }, url, timeout: 20_000, ...settings });
        const ask = async (script: Script, question = "Do what is to be done.", settings: Partial<GuardianOptions> = {}) =>
          String(await framework.answer(guardian(settings), question, script, tools));
        const ends = async (script: Script) => {
          const outcome = await ask(script, undefined, { retries: 0, timeout: 5000 }).then(() => undefined, (error: unknown) => error);
          if (outcome === undefined) {
            assert.ok(!framework.ends, "the run went on");
            return;
          }
          const chain: unknown[] = [];
          for (let error = outcome as { cause?: unknown; message?: string; error?: unknown } | undefined; error !== undefined && error !== null && !chain.includes(error); error = (error.cause ?? error.error) as never) {
            chain.push(error);
          }
          assert.ok(chain.some((error) => error instanceof NotAllowed || /guardian/.test(String((error as Error).message))), String(outcome));
        };
        await body({ ask, ends, guardian, tools, ran, asked, faults });
      });
    });
  const steps = (asked: Asked[], ...methods: string[]) => asked.filter(({ method }) => methods.includes(method.replace(/.*\//, ""))).map(({ params }) => params);

  scenario("a call that is allowed", async ({ ask, ran, asked }) => {
    const script = new Script([[["note", { text: "hello" }]]]);
    assert.match(await ask(script), /That is all\./);
    assert.deepEqual(ran, [["note", "hello"]]);
    assert.match(script.seen.at(-1)!, /noted hello/);
    const contexts = steps(asked, "toolCallRequest", "toolCallResult").map(({ context }) => `${context.agent.id} ${context.session.id} ${context.turnId}`);
    assert.equal(contexts.length, 2);
    assert.equal(new Set(contexts).size, 1);
  });

  scenario("a call that is denied", async ({ ask, ran }) => {
    const script = new Script([[["wipe_disk", { path: "old" }]]]);
    await ask(script);
    assert.deepEqual(ran, []);
    assert.match(script.seen.at(-1)!, /Nothing is wiped here\. Instead: Move it to the archive\./);
  });

  scenario("arguments that are changed", async ({ ask, ran }) => {
    const script = new Script([[["write_file", { path: "/srv/passwd" }]]]);
    await ask(script);
    assert.deepEqual(ran, [["write_file", "/workspace/file"]]);
    assert.match(script.seen.at(-1)!, /wrote \/workspace\/file/);
  });

  scenario("a result that is changed", async ({ ask, ran }) => {
    const script = new Script([[["turned", { text: turnedAround(`it is ${card}`) }]]]);
    await ask(script);
    assert.equal(ran.length, 1);
    assert.match(script.seen.at(-1)!, /it is \*\*\*\*/);
    assert.doesNotMatch(script.seen.at(-1)!, /4000/);
  });

  scenario("a result that is denied", async ({ ask, ran }) => {
    const script = new Script([[["turned", { text: "egap neddibrof a" }]]]);
    await ask(script);
    assert.equal(ran.length, 1);
    assert.match(script.seen.at(-1)!, /This is forbidden\./);
    assert.doesNotMatch(script.seen.at(-1)!, /a forbidden page/);
  });

  scenario("an error that is changed", async ({ ask, ran, asked }) => {
    const script = new Script([[["breaks", { text: turnedAround(card) }]], ...(framework.stopsAtErrors === true ? [[["note", { text: "more" }] as [string, object]]] as never : [])]);
    await ask(script).catch(() => {});
    if (framework.stopsAtErrors === true) {
      assert.deepEqual(ran, [["breaks", turnedAround(card)]]);
      return;
    }
    assert.ok(ran.length > 0);
    assert.doesNotMatch(script.seen.join(), /4000/);
    assert.deepEqual(steps(asked, "toolCallResult").map(({ result }) => result.isError), [framework.errorsAreResults !== true]);
  });

  scenario("a call that waits for a person", async ({ ask, ran, asked }) => {
    const script = new Script([[["transfer", { amount: 7 }]]]);
    await ask(script);
    assert.deepEqual(ran, []);
    assert.match(script.seen.at(-1)!, /second pair of eyes/);

    const again = new Script([[["transfer", { amount: 8 }]]]);
    const before = asked.length;
    const answer = ask(again, undefined, { waitForApproval: 60_000 });
    const held = async (): Promise<void> => {
      const request = asked.slice(before).find(({ method }) => method === "steps/toolCallRequest");
      if (request === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return held();
      }
      // The same question again is a repeat, which says what is held.
      const repeat = await (await fetch(`${process.env["REEVE_URL"]}/aos`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) })).json() as any;
      const { id } = repeat.result.data.approval;
      assert.deepEqual(ran, []);
      const { seen } = await operator("GET", `/approvals/${id}`);
      await operator("POST", `/approvals/${id}`, { answer: "approve", seen });
    };
    await Promise.race([held(), answer]);
    await answer;
    assert.deepEqual(ran, [["transfer", 8]]);
    assert.match(again.seen.at(-1)!, /sent 8/);
  });

  scenario("the guardian is killed before the call", async ({ ends, ran, faults }) => {
    for (const method of ["steps/", "steps/toolCallRequest"]) {
      faults.of = (asked) => (asked.method.startsWith(method) ? "lost" : undefined);
      // A page that tells the messages itself ends there, whatever the framework does of a tool.
      await ends(new Script([[["note", { text: "hello" }]]]));
      assert.deepEqual(ran, []);
    }
  });

  for (const fault of ["cut", "error"] as const) {
    scenario(`the guardian is killed during the call: ${fault}`, async ({ ends, ran, faults }) => {
      faults.of = (asked) => (asked.method === "steps/toolCallRequest" ? fault : undefined);
      await ends(new Script([[["note", { text: "hello" }]]]));
      assert.deepEqual(ran, []);
    });
  }

  for (const fault of ["lost", "cut", "error"] as const) {
    scenario(`the guardian is killed after the call: ${fault}`, async ({ ends, ran, faults }) => {
      faults.of = (asked) => (asked.method === "steps/toolCallResult" ? fault : undefined);
      const script = new Script([[["turned", { text: "olleh" }]]]);
      await ends(script);
      assert.deepEqual(ran, [["turned", "olleh"]]);
      assert.doesNotMatch(script.seen.join(), /hello/);
    });
  }

  scenario("two calls side by side", async ({ ask, ran }) => {
    const script = new Script([[["note", { text: "one" }], ["wipe_disk", { path: "old" }]]]);
    await ask(script);
    assert.deepEqual(ran, [["note", "one"]]);
    assert.match(script.seen.at(-1)!, /noted one/);
    assert.match(script.seen.at(-1)!, /Nothing is wiped here\./);
  });

  scenario("messages", async ({ ask, asked }) => {
    const script = new Script([], `Your card is ${card}.`);
    const said = await ask(script, `My card is ${card}.`);
    const roles = steps(asked, "message").map(({ message }) => message.role);
    if (!framework.tellsMessages) {
      assert.deepEqual(roles, []);
      return;
    }
    assert.deepEqual(roles, ["user", "agent"]);
    assert.match(script.seen[0]!, /My card is \*\*\*\*\./);
    assert.equal(said, "Your card is ****.");
    assert.doesNotMatch(script.seen.join(), /4000/);
    const silent = new Script([]);
    await ask(silent, "Something forbidden.").catch(() => {});
    assert.deepEqual(silent.seen, []);
  });

  if (framework.opensTurn !== true) {
    scenario("a turn of the program", async ({ guardian, tools, asked }) => {
      const own = guardian();
      const turn = own.session({ user: "ada" }).turn();
      await turn.run(() => framework.answer(own, "Do it.", new Script([[["note", { text: "hello" }]]]), tools));
      assert.deepEqual(
        asked.map(({ method, params: { context } }) => [method, context.session.id, context.turnId]),
        ["steps/toolCallRequest", "steps/toolCallResult"].map((method) => [method, turn.session.id, turn.id]),
      );
    });
  }
}
