"""Writes the cases that gitleaks has in the sources of its rules as labelled texts.

usage: gitleaks.py FOLDER > texts.jsonl, where FOLDER is a copy of gitleaks/gitleaks

Only what stands there as a whole text is taken: cases that its generator puts together
are not. The texts are read, nothing of the repository is run.
"""
import ast
import json
import pathlib
import re
import sys

LITERAL = r'"(?:[^"\\\n]|\\.)*"|`[^`]*`'
LIST = re.compile(r"\b(tps|fps)\s*(?::=|=)\s*\[\]string\{(.*?)\n\t\}", re.S)
RULE = re.compile(r'RuleID:\s*"([^"]+)"')
# Texts that are elements of their own: no + beside them, no call around them.
ELEMENT = re.compile(r"(?m)^\s*(" + LITERAL + r"),?\s*(?://.*)?$")


def text(literal):
    if literal.startswith("`"):
        return literal[1:-1]
    return ast.literal_eval(literal)


for path in sorted((pathlib.Path(sys.argv[1]) / "cmd/generate/config/rules").glob("*.go")):
    source = path.read_text()
    for function in re.split(r"(?m)^func ", source)[1:]:
        rule = RULE.search(function)
        if not rule:
            continue
        for kind, body in LIST.findall(function):
            body = re.sub(r"(?m)^\s*//.*$", "", body)
            for literal in ELEMENT.findall(body):
                try:
                    case = text(literal)
                except (SyntaxError, ValueError):
                    continue
                print(json.dumps({"class": rule[1], "detect": "secret", "text": case, "holds": kind == "tps"}))
