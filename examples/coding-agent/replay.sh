#!/bin/sh
# Replays a recorded session of Claude Code through reeve's hook, with a ledger of
# its own in the folder named (else a temporary one), and shows what was decided.
set -eu
here=$(dirname "$0")
data=${1:-$(mktemp -d)}
while IFS= read -r event; do
	printf '\n> %s\n' "$(printf '%s' "$event" | cut -c 1-2000 | sed 's/.*"hook_event_name": "\([A-Za-z]*\)", */\1  /')"
	printf '%s\n' "$event" | reeve hook --agent claude-code --data "$data" --trails "$data/trails"
done <"$here/session.jsonl"
printf '\n'
reeve sessions show 7c3f2a90 --data "$data"
printf '\nThe same as a page:  reeve sessions show 7c3f2a90 --data %s --html > session.html\n' "$data"
