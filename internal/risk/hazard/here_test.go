package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestOfThisMachine: what is destroyed in a database that is said to be of this machine asks; what is
// not said to be, or to be in use, is as grave as it was.
func TestOfThisMachine(t *testing.T) {
	const asks, denies = 0.6, 0.8
	for command, want := range map[string]float64{
		"mysql -h127.0.0.1 -P3307 -uroot -pdev -e 'DROP DATABASE shop; CREATE DATABASE shop'":         asks,
		"mysql -h localhost -e 'DROP DATABASE shop'":                                                  asks,
		"mysql --host=localhost -e 'DROP DATABASE shop'":                                              asks,
		"psql -h localhost -c 'DROP DATABASE shop'":                                                   asks,
		"psql postgres://api:api@localhost/api -c 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'": asks,

		"mysql -e 'DROP DATABASE shop'":                                              asks, // of the machine's own server
		"psql -c 'BEGIN; DROP TABLE a; COMMIT;'":                                     asks,
		"psql -h db.acme.dev -c 'DROP TABLE a; DROP TABLE b'":                        asks,
		"mysql shop -e 'CREATE TABLE t (i int); DROP TABLE a'":                       asks,
		"mysql --defaults-file=x.cnf -e 'DROP DATABASE shop'":                        denies,
		"mysql --login-path=x -e 'DROP DATABASE shop'":                               denies,
		"psql -h db.acme.dev -c \"SELECT 1; DROP TABLE a\"":                          denies, // as what somebody put behind a query
		"psql -h db.acme.dev -c \"UPDATE a SET b = '1'; DROP TABLE a\"":              denies,
		"mysql -h db.acme.dev -e 'DROP DATABASE shop'":                               denies,
		"mysql -h localhost -e 'DROP DATABASE shop_production'":                      denies,
		"psql postgres://api:api@localhost/api_prod -c 'DROP SCHEMA public CASCADE'": denies,
		"psql 'postgres://api@localhost/api?host=db.acme.dev' -c 'DROP SCHEMA x'":    denies,
		"psql 'host=db.acme.dev' -h localhost -c 'DROP DATABASE x'":                  denies,
		"psql service=prod -h localhost -c 'DROP DATABASE x'":                        denies,
		"psql -h localhost -h db.acme.dev -c 'DROP DATABASE x'":                      denies,
		"psql -h $HOST -c 'DROP DATABASE x'":                                         denies,
		"PGHOSTADDR=10.0.0.1 psql -h localhost -c 'DROP DATABASE x'":                 denies,
		"psql -h localhost.evil.example -c 'DROP DATABASE x'":                        denies,
		"ssh -L 5432:db:5432 bastion & psql -h localhost -c 'DROP DATABASE x'":       denies,
	} {
		got := Assess("shell", []act.Leaf{{Arg: "command", Pointer: "/command", Text: command}}).Score
		if want == asks && (got < 0.4 || got >= 0.7) || want == denies && got < denies {
			t.Errorf("%s weighs %g", command, got)
		}
	}
	for query, want := range map[string]float64{
		"DROP TABLE a": asks, "DROP TABLE a; DROP TABLE b;": asks, "BEGIN; DROP TABLE a; COMMIT;": asks, "SET x = 1; DROP TABLE IF EXISTS a; CREATE TABLE a (i int); DROP TABLE b": asks,
		"SELECT * FROM a WHERE i = 1; DROP TABLE a": denies, "INSERT INTO a VALUES (1); DROP TABLE a; --": denies, "DROP DATABASE shop": denies,
	} {
		got := Assess("query", []act.Leaf{{Arg: "sql", Pointer: "/sql", Text: query}}).Score
		if want == asks && (got < 0.4 || got >= 0.7) || want == denies && got < denies {
			t.Errorf("%s weighs %g", query, got)
		}
	}
}

// TestNamesOfSecrets: the names in a secret show none of it, nor do those of a cluster that this machine
// runs; what prints a value does, whatever stands beside it.
func TestNamesOfSecrets(t *testing.T) {
	for command, shows := range map[string]bool{
		"kubectl get secret app -o json | jq keys":                                false,
		"kubectl get secret app -o json | jq -r '.data | keys[]'":                 false,
		"kubectl get secret app -o jsonpath='{.data}' | jq 'keys | join(\", \")'": false,
		"vault kv get -format=json secret/app | jq '.data.data | keys'":           false,
		"kubectl --context kind-mon get secret app -o yaml":                       false,

		"kubectl get secret app -o json | jq .data":                        true,
		"kubectl get secret app -o json | jq '.data | keys, .'":            true,
		"kubectl get secret app -o json | jq '.data | to_entries'":         true,
		"kubectl get secret app -o json | jq '.data | keys' -":             true,
		"kubectl get secret app -o json | jq '.data.pin | length'":         true,
		"kubectl get secret app -o json | jq '.data.x | fromjson | keys'":  true,
		"kubectl get secret app -o json | jq -f x.jq keys":                 true,
		"kubectl get secret app -o json | jq --arg x y '.data | keys'":     true,
		"kubectl get secret app -o json | jq \"$KEYS\"":                    true,
		"kubectl get secret app -o json | tee x | jq . ; echo keys":        true,
		"kubectl get secret app -o yaml":                                   true,
		"kubectl --context prod get secret app -o yaml":                    true,
		"kubectl --context kind-prod get secret app -o yaml":               true,
		"KUBECONFIG=x kubectl --context kind-mon get secret app -o yaml":   true,
		"kubectl --context kind-mon --context prod get secret app -o yaml": true,
	} {
		got := false
		for _, f := range Assess("shell", []act.Leaf{{Arg: "command", Pointer: "/command", Text: command}}).Findings {
			got = got || f.Code == "secret.shown"
		}
		if got != shows {
			t.Errorf("%s: shown %v", command, got)
		}
	}
}
