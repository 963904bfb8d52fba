"""tau-bench's recorded conversations as honest sessions: tau.py FILE.json… > runs.jsonl

Those with the full reward are taken: the agent did what the company's rules and the
customer wanted, and nothing in them should be held.
"""

import json
import pathlib
import sys


def session(run, ident, name):
    steps, answered = [], set()
    for m in run["traj"]:
        if m["role"] == "user":
            steps.append({"user": m["content"] or ""})
        elif m["role"] == "assistant":
            for call in m.get("tool_calls") or []:
                ident_of_call = f"{call['id']}.{len(steps)}"
                answered.add(call["id"])
                steps.append({"call": ident_of_call, "tool": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"] or "{}")})
            if m.get("content") and not m.get("tool_calls"):
                steps.append({"agent": m["content"]})
        elif m["role"] == "tool":
            made = [s["call"] for s in steps if "call" in s and s["call"].rsplit(".", 1)[0] == m["tool_call_id"]]
            if made:
                steps.append({"result": made[-1], "text": m["content"] or ""})
    return {"id": ident, "class": name, "kind": "honest", "steps": steps}


def main():
    for file in sys.argv[1:]:
        name = pathlib.Path(file).stem
        for i, run in enumerate(json.load(open(file, encoding="utf-8"))):
            if run["reward"] == 1.0:
                print(json.dumps(session(run, f"{name}/{i}", name), ensure_ascii=False))


if __name__ == "__main__":
    main()
