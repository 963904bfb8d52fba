#!/usr/bin/env python3
"""Checks a reeve ledger, or one receipt, without reeve.

    verify_ledger.py --key KEY reeve-data/reeve.db [--checkpoints FILE] [--former-key KEY]
    verify_ledger.py --key KEY 0-42.tlog-proof

KEY is the log's public key, as `GET /ledger/0/key` gives it; the former one is that
of a log that goes on with another, since the one before was lost. FILE holds signed
checkpoints that were kept elsewhere. Everything that is wrong is printed, one
sentence to a line. Exit status: 0 all holds, 1 something does not, 2 the
question could not be understood. Python 3.8 or newer, standard library only.
The bytes are described in ledger-format.md.
"""
import argparse
import base64
import hashlib
import hmac
import json
import sqlite3
import struct
import sys
import zipfile

FIELDS = ("request", "modified", "principal", "reasons", "links")


class Bad(Exception):
    """Something does not hold; the text says what."""


# --- Ed25519 (RFC 8032), verification only ---------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def decompress(b):
    n = int.from_bytes(b, "little")
    y, sign = n & (2**255 - 1), n >> 255
    if y >= P:
        raise Bad("the signature is damaged")
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        raise Bad("the signature is damaged")
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, p):
    out = (0, 1, 1, 0)
    while n:
        if n & 1:
            out = add(out, p)
        p, n = add(p, p), n >> 1
    return out


BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519_verify(public, message, signature):
    if len(signature) != 64 or len(public) != 32:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= ORDER:
        return False
    k = hashlib.sha512(signature[:32] + public + message).digest()
    x, y, z, t = times(int.from_bytes(k, "little") % ORDER, decompress(public))
    x, y, z, _ = add(times(s, BASE), (P - x, y, z, P - t))
    inverse = pow(z, P - 2, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


# --- keys and checkpoints ---------------------------------------------------


class Key:
    def __init__(self, text):
        try:
            self.name, key_id, key = text.strip().split("+", 2)
            self.id, key = bytes.fromhex(key_id), base64.b64decode(key, validate=True)
        except ValueError:
            raise SystemExit("the key cannot be read: want NAME+HASH+KEY")
        if key[:1] != b"\x01" or hashlib.sha256(self.name.encode() + b"\n" + key).digest()[:4] != self.id:
            raise SystemExit("the key is damaged, or is not an Ed25519 key")
        self.public = key[1:]

    def text(self, note):
        """Returns the text of a note, if this key has signed it, and nothing else."""
        text, _, signatures = bytes(note or b"").rpartition(b"\n\n")
        text += b"\n"
        signed = False
        for line in signatures.decode("utf-8", "replace").splitlines():
            parts = line.split(" ")
            if len(parts) != 3 or parts[0] != "\u2014":
                raise Bad("a line of its signatures is none")
            try:
                if len(base64.b64decode(parts[2], validate=True)) < 5:
                    raise ValueError
            except ValueError:
                raise Bad("a line of its signatures is none")
            if parts[1] != self.name:
                continue
            signature = base64.b64decode(parts[2])
            if signature[:4] == self.id:
                if not ed25519_verify(self.public, text, signature[4:]):
                    raise Bad("its signature is wrong: it was changed")
                signed = True
        if not signed:
            raise Bad("it is not signed by " + self.name)
        return text.decode("utf-8", "replace")

    def open(self, note):
        """Returns the size and root of a signed checkpoint of this log."""
        lines = self.text(note).split("\n")
        if len(lines) < 4 or lines[0] != self.name:
            raise Bad("it is no checkpoint of " + self.name)
        return int(lines[1]), base64.b64decode(lines[2])


def split_notes(data):
    """Takes apart signed notes that stand one behind the other."""
    out, text, note = [], b"", b""
    for line in data.split(b"\n") + [b"", b""]:
        if line.startswith("\u2014 ".encode()) and text:
            note = (note or text + b"\n") + line + b"\n"
            continue
        if note:
            out.append(note)
            text, note = b"", b""
        text = text + line + b"\n" if line else text
    return out


# --- the tree (RFC 6962) ----------------------------------------------------


def leaf_hash(record):
    return hashlib.sha256(b"\x00" + record).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """The right edge of a growing tree: (height, hash) of its complete subtrees."""

    def __init__(self):
        self.size, self.edge = 0, []

    def add(self, h, height=0):
        """Appends a complete subtree; yields each (height, n, hash) completed."""
        self.size += 1 << height
        while self.edge and self.edge[-1][0] == height:
            h, height = node_hash(self.edge.pop()[1], h), height + 1
            yield height, (self.size >> height) - 1, h
        self.edge.append((height, h))

    def root(self):
        if not self.edge:
            return hashlib.sha256(b"").digest()
        h = self.edge[-1][1]
        for _, left in reversed(self.edge[:-1]):
            h = node_hash(left, h)
        return h


def check_inclusion(index, size, leaf, proof, root):
    h, last, proof = leaf, size - 1, list(proof)
    while last:
        if not (index & 1 or index != last):  # no sibling at this height
            pass
        elif not proof:
            return False
        elif index & 1:
            h = node_hash(proof.pop(0), h)
        else:
            h = node_hash(h, proof.pop(0))
        index, last = index >> 1, last >> 1
    return not proof and h == root


# --- records and what lies beside them --------------------------------------


def uvarint(b, at):
    n = shift = 0
    while True:
        c = b[at]
        at, n, shift = at + 1, n | (c & 127) << shift, shift + 7
        if c < 128:
            return n, at


def parse_opening(b, part):
    """Yields (field, salt, content) of an opening as it lies in the database."""
    if b[0] != 1:
        raise Bad("is of an unknown form")
    at = 1
    while b[at]:
        field, salt, at = b[at] - 1, b[at + 1 : at + 17], at + 17
        pieces, at = uvarint(b, at)
        content = b""
        for _ in range(pieces):
            head, at = uvarint(b, at)
            size = head >> 1
            if head & 1:
                piece, at = part(b[at : at + 32]), at + 32
                if len(piece) != size:
                    raise Bad("has a part of another length")
            else:
                piece, at = b[at : at + size], at + size
            content += piece
        yield FIELDS[field], salt, content


def check_opening(record, field, salt, content):
    want = base64.b64decode(record.get(field, ""))
    if len(salt) != 16 or not hmac.compare_digest(want, hmac.new(salt, content, "sha256").digest()):
        raise Bad("is not what the record commits to: the %s was changed" % field)


# --- a whole log --------------------------------------------------------------


FORMER = "the log before, of another key"  # the place of the checkpoint with which that log ended
NEW_KEY = "admin.restore.new_key"  # the kind of the record that says so, among the first of the new key
NAMED_WITHIN = 256
PRUNED = "admin.prune"  # the kind of the record that says that records were removed, and its code
PRUNED_BELOW = "pruned_below.%d"


def check_database(file, key, kept, former_keys=()):
    problems = []
    db = sqlite3.connect("file:%s?mode=ro" % file.replace("?", "%3f").replace("#", "%23"), uri=True)
    db.execute("BEGIN")  # one consistent view beside a running node
    size, newest, pruned, pruned_note = db.execute("SELECT size, checkpoint, pruned, pruned_checkpoint FROM head").fetchone()
    claims = [(newest, size, "the database's own checkpoint")] if size else []
    if pruned:
        claims.append((pruned_note, None, "the checkpoint up to which records were pruned"))
    for note, n, place in db.execute("SELECT checkpoint, size, place FROM anchor"):
        claims.append((note, n, "the checkpoint published at " + place))
        if place == FORMER:
            try:
                key.open(note)
                problems.append("The checkpoint that is said to be of the key before, of %d records, is signed with this log's own key." % n)
            except (Bad, ValueError):
                pass
    claims += [(note, None, "a checkpoint kept elsewhere") for note in kept]
    before = [n for n, place in db.execute("SELECT size, place FROM anchor") if place == FORMER]
    former, named, removed, unproved = max(before, default=0), [], [], 0

    def opened(note):
        """A checkpoint of the log's key or, of the time before it had that, of the former one."""
        nonlocal unproved
        try:
            return key.open(note)
        except (Bad, ValueError):
            lines = bytes(note or b"").decode("utf-8", "replace").split("\n")
            if not former or len(lines) < 3 or lines[0] != key.name or int(lines[1]) > former:
                raise
            for old in former_keys:
                try:
                    return old.open(note)
                except (Bad, ValueError):
                    pass
            if former_keys:
                raise Bad("neither the log's key nor the former one signed it")
            unproved += 1
            return int(lines[1]), base64.b64decode(lines[2])

    want = {}  # size: [(root, source)]
    for note, should, source in claims:
        try:
            n, root = opened(note)
            want.setdefault(n, []).append((root, source))
            if should is not None and n != should:
                raise Bad("it is of %d records, and should be of %d" % (n, should))
        except (Bad, ValueError) as e:
            problems.append("%s is not to be trusted: %s." % (source[0].upper() + source[1:], e))

    def stored(level, n):
        row = db.execute("SELECT hash FROM node WHERE level = ? AND n = ?", (level, n)).fetchone()
        return row and bytes(row[0])

    tree, last, whole = Tree(), "", True

    def grow(h, height=0):
        for height, n, node in tree.add(h, height):
            if height % 8 == 0 and whole and stored(height // 8, n) != node:
                first = n << height
                problems.append("The tree's hash over records 0-%d to 0-%d does not fit them." % (first, first + (1 << height) - 1))
        for root, source in want.pop(tree.size, ()):
            if whole and root != tree.root():
                problems.append("The log does not agree with %s, signed for %d records." % (source, tree.size))

    for n in range(pruned // 256):
        node = stored(1, n)
        if node is None:
            problems.append("The hash over the pruned records 0-%d to 0-%d is missing." % (256 * n, 256 * n + 255))
            whole = False
        else:
            grow(node, 8)

    parts = {}

    def part(h):
        if h not in parts:
            row = db.execute("SELECT data FROM part WHERE hash = ?", (h,)).fetchone()
            if row is None or hashlib.sha256(bytes(row[0])).digest() != h:
                raise Bad("has a part that is missing or was changed")
            parts.clear()
            parts[h] = bytes(row[0])
        return parts[h]

    def check_record(index, record, kept_hash):
        nonlocal last
        if leaf_hash(record) != kept_hash:
            problems.append("Record 0-%d was changed: it does not fit the hash that was kept of it." % index)
        try:
            r = json.loads(record)
            if r["v"] != 1 or r["log"] != 0 or r["index"] != index:
                problems.append("Record 0-%d says that it is record %s-%s." % (index, r["log"], r["index"]))
            if r["time"] < last:
                problems.append("Record 0-%d has an earlier time than a record before it." % index)
            last = max(last, r["time"])
            if "policy" in r:
                policies.add(r["policy"])
            if r.get("kind") == NEW_KEY:
                named.append(index)
            if r.get("kind") == PRUNED:
                removed.extend(r.get("codes", []))
            return r
        except (ValueError, KeyError, TypeError):
            problems.append("Record 0-%d cannot be read." % index)

    expect, policies = pruned, set()
    # What lies beside records: databases of older programs have no table fact.
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('opening', 'fact')")]
    for first, count, leaves, records in db.execute("SELECT first, count, leaves, records FROM batch ORDER BY first"):
        if first + count <= pruned:
            continue
        if first > expect:
            problems.append("Records 0-%d to 0-%d are missing." % (expect, first - 1))
            whole = False
        decoded, at = {}, 0
        try:
            for index in range(first, first + count):
                n, at = uvarint(records, at)
                record, at = records[at : at + n], at + n
                if index < pruned:
                    continue
                decoded[index] = check_record(index, record, leaves[32 * (index - first) : 32 * (index - first) + 32])
                grow(leaf_hash(record))
            if at != len(records):
                raise IndexError
        except IndexError:
            problems.append("The records of the batch from 0-%d cannot be taken apart." % first)
            whole = False
        expect = first + count
        beside = []
        for table in tables:
            beside += db.execute("SELECT first, count, data FROM %s WHERE first >= ? AND first < ?" % table, (first, expect)).fetchall()
        for at, n, data in beside:
            for i in range(n):
                offset, length = struct.unpack_from("<II", data, 8 * i)
                if not length or not decoded.get(at + i):
                    continue
                try:
                    for field, salt, content in parse_opening(data[offset : offset + length], part):
                        check_opening(decoded[at + i], field, salt, content)
                except (Bad, IndexError) as e:
                    problems.append("What lies beside record 0-%d %s." % (at + i, e))
    texts = dict(db.execute("SELECT hash, text FROM policy"))
    for name in sorted(policies):
        if name not in texts:
            problems.append("The text of the policy %s is missing." % name)
        elif name != "sha256:" + hashlib.sha256(texts[name]).hexdigest():
            problems.append("The text of the policy %s was changed." % name)
    if pruned and PRUNED_BELOW % pruned not in removed:
        problems.append("Records 0-0 to 0-%d are missing, and no record says that they were removed." % (pruned - 1))
    for n in before:
        if n >= pruned and not any(n <= at < n + NAMED_WITHIN for at in named):
            problems.append("The database says that the log goes on from another key's at record 0-%d, and no record there says so." % n)
    for at in named:
        if not any(n <= at < n + NAMED_WITHIN for n in before):
            problems.append("Record 0-%d says that the log goes on from another key's, and the checkpoint with which that ended was taken away." % at)
    if former_keys and not before:
        problems.append("A former key was given, and nothing says that the log goes on from another key's.")
    if expect != size:
        problems.append("The database says that it has %d records, and %d are there." % (size, expect))
    for n, rest in sorted(want.items()):
        if n > size:
            for _, source in rest:
                problems.append("Records 0-%d to 0-%d are missing from the end: %s was signed for %d records." % (size, n - 1, source, n))
    what = "%d records, of which %d are pruned" % (size, pruned)
    if former:
        what += ", and %d are of a former key" % former + ("" if former_keys else ", which was not given: nobody proves that these are what it signed")
    return problems, what


# --- one receipt --------------------------------------------------------------


def check_receipt(data, key, told=()):
    """Checks a receipt, which must prove the contents that are told."""
    head, _, note = data.partition(b"\n\n")
    lines = head.decode().split("\n")
    if len(lines) < 3 or not lines[1].startswith("extra ") or not lines[2].startswith("index "):
        raise Bad("it is not a receipt")
    record, *shown = base64.b64decode(lines[1][6:]).split(b"\n")
    index, proof = int(lines[2][6:]), [base64.b64decode(x) for x in lines[3:]]
    size, root = key.open(note)
    if not 0 <= index < size or not check_inclusion(index, size, leaf_hash(record), proof, root):
        raise Bad("the proof does not hold: this record is not record %d of %s" % (index, key.name))
    r = json.loads(record)
    if r["index"] != index or not key.name.endswith("/%d" % r["log"]):
        raise Bad("the record says that it is %d-%d" % (r["log"], r["index"]))
    fields = set()
    for line in shown:
        o = json.loads(line)
        check_opening(r, o["field"], base64.b64decode(o["salt"]), base64.b64decode(o["content"]))
        fields.add(o["field"])
    for field in told:
        if field not in fields:
            raise Bad("the line tells its %s, and it proves none" % field)
    return "record %d-%d of %s: %s, %s" % (r["log"], index, r["time"], r["kind"], r.get("effect", "no effect"))


def only_files(file, z):
    """Reports whether an archive has its files one behind the other and nothing else, each
    by one name: who reads it from its beginning finds no other."""
    file.seek(0)
    at = 0
    for f in z.infolist():
        file.seek(at)
        head = file.read(30)
        if at != f.header_offset or head[:4] != b"PK\x03\x04":
            return False
        name, extra = struct.unpack_from("<HH", head, 26)
        if file.read(name) != f.orig_filename.encode("utf-8" if f.flag_bits & 0x800 else "cp437"):
            return False
        at += 30 + name + extra + f.compress_size
        if f.flag_bits & 8:
            at += 24 if max(f.compress_size, f.file_size) >= 0xFFFFFFFF else 16
    end = file.seek(0, 2)
    file.seek(max(0, end - 22))
    last = file.read(22)
    return at == z.start_dir and last[:4] == b"PK\x05\x06" and not z.comment


def check_evidence(file, key):
    """An archive of reeve evidence: each record of the key's log has a proof, none is
    missing, and all else in it is what the key has signed."""
    problems, last, n = [], None, 0
    with zipfile.ZipFile(file) as z:
        names = z.namelist()
        told = {"manifest.txt"}
        held, policies = b"", set()
        for line in z.read("decisions.jsonl").splitlines():
            said = json.loads(line)
            log, index = (int(x) for x in said["decision"].split("-"))
            name = "receipts/%d/%d.tlog-proof" % (log, index)
            told.add(name)
            if said.get("approval") or "approval" in said.get("kind", ""):
                held += line + b"\n"
            if said.get("policy"):
                policies.add(said["policy"])
            if not key.name.endswith("/%d" % log):
                continue
            if last is not None and index != last + 1:
                problems.append("Records %d-%d to %d-%d are missing." % (log, last + 1, log, index - 1))
            last, n = index, n + 1
            try:
                proved = check_receipt(z.read(name), key, [f for f in ("principal", "reasons") if said.get(f)])
                if not proved.startswith("record %d-%d of " % (log, index)):
                    raise Bad("it is of another record")
            except (Bad, ValueError, KeyError, TypeError) as e:
                problems.append("The proof of %d-%d does not hold: %s." % (log, index, e))
        try:
            head, *lines = key.text(z.read("manifest.txt")).splitlines()
            if head != "reeve evidence v1":
                raise Bad("it is of an unknown form")
            for line in lines[3:]:
                want, name = line.split("  ", 1)
                told.add(name)
                if name not in names:
                    problems.append("%s is missing." % name)
                elif hashlib.sha256(z.read(name)).hexdigest() != want:
                    problems.append("%s was changed." % name)
        except (Bad, ValueError, KeyError) as e:
            problems.append("The manifest does not hold: %s." % e)
        if "approvals.jsonl" not in names or z.read("approvals.jsonl") != held:
            problems.append("approvals.jsonl does not say what decisions.jsonl says of what people were asked.")
        for policy in sorted(policies):
            name = "policies/%s.yaml" % policy.replace(":", "-")
            if name not in names:
                problems.append("The text of the policy %s is missing." % policy)
            elif policy != "sha256:" + hashlib.sha256(z.read(name)).hexdigest():
                problems.append("The text of the policy %s is another." % policy)
        if len(names) != len(set(names)):
            problems.append("A file is in it twice.")
        if not only_files(z.fp, z):
            problems.append("The archive has something before, between or behind its files, or a file by two names.")
        problems += ["%s is no part of it." % name for name in sorted(set(names) - told)]
    if not n:
        problems.append("The evidence has no record of the log whose key this is.")
    return problems, "%d records of evidence" % n


def main():
    parser = argparse.ArgumentParser(description="Checks a reeve ledger, or one receipt, without reeve.")
    parser.add_argument("file", help="reeve.db in the data folder, an archive of reeve evidence, or a receipt")
    parser.add_argument("--key", required=True, help="the log's public key, NAME+HASH+KEY")
    parser.add_argument("--former-key", action="append", default=[], help="the key of the log before, where it was lost and the log goes on with another")
    parser.add_argument("--checkpoints", help="a file of signed checkpoints that was kept elsewhere")
    args = parser.parse_args()
    key = Key(args.key)
    with open(args.file, "rb") as f:
        start = f.read(16)
    if start == b"SQLite format 3\x00":
        kept = []
        if args.checkpoints:
            with open(args.checkpoints, "rb") as f:
                kept = split_notes(f.read())
        problems, what = check_database(args.file, key, kept, [Key(k) for k in args.former_key])
    elif start[:4] == b"PK\x03\x04":
        try:
            problems, what = check_evidence(args.file, key)
        except (zipfile.BadZipFile, ValueError, KeyError) as e:
            problems, what = ["The archive cannot be read: %s." % e], "an archive of evidence"
    else:
        try:
            with open(args.file, "rb") as f:
                problems, what = [], check_receipt(f.read(), key)
        except (Bad, ValueError, KeyError, TypeError) as e:
            problems, what = ["The receipt does not hold: %s." % e], "one receipt"
    for p in problems:
        print(p)
    print(("It does not hold: " if problems else "It holds: ") + what + ".")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
