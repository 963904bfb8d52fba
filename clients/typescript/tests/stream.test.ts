// What the user reads of an answer while it is written.
import assert from "node:assert/strict";
import test from "node:test";
import { Denied, Guardian } from "reeve-aos";

const turn = () => new Guardian({ agent: "writer" }).session().turn();

test("a stream: what is read was judged before, whatever the tokens are cut like", async () => {
  const text = "It is green. Write to bob@example.com, as you know. That is all";
  for (const size of [1, 3, 7, 1000]) {
    for (const within of [0, 60_000]) {
      const tokens = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
      let read = "";
      for await (const piece of turn().stream(tokens, { within })) {
        read += piece;
      }
      assert.equal(read, "It is green. Write to [e-mail address removed], as you know. That is all");
    }
  }
});

test("a stream whose source is silent is judged when it is old enough", { timeout: 30_000 }, async () => {
  let more = (): void => {};
  const read: string[] = [];
  async function* tokens() {
    yield "Write to bob@example.com, and";
    await new Promise<void>((resolve) => (more = resolve)); // until what was said has been read
    yield " so on.";
  }
  for await (const piece of turn().stream(tokens(), { within: 50 })) {
    read.push(piece);
    more();
  }
  assert.equal(read.join(""), "Write to [e-mail address removed], and so on.");
});

test("a stream without gaps is handed on in pieces, too", async () => {
  const letters = Array.from({ length: 100 }, () => "ab".repeat(50));
  const read: string[] = [];
  for await (const piece of turn().stream(letters)) {
    read.push(piece);
  }
  assert.equal(read.join(""), letters.join(""));
  assert.ok(Math.max(...read.map(({ length }) => length)) <= 4100);
});

test("a stream that is denied ends there", async () => {
  const read: string[] = [];
  await assert.rejects(async () => {
    for await (const piece of turn().stream(["It is green. ", "This is UNSPEAK", "ABLE. ", "So it is."])) {
      read.push(piece);
    }
  }, Denied);
  assert.deepEqual(read, ["It is green. "]);
});

test("a tool that gives pieces", async () => {
  async function* halves() {
    yield* ["bob@exam", "ple.com"];
  }
  const pieces: unknown[] = [];
  for await (const piece of await turn().guarded(halves, { name: "halves" })()) {
    pieces.push(piece);
  }
  assert.deepEqual(pieces, ["[e-mail address removed]"]);
});
