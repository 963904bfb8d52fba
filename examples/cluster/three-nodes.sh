#!/usr/bin/env bash
# Three nodes on one PostgreSQL share the tasks of a workflow, and one of them is
# killed in the middle. See README.md.
#
#   DATABASE_URL=postgres://user:password@localhost/reeve examples/cluster/three-nodes.sh
set -euo pipefail
: "${DATABASE_URL:?is the URL of an empty PostgreSQL database}"
reeve=${REEVE:-reeve}
here=$(cd "$(dirname "$0")" && pwd)
first=${PORT:-8091}
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT

# Nodes that share a database have one seed: the keys of all their logs come from it.
head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >"$dir/seed"

# Each node executes two tasks at once: six at the start need all three.
for i in 0 1 2; do
  "$reeve" serve --listen "127.0.0.1:$((first + i))" --data "$dir/node-$i" --database env:DATABASE_URL \
    --ledger-seed "file:$dir/seed" --allow-commands --tasks-concurrent 2 >"$dir/node-$i.log" 2>&1 &
  pids+=($!)
done
for i in 0 1 2; do
  for _ in $(seq 200); do
    curl -sf "http://127.0.0.1:$((first + i))/readyz" >/dev/null && continue 2
    sleep 0.1
  done
  echo "node $i did not start:" >&2
  cat "$dir/node-$i.log" >&2
  exit 1
done
echo "three nodes are ready on ports $first to $((first + 2))"

(sleep 2 && kill -9 "${pids[2]}" && echo "── node 2 is killed ──") &
"$reeve" run "$here/relay.yaml" --server "http://127.0.0.1:$first" --result leg-9 >/dev/null # only how it goes

echo
for log in 0 1 2; do # each node has a log of its own
  "$reeve" ledger verify --log "$log" --database env:DATABASE_URL --data "$dir/node-0" --ledger-seed "file:$dir/seed"
done
