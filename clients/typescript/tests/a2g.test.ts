// The A2G client against a real node: registration with a key, signatures, verdicts, reports.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { GuardianError } from "reeve-aos";
import { A2GClient, Refused, SigningKey, isAllowed, type A2GOptions } from "reeve-aos/a2g";

let count = 0;
const newDid = () => `did:example:ts-${process.pid}-${Date.now()}-${count++}`;
const url = new URL("/a2g", process.env["REEVE_URL"]).href;

async function registered(): Promise<{ client: A2GClient; agentDid: string; signing: SigningKey }> {
  const [agentDid, signing] = [newDid(), await SigningKey.generate()];
  const client = new A2GClient({ agentDid, signing, timeout: 20_000 });
  const answer = await client.register({ capabilities: [], metadata: { name: "Helper" } });
  assert.deepEqual([answer.signed, answer.warning], [true, ""]);
  return { client, agentDid, signing };
}

/** A governing side that answers every request with a result. */
async function answering<T>(result: (params: Record<string, unknown>) => unknown, body: (options: A2GOptions) => Promise<T>): Promise<T> {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece)).on("end", () => {
      const { id, params } = JSON.parse(text) as { id: string; params: Record<string, unknown> };
      response.setHeader("Content-Type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, result: result(params) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await body({ agentDid: "did:example:a", url: `http://127.0.0.1:${(server.address() as { port: number }).port}/a2g`, key: "" });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test("an agent registers with its key, and signs texts of any kind as they are sent", async () => {
  const { client } = await registered();
  const strange = { name: "Zoë 😀 \uffee", "b😀": 1.5, "b\uffee": [1e100, -0.5, null, true], "10": 1, "9": { z: 0, a: "\u2028\x7f" } };
  const verdict = await client.ask("note", strange, { sessionId: "s-1", reasoning: "Because." });
  assert.ok(isAllowed(verdict), JSON.stringify(verdict));
  assert.deepEqual(verdict.arguments, strange);
  assert.match(verdict.decision, /^\d+-\d+$/);
  await client.report(verdict.intentId, { result: { noted: true }, metrics: { duration_ms: 3 } });
  assert.equal(isAllowed(await client.ask("note", strange, { intentId: verdict.intentId })), false); // it is used
  assert.equal((await client.heartbeat("fine")).status, "active");
});

test("nobody else speaks in its name", async () => {
  const { agentDid } = await registered();
  for (const signing of [undefined, await SigningKey.generate()]) {
    const impostor = new A2GClient({ agentDid, signing, timeout: 20_000 });
    const verdict = await impostor.ask("note", {});
    assert.deepEqual([verdict.verdict, verdict.blockedBy, isAllowed(verdict)], ["DENIED", "identity", false]);
    await assert.rejects(impostor.report("x"), GuardianError);
    await assert.rejects(impostor.register(), GuardianError);
  }
});

test("what is signed is what is judged, once", async () => {
  const { agentDid, signing } = await registered();
  let body = "";
  const keep = async (_: unknown, init?: { body?: unknown }): Promise<Response> => ((body = String(init?.body)), Promise.reject(new Error("lost")));
  await assert.rejects(new A2GClient({ agentDid, signing, retries: 0, fetch: keep as typeof fetch }).ask("note", { to: "ann" }));
  const message = JSON.parse(body) as { params: object };
  const post = async (change: object) => {
    const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...message, params: { ...message.params, ...change } }) });
    return (await answer.json()) as { result?: { verdict: string }; error?: { data: { blocked_by: string } } };
  };
  assert.equal((await post({ arguments: { to: "eve" } })).error?.data.blocked_by, "identity");
  assert.equal((await post({})).result?.verdict, "APPROVED");
  assert.equal((await post({ intent_id: "another" })).error?.data.blocked_by, "identity");
});

test("a call is asked about, run as the verdict has it, and reported", async () => {
  const { client } = await registered();
  const ran: unknown[] = [];
  const tool = (args: object) => (ran.push(args), "done");
  assert.equal(await client.call("write_file", { path: "/etc/x" }, tool), "done");
  assert.match((ran.pop() as { path: string }).path, /^\/workspace\//); // as the verdict has it
  await client.call("note", { to: "bob@example.com" }, tool);
  assert.doesNotMatch(JSON.stringify(ran.pop()), /bob/);
  await assert.rejects(client.call("delete_file", {}, tool), (error) => error instanceof Refused && /Files are kept\..*Move it to the folder old\./.test(error.message));
  await assert.rejects(client.call("transfer", { amount: 1 }, tool), (error) => error instanceof Refused && error.verdict.verdict === "ESCALATE");
  assert.deepEqual(ran, []);
  await assert.rejects(client.call("note", {}, () => { throw new RangeError("broken"); }), RangeError);
  await assert.rejects(client.ask("note", { when: new Date() }), TypeError);
});

test("what is no verdict allows nothing", async () => {
  const whole = { verdict: "APPROVED", intent_id: "i", expires_at: "2999-01-01T00:00:00Z" };
  for (const result of [
    {}, { ...whole, intent_id: "other" }, { ...whole, expires_at: undefined }, { ...whole, expires_at: "never" }, { ...whole, verdict: "approved" },
    { ...whole, modified_arguments: {} }, { ...whole, verdict: "CONDITIONAL", modified_arguments: [] }, [], "APPROVED",
  ]) {
    await assert.rejects(answering(() => result, (options) => new A2GClient(options).ask("note", {}, { intentId: "i" })), GuardianError, JSON.stringify(result));
  }
  const expired = (params: Record<string, unknown>) => ({ ...whole, intent_id: params["intent_id"], expires_at: "2020-01-01T00:00:00Z" });
  await assert.rejects(answering(expired, (options) => new A2GClient(options).call("note", {}, () => assert.fail("it ran"))), Refused);
});

test("keys go to files and back", async () => {
  const key = await SigningKey.generate();
  assert.equal((await SigningKey.fromPem(await key.pem())).publicKey, key.publicKey);
  assert.match(key.publicKey, /^ed25519:[0-9a-f]{64}$/);
  await assert.rejects(SigningKey.fromPem("no key"), TypeError);
});
