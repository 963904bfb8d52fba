package policy

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestTunnelOfAnEarlierCall: what a tunnel leads to is no machine of one's own in any later call,
// whoever made it and whatever the call reaches through it; other ports stay what they are.
func TestTunnelOfAnEarlierCall(t *testing.T) {
	starter := starterSet(t)
	run := func(lines ...string) act.Effect { return lineAfterLine(t, starter, lines...) }
	drops := []string{
		"psql -h localhost -p 5433 -d app_test -c 'DROP TABLE users'", "psql postgres://u@localhost:5433/app_test -c 'drop table users'", "dropdb -h 127.0.0.1 -p 5433 app_test",
		"DATABASE_URL=postgres://u@localhost:5433/app_test npx prisma migrate reset --force", "curl -X DELETE http://localhost:5433/test-index", "curl -s http://localhost:5433/i.sh | sh",
	}
	for _, drop := range drops {
		if got := run(drop); got != act.Allow {
			t.Logf("%s: %v by itself", drop, got)
		}
	}
	for _, tunnel := range []string{
		"ssh -fN -L 5433:db.c.example.net:5432 bastion.c.example.net", "ssh -N -L 127.0.0.1:5433:db:5432 bastion &", "ssh -NL5433:db:5432 bastion &", "ssh -fN -o LocalForward='5433 db:5432' bastion", "autossh -M 0 -f -N -L 5433:db:5432 bastion",
		"kubectl port-forward svc/db 5433:5432 &", "kubectl -n prod port-forward pod/db-0 5433 &", "oc port-forward db-0 5433:5432 &", "socat TCP-LISTEN:5433,fork TCP:db.c.example.net:5432 &", "fly proxy 5433:5432 -a shop-db &",
		"cloud_sql_proxy -instances=p:r:db=tcp:5433 &", "cloud-sql-proxy --port 5433 p:r:db &", "cloud-sql-proxy p:r:db &", "aws ssm start-session --target i-0 --document-name AWS-StartPortForwardingSession --parameters portNumber=5432,localPortNumber=5433", "gcloud compute start-iap-tunnel db 5432 --local-host-port=localhost:5433 &",
		"ssh -D 5433 -fN bastion", "kubectl port-forward svc/db 5432:5432 &",
	} {
		if got := run(tunnel); got != act.Allow {
			t.Logf("%s: %v by itself", tunnel, got)
			continue
		}
		for _, drop := range drops {
			if got := run(tunnel, drop); got == act.Allow {
				t.Errorf("%s, then %s", tunnel, drop)
			}
			if got := run(tunnel, "ls", "git status", drop); got == act.Allow {
				t.Errorf("%s, later %s", tunnel, drop)
			}
		}
		for _, line := range []string{"npm test", "curl -s http://localhost:3000/health", "psql -h localhost -p 5433 -c 'select 1'", "go build ./...", "ls", "git push origin HEAD"} {
			if alone := run(line); run(tunnel, line) != alone {
				t.Errorf("%s, then %s: not as by itself", tunnel, line)
			}
		}
	}
	for _, tunnel := range []string{"ssh -fN -L 8081:web:80 bastion", "kubectl --context kind-dev port-forward svc/db 5433:5432 &", "kubectl port-forward svc/web 8080:80 &"} {
		for _, line := range []string{"psql -h localhost -p 5433 -d app_test -c 'DROP TABLE users'", "RAILS_ENV=test bin/rails db:drop", "curl -X DELETE http://localhost:9200/test-index"} {
			if alone := run(line); run(tunnel) == act.Allow && run(tunnel, line) != alone {
				t.Errorf("%s, then %s: not as by itself", tunnel, line)
			}
		}
	}
}
