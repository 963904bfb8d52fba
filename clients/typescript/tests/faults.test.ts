// The client and guardians that misbehave: each step fails, in time, and says how.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as listen, type AddressInfo } from "node:net";
import test from "node:test";
import { Denied, Guardian, GuardianError, Unreachable, type GuardianOptions } from "reeve-aos";

interface Call {
  readonly id: string;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

type Handler = (call: Call, response: ServerResponse, request: IncomingMessage) => void;

/** Runs a body with the options for a guardian that behaves as handlers say, one after the other; the last one stays. */
async function misbehaving(handlers: Handler | Handler[], body: (options: Pick<GuardianOptions, "url" | "agent">, calls: Call[]) => Promise<void>): Promise<void> {
  const calls: Call[] = [];
  const next = [handlers].flat();
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      const call = JSON.parse(text) as Call;
      calls.push(call);
      (next.length > 1 ? next.shift()! : next[0]!)(call, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, agent: { id: "a" } }, calls);
  } finally {
    server.close();
    (server as { closeAllConnections?: () => void }).closeAllConnections?.();
  }
}

const turnOf = (options: GuardianOptions) => new Guardian(options).session().turn();
const says = (result: object | string): Handler => ({ id }, response) => response.end(typeof result === "string" ? result.replaceAll("ID", id) : JSON.stringify({ jsonrpc: "2.0", id, result }));
const status = (code: number, headers: Record<string, string> = {}, body = ""): Handler => (_, response) => response.writeHead(code, headers).end(body);
const allow = says({ decision: "allow", message: "Go on." });
const silent: Handler = () => {};
const cut: Handler = (_, response) => response.destroy();

async function failure<E extends Error>(kind: new (...args: never[]) => E, promise: Promise<unknown>): Promise<E> {
  const outcome = await promise.then(() => "it was fulfilled", (error: unknown) => error);
  assert.ok(outcome instanceof kind, `want ${kind.name}, got ${String(outcome)}`);
  return outcome;
}

/** Runs a body, and returns what it wrote with console.warn. */
async function warnings(body: () => Promise<void>): Promise<string[]> {
  const said: string[] = [];
  const { warn } = console;
  console.warn = (text: string) => said.push(text);
  try {
    await body();
  } finally {
    console.warn = warn;
  }
  return said;
}

// Answers that are none. None of them is a verdict, and none counts as being away.
const modified = (params: object, more: object = {}): Handler => (call, response) =>
  response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: { decision: "modify", message: "m", modifiedRequest: { ...call, params, ...more } } }));
const garbage: Record<string, Handler> = {
  "no JSON": says("<html>"),
  "half of one": says('{"jsonrpc":"2.0","id":"ID","result":{"decision":"allow","message":"'),
  "nothing": says(""),
  "an array": says("[]"),
  "null": says("null"),
  "no UTF-8": ({ id }, response) => response.end(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result: { decision: "allow", message: "\u00ff" } }), "latin1")),
  "another version": says('{"jsonrpc":"1.0","id":"ID","result":{"decision":"allow","message":""}}'),
  "another id": says('{"jsonrpc":"2.0","id":"x","result":{"decision":"allow","message":""}}'),
  "no id": says('{"jsonrpc":"2.0","result":{"decision":"allow","message":""}}'),
  "result and error": says('{"jsonrpc":"2.0","id":"ID","result":{"decision":"allow","message":""},"error":{"code":1,"message":""}}'),
  "neither": says('{"jsonrpc":"2.0","id":"ID"}'),
  "an error that is a text": says('{"jsonrpc":"2.0","id":"ID","error":"no"}'),
  "a result that is a text": says('{"jsonrpc":"2.0","id":"ID","result":"allow"}'),
  "no message": says({ decision: "allow" }),
  "another decision": says({ decision: "maybe", message: "" }),
  "a decision in capitals": says({ decision: "ALLOW", message: "" }),
  "no decision": says({ message: "" }),
  "allow with a modified request": says({ decision: "allow", message: "", modifiedRequest: {} }),
  "modify without a request": says({ decision: "modify", message: "" }),
  "modify without params": (call, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: { decision: "modify", message: "", modifiedRequest: { ...call, params: undefined } } })),
  "another method modified": (call, response) => modified(call.params, { method: "steps/other" })(call, response, null!),
  "another request modified": (call, response) => modified(call.params, { id: "x" })(call, response, null!),
  "params of another step": modified({ message: {} }),
  "inputs that are none": modified({ toolCallRequest: { toolId: "tool", executionId: "x", inputs: [{ name: 1 }] } }),
  "another tool": modified({ toolCallRequest: { toolId: "other", executionId: "x", inputs: [{ name: "a", value: 2 }] } }),
  "another call": modified({ toolCallRequest: { toolId: "tool", executionId: "y", inputs: [{ name: "a", value: 2 }] } }),
  "another input": modified({ toolCallRequest: { toolId: "tool", executionId: "x", inputs: [{ name: "b", value: 2 }] } }),
  "an input twice": modified({ toolCallRequest: { toolId: "tool", executionId: "x", inputs: [{ name: "a", value: 1 }, { name: "a", value: 2 }] } }),
  "a redirect": (_, response, request) => response.writeHead(307, { Location: `http://${request.headers.host}/again` }).end(),
  "a redirect for good": status(301, { Location: "http://127.0.0.1:1/" }),
  "404": status(404, {}, "not here"),
  "204": status(204),
  "403": status(403, {}, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"reason":"Another site."}}}'),
};
for (const [name, handler] of Object.entries(garbage)) {
  test(`an answer that is none: ${name}`, async () => {
    await misbehaving(handler, async (options, calls) => {
      const t = turnOf({ ...options, onUnreachable: "allow", timeout: 20_000 });
      await failure(GuardianError, t.toolCallRequest("tool", { a: 1 }, { executionId: "x" }));
      assert.equal(calls.length, 1, "a garbled answer is not asked for again, and no redirect followed");
    });
  });
}

test("an answer without end is read for a while only", async () => {
  let written = 0;
  const endless: Handler = (_, response) => {
    const piece = "x".repeat(1 << 20);
    const more = () => {
      do {
        written += piece.length;
      } while (!response.destroyed && response.write(piece));
      response.once("drain", more);
    };
    response.write('{"padding":"');
    more();
  };
  await misbehaving(endless, async (options) => {
    assert.match((await failure(GuardianError, turnOf({ ...options, timeout: 60_000 }).message("user", "hi"))).message, /larger than/);
    assert.ok(written < 100 << 20, `${written} bytes`);
  });
});

test("modified requests that fit", async () => {
  const fits = modified({ toolCallRequest: { toolId: "tool", executionId: "x", inputs: [{ name: "a", value: 2 }] } });
  await misbehaving(fits, async (options) => {
    assert.deepEqual((await turnOf(options).toolCallRequest("tool", { a: 1 }, { executionId: "x" })).content, { a: 2 });
  });
});

test("modified requests that do not fit the other steps", async () => {
  await misbehaving(modified({}), async (options) => {
    const t = turnOf(options);
    for (const step of [
      t.message("user", "a"), t.message("user", [{ kind: "text", text: "a" }]), t.agentTrigger("a", { type: "t" }), t.knowledgeRetrieval([]),
      t.memoryStore("a"), t.memoryContextRetrieval(["a"]), t.toolCallResult("x", "a"), t.a2a({}), t.mcp({}),
    ]) {
      assert.match((await failure(GuardianError, step)).message, /cannot be applied to/);
    }
  });
  await misbehaving(modified({ memory: ["a", "b"], message: { content: [{ kind: "data", data: {} }] } }), async (options) => {
    await failure(GuardianError, turnOf(options).memoryStore("a"));
    await failure(GuardianError, turnOf(options).message("user", "a"));
  });
});

test("attempts are made again with the same ids", async () => {
  for (const handlers of [[status(500), allow], [cut, cut, allow], [status(503), allow], [status(502), allow], [status(429, { "Retry-After": "0" }), allow]]) {
    await misbehaving(handlers, async (options, calls) => {
      assert.equal((await turnOf({ ...options, timeout: 20_000 }).message("user", "hi")).decision, "allow");
      assert.equal(calls.length, handlers.length);
      assert.equal(new Set(calls.map((call) => JSON.stringify(call))).size, 1);
    });
  }
  await misbehaving(cut, async (options, calls) => {
    await failure(Unreachable, turnOf({ ...options, retries: 0 }).message("user", "hi"));
    assert.equal(calls.length, 1);
  });
});

test("errors stay errors after the last attempt", async () => {
  const busy = '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal server error","data":{"reason":"The node is at its limit."}}}';
  for (const [handler, code] of [[status(500), undefined], [status(429), undefined], [status(503, {}, busy), -32603]] as const) {
    await misbehaving(handler, async (options, calls) => {
      const error = await failure(GuardianError, turnOf({ ...options, onUnreachable: "allow", timeout: 20_000, retries: 1 }).message("user", "hi"));
      assert.equal(error.code, code);
      assert.equal(calls.length, 2);
    });
  }
  await misbehaving(status(503), (options) => failure(Unreachable, turnOf({ ...options, retries: 0 }).message("user", "hi")).then(() => {}));
});

test("who says when to come again is not waited for beyond the time limit", async () => {
  await misbehaving(status(429, { "Retry-After": "3600" }), async (options, calls) => {
    const start = performance.now();
    await failure(GuardianError, turnOf({ ...options, timeout: 60_000 }).message("user", "hi"));
    assert.ok(performance.now() - start < 30_000);
    assert.equal(calls.length, 1);
  });
  await misbehaving([status(503, { "Retry-After": new Date(Date.now() - 1000).toUTCString() }), allow], async (options) => {
    await turnOf({ ...options, timeout: 20_000 }).message("user", "hi");
  });
});

test("a guardian that does not answer is given up in time", async () => {
  const trickle: Handler = (_, response) => {
    const timer = setInterval(() => response.write(" "), 10);
    response.on("close", () => clearInterval(timer));
  };
  for (const handler of [silent, trickle]) {
    await misbehaving(handler, async (options, calls) => {
      const error = await failure(Unreachable, turnOf({ ...options, timeout: 100 }).message("user", "hi"));
      assert.equal(error.timedOut, true);
      assert.match(error.message, /did not answer steps\/message within 100 ms/);
      assert.equal(calls.length, 1);
    });
  }
  // A fetch that is deaf to its signal.
  const deaf = turnOf({ agent: { id: "a" }, timeout: 50, fetch: () => new Promise(() => {}) });
  assert.equal((await failure(Unreachable, deaf.message("user", "hi"))).timedOut, true);
  const reason = new Error("enough");
  const stop = new AbortController();
  const waiting = turnOf({ agent: { id: "a" }, fetch: () => new Promise(() => {}) }).message("user", "hi", { signal: stop.signal });
  stop.abort(reason);
  assert.equal(await failure(Error, waiting), reason);
});

test("a slow guardian is not away, whatever happens to the unreachable", async () => {
  const slow: Handler = ({ id, method }, response) => void (method === "ping" && response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { status: "connected", version: "1", timestamp: "2026-01-01T00:00:00Z" } })));
  await misbehaving(slow, async (options) => {
    let asked = 0;
    const t = turnOf({ ...options, timeout: 200, onUnreachable: () => { asked++; return true; } });
    await failure(Unreachable, t.message("user", "hi"));
    assert.equal(asked, 0);
  });
  await misbehaving(silent, async (options, calls) => {
    const t = turnOf({ ...options, timeout: 100, onUnreachable: () => true });
    assert.equal((await t.message("user", "hi")).unreachable?.timedOut, true);
    assert.deepEqual(calls.map((call) => call.method), ["steps/message", "ping"]);
  });
});

/** The URL of a port that nobody listens on. */
async function nobody(): Promise<string> {
  const server = listen().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(new Promise((resolve, reject) => connect(port, "127.0.0.1").once("connect", resolve).once("error", reject)));
  return `http://127.0.0.1:${port}/`;
}

test("nobody there: denied, unless it was chosen otherwise", async () => {
  const options = { url: await nobody(), agent: { id: "a" }, retries: 0 };
  let runs = 0;
  const tool = (_: { a: number }) => ++runs;
  const error = await failure(Unreachable, turnOf(options).guarded(tool)({ a: 1 }));
  assert.match(error.message, /cannot be reached: ECONNREFUSED/);
  assert.equal(error.timedOut, false);
  assert.equal(runs, 0);

  const said = await warnings(async () => {
    const t = turnOf({ ...options, onUnreachable: "allow" });
    const verdict = await t.message("user", "hi");
    assert.equal(verdict.decision, "allow");
    assert.equal(verdict.content, "hi");
    assert.ok(verdict.unreachable instanceof Unreachable);
    assert.equal(verdict.answer, undefined);
    assert.equal(await t.guarded(tool)({ a: 1 }), 1);
  });
  assert.equal(said.length, 1, "it warns once");
  assert.match(said[0]!, /without a guardian/);

  const asked: string[] = [];
  const some = turnOf({
    ...options,
    onUnreachable: async (step, why) => {
      asked.push(step.method);
      assert.ok(why instanceof Unreachable);
      return step.method === "steps/message";
    },
  });
  await some.message("user", "hi");
  await failure(Unreachable, some.memoryStore("m"));
  assert.deepEqual(asked, ["steps/message", "steps/memoryStore"]);
  await failure(Unreachable, turnOf({ ...options, onUnreachable: () => "allow" as never }).message("user", "hi"));
  await failure(RangeError, turnOf({ ...options, onUnreachable: () => { throw new RangeError(); } }).message("user", "hi"));
  await failure(Unreachable, new Guardian({ ...options, onUnreachable: "allow" }).ping());
});

test("a held step does not pass when the guardian goes away", async () => {
  const held = says({ decision: "deny", message: "Wait.", reasonCode: ["approval_required"], data: { approval: { id: "1", state: "held" } } });
  await misbehaving([held, held, cut], async (options) => {
    await failure(Unreachable, turnOf({ ...options, onUnreachable: "allow", waitForApproval: 60_000 }).toolCallRequest("t", {}));
  });
  await misbehaving(held, async (options, calls) => {
    const denied = await failure(Denied, turnOf({ ...options, waitForApproval: 300 }).toolCallRequest("t", {}));
    assert.equal(denied.pending, true);
    assert.ok(calls.length > 1);
    assert.equal(new Set(calls.map((call) => JSON.stringify(call))).size, 1);
  });
});

test("the result of a call is reported also when the guardian went away in between", async () => {
  await misbehaving([allow, cut], async (options) => {
    await failure(Unreachable, turnOf({ ...options, retries: 0 }).guarded(() => "secret", { name: "t" })());
    await failure(Unreachable, turnOf({ ...options, retries: 0 }).guarded(() => { throw new Error("secret"); }, { name: "t" })());
  });
});

test("answers of other guardians, which say less", async () => {
  await misbehaving(says({ decision: "deny", message: "No." }), async (options) => {
    const denied = await failure(Denied, turnOf(options).message("user", "hi"));
    assert.equal(denied.message, "No.");
    assert.deepEqual([denied.reasons, denied.instead, denied.decisionId, denied.pending, denied.approval], [[], [], undefined, false, undefined]);
  });
  await misbehaving(says({ decision: "allow", message: "Yes.", data: { instead: [1], approval: { id: 1 }, repeat: "x" }, reasonCode: "no" }), async (options) => {
    const verdict = await turnOf(options).message("user", "hi");
    assert.deepEqual([verdict.instead, verdict.reasons, verdict.repeat, verdict.approval], [[], [], false, { id: "", state: "", expiresAt: undefined }]);
  });
  await misbehaving(says({ status: "fine", version: "1", timestamp: "" }), (options) => failure(GuardianError, new Guardian(options).ping()).then(() => {}));
});

test("the key goes to the guardian and nowhere else", async () => {
  const key = "top-secret-key";
  let credential: string | undefined;
  const echo: Handler = ({ id }, response, request) => {
    credential = request.headers.authorization;
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: `no: ${credential}`, data: { credential } } }));
  };
  await misbehaving(echo, async (options) => {
    const guardian = new Guardian({ ...options, key });
    const error = await failure(GuardianError, guardian.session().turn().message("user", "hi"));
    assert.equal(credential, `Bearer ${key}`);
    assert.equal(error.code, -32000);
    const { inspect } = await import("node:util");
    for (const shown of [error, guardian, guardian.session(), guardian.session().turn()]) {
      assert.doesNotMatch(inspect(shown, { depth: 9, showHidden: true }) + JSON.stringify(shown), /top-secret/);
    }
  });
  for (const wrong of [`${key}\n`, `${key} x`, `${key}\u00e9`]) {
    assert.throws(() => new Guardian({ agent: { id: "a" }, key: wrong }), (error: Error) => error instanceof TypeError && !error.message.includes("secret"));
  }
  for (const url of [`http://user:${key}@127.0.0.1/`, "ftp://127.0.0.1/", "nonsense"]) {
    assert.throws(() => new Guardian({ agent: { id: "a" }, url }), (error: Error) => error instanceof TypeError && !error.message.includes("secret"));
  }
});

test("options that cannot be meant", () => {
  const agent = { id: "a" };
  for (const wrong of [{ timeout: 0 }, { timeout: NaN }, { timeout: -1 }, { timeout: 2 ** 31 }, { retries: -1 }, { retries: 0.5 }, { waitForApproval: -1 }]) {
    assert.throws(() => new Guardian({ agent, ...wrong }), RangeError, JSON.stringify(wrong));
  }
  assert.throws(() => new Guardian({ agent, onUnreachable: "yes" as never }), TypeError);
  assert.throws(() => new Guardian({ agent: { id: "" } }), TypeError);
  assert.throws(() => new Guardian({} as never), TypeError);
  assert.throws(() => new Guardian({ agent: { id: "a", metadata: { when: new Date() } } }), /agent.metadata.when is a Date/);
  assert.throws(() => new Guardian({ agent }).session({ id: "" }), TypeError);
  assert.throws(() => new Guardian({ agent }).session().turn({ id: "" }), TypeError);
});

test("a client that is done leaves nothing that keeps the process alive", async () => {
  await misbehaving(allow, async (options) => {
    const signal = new AbortController().signal;
    const resources = () => (process as { getActiveResourcesInfo?: () => string[] }).getActiveResourcesInfo?.().filter((name) => name === "Timeout").length;
    const before = resources();
    await turnOf({ ...options, timeout: 60_000 }).message("user", "hi", { signal });
    await failure(Error, turnOf({ ...options, timeout: 60_000 }).message("user", "hi", { signal: AbortSignal.abort() }));
    assert.ok((resources() ?? 0) <= (before ?? 0) + 1); // the server's own
  });
});
