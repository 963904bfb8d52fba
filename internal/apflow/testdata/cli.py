"""Drives apflow's command line, the program itself, against a node: every command that speaks
to a server. usage: cli.py URL [KEY]; HOME is a folder of its own."""

import json
import sys

from click.testing import CliRunner
from apflow.cli.main import cli

url, key = sys.argv[1], (sys.argv + [""])[2]


def run(*args, stdin=None, code=0):
    out = CliRunner().invoke(cli, list(args), input=stdin)
    if out.exit_code != code:
        print(f"apflow {' '.join(args)}: code {out.exit_code}\n{out.output}\n{out.exception!r}")
        sys.exit(1)
    return out.output


def said(text, what):
    if what not in text:
        print(f"{what!r} is not said in\n{text}")
        sys.exit(1)


def value(text):
    """The JSON value in what a command printed."""
    start = min(i for i in (text.find("["), text.find("{")) if i >= 0)
    return json.JSONDecoder().raw_decode(text[start:])[0]


run("config", "set", "api_server_url", url)
if key:
    run("config", "set", "admin_auth_token", key)
said(run("config", "list"), url[:20])

R, C = "c0000000-0000-4000-8000-000000000001", "c0000000-0000-4000-8000-000000000002"
tree = [
    {"id": R, "name": "Root", "schemas": {"method": "aggregate_results_executor"}, "dependencies": [{"id": C, "required": True}]},
    {"id": C, "name": "Child", "parent_id": R, "schemas": {"method": "system_info_executor"}, "inputs": {"resource": "memory"}},
]
said(run("tasks", "create", "--stdin", stdin=json.dumps(tree)), R)
alone = value(run("tasks", "create", "--stdin", stdin=json.dumps({"name": "Alone", "schemas": {"method": "system_info_executor"}})))
assert alone["name"] == "Alone" and alone["task"]["id"] == alone["id"], alone

roots = value(run("tasks", "list"))
assert {t["id"] for t in roots} == {R, alone["id"]}, roots
assert {t["id"]: t["has_children"] for t in roots} == {R: True, alone["id"]: False}, roots
assert len(value(run("tasks", "list", "--all-tasks"))) == 3
counted = value(run("tasks", "count", "--format", "json"))
assert counted["total"] == 3 and counted["pending"] == 3, counted
got = value(run("tasks", "get", C))
assert got["inputs"] == {"resource": "memory"} and got["task_tree_id"] == R and got["params"] == {}, got
whole = value(run("tasks", "tree", R))
assert whole["task"]["id"] == R and whole["children"][0]["task"]["id"] == C, whole
children = value(run("tasks", "children", "--parent-id", R))
assert [t["id"] for t in children] == [C], children
stands = value(run("tasks", "status", R, "d0000000-0000-4000-8000-000000000000"))
assert [s["status"] for s in stands] == ["pending", "not_found"], stands
said(run("tasks", "update", C, "--name", "Renamed", "--priority", "1"), "Successfully updated")
assert value(run("tasks", "get", C))["name"] == "Renamed"
said(run("tasks", "clone", R), "Successfully copied")
said(run("tasks", "clone", alone["id"]), "Successfully copied")
said(run("tasks", "clone", R, "--dry-run"), "2 tasks")

# Schedules.
said(run("tasks", "update", alone["id"], "--schedule-type", "interval", "--schedule-expression", "3600", "--schedule-enabled"), "Successfully updated")
said(run("tasks", "scheduled", "init", alone["id"]), "Schedule initialized")
assert [t["id"] for t in value(run("tasks", "scheduled", "list", "--format", "json"))] == [alone["id"]]
assert value(run("tasks", "scheduled", "due", "--format", "json")) == []
run("tasks", "scheduled", "complete", alone["id"])
assert [t["id"] for t in value(run("scheduler", "list", "--format", "json"))] == [alone["id"]]
said(run("monitor", "trace", alone["id"]), "Timeline")

assert value(run("tasks", "cancel", R))[0]["status"] == "cancelled"
said(run("tasks", "get", R), '"cancelled"')
run("monitor", "watch", R)
gone = value(run("tasks", "create", "--stdin", stdin=json.dumps({"name": "Gone"})))
said(run("tasks", "delete", gone["id"]), "uccess")
print("all of it")
