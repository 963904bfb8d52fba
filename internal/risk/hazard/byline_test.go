package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestOrdersByLine: what a client of a store is told in a file, or in what comes in, it does as if that stood in its line.
func TestOrdersByLine(t *testing.T) {
	for _, c := range []string{
		`printf 'FLUSHALL\n' > ops.redis; redis-cli -h cache1.acme.example < ops.redis`, `printf 'SET a 1\nFLUSHALL\n' | redis-cli -h cache1.acme.example -p 6380`, `valkey-cli -h cache1.acme.example <<< flushall`,
		`printf 'del "" --prefix\n' > q.txt; etcdctl --endpoints=https://e1:2379 txn -i < q.txt`, `printf 'deleteall /brokers\n' | zkCli.sh -server zk1`, `zkCli.sh -server zk.acme.example deleteall /`, `echo 'deleteall /brokers' | zookeeper-shell.sh zk1:2181`,
		`printf 'rm s3://acme-backups/*\n' > ops.txt; s5cmd --numworkers 64 run ops.txt`, `printf 'ls s3://a\nrm s3://acme-media/*\n' | s5cmd run`,
		`printf 'DROP KEYSPACE app;\n' > db/x.cql; cqlsh cass1 -f db/x.cql`, `printf 'DROP KEYSPACE app;\n' > db/x.cql; cqlsh cass1 -e "SOURCE 'db/x.cql'"`, `printf 'DROP TABLE orders;\n' > x.sql; mysql -h db1.acme.example shop -e 'source x.sql'`, `printf 'DROP TABLE orders;\n' > x.sql; psql -h db1.acme.example -c '\i x.sql'`,
		"wrangler d1 time-travel restore app --timestamp=2024-01-01T00:00:00Z", "neonctl branches restore main ^parent", "vault operator raft snapshot restore -force old.snap", "consul snapshot restore x.snap", "rpk topic trim-prefix orders --offset end --no-confirm", "zfs receive -F tank/home", "doctl compute droplet-action restore 5 --image-id 7", "hcloud server rebuild web --image ubuntu-24.04",
	} {
		if a := assessed(c); a.Score < 0.4 {
			t.Errorf("%s passes: %+v", c, a.Findings)
		}
	}
	for _, c := range []string{
		`printf 'SET a 1\nGET a\n' | redis-cli -h cache1.acme.example`, `printf 'FLUSHDB\nSET a 1\n' | redis-cli -p 6380`, `echo PING | redis-cli`, `printf 'FLUSHALL\n' > notes.txt; redis-cli get a < notes.txt`,
		`printf 'mod("a") > "0"\n\nput a b\n\nget a\n' | etcdctl --endpoints=https://e1:2379 txn -i`, "zkCli.sh -server zk1 ls /", "zkCli.sh -server localhost:2181 deleteall /test", "zookeeper-shell.sh localhost:2181 deleteall /test", `printf 'cp a.txt s3://acme-site/a.txt\nls s3://acme-site\n' > ops.txt; s5cmd run ops.txt`,
		`printf 'SELECT * FROM app.t;\n' > db/x.cql; cqlsh cass1 -e "SOURCE 'db/x.cql'"`, `printf 'CREATE TABLE app.t (id int primary key);\n' > db/x.cql; cqlsh cass1 -f db/x.cql`,
		"wrangler d1 time-travel info app", "neonctl branches list", "vault operator raft snapshot save x.snap", "rpk topic list", "zfs receive tank/new", "hcloud server list", "etcdctl snapshot restore x.db --data-dir /tmp/etcd",
	} {
		if a := assessed(c); a.Score >= 0.4 {
			t.Errorf("%s: %.2f %+v", c, a.Score, a.Findings)
		}
	}
	for _, c := range [][3]string{{"redis-cli -h cache1.acme.example < ops", "ops", "FLUSHALL\n"}, {"s5cmd run ops.txt", "ops.txt", "rm s3://acme-backups/*\n"}, {"cqlsh cass1 -f db/x.cql", "db/x.cql", "DROP KEYSPACE app;\n"}, {"zkCli.sh -server zk1 < x.zk", "x.zk", "deleteall /brokers\n"}} {
		r := Read(&act.Action{Kind: act.ToolCall, Resource: "shell", Canonical: "shell", Content: []act.Leaf{leafOf("command", c[0])}})
		if len(r.With(map[string]string{c[1]: c[2]})) == 0 {
			t.Errorf("%s does nothing with %q", c[0], c[2])
		}
	}
}
