// The client and guardians that misbehave: each step fails, in time, and says how.
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as listen, type AddressInfo } from "node:net";
import test from "node:test";
import { Denied, Guardian, GuardianError, Unreachable, type GuardianOptions, type Part, type Turn } from "reeve-aos";

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
const cut: Handler = (_, response) => void response.destroy();
const truncated: Handler = (_, response) => void response.writeHead(200, { "Content-Length": "500" }).write("{", () => response.destroy());
const unended: Handler = (_, response) => void response.writeHead(200).write("{", () => response.destroy());
const unrecorded: Handler = ({ id }, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32603, message: "Internal error" } }));

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
  "a member twice": says('{"jsonrpc":"2.0","id":"ID","result":{"decision":"deny","decision":"allow","message":""}}'),
  "a member twice, written otherwise": says('{"jsonrpc":"2.0","id":"ID","result":{"message":"a\\"}","decision":"deny","x":[{"y":{}}],"d\\u0065cision" : "allow"}}'),
  "an id twice": says('{"jsonrpc":"2.0","id":"ID","id":"ID","result":{"decision":"allow","message":""}}'),
  "no message": says({ decision: "allow" }),
  "a number for a message": says({ decision: "allow", message: 1 }),
  "a text for codes": says({ decision: "allow", message: "", reasonCode: "no" }),
  "numbers as codes": says({ decision: "allow", message: "", reasonCode: [1] }),
  "a list for data": says({ decision: "allow", message: "", data: [] }),
  "numbers as advice": says({ decision: "allow", message: "", data: { instead: [1] } }),
  "no approval": says({ decision: "allow", message: "", data: { approval: 1 } }),
  "half an approval": says({ decision: "deny", message: "", data: { approval: { id: "1" } } }),
  "another decision": says({ decision: "maybe", message: "" }),
  "a decision in capitals": says({ decision: "ALLOW", message: "" }),
  "no decision": says({ message: "" }),
  "allow with a modified request": says({ decision: "allow", message: "", modifiedRequest: {} }),
  "modify without a request": says({ decision: "modify", message: "" }),
  "modify without params": (call, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: { decision: "modify", message: "", modifiedRequest: { ...call, params: undefined } } })),
  "another method modified": (call, response) => modified(call.params, { method: "steps/other" })(call, response, null!),
  "another request modified": (call, response) => modified(call.params, { id: "x" })(call, response, null!),
  "a request of another version modified": (call, response) => modified(call.params, { jsonrpc: "1.0" })(call, response, null!),
  "params of another step": modified({ message: {} }),
  "inputs in another order": modified({ toolCallRequest: { toolId: "tool", executionId: "x", inputs: [{ name: "b", value: 2 }, { name: "a", value: 1 }] } }),
  "an input without a value": modified({ toolCallRequest: { toolId: "tool", executionId: "x", inputs: [{ name: "a" }, { name: "b", value: 2 }] } }),
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
      const error = await failure(GuardianError, t.toolCallRequest("tool", ["inputs in another order", "an input without a value"].includes(name) ? { a: 1, b: 2 } : { a: 1 }, { executionId: "x" }));
      assert.equal(error.method, "steps/toolCallRequest");
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
    assert.match((await failure(GuardianError, turnOf({ ...options, timeout: 60_000 }).userMessage("hi"))).message, /larger than/);
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
      t.userMessage("a"), t.userMessage([{ kind: "text", text: "a" }]), t.agentTrigger("t", "a"), t.knowledgeRetrieval([]),
      t.memoryStore("a"), t.memoryContextRetrieval(["a"]), t.toolCallResult("x", "a"), t.a2a({}), t.mcp({}),
    ]) {
      assert.match((await failure(GuardianError, step)).message, /is not a verdict/);
    }
  });
  await misbehaving(modified({ memory: ["a", "b"], message: { content: [{ kind: "data", data: {} }] } }), async (options) => {
    await failure(GuardianError, turnOf(options).memoryStore("a"));
    await failure(GuardianError, turnOf(options).userMessage("a"));
  });
  const parts: Part[] = [{ kind: "text", text: "a" }];
  for (const [name, params, step] of [
    ["a part of another kind", { message: { content: [{ kind: "data", text: "a" }] } }, (t) => t.userMessage(parts)],
    ["a text of another kind", { message: { content: [{ kind: "data", text: "a" }] } }, (t) => t.userMessage("a")],
    ["the result of another call", { executionId: "y", result: { outputs: parts } }, (t) => t.toolCallResult("x", "a")],
    ["a result of another kind", { executionId: "x", result: { outputs: [{ kind: "data", text: "a" }] } }, (t) => t.toolCallResult("x", "a")],
    ["a document without an id", { knowledgeStep: { results: [{ content: "c" }] } }, (t) => t.knowledgeRetrieval([{ id: "d", content: "c" }])],
    ["another message", { message: { jsonrpc: "2.0", id: 2 } }, (t) => t.mcp({ jsonrpc: "2.0", id: 1 })],
  ] as [string, object, (t: Turn) => Promise<unknown>][]) {
    await misbehaving(modified(params), async (options) => {
      assert.match((await failure(GuardianError, step(turnOf(options)))).message, /is not a verdict/, name);
    });
  }
});

test("attempts are made again with the same ids", async () => {
  for (const handlers of [[status(500), allow], [cut, cut, allow], [truncated, allow], [unended, allow], [unrecorded, allow], [status(503), allow], [status(502), allow], [status(429, { "Retry-After": "0" }), allow]]) {
    await misbehaving(handlers, async (options, calls) => {
      const start = performance.now();
      assert.equal((await turnOf({ ...options, timeout: 20_000 }).userMessage("hi")).decision, "allow");
      assert.ok(performance.now() - start > 90, "not at once, whatever Retry-After says");
      assert.equal(calls.length, handlers.length);
      assert.equal(new Set(calls.map((call) => JSON.stringify(call))).size, 1);
    });
  }
  await misbehaving(cut, async (options, calls) => {
    await failure(Unreachable, turnOf({ ...options, retries: 0 }).userMessage("hi"));
    assert.equal(calls.length, 1);
  });
});

test("errors stay errors after the last attempt", async () => {
  const busy = '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal server error","data":{"reason":"The node is at its limit."}}}';
  for (const [handler, code] of [[unrecorded, -32603], [status(500), undefined], [status(429), undefined], [status(503, {}, busy), -32603]] as const) {
    await misbehaving(handler, async (options, calls) => {
      const error = await failure(GuardianError, turnOf({ ...options, onUnreachable: "allow", timeout: 20_000, retries: 1 }).userMessage("hi"));
      assert.equal(error.code, code);
      assert.equal(calls.length, 2);
    });
  }
  await misbehaving(status(503), (options) => failure(Unreachable, turnOf({ ...options, retries: 0 }).userMessage("hi")).then(() => {}));
});

test("who says when to come again is not waited for beyond the time limit", async () => {
  await misbehaving(status(429, { "Retry-After": "3600" }), async (options, calls) => {
    const start = performance.now();
    await failure(GuardianError, turnOf({ ...options, timeout: 60_000 }).userMessage("hi"));
    assert.ok(performance.now() - start < 30_000);
    assert.equal(calls.length, 1);
  });
  await misbehaving([status(503, { "Retry-After": new Date(Date.now() - 1000).toUTCString() }), allow], async (options) => {
    await turnOf({ ...options, timeout: 20_000 }).userMessage("hi");
  });
});

test("a guardian that does not answer is given up in time", async () => {
  const trickle: Handler = (_, response) => {
    const timer = setInterval(() => response.write(" "), 10);
    response.on("close", () => clearInterval(timer));
  };
  for (const handler of [silent, trickle]) {
    await misbehaving(handler, async (options, calls) => {
      const error = await failure(Unreachable, turnOf({ ...options, timeout: 100 }).userMessage("hi"));
      assert.equal(error.method, "steps/message");
      assert.match(error.message, /cannot be reached: no answer within the time limit/);
      assert.equal(calls.length, 1);
    });
  }
  // A fetch that is deaf to its signal.
  const deaf = turnOf({ agent: { id: "a" }, timeout: 50, fetch: () => new Promise(() => {}) });
  assert.match((await failure(Unreachable, deaf.userMessage("hi"))).message, /no answer within the time limit/);
  const reason = new Error("enough");
  const stop = new AbortController();
  const waiting = turnOf({ agent: { id: "a" }, fetch: () => new Promise(() => {}) }).userMessage("hi", { signal: stop.signal });
  stop.abort(reason);
  assert.equal(await failure(Error, waiting), reason);
});

test("a guardian that is alive is not away, whatever happens to the unreachable", async () => {
  // Else whatever is hard to judge, or what a node holds for a person, would pass.
  const alive = says({ status: "connected" });
  for (const [step, pong] of [[silent, alive], [cut, alive], [truncated, alive], [status(502), alive], [status(503), alive], [status(504), alive], [cut, says("no JSON")], [cut, status(401)]] as const) {
    const handler: Handler = (call, response, request) => (call.method === "ping" ? pong : step)(call, response, request);
    await misbehaving(handler, async (options, calls) => {
      let asked = 0;
      for (const onUnreachable of ["allow", () => (asked++, "allow")] as NonNullable<GuardianOptions["onUnreachable"]>[]) {
        const t = turnOf({ ...options, timeout: step === silent ? 500 : 20_000, retries: 0, onUnreachable });
        assert.equal((await failure(Unreachable, t.userMessage("hi"))).method, "steps/message");
      }
      assert.equal(asked, 0);
      assert.deepEqual(calls.map((call) => call.method), ["steps/message", "ping", "steps/message", "ping"]);
    });
  }
  await misbehaving(cut, async (options, calls) => {
    await warnings(async () => void (await turnOf({ ...options, retries: 1, onUnreachable: "allow" }).userMessage("hi")));
    assert.deepEqual(calls.map((call) => call.method), ["steps/message", "steps/message", "ping"]);
  });
  const stop = new AbortController();
  await misbehaving([cut, () => stop.abort(new RangeError("enough"))], async (options) => {
    await failure(RangeError, turnOf({ ...options, retries: 0, onUnreachable: "allow" }).userMessage("hi", { signal: stop.signal }));
  });
  await misbehaving(silent, async (options, calls) => {
    const t = turnOf({ ...options, timeout: 100, onUnreachable: () => "allow" });
    await warnings(async () => assert.match((await t.userMessage("hi")).unreachable?.message ?? "", /time limit/));
    assert.deepEqual(calls.map((call) => call.method), ["steps/message", "ping"]);
  });
});

test("who answers and cannot be a guardian is not away", async () => {
  for (const [garbage, protocol] of [["SSH-2.0-x\r\n\r\n", "http"], [`HTTP/1.1 200 OK\r\nA: ${"b".repeat(100_000)}`, "http"], ["HTTP/1.1 400 Bad Request\r\n\r\n", "https"]] as const) {
    const server = listen((socket) => void socket.on("error", () => {}).once("data", () => socket.end(garbage))).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const error = await failure(GuardianError, turnOf({ agent: "a", url, onUnreachable: "allow", timeout: 20_000 }).userMessage("hi"));
    assert.match(error.message, /cannot be trusted, or does not speak HTTP: [A-Z_]+$/);
    server.close();
  }
  for (const [code, kind] of [["CERT_HAS_EXPIRED", GuardianError], ["ERR_TLS_CERT_ALTNAME_INVALID", GuardianError], ["EPROTO", GuardianError], ["ENOTFOUND", Unreachable], ["EAI_AGAIN", Unreachable], ["UND_ERR_CONNECT_TIMEOUT", Unreachable]] as const) {
    const fetch = () => Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(), { code }) }));
    await failure<Error>(kind, turnOf({ agent: "a", retries: 0, fetch }).userMessage("hi"));
  }
  await failure(Unreachable, turnOf({ agent: "a", retries: 0, fetch: () => Promise.reject(undefined) }).userMessage("hi"));
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
  assert.equal(error.method, "steps/toolCallRequest");
  assert.equal(runs, 0);

  const said = await warnings(async () => {
    const t = turnOf({ ...options, onUnreachable: "allow" });
    const verdict = await t.userMessage("hi");
    assert.equal(verdict.decision, "allow");
    assert.equal(verdict.content, "hi");
    assert.ok(verdict.unreachable instanceof Unreachable);
    assert.deepEqual([verdict.raw, verdict.message, verdict.reasons, verdict.decisionId, verdict.method], [{}, "", [], "", "steps/message"]);
    assert.equal(await t.guarded(tool)({ a: 1 }), 1);
  });
  assert.equal(said.length, 1, "it warns once");
  assert.match(said[0]!, /^reeve-aos: the agent a goes on unguarded: the guardian at /);

  const asked: string[] = [];
  const some = turnOf({
    ...options,
    onUnreachable: async (step, why) => {
      asked.push(step.method);
      assert.ok(why instanceof Unreachable);
      assert.equal(why.method, step.method);
      assert.equal(step.content, step.method === "steps/message" ? "hi" : "m");
      return step.method === "steps/message" ? "allow" : "deny";
    },
  });
  assert.equal((await warnings(async () => void (await some.userMessage("hi")))).length, 1);
  await failure(Unreachable, some.memoryStore("m"));
  assert.deepEqual(asked, ["steps/message", "steps/memoryStore"]);
  await failure(Unreachable, turnOf({ ...options, onUnreachable: () => true as never }).userMessage("hi"));
  await failure(RangeError, turnOf({ ...options, onUnreachable: () => { throw new RangeError(); } }).userMessage("hi"));
  await failure(Unreachable, new Guardian({ ...options, onUnreachable: "allow" }).ping());
});

test("a held step does not pass when the guardian goes away", async () => {
  const held = says({ decision: "deny", message: "Wait.", reasonCode: ["approval_required"], data: { approval: { id: "1", state: "held", expires_at: "2100-01-01T00:00:00Z" } } });
  await misbehaving([held, held, cut], async (options, calls) => {
    const denied = await failure(Denied, turnOf({ ...options, onUnreachable: "allow", retries: 0, waitForApproval: 1000 }).toolCallRequest("t", {}));
    assert.equal(denied.pending, true);
    assert.ok(calls.length > 2 && calls.every((call) => call.method !== "ping"));
  });
  await misbehaving(held, async (options, calls) => {
    const denied = await failure(Denied, turnOf({ ...options, waitForApproval: 300 }).toolCallRequest("t", {}));
    assert.equal(denied.pending, true);
    assert.ok(calls.length > 1);
    const times = calls.map(({ params }) => (params["context"] as { timestamp: string }).timestamp);
    assert.equal(new Set(times).size, times.length, "each question has its own time: a node refuses old ones");
    assert.equal(new Set(calls.map((call, i) => JSON.stringify(call).replace(times[i]!, ""))).size, 1);
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
    const denied = await failure(Denied, turnOf(options).userMessage("hi"));
    assert.equal(denied.message, "No.");
    assert.deepEqual([denied.reasons, denied.instead, denied.decisionId, denied.pending, denied.approval, denied.verdict.reasoning], [[], [], "", false, undefined, ""]);
  });
  await misbehaving(says({ status: "connected" }), async (options) => {
    assert.deepEqual(await new Guardian(options).ping(), { status: "connected", version: "", timestamp: "", metadata: {} });
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
    const error = await failure(GuardianError, guardian.session().turn().userMessage("hi"));
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
  for (const url of ["", `http://127.0.0.1/#${key}`, `http://user:${key}@127.0.0.1/`, "ftp://127.0.0.1/", "nonsense"]) {
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
  assert.throws(() => new Guardian({ agent: { id: "", name: "Clerk" } }), TypeError);
  assert.throws(() => new Guardian({ agent: "" }), TypeError);
  assert.throws(() => new Guardian({} as never), TypeError);
  const complete = { name: "helper", instructions: "", version: "0", provider: { name: "", url: "" }, id: "helper" };
  for (const agent of ["helper", { name: "helper" }, { id: "helper", name: undefined, provider: {} }]) {
    assert.deepEqual(new Guardian({ agent }).agent, complete);
  }
  assert.throws(() => new Guardian({ agent: { id: "a", metadata: { when: new Date() } } }), /agent.metadata.when is a Date/);
  assert.throws(() => new Guardian({ agent }).session({ id: "" }), TypeError);
  assert.throws(() => new Guardian({ agent }).session().turn({ id: "" }), TypeError);
});

test("empty ids", async () => {
  const t = turnOf({ agent: "a", url: "http://127.0.0.1:1/", retries: 0 });
  for (const step of [t.userMessage("a", { id: "" }), t.agentTrigger("email", "a", { id: "" }), t.toolCallRequest("t", {}, { executionId: "" })]) {
    await failure(TypeError, step);
  }
});

test("a client that is done leaves nothing that keeps the process alive", async () => {
  await misbehaving(allow, async (options) => {
    const signal = new AbortController().signal;
    const resources = () => (process as { getActiveResourcesInfo?: () => string[] }).getActiveResourcesInfo?.().filter((name) => name === "Timeout").length;
    const before = resources();
    await turnOf({ ...options, timeout: 60_000 }).userMessage("hi", { signal });
    await failure(Error, turnOf({ ...options, timeout: 60_000 }).userMessage("hi", { signal: AbortSignal.abort() }));
    assert.ok((resources() ?? 0) <= (before ?? 0) + 1); // the server's own
  });
});
