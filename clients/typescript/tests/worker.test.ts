// The client where nothing of Node.js is: a context that has the interfaces of a browser's worker, and no process.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import test from "node:test";
import vm from "node:vm";

const web = ["fetch", "URL", "Blob", "AbortController", "TextDecoder", "performance", "setTimeout", "clearTimeout"] as const;

/** What a worker's code reports, run with the client and the given globals. */
async function inWorker(globals: object, code: string): Promise<unknown> {
  let report: unknown;
  const context = vm.createContext({ ...Object.fromEntries(web.map((name) => [name, globalThis[name]])), ...globals, report: (value: unknown) => (report = value) });
  const client = new vm.SourceTextModule(await readFile(fileURLToPath(import.meta.resolve("reeve-aos")), "utf8"), { context });
  const worker = new vm.SourceTextModule(code, { context });
  await worker.link((name) => {
    assert.equal(name, "reeve-aos", "the client imports nothing");
    return client;
  });
  await worker.evaluate();
  return JSON.parse(JSON.stringify(report));
}

const code = `
  import { Denied, Guardian } from "reeve-aos";
  const guardian = new Guardian({ agent: "worker", url: "${process.env["REEVE_URL"]}/aos" });
  const session = guardian.session();
  const turn = session.turn();
  const write = turn.guarded(({ path }) => path, { name: "write_file" });
  const anywhere = guardian.guarded(({ path }) => path, { name: "write_file", turn: (_, beside) => beside.turn });
  const nowhere = guardian.guarded(({ path }) => path, { name: "write_file" });
  report({
    id: session.id,
    message: (await turn.userMessage("to bob@example.com")).content,
    denied: await turn.userMessage("UNSPEAKABLE").catch((error) => error instanceof Denied && error.instead),
    path: await write({ path: "a" }),
    explicit: await anywhere({ path: "b" }, { turn }),
    inherited: await turn.run(() => nowhere({ path: "c" })).catch((error) => error.message),
  });
`;

const { webcrypto } = crypto;

for (const [name, globals] of Object.entries({
  "a secure page": { crypto: webcrypto, location: { origin: "https://site.example" } },
  "a page without HTTPS": { crypto: { getRandomValues: (array: Uint8Array) => webcrypto.getRandomValues(array) } },
  "a process that is not Node's": { process: { env: {} } },
})) {
  test(`the client in the worker of ${name}`, async () => {
    const { id, inherited, ...rest } = (await inWorker(globals, code)) as Record<string, string>;
    assert.match(id ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.match(inherited ?? "", /outside of a turn.*give options.turn/);
    assert.deepEqual(rest, { message: "to [e-mail address removed]", denied: ["Say it with flowers."], path: "/workspace/a", explicit: "/workspace/b" });
  });
}

// A browser tells nobody why a request to another site failed: the guardian may have denied it, and the page may not read that.
test("another site that cannot be read is not away", async () => {
  const away = `
    import { Guardian, Unreachable } from "reeve-aos";
    const options = { agent: "worker", url: "https://guardian.example/aos", retries: 0, onUnreachable: "allow" };
    const outcome = (fetch) => new Guardian({ ...options, timeout: 50, fetch }).session().turn().userMessage("hi").then(
      (verdict) => verdict.unreachable instanceof Unreachable,
      (error) => error instanceof Unreachable && error.method,
    );
    report({
      refused: await outcome(() => Promise.reject(new TypeError("Failed to fetch"))),
      refusedOnce: await outcome((_, { body }) => (JSON.parse(body).method === "ping" ? new Promise(() => {}) : Promise.reject(new TypeError()))),
      refusedPing: await outcome((_, { body }) => (JSON.parse(body).method !== "ping" ? new Promise(() => {}) : Promise.reject(new TypeError()))),
      silent: await outcome(() => new Promise(() => {})),
      gateway: await outcome(async () => new Response(null, { status: 502 })),
    });
  `;
  for (const [origin, refused] of [["https://guardian.example", true], ["https://site.example", "steps/message"], ["null", "steps/message"]] as const) {
    const globals = { crypto: webcrypto, Response, console: { warn() {} }, location: { origin } };
    assert.deepEqual(await inWorker(globals, away), { refused, refusedOnce: refused, refusedPing: refused, silent: true, gateway: true });
  }
});
