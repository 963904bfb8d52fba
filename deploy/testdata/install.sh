# Installs the package, runs the node as its unit says, asks it, and removes the package.
set -e
deb=/tmp/$(basename "$1")
ip link set lo up
dpkg -i "$deb"
id reeve

# What systemd does with the unit, as far as that can be done without it.
unit=/usr/lib/systemd/system/reeve.service
set_in() { sed -n "s/^$1=//p" "$unit"; }
state=/var/lib/$(set_in StateDirectory)
install -d -m "$(set_in StateDirectoryMode)" -o "$(set_in User)" -g "$(set_in Group)" "$state"
stat -c "%A %U %G %n" "$state"
cd "$(set_in WorkingDirectory)"
setpriv --reuid "$(set_in User)" --regid "$(set_in Group)" --init-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
  $(set_in ExecStart) >/tmp/node.log 2>&1 &
node=$!
for _ in $(seq 100); do
  curl -sf http://127.0.0.1:8080/readyz && break
  kill -0 $node || { cat /tmp/node.log; exit 1; }
  sleep 0.1
done
curl -sf http://127.0.0.1:8080 -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"protocols/MCP",
  "params":{"message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell","arguments":{"command":"cat /var/lib/reeve/seed"}}}}}'
echo
kill $node
wait $node

mkdir -p /root/.claude
export HOME=/root XDG_CONFIG_HOME=/root/.config
echo yes | script -qec 'reeve hook install claude-code' /dev/null # it asks at a terminal
dpkg -r reeve
[ ! -e /usr/bin/reeve ]
ls -d /var/lib/reeve/seed >/dev/null && echo "still there: /var/lib/reeve"
