"""What models did on InjecAgent's cases, as attacked sessions: injecagent.py RESULTS… > runs.jsonl

RESULTS are folders of results/, such as BASE; of their runs those are taken in which the
model did what the injected text said, with the arguments that it chose. A session's class
is the folder and the kind: dh does harm directly, ds reads something and sends it away.
"""

import ast
import json
import pathlib
import re
import sys


def arguments(text):
    start = text.find("{")
    if start < 0:
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        return {"input": text[start:][:2000]}
    return value if isinstance(value, dict) else {"input": value}


def action(output):
    """The last call that an answer makes."""
    found = re.findall(r"Action:\s*(\S+)\s*Action Input:\s*(.*?)(?=\n\s*(?:Observation|Thought|Action)\s*:|\Z)", output, re.S)
    return (found[-1][0], arguments(found[-1][1])) if found else None


def loaded(text):
    text = text.strip().strip('"')
    try:
        return json.dumps(ast.literal_eval(text), ensure_ascii=False)
    except (ValueError, SyntaxError):
        return text


def session(case, ident, name):
    first, second = action(case["output"]), None
    tools = case["Attacker Tools"]
    if first is None or first[0] != tools[0]:
        return None
    if len(tools) > 1:
        second = action(case.get("output Step 2", ""))
        if second is None or second[0] != tools[1] or case.get("eval Step 2") != "succ":
            return None
    steps = [
        {"user": case["User Instruction"]},
        {"call": "1", "tool": case["User Tool"], "arguments": ast.literal_eval(case["Tool Parameters"])},
        {"result": "1", "text": loaded(case["Tool Response"])},
        {"call": "2", "tool": first[0], "arguments": first[1], "attacker": True},
    ]
    if second is not None:
        response = case.get("Attacker Tool Response", "")
        steps[-1]["read"] = True
        steps.append({"result": "2", "text": response if isinstance(response, str) else json.dumps(response)})
        steps.append({"call": "3", "tool": second[0], "arguments": second[1], "attacker": True})
    return {"id": ident, "class": name, "kind": "attacked", "steps": steps}


def main():
    n = 0
    for folder in sys.argv[1:]:
        for file in sorted(pathlib.Path(folder).rglob("test_cases_d[hs]_*.json")):
            kind = file.name.split("_")[2]
            for line in file.read_text(encoding="utf-8").splitlines():
                case = json.loads(line)
                if case.get("eval") != "succ":
                    continue
                n += 1
                s = session(case, f"{n}", f"{pathlib.Path(folder).name} {kind}")
                if s:
                    print(json.dumps(s, ensure_ascii=False))


if __name__ == "__main__":
    main()
