// Checks a receipt (C2SP tlog-proof) where it is looked at: nothing is asked of the node.
"use strict";
(() => {
  const utf8 = new TextEncoder(), strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  class Refused extends Error {}
  const refuse = (why) => { throw new Refused(why); };
  const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
  const join = (...parts) => { const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0)); let at = 0; for (const p of parts) { all.set(p, at); at += p.length; } return all; };
  const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", join(...parts)));
  // Text that has two forms is no proof: what decodes must encode to the same again.
  const base64 = (text, what) => {
    let raw;
    try { raw = atob(text); } catch { refuse(what + " is not in base64"); }
    if (btoa(raw) !== text) refuse(what + " is not in base64");
    return Uint8Array.from(raw, (c) => c.charCodeAt(0));
  };
  const number = (text, what) => /^(0|[1-9][0-9]{0,15})$/.test(text) ? BigInt(text) : refuse(what + " is no number");
  // What others wrote is shown with each character seen.
  const seen = (s) => s.replace(/[^\x20-\x7e]/gu, (c) => "⟨U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "⟩");

  async function keyOf(vkey) {
    const m = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? refuse("the key is none: want NAME+ID+KEY, as reeve ledger key prints it");
    const data = base64(m[3], "the key");
    if (data.length !== 33 || data[0] !== 1) refuse("the key is not for Ed25519");
    const id = (await sha256(utf8.encode(m[1] + "\n"), data)).slice(0, 4);
    if ([...id].map((b) => b.toString(16).padStart(2, "0")).join("") !== m[2]) refuse("the key's id is not its own");
    return { name: m[1], id, key: await crypto.subtle.importKey("raw", data.slice(1), { name: "Ed25519" }, false, ["verify"]) };
  }

  async function checkpointOf(note, key) {
    const cut = note.lastIndexOf("\n\n");
    if (cut < 0 || !note.endsWith("\n")) refuse("the checkpoint is not a signed note");
    const text = note.slice(0, cut + 1);
    let signed = false;
    for (const line of note.slice(cut + 2, -1).split("\n")) {
      const m = /^— ([^+\s]+) (\S+)$/u.exec(line) ?? refuse("a signature of the checkpoint cannot be read");
      const sig = base64(m[2], "a signature");
      if (sig.length < 5) refuse("a signature of the checkpoint cannot be read");
      if (m[1] !== key.name || !same(sig.slice(0, 4), key.id)) continue; // a witness's
      if (!await crypto.subtle.verify({ name: "Ed25519" }, key.key, sig.slice(4), utf8.encode(text))) refuse("the checkpoint is not signed with this key");
      signed = true;
    }
    if (!signed) refuse("the checkpoint is not signed with this key");
    const [origin, size, root] = text.split("\n");
    if (origin !== key.name) refuse("the checkpoint is of another log than the key");
    return { origin, size: number(size, "the checkpoint's size"), root: base64(root, "the root") };
  }

  async function rootOf(leaf, index, size, proof) {
    let fn = index, sn = size - 1n, r = await sha256([0], leaf);
    for (const p of proof) {
      if (sn === 0n) refuse("the proof is too long");
      if (fn & 1n || fn === sn) {
        r = await sha256([1], p, r);
        while (!(fn & 1n) && fn !== 0n) { fn >>= 1n; sn >>= 1n; }
      } else r = await sha256([1], r, p);
      fn >>= 1n; sn >>= 1n;
    }
    if (sn !== 0n) refuse("the proof is too short");
    return r;
  }

  // check returns what holds, or throws Refused.
  async function check(receipt, vkey) {
    const key = await keyOf(vkey.trim());
    let rest = receipt;
    const next = () => { const i = rest.indexOf("\n"); const line = i < 0 ? rest : rest.slice(0, i); rest = i < 0 ? "" : rest.slice(i + 1); return line; };
    if (next() !== "c2sp.org/tlog-proof@v1") refuse("it is no receipt: its first line must be c2sp.org/tlog-proof@v1");
    const line = next();
    if (!line.startsWith("extra ")) refuse("it has no record: its second line must start with extra");
    const extra = base64(line.slice(6), "the record");
    const at = next();
    if (!at.startsWith("index ")) refuse("it does not say which record it is of");
    const index = number(at.slice(6), "the index");
    const proof = [];
    for (let h = next(); h !== ""; h = next()) {
      const hash = base64(h, "a hash of the proof");
      if (hash.length !== 32 || proof.length === 64) refuse("the proof is damaged");
      proof.push(hash);
    }
    const cp = await checkpointOf(rest, key);
    let end = extra.indexOf(10);
    if (end < 0) end = extra.length;
    const leaf = extra.slice(0, end);
    if (index >= cp.size || !same(await rootOf(leaf, index, cp.size, proof), cp.root)) refuse("the proof does not hold: this record is not record " + index + " of the log");
    let text, record;
    try { text = strict.decode(leaf); record = JSON.parse(text); } catch { refuse("the record cannot be read"); }
    if (BigInt(record.index) !== index || !cp.origin.endsWith("/" + record.log)) refuse("the record says that it stands elsewhere");
    const disclosed = [];
    const lines = strict.decode(extra.slice(end + 1)).split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const one of lines) {
      let d;
      try { d = JSON.parse(one); } catch { refuse("what is disclosed cannot be read"); }
      if (Object.keys(d).some((k) => !["field", "salt", "content"].includes(k)) || !["request", "modified", "principal", "reasons", "links"].includes(d.field) || disclosed.includes(d.field)) refuse("what is disclosed cannot be read");
      const salt = base64(d.salt ?? "", "a salt"), content = base64(d.content ?? "", "what is disclosed");
      const mac = await crypto.subtle.importKey("raw", salt, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
      const sum = new Uint8Array(await crypto.subtle.sign("HMAC", mac, content));
      if (salt.length !== 16 || btoa(String.fromCharCode(...sum)) !== record[d.field]) refuse("the " + d.field + " that is disclosed is not what was recorded");
      disclosed.push(d.field);
    }
    return { text, record, cp, index, disclosed };
  }
  window.checkReceipt = check; // for the tests of this file

  // A key that changes between two looks is told: a forger has another one.
  function remembered(cp, vkey) {
    const said = [];
    try {
      const name = "reeve-ledger " + cp.origin, was = JSON.parse(localStorage.getItem(name) ?? "null");
      if (was && was.key !== vkey) said.push("Another key checked this log the last time. Ask why.");
      if (was && was.key === vkey && BigInt(was.size) === cp.size && was.root !== btoa(String.fromCharCode(...cp.root))) said.push("The log had another root at this size the last time: it was written anew.");
      if (!was || BigInt(was.size) <= cp.size) localStorage.setItem(name, JSON.stringify({ key: vkey, size: String(cp.size), root: btoa(String.fromCharCode(...cp.root)) }));
    } catch { /* a browser that keeps nothing */ }
    return said;
  }

  const form = document.querySelector("#receipt-form"), out = document.querySelector("#checked");
  if (!form) return;
  const p = (text, kind) => { const e = document.createElement("p"); e.className = kind; e.textContent = text; out.append(e); };
  async function run() {
    out.replaceChildren();
    if (!window.isSecureContext || !crypto.subtle) return p("This browser checks nothing on a page without TLS from another machine. Use https, or reeve ledger verify.", "problem");
    const vkey = form.querySelector("#vkey").value.trim();
    try {
      const r = await check(form.querySelector("#receipt").value.replaceAll("\r\n", "\n").trimEnd() + "\n", vkey);
      p("It holds: this record is number " + r.index + " of " + seen(r.cp.origin) + ", which had " + r.cp.size + " records when it was signed.", "note good");
      for (const said of remembered(r.cp, vkey)) p(said, "problem");
      if (r.disclosed.length) p("Disclosed with it, and as recorded: " + r.disclosed.join(", ") + ".", "meta");
      const pre = document.createElement("pre");
      pre.tabIndex = 0;
      pre.textContent = seen(JSON.stringify(r.record, null, 1)).replaceAll("⟨U+000A⟩", "\n");
      out.append(pre);
    } catch (e) {
      p(e instanceof Refused ? "It does not hold: " + e.message + "." : "This browser cannot check it: " + e.message, "problem");
    }
  }
  form.addEventListener("submit", (e) => { e.preventDefault(); run(); });
  if (document.querySelector("[data-now]")) run();
})();
