#!/bin/sh
# After the files are there: the user, and systemd's knowledge of the unit. The node is not
# started: who installs it decides that.
set -e
if ! getent passwd reeve >/dev/null; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers reeve.conf
  else
    useradd --system --home-dir /var/lib/reeve --shell /usr/sbin/nologin --user-group reeve
  fi
fi
chown root:reeve /etc/reeve
chmod 0750 /etc/reeve
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart reeve.service # after an upgrade, if it runs
fi
