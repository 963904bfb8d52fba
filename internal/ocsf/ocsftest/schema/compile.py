#!/usr/bin/env python3
"""Compiles classes of OCSF's schema into one JSON Schema (draft 2020-12), with what
events may not have closed: unknown attributes, wrong types, values outside of
enumerations, missing required attributes, and the constraints of objects.

usage: compile.py CHECKOUT-OF-ocsf-schema > ocsf.schema.json
"""
import json, pathlib, re, subprocess, sys

root = pathlib.Path(sys.argv[1])
CLASSES = ["api_activity", "datastore_activity", "detection_finding", "application_lifecycle", "process_activity", "authentication", "module_activity", "inventory_info"]
read = lambda p: json.loads((root / p).read_text())
dictionary = read("dictionary.json")
types, attributes = dictionary["types"]["attributes"], dictionary["attributes"]
categories = read("categories.json")["attributes"]
events = {d["name"]: d for d in (json.loads(p.read_text()) for p in (root / "events").rglob("*.json"))}
objects = {d["name"]: d for d in (json.loads(p.read_text()) for p in (root / "objects").rglob("*.json"))}

def own(d):
    """An item's attributes, with those that it includes; those of profiles are named so."""
    out = {}
    include = d["attributes"].get("$include", [])
    for path in [include] if isinstance(include, str) else include:
        inc = read(path)
        for name, a in inc["attributes"].items():
            if name != "$include":
                out[name] = dict(a) | ({"profile": inc["name"]} if path.startswith("profiles/") else {})
    for name, a in d["attributes"].items():
        if name != "$include":
            out[name] = merge(out.get(name, {}), a)
    return out

def merge(a, b):
    out = dict(a) | b
    if "enum" in a and "enum" in b:
        out["enum"] = a["enum"] | b["enum"]
    return out

def whole(kind, name):
    d = kind[name]
    parent = d.get("extends")
    out = whole(kind, parent) if parent and parent in kind else {}
    for n, a in own(d).items():
        out[n] = merge(out.get(n, {}), a)
    return out

def inherited(kind, name, key):
    while name in kind:
        if key in kind[name]:
            return kind[name][key]
        name = kind[name].get("extends")

wanted, defs = set(), {}

def typed(name, a):
    a = merge(attributes[name], a)
    t = a["type"]
    if t in types or t.endswith("_t"):
        base, chain = t, []
        while True:
            chain.append(types[base])
            nxt = types[base].get("type")
            if not nxt: break
            base = nxt
        s = {"type": {"string_t": "string", "integer_t": "integer", "long_t": "integer", "float_t": "number", "boolean_t": "boolean"}.get(base)}
        if s["type"] is None: s = {}
        for c in chain:
            if "max_len" in c: s["maxLength"] = c["max_len"]
            if "range" in c: s["minimum"], s["maximum"] = c["range"]
            if t in ("email_t", "mac_t", "datetime_t", "uuid_t", "bytestring_t") and "regex" in c: s["pattern"] = c["regex"]
        if a.get("enum"):
            s["enum"] = sorted(int(k) for k in a["enum"]) if s.get("type") == "integer" else sorted(a["enum"])
    elif t == "object":
        s = {"type": "object"}
    else:
        wanted.add(t)
        s = {"$ref": "#/$defs/" + t}
    return {"type": "array", "items": s} if a.get("is_array") else s

def shape(attrs, constraints):
    s = {"type": "object", "properties": {n: typed(n, a) for n, a in sorted(attrs.items())}, "additionalProperties": False}
    required = sorted(n for n, a in attrs.items() if a.get("requirement") == "required" and not a.get("profile"))
    if required: s["required"] = required
    for key, word in (("at_least_one", "anyOf"), ("just_one", "oneOf")):
        if constraints and key in constraints:
            s[word] = [{"required": [n]} for n in constraints[key]]
    return s

def allowed_profiles(name):
    out = set()
    while name in events:
        out |= set(events[name].get("profiles", []))
        name = events[name].get("extends")
    return sorted(out)

classes = []
for name in CLASSES:
    attrs = whole(events, name)
    category = inherited(events, name, "category")
    uid = categories[category]["uid"] * 1000 + events[name]["uid"]
    s = shape(attrs, inherited(events, name, "constraints"))
    p = s["properties"]
    p["class_uid"], p["category_uid"] = {"const": uid}, {"const": categories[category]["uid"]}
    p["type_uid"] = {"enum": [uid * 100 + a for a in p["activity_id"]["enum"]]}
    rules = [{"if": {"properties": {"activity_id": {"const": a}}}, "then": {"properties": {"type_uid": {"const": uid * 100 + a}}}} for a in p["activity_id"]["enum"]]
    # Attributes of a profile need the profile; and a profile must be one of the class.
    for n, a in sorted(attrs.items()):
        if a.get("profile"):
            rules.append({"if": {"required": [n]}, "then": {"properties": {"metadata": {"required": ["profiles"], "properties": {"profiles": {"contains": {"const": a["profile"]}}}}}}})
            if a.get("requirement") == "required":
                rules.append({"if": {"properties": {"metadata": {"required": ["profiles"], "properties": {"profiles": {"contains": {"const": a["profile"]}}}}}}, "then": {"required": [n]}})
    rules.append({"properties": {"metadata": {"properties": {"profiles": {"items": {"enum": allowed_profiles(name)}}}}}})
    s["allOf"] = rules
    defs["class_" + name] = s
    classes.append({"if": {"properties": {"class_uid": {"const": uid}}}, "then": {"$ref": "#/$defs/class_" + name}})
done = set()
while wanted - done:
    for t in sorted(wanted - done):
        done.add(t)
        defs[t] = shape(whole(objects, t), inherited(objects, t, "constraints"))
commit = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
json.dump({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$comment": f"OCSF {read('version.json')['version']}, https://github.com/ocsf/ocsf-schema commit {commit}, Apache-2.0, compiled by compile.py",
    "type": "object", "required": ["class_uid"],
    "properties": {"class_uid": {"enum": sorted(c["if"]["properties"]["class_uid"]["const"] for c in classes)}},
    "allOf": classes, "$defs": dict(sorted(defs.items())),
}, sys.stdout, separators=(",", ":"), sort_keys=False)
