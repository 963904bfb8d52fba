#!/bin/sh
# Before the files go. Hooks fail closed: an agent whose hook names a program that is gone can
# do nothing. So those are named that would be left like this.
set -e
case "${1:-}" in
  upgrade | deconfigure | failed-upgrade | 1) exit 0 ;; # the program stays, in another version
esac

# Each user's agents are looked at as that user: what stands in a home folder is not root's to run.
blocked=$(getent passwd | while IFS=: read -r user _ uid _ _ home _; do
  { [ "$uid" -eq 0 ] || [ "$uid" -ge 1000 ]; } && [ -d "$home" ] || continue
  (cd "$home" 2>/dev/null && timeout 20 runuser -u "$user" -- env -i HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin /usr/bin/reeve hook status </dev/null 2>/dev/null || true) |
    awk -v user="$user" '/^[a-z]/ { agent = $1; sub(/:$/, "", agent) } /^  installed in / { sub(/^  installed in /, ""); print "  " agent " of " user ": " $0 }'
done)
if [ -n "$blocked" ]; then
  echo "These agents ask reeve before they act, and will be BLOCKED without it:"
  echo "$blocked"
  echo "Take the hooks out first (reeve hook uninstall, as that user), or install reeve again."
fi

if [ -d /run/systemd/system ]; then
  systemctl disable --now reeve.service || true
fi
