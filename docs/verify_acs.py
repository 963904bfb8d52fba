#!/usr/bin/env python3
"""Checks a recorded session of ACS, with nothing but the secret: every signature, and the chain.

    verify_acs.py SECRET.hex LABEL < session.jsonl

Each line is one JSON value: a request and the answer to it, in turn. This is a second
reading of docs/protocol/acs.md, which shares no code with the guardian.
"""
import base64
import hashlib
import hmac
import json
import sys


def number(x):
    """A number as RFC 8785 writes it: as ECMAScript does."""
    if isinstance(x, int):
        x = float(x)
    if x == 0:
        return "0"
    sign, x = ("-", -x) if x < 0 else ("", x)
    mantissa, _, power = ("%r" % x).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    point = len(whole) - (len(whole + fraction) - len(digits)) + int(power or 0)  # 0.DIGITS times ten to this
    digits = digits.rstrip("0")
    n = len(digits)
    if n <= point <= 21:
        return sign + digits + "0" * (point - n)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    return sign + digits[0] + ("." + digits[1:] if n > 1 else "") + "e" + ("+" if point > 0 else "-") + str(abs(point - 1))


def canonical(v):
    if v is None or isinstance(v, bool):
        return json.dumps(v)
    if isinstance(v, (int, float)):
        return number(v)
    if isinstance(v, str):
        return json.dumps(v, ensure_ascii=False)
    if isinstance(v, list):
        return "[" + ",".join(map(canonical, v)) + "]"
    names = sorted(v, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(canonical(n) + ":" + canonical(v[n]) for n in names) + "}"


def key_of(secret, session):
    """HKDF-SHA256 (RFC 5869) without salt; its 32 bytes are one block."""
    prk = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(prk, session.encode() + b"\x01", hashlib.sha256).digest()


def holds(message, name, secret, label, session):
    part = dict(message[name])
    signature = part.pop("signature", None) or {}
    form = canonical({**message, name: part}).encode()
    want = base64.b64encode(hmac.new(key_of(secret, session), form, hashlib.sha256).digest()).decode()
    return signature == {"algorithm": "HMAC-SHA256", "key_id": label, "value": want}


def head_after(request, head):
    params = request["params"]
    entry = {
        "entry_id": params["request_id"], "step_id": params["request_id"], "step_type": request["method"], "timestamp": params["timestamp"],
        "request_hash": hashlib.sha256(canonical(params).encode()).hexdigest(),
    }
    if params["metadata"].get("turn_id"):
        entry["turn_id"] = params["metadata"]["turn_id"]
    return hashlib.sha256(canonical(entry).encode() + bytes.fromhex(head)).hexdigest()


def main():
    secret, label = bytes.fromhex(sys.argv[1]), sys.argv[2]
    lines = [json.loads(line) for line in sys.stdin if line.strip()]
    head, wrong = "", 0
    for n, (request, answer) in enumerate(zip(lines[::2], lines[1::2])):
        session = request["params"]["metadata"]["session_id"]
        name = "result" if "result" in answer else "error"
        for what, message, member in (("request", request, "params"), ("answer", answer, name)):
            if not holds(message, member, secret, label, session):
                print(f"{n}: the signature of the {what} does not hold")
                wrong += 1
        said = answer.get("result", {}).get("chain_hash")
        if said is not None:
            head = head_after(request, head)
            if head != said:
                print(f"{n}: the chain has the head {head}, and the answer says {said}")
                wrong += 1
    print(f"{len(lines) // 2} steps, {wrong} wrong")
    return 1 if wrong or len(lines) % 2 else 0


if __name__ == "__main__":
    sys.exit(main())
