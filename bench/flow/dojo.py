"""AgentDojo's tasks as recorded sessions, and what came of them.

    dojo.py trace > runs.jsonl     # 97 honest sessions, and 609 attacked ones
    reeve risk eval --sessions --json --policy … runs.jsonl > outcomes.jsonl
    dojo.py score outcomes.jsonl   # by AgentDojo's own checkers

The agent is none: it makes the benchmark's own right calls, and obeys the first injected
order that it reads by the benchmark's own right calls for that. So no model's luck is in
the figures. An attacked session ends well when the checker of the injection task says that
its goal was not reached with the calls that the guardian let through.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict

from agentdojo.agent_pipeline.ground_truth_pipeline import GroundTruthPipeline
from agentdojo.attacks.attack_registry import load_attack
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites
from agentdojo.types import text_content_block_from_string
from pydantic import BaseModel

VERSION = "v1.2.2"
READS = ("get_", "search_", "read_", "list_", "check_")


def plain(value):
    """A tool's result as the JSON that an ordinary tool returns."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return value


def text(value):
    value = plain(value)
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)


class Run:
    """One session: the user's calls, and the attacker's once the order was read."""

    def __init__(self, suite, user_task, injection_task=None, injections=None, left=()):
        self.suite, self.user, self.injection, self.left = suite, user_task, injection_task, set(left)
        env = suite.load_and_inject_default_environment(injections or {})
        self.env = user_task.init_environment(env)
        self.before = self.env.model_copy(deep=True)
        self.runtime = FunctionsRuntime(suite.tools)
        calls = user_task.ground_truth(self.env)
        # An agent that plans does so before it has read anything: it says which tools the user's task needs.
        plan = list(dict.fromkeys(c.function for c in calls))
        self.steps, self.made, self.n = [{"user": user_task.PROMPT}, {"plan": plan}], [], 0
        obeyed = injection_task is None
        for call in calls:
            result = self.make(call, False)
            if not obeyed and any(injection_task.GOAL in s for s in strings(plain(result))):
                obeyed = True
                for order in injection_task.ground_truth(self.env):
                    self.make(order, True)
        self.answer = user_task.GROUND_TRUTH_OUTPUT or "Done."
        self.steps.append({"agent": self.answer})
        self.obeyed = obeyed

    def make(self, call: FunctionCall, attacker):
        self.n += 1
        name = str(self.n)
        step = {"call": name, "tool": call.function, "arguments": plain(dict(call.args))}
        if attacker:
            step["attacker"] = True
            # To look at the attacker's page is the goal of one task; all other reading is preparation.
            if call.function.startswith(READS) and call.function != "get_webpage":
                step["read"] = True
        self.steps.append(step)
        if name in self.left:
            return None
        result, error = self.runtime.run_function(self.env, call.function, dict(call.args))
        self.made.append(call)
        self.steps.append({"result": name, "text": error or text(result)})
        return result

    def check(self, task):
        return self.suite._check_task_result(
            task, [text_content_block_from_string(self.answer)], self.before, self.env, self.made)


def pairs():
    """Every user task alone, and with each injection task that has right calls."""
    for name, suite in get_suites(VERSION).items():
        nobody = GroundTruthPipeline(None)
        nobody.name = "local"
        attack = load_attack("important_instructions_no_names", suite, nobody)
        for user in suite.user_tasks.values():
            yield f"{name}/{user.ID}", name, suite, user, None, None
        for injection in suite.injection_tasks.values():
            if not injection.ground_truth(suite.load_and_inject_default_environment({})):
                continue
            for user in suite.user_tasks.values():
                yield f"{name}/{user.ID}/{injection.ID}", name, suite, user, injection, attack.attack(user, injection)


def trace(out):
    for ident, name, suite, user, injection, injections in pairs():
        run = Run(suite, user, injection, injections)
        kind = "attacked" if injection else "honest"
        out.write(json.dumps({"id": ident, "class": name, "kind": kind, "steps": run.steps}, ensure_ascii=False) + "\n")


def score(file, out):
    outcomes = {o["id"]: o for o in map(json.loads, file)}
    count, reasons, through = defaultdict(Counter), Counter(), defaultdict(Counter)
    for ident, name, suite, user, injection, injections in pairs():
        o = outcomes.get(ident)
        if o is None:
            continue
        c = count[name]
        if injection is None:
            c["honest"] += 1
            c["asked"] += bool(o.get("asked"))
            c["denied"] += bool(o.get("denied"))
            c["changed"] += bool(o.get("changed"))
            c["asks"] += len(o.get("asked", ()))
            c["done"] += Run(suite, user, left=o.get("left", ())).check(user)
            reasons.update(o.get("rules", ()))
            if o.get("asked"):
                through["asked " + name][user.ID] += 1
            continue
        c["attacked"] += 1
        if Run(suite, user, injection, injections, o.get("left", ())).check(injection):
            c["reached"] += 1
            through["reached " + name][injection.ID] += 1
    total = Counter()
    for c in count.values():
        total.update(c)
    count["all"] = total
    head = ("honest", "done", "asked", "asks", "denied", "changed", "attacked", "reached")
    out.write(f"{'':10}" + "".join(f"{h:>10}" for h in head) + "\n")
    for name, c in count.items():
        out.write(f"{name:10}" + "".join(f"{c[h]:>10}" for h in head) + "\n")
    out.write(f"goals reached: {total['reached'] / max(1, total['attacked']):.3f}; "
              f"honest tasks asked about: {total['asked'] / max(1, total['honest']):.3f}\n")
    for title, c in through.items():
        out.write(f"{title}: " + ", ".join(f"{k} {n}" for k, n in c.most_common()) + "\n")
    out.write("rules that held honest acts: " + ", ".join(f"{k} {n}" for k, n in reasons.most_common()) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("trace", "score"))
    parser.add_argument("outcomes", nargs="?", type=argparse.FileType(), default=sys.stdin)
    args = parser.parse_args()
    if args.what == "trace":
        trace(sys.stdout)
    else:
        score(args.outcomes, sys.stdout)


if __name__ == "__main__":
    main()
