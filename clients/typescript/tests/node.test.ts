// Every step of the client against a real node, with the rules of policy.yaml.
import assert from "node:assert/strict";
import { request } from "node:http";
import test from "node:test";
import { Denied, Guardian, GuardianError, NotAllowed, ToolFailed, type GuardianOptions, type Turn } from "reeve-aos";

const agent = {
  id: "helper-1", name: "Helper", version: "2", instructions: "Help with the office.", description: "A helper",
  provider: { name: "Example", url: "https://example.com" },
  model: { id: "m-1", name: "Model", provider: { name: "Example" }, maxTokens: 4096, stopSequences: ["User:"], defaultParams: { temperature: 0.5 } },
  mcpServers: [{ name: "files", version: "1" }],
  resources: [{ name: "handbook", id: "r-1", content: "How we work." }],
  organization: { id: "example" },
  metadata: { team: "office" },
};
const user = { id: "alice", name: "Alice", organization: { id: "example" } };

function turn(options: Partial<GuardianOptions> = {}): Turn {
  return new Guardian({ agent, ...options }).session({ user, metadata: { channel: "test" } }).turn();
}

/** What a promise is rejected with, which must be an error of the class. */
async function failure<E extends Error>(kind: new (...args: never[]) => E, promise: Promise<unknown>): Promise<E> {
  const outcome = await promise.then(() => "it was fulfilled", (error: unknown) => error);
  assert.ok(outcome instanceof kind, `want ${kind.name}, got ${String(outcome)}`);
  return outcome;
}

/** One call on the operator's socket. */
function operator(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: process.env["REEVE_SOCKET"], host: "localhost", method, path, headers: { "Content-Type": "application/json" } }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      answer.on("end", () => (answer.statusCode === 200 || answer.statusCode === 201 ? resolve(JSON.parse(text)) : reject(new Error(`${answer.statusCode} ${text}`))));
    });
    call.on("error", reject).end(body && JSON.stringify(body));
  });
}

/** What a person does: they look at the act that is held, and answer for just that. */
async function answer(id: string, word: "approve" | "deny"): Promise<void> {
  const { seen } = await operator("GET", `/approvals/${id}`);
  await operator("POST", `/approvals/${id}`, { answer: word, seen });
}

const address = "Write to bob@example.com.";
const masked = /^Write to \[e-mail address removed\]\.$/;
const parts = [{ kind: "text", text: address }, { kind: "data", data: { to: ["bob@example.com"] } }] as const;

// Each method with a text that passes, one that is masked, and one that is denied.
const steps: Record<string, (turn: Turn, text: string) => Promise<{ decision: string; content: unknown }>> = {
  agentTrigger: (turn, text) => turn.agentTrigger("email", text, { id: "e-1", metadata: { from: "outside" } }),
  user: (turn, text) => turn.userMessage(text, { metadata: { lang: "en" } }),
  agent: (turn, text) => turn.agentMessage(text, { reasoning: "It was asked.", citation: [{ kind: "file", id: "r-1", name: "handbook" }, { kind: "site", url: "https://example.com" }] }),
  system: (turn, text) => turn.systemMessage(text),
  knowledgeRetrieval: async (turn, text) => {
    const verdict = await turn.knowledgeRetrieval([{ id: "r-1", content: text, mimeType: "text/plain" }], { query: "who", keywords: ["who"], reasoning: "r" })
    assert.equal(verdict.content.query, "who");
    return { decision: verdict.decision, content: verdict.content.results[0]?.content };
  },
  memoryStore: (turn, text) => turn.memoryStore(text, { reasoning: "It may be of use." }),
  memoryContextRetrieval: (turn, text) => turn.memoryContextRetrieval(text),
  toolCallRequest: async (turn, text) => {
    const verdict = await turn.toolCallRequest("note", { text, n: 1, nothing: null, deep: { list: [true] } }, { reasoning: "r" });
    assert.deepEqual({ ...verdict.content, text: "" }, { text: "", n: 1, nothing: null, deep: { list: [true] } });
    return { decision: verdict.decision, content: verdict.content.text };
  },
  toolCallResult: async (turn, text) => {
    const { executionId } = await turn.toolCallRequest("look", {});
    return turn.toolCallResult(executionId, text, { isError: false });
  },
  a2a: async (turn, text) => {
    const message = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message: { kind: "message", messageId: "m-1", role: "user", parts: [{ kind: "text", text }] } } };
    const verdict = await turn.a2a(message, { reasoning: "r" });
    return { decision: verdict.decision, content: verdict.content.params.message.parts[0]?.text };
  },
  mcp: async (turn, text) => {
    const verdict = await turn.mcp({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "note", arguments: { text } } });
    return { decision: verdict.decision, content: verdict.content.params.arguments.text };
  },
};
for (const [name, step] of Object.entries(steps)) {
  test(`${name} is allowed, modified and denied`, async () => {
    assert.deepEqual(pick(await step(turn(), "All is well.")), { decision: "allow", content: "All is well." });

    const changed = await step(turn(), address);
    assert.equal(changed.decision, "modify");
    assert.match(String(changed.content), masked);

    const denied = await failure(Denied, step(turn(), "UNSPEAKABLE"));
    assert.ok(denied instanceof NotAllowed);
    assert.deepEqual(denied.reasons, ["words"]);
    assert.deepEqual(denied.instead, ["Say it with flowers."]);
    assert.equal(denied.message, "Nobody says this here. Instead: Say it with flowers.");
    assert.match(denied.decisionId, /^\d+-\d+$/);
    assert.equal(denied.pending, false);
    assert.equal(denied.verdict.decision, "deny");
    assert.equal(denied.verdict.raw["decision"], "deny");
    assert.equal(denied.method, denied.verdict.method);
  });
}

function pick({ decision, content }: { decision: string; content: unknown }) {
  return { decision, content };
}

test("content comes back in the form in which it was given", async () => {
  const t = turn();
  const { content, params } = await t.userMessage(parts, { id: "m-1", metadata: { cc: "bob@example.com" } });
  assert.equal(content.length, 2);
  assert.match(JSON.stringify(content), /^\[\{"kind":"text","text":"Write to [^@]*"\},\{"kind":"data","data":\{"to":\["[^@]*"\]\}\}\]$/);
  assert.doesNotMatch(JSON.stringify(params), /bob@/, "what is beside the content is changed, too");

  assert.deepEqual((await t.memoryStore(["one", "two"])).content, ["one", "two"]);
  assert.deepEqual((await t.memoryStore([])).content, []);
  assert.deepEqual((await t.agentTrigger("cron", [{ kind: "file", file: { name: "a.txt", bytes: "aGk=" } }])).content, [
    { kind: "file", file: { name: "a.txt", bytes: "aGk=" } },
  ]);
  const { executionId } = await t.toolCallRequest("look", {}, { executionId: "mine" });
  assert.equal(executionId, "mine");
  assert.deepEqual((await t.toolCallResult("mine", ["a", "b"])).content, ["a", "b"]);
});

test("a verdict says all that the node says", async () => {
  const verdict = await turn().toolCallRequest("deploy", {});
  assert.deepEqual(verdict.conditions, ["Tell the channel first."]);
  assert.deepEqual(verdict.reasons, ["announced"]);
  assert.equal(verdict.repeat, false);
  assert.equal(verdict.unreachable, undefined);
  assert.ok(verdict.data["receipt"]);
  assert.match(verdict.reasoning, /announced/);
  assert.deepEqual([verdict.method, verdict.pending, verdict.raw["message"]], ["steps/toolCallRequest", false, verdict.message]);
  assert.ok(verdict.executionId);
  assert.equal((await turn().userMessage("hi")).executionId, "");
});

test("ping", async () => {
  const { status, version, timestamp, metadata } = await new Guardian({ agent }).ping();
  assert.deepEqual([status, typeof version, typeof timestamp, typeof metadata], ["connected", "string", "string", "object"]);
});

test("a guarded tool is asked about, run with the inputs of the verdict, and reported", async () => {
  const got: unknown[] = [];
  const write = turn().guarded(
    async ({ path, text }: { path: string; text: string }, beside: number) => {
      got.push([path, text, beside]);
      return `wrote ${path} for bob@example.com`;
    },
    { name: "write_file" },
  );
  const said = await write({ path: "notes.txt", text: "to bob@example.com" }, 7);
  assert.equal(got.length, 1);
  assert.match(JSON.stringify(got[0]), /^\["\/workspace\/notes.txt","to [^@]+",7\]$/);
  assert.match(said, /^wrote \/workspace\/notes.txt for [^@]+$/);
});

test("a denied tool does not run", async () => {
  let runs = 0;
  const deleteFile = turn().guarded(function delete_file(_: { path: string }) {
    runs++;
  });
  const denied = await failure(Denied, deleteFile({ path: "a" }));
  assert.equal(denied.message, "Files are kept. Instead: Move it to the folder old.");
  assert.equal(runs, 0);
});

test("a denied result goes nowhere", async () => {
  const look = turn().guarded(() => "UNSPEAKABLE", { name: "look" });
  assert.equal((await failure(Denied, look())).method, "steps/toolCallResult"); // it has run
});

test("outputs that are no texts keep their form", async () => {
  const t = turn();
  assert.equal(await t.guarded(() => undefined, { name: "nothing" })(), undefined);
  assert.equal(await t.guarded(() => null, { name: "null" })(), null);
  assert.equal(await t.guarded(() => 4.5, { name: "number" })(), 4.5);
  assert.equal(await t.guarded((...args: unknown[]) => args.length, { name: "count_arguments" })(), 0);
  const found = await t.guarded(() => ({ to: ["bob@example.com"], n: 1 }), { name: "object" })();
  assert.equal(found.n, 1);
  assert.doesNotMatch(found.to[0] ?? "@", /@/);
  const dropped = await failure(Denied, t.guarded(() => ({ iban: "DE89370400440532013000" }), { name: "account" })());
  assert.match(dropped.message, /Accounts stay where they are/);
  assert.deepEqual([dropped.method, dropped.verdict.decision, dropped.verdict.raw["decision"]], ["steps/toolCallResult", "deny", "modify"]);
  assert.match(await t.guarded(() => "DE89370400440532013000", { name: "account" })(), /^\[removed by policy: Accounts stay/);
});

test("a tool's error is reported, and thrown again as the policy leaves it", async () => {
  const t = turn();
  const error = new RangeError("too far");
  assert.equal(await failure(RangeError, t.guarded(() => { throw error; }, { name: "fail" })()), error);
  const changed = await failure(ToolFailed, t.guarded(() => { throw new Error("no bob@example.com"); }, { name: "fail" })());
  // What frameworks show of what was thrown is what was judged, whatever it says of itself.
  const silent = Object.assign(new Error("no bob@example.com"), { toString: () => "silence" });
  for (const thrown of [{ to: "bob@example.com" }, { to: "bob@example.com", toString: () => "silence" }, silent]) {
    const left = await failure(ToolFailed, t.guarded(() => { throw thrown; }, { name: "fail" })());
    assert.ok(!left.message.includes("bob@") && !left.message.includes("silence"), left.message);
  }
  assert.match(changed.message, /^Error: no [^@]+$/);
  assert.equal(changed.cause, undefined);
  await failure(Denied, t.guarded(() => Promise.reject("UNSPEAKABLE"), { name: "fail" })());
  await failure(Error, t.guarded(() => { throw Object.create(null); }, { name: "fail" })().catch((e: unknown) => { throw e instanceof Error ? e : new Error("bare"); }));
});

test("what JSON cannot say is not sent, not run, and not returned", async () => {
  const t = turn();
  let runs = 0;
  const tool = t.guarded((_: { value: unknown }) => { runs++; }, { name: "tool" });
  const loop: { value?: unknown } = {};
  loop.value = loop;
  for (const value of [new Map([["a", 1]]), new Date(), NaN, Infinity, 1n, Symbol("s"), () => 1, [undefined], loop, new (class Own {})()]) {
    await failure(TypeError, tool({ value }));
  }
  assert.equal(runs, 0);
  await failure(TypeError, t.guarded(() => new Map([["secret", 1]]), { name: "map" })());
  await failure(TypeError, tool([] as never));
  await failure(TypeError, tool("text" as never));
  assert.throws(() => t.guarded((() => () => 1)()), /no name/);
});

test("what is judged is what is done, whoever changes it meanwhile", async () => {
  const given = { path: "/workspace/a", list: [1], gone: undefined, ["__proto__x"]: 1 };
  const call = turn().guarded((inputs: typeof given) => JSON.stringify(inputs), { name: "write_file" })(given);
  given.path = "/etc/passwd";
  given.list.push(2);
  assert.equal(await call, '{"path":"/workspace/a","list":[1],"__proto__x":1}');
  const parts: { kind: "text"; text: string }[] = [{ kind: "text", text: "one" }];
  const message = turn().userMessage(parts);
  parts.push({ kind: "text", text: "two" });
  assert.deepEqual((await message).content, [{ kind: "text", text: "one" }]);
  const own = JSON.parse('{"__proto__":{"a":1}}') as { a?: number };
  const { content } = await turn().toolCallRequest("note", own);
  assert.deepEqual(Object.keys(content), ["__proto__"]);
  assert.equal(content.a, undefined);
});

test("a number that JavaScript cannot hold is not passed on as another", async () => {
  const error = await failure(GuardianError, turn().toolCallRequest("count", { to: 1 }));
  assert.match(error.message, /cannot hold exactly/);
});

test("tools find the turn that they are called in", async () => {
  const guardian = new Guardian({ agent });
  const seen: string[] = [];
  const spy = new Guardian({
    agent,
    fetch: (url, init) => {
      const { context, toolCallRequest } = JSON.parse(String(init?.body)).params;
      seen.push(`${context.session.id}/${context.turnId}/${toolCallRequest?.inputs[0].value ?? "result"}`);
      return fetch(url, init);
    },
  });
  const tool = spy.guarded(async ({ n }: { n: number }) => n * 2, { name: "double" });
  const runs = Array.from({ length: 20 }, (_, n) =>
    spy.session({ id: `s-${n}` }).turn({ id: `t-${n}` }).run(async () => {
      await new Promise((resolve) => setTimeout(resolve, n % 3));
      return tool({ n });
    }),
  );
  assert.deepEqual(await Promise.all(runs), runs.map((_, n) => n * 2));
  assert.deepEqual(seen.sort(), runs.flatMap((_, n) => [`s-${n}/t-${n}/${n}`, `s-${n}/t-${n}/result`]).sort());

  await assert.rejects(tool({ n: 1 }), /outside of a turn/);
  await guardian.session().turn().run(() => assert.rejects(tool({ n: 1 }), /outside of a turn/)); // another guardian's turn
  const explicit = spy.guarded(({ n }: { n: number }, _: { turn: Turn }) => n, { name: "explicit", turn: (_, beside) => beside.turn });
  assert.equal(await explicit({ n: 3 }, { turn: spy.session().turn() }), 3);
});

test("an answer that got lost is asked for again, and counts once", async () => {
  let lose = 0;
  const sent: string[] = [];
  const t = turn({
    fetch: async (url, init) => {
      sent.push(String(init?.body));
      const answer = await fetch(url, init);
      await answer.clone().text();
      if (lose-- > 0) {
        throw new TypeError("the connection was lost");
      }
      return answer;
    },
  });
  const index = (id: string) => Number(id.split("-")[1]);
  // protocols have no ids of their own that the guardian goes by: there the step's does it.
  for (const step of [
    () => t.toolCallRequest("note", { text: address }, { executionId: "x-1" }),
    () => t.toolCallResult("x-1", "done"),
    () => t.userMessage(address),
    () => t.memoryStore("m"),
    () => t.mcp({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    () => t.a2a({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "1" } }),
    () => t.knowledgeRetrieval([{ id: "r", content: "c" }]),
    () => t.agentTrigger("email", "c"),
  ]) {
    const before = index((await t.systemMessage("before")).decisionId);
    sent.length = 0;
    lose = 1;
    const verdict = await step();
    assert.equal(sent.length, 2);
    assert.equal(new Set(sent).size, 1, "each attempt sends the same bytes");
    assert.equal(verdict.repeat, true);
    assert.equal(index(verdict.decisionId), before + 1);
    assert.equal(index((await t.systemMessage("after")).decisionId), before + 2, "the step is in the ledger once");
  }
});

test("a held step is pending, and happens once people have agreed", async () => {
  const t = turn();
  const pending = await failure(Denied, t.toolCallRequest("transfer", { amount: 1 }));
  assert.equal(pending.pending, true);
  assert.equal(pending.approval?.state, "held");
  assert.ok(pending.approval?.expiresAt);

  let runs = 0;
  const transfer = (turn: Turn) => turn.guarded(({ amount }: { amount: number }) => { runs++; return `moved ${amount}`; }, { name: "transfer", waitForApproval: 60_000 });
  const agreed = turn();
  const moved = transfer(agreed)({ amount: 2 });
  await answer(await held(agreed), "approve");
  assert.equal(await moved, "moved 2");
  assert.equal(runs, 1);

  const refused = turn();
  const unmoved = failure(Denied, transfer(refused)({ amount: 3 }));
  await answer(await held(refused), "deny");
  assert.equal((await unmoved).pending, false);
  assert.equal((await unmoved).reasons[0], "approval_denied");
  assert.equal(runs, 1);

  const stop = new AbortController();
  const left = turn({ waitForApproval: 60_000 });
  assert.deepEqual(left.session.guardian.agent["id"], "helper-1");
  const given = failure(Error, left.toolCallRequest("transfer", { amount: 4 }, { signal: stop.signal }));
  await held(left);
  stop.abort(new Error("enough"));
  assert.equal((await given).message, "enough");
});

/** The approval that a turn's session waits for, once the node holds it. */
async function held({ session }: Turn): Promise<string> {
  for (let i = 0; i < 1000; i++) {
    const { approvals } = (await operator("GET", "/approvals")) as { approvals: { id: string; state: string; session: string }[] };
    const found = approvals.find((a) => a.state === "held" && a.session === session.id);
    if (found !== undefined) {
      return found.id;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nothing is held");
}

test("the node's errors are errors, whatever happens to the unreachable", async () => {
  const onUnreachable = "allow";
  const invalid = await failure(GuardianError, turn({ onUnreachable }).a2a({ jsonrpc: "2.0", method: "m", result: {} }));
  assert.equal(invalid.code, -32602);
  assert.equal(invalid.status, 200);
  assert.match(invalid.message, /error -32602: Invalid method parameters: \//);

  const wrong = await failure(GuardianError, turn({ onUnreachable, key: "wrong-secret-key" }).userMessage("hi"));
  assert.equal(wrong.status, 401);
  assert.equal(wrong.code, -32000);
  assert.doesNotMatch(`${wrong.message} ${wrong.stack} ${JSON.stringify(wrong)}`, /wrong-secret/);

  const large = await failure(GuardianError, turn({ onUnreachable }).userMessage("a".repeat(5 << 20)));
  assert.equal(large.status, 413);
  const deep = await failure(GuardianError, turn().userMessage("\ud800"));
  assert.equal(deep.code, -32700);
});

test("an aborted step is rejected with the signal's reason, and a tool that ran is reported", async () => {
  const reason = new Error("enough");
  await assert.rejects(turn().userMessage("hi", { signal: AbortSignal.abort(reason) }), reason);
  const stop = new AbortController();
  const results: string[] = [];
  const spy = new Guardian({
    agent,
    onUnreachable: "allow",
    fetch: (url, init) => {
      results.push(JSON.parse(String(init?.body)).method);
      return fetch(url, init);
    },
  });
  const t = spy.session().turn({ signal: stop.signal });
  const tool = t.guarded(() => { stop.abort(reason); return "done"; }, { name: "tool" });
  assert.equal(await tool(), "done");
  await assert.rejects(t.userMessage("hi"), reason);
  await assert.rejects(tool(), reason);
  assert.deepEqual(results, ["steps/toolCallRequest", "steps/toolCallResult"]);
});

// The last one: from the first key on the node asks everybody for one.
test("a key", async () => {
  const { secret } = (await operator("POST", "/admin/keys", { name: "typescript", role: "agent" })) as { secret: string };
  assert.equal((await turn({ key: secret }).userMessage("hi")).decision, "allow");
  const without = await failure(GuardianError, turn({ onUnreachable: "allow" }).userMessage("hi"));
  assert.equal(without.status, 401);
});
