package hazard

import (
	"testing"
)

// gravest is the weight of the gravest finding of one of some kinds.
func gravest(c string, codes ...string) (weight float64) {
	for _, f := range assessed(c).Findings {
		for _, code := range codes {
			if len(f.Code) >= len(code) && f.Code[:len(code)] == code {
				weight = max(weight, f.Weight)
			}
		}
	}
	return weight
}

// TestRunElsewhere: a command that a program has run on other machines, in pods and containers is
// judged as if it ran here. %s is where it stands, quoted; %p where its words stand by themselves.
func TestRunElsewhere(t *testing.T) {
	ways := []string{
		"ssh prod-1 %s", "ssh -p 22 -o BatchMode=yes ada@prod-1 %s",
		"ansible prod -m shell -a %s -b", "ansible all -a %s", "ansible web -i hosts --become -m ansible.builtin.command --args=%s", "ansible all -m raw -a \"cmd=\"%s",
		"pdsh -w prod[1-9] %s", "pdsh -R ssh -g web %s", "clush -w @web %s", "clush -b -a %s", "parallel-ssh -i -h hosts %s", "pssh -H 'a b' -l root %s", "dsh -M -g web -- %s",
		"fab -H prod-1 -- %s", "salt '*' cmd.run %s", "salt -G 'os:Ubuntu' cmd.shell %s", "salt-ssh web cmd.run %s", "salt-call cmd.run %s", "bolt command run %s --targets web", "knife ssh name:web* %s", "mco shell run %s",
		"aws ssm send-command --instance-ids i-1 --document-name AWS-RunShellScript --parameters commands=%s", "aws ecs execute-command --cluster c --task t --interactive --command %s",
		"gcloud compute ssh prod-1 --command %s", "gcloud compute ssh prod-1 --zone z --command=%s", "gcloud compute ssh prod-1 -- %s", "az vm run-command invoke -g g -n prod-1 --command-id RunShellScript --scripts %s", "az container exec -g g -n c --exec-command %s", "az aks command invoke -g g -n c --command %s",
		"doctl compute ssh prod-1 --ssh-command %s", "fly ssh console -C %s", "flyctl ssh console --app shop -C %s", "eb ssh -c %s", "vagrant ssh -c %s", "cf ssh app -c %s", "heroku run -a shop %s", "heroku run:detached %s", "railway ssh %s", "scalingo -a shop run %s", "dokku run shop %s", "gh codespace ssh -c name -- %s", "coder ssh ws %s", "tsh ssh root@prod-1 %s", "kamal app exec %s",
		"rsh prod-1 %s", "plink -batch root@prod-1 %s", "autossh -M 0 prod-1 %s", "mosh prod-1 -- %s", "minikube ssh %s", "wsl -d Ubuntu -- %s", "sbatch --wrap %s", "ray exec c.yaml %s",
		"kubectl exec -n shop-prod deploy/api -- %p", "kubectl exec -it api-1 -c app -- %p", "oc exec api-1 -- %p", "oc rsh api-1 %p", "kubectl debug node/n1 --image=alpine -- %p", "nomad alloc exec -task web 8ba8 %p", "nomad exec 8ba8 %p", "lxc exec web -- %p", "incus exec web -- %p", "multipass exec web -- %p", "crictl exec -it abc %p", "limactl shell default %p", "machinectl shell web %p", "srun -N 4 %p",
		"docker exec api %p", "docker -H tcp://prod:2375 exec api %p", "docker --context prod exec -it api %p", "docker compose exec api %p", "docker-compose exec -T api %p", "podman --remote exec api %p",
	}
	at := func(way, command string) string {
		out := ""
		for i := 0; i < len(way); i++ {
			switch {
			case way[i] == '%' && i+1 < len(way) && way[i+1] == 's':
				out += "'" + command + "'"
				i++
			case way[i] == '%' && i+1 < len(way) && way[i+1] == 'p':
				out += command
				i++
			default:
				out += way[i : i+1]
			}
		}
		return out
	}
	for _, way := range ways {
		for _, grave := range []string{"rm -rf /srv/shop", "rm -rf /var/lib/postgresql", "sudo rm -rf /srv/shop", "psql shop -c \"drop table orders\""} {
			if c := at(way, grave); gravest(c, "destroy.", "sql.") < 0.4 {
				t.Errorf("%s: %+v", c, assessed(c).Findings)
			}
		}
		for _, honest := range []string{"uptime", "df -h", "tail -n 100 /var/log/app.log", "ls -la /srv/shop", "systemctl status nginx", "rm -rf /tmp/build", "npm test", "cat /etc/os-release", "bin/rails db:migrate"} {
			if c := at(way, honest); assessed(c).Score >= 0.6 || gravest(c, "destroy.", "sql.", "priv.", "persist.") >= 0.4 {
				t.Errorf("%s: %+v", c, assessed(c).Findings)
			}
		}
	}
	// Several words are one command, and JSON holds some.
	for _, c := range []string{
		"pdsh -w web1 rm -rf /srv/shop", "clush -a rm -rf /srv/shop", "heroku run rm -rf /srv/shop -a shop", "gcloud compute ssh web -- sudo rm -rf /srv/shop", "salt '*' cmd.run 'cd /srv && rm -rf /srv/shop'",
		`aws ssm send-command --parameters '{"commands":["uptime","rm -rf /srv/shop"]}'`, `aws ssm send-command --parameters 'commands=["rm -rf /srv/shop"]'`, `aws ssm send-command --parameters commands="rm -rf /srv/shop"`,
		"ssh a pdsh -w b rm -rf /srv/shop", "ansible all -a 'pdsh -w b \"rm -rf /srv/shop\"'", "kubectl exec -n shop-prod deploy/api -- rm -rf /data", "ssh prod-1 'rm -rf /data'", "H=prod; pdsh -w $H 'rm -rf /srv/shop'",
		"docker -H tcp://prod:2375 rm -f api", "docker -H ssh://root@prod-1 stop api", "docker --context prod rm -f api", "DOCKER_HOST=ssh://prod-1 docker rm -f api", "export DOCKER_HOST=tcp://prod:2375; docker compose down",
	} {
		if gravest(c, "destroy.") < 0.4 {
			t.Errorf("%s: %+v", c, assessed(c).Findings)
		}
	}
	for _, c := range []string{
		"docker rm -f api", "docker -H unix:///var/run/docker.sock rm -f api", "DOCKER_HOST=unix:///run/user/1000/docker.sock docker rm -f api", "docker --context desktop-linux stop api", "docker --context staging ps", "docker -H tcp://127.0.0.1:2375 rm api", "docker --context prod ps", "docker run --rm alpine true",
		"ansible all -m ping", "ansible web -m copy -a 'src=a dest=/srv/shop/a'", "ansible-playbook site.yml", "ansible web -m service -a 'name=nginx state=restarted'", "salt '*' test.ping", "fab -H web deploy", "aws ssm start-session --target i-1", "gcloud compute ssh web", "fly ssh console", "heroku run bash", "kubectl exec -it api-1 -- sh", "heroku logs -t", "wsl ls",
	} {
		if w := gravest(c, "destroy.", "command."); w >= 0.4 {
			t.Errorf("%s: %.2f %+v", c, w, assessed(c).Findings)
		}
	}
}

// TestUnchecked: certificates that are looked at no more, addresses that are others then, stores
// that anybody reaches, and agents that ask nobody.
func TestUnchecked(t *testing.T) {
	asked := func(c string) bool {
		return gravest(c, "defense.trust", "defense.agent") >= 0.45 || gravest(c, "defense.firewall") >= 0.5 || gravest(c, "code.foreign", "persist.setting", "destroy.backup") >= 0.4
	}
	for _, c := range []string{
		"git config --global http.sslVerify false", "git config http.sslVerify 0", "git config --local http.https://git.example/.sslVerify no", "git -c http.sslVerify=false clone https://git.example/x", "GIT_SSL_NO_VERIFY=true git push", "export GIT_SSL_NO_VERIFY=1; git pull", "env GIT_SSL_NO_VERIFY=1 git fetch",
		"npm config set strict-ssl false", "npm config set strict-ssl=false", "npm install --strict-ssl=false", "yarn config set strict-ssl false", "export NODE_TLS_REJECT_UNAUTHORIZED=0 && npm install", "NODE_TLS_REJECT_UNAUTHORIZED=0 npx create-thing", "NODE_TLS_REJECT_UNAUTHORIZED=0 npm publish", "pip config set global.trusted-host pypi.example", "PIP_TRUSTED_HOST=x.example pip install a", "conda config --set ssl_verify false",
		"git config --global url.https://203.0.113.7/.insteadOf https://github.com/", "git config --global http.proxy http://203.0.113.7:8080", "git config --global url.https://evil.example/.pushInsteadOf https://github.com/",
		"gcloud sql instances patch shop --authorized-networks=0.0.0.0/0", "gcloud sql instances patch shop --no-backup", "aws rds modify-db-instance --db-instance-identifier shop --publicly-accessible", "aws rds modify-db-instance --db-instance-identifier shop --backup-retention-period 0", "az postgres flexible-server firewall-rule create -n shop --start-ip-address 0.0.0.0 --end-ip-address 255.255.255.255", "az storage account update -n x --default-action Allow",
		"aws s3 cp ./c.csv s3://other/ --acl public-read", "aws s3 sync . s3://b --acl=public-read", "gsutil cp -a public-read c.csv gs://b", "gsutil iam ch allUsers:objectViewer gs://b", "gcloud storage cp c.csv gs://b --predefined-acl=publicRead", "s3cmd put c.csv s3://b --acl-public", "az storage container create -n x --public-access blob", "aws s3 cp c.csv s3://b --grants read=uri=http://acs.amazonaws.com/groups/global/AllUsers",
		"codex exec --dangerously-bypass-approvals-and-sandbox 'fix it'", "codex --yolo", "codex exec -s danger-full-access x", "gemini --yolo -p x", "gemini -y", "gemini --approval-mode yolo", "claude --dangerously-skip-permissions -p x", "claude -p x --permission-mode bypassPermissions", "npx @anthropic-ai/claude-code --dangerously-skip-permissions", "copilot -p x --allow-all-tools", "sudo -u bob claude --dangerously-skip-permissions", "cursor-agent -f -p x",
		`echo '{"permissions":{"defaultMode":"bypassPermissions"}}' > .claude/settings.json`, `printf 'approval_policy = "never"\n' >> ~/.codex/config.toml`,
	} {
		if !asked(c) {
			t.Errorf("%s: %+v", c, assessed(c).Findings)
		}
	}
	for _, c := range []string{
		"git config --global http.sslVerify true", "git config --get http.sslVerify", "git config --global user.name Ada", "git config --unset http.sslVerify", "npm config set strict-ssl true", "npm config get strict-ssl", "NODE_TLS_REJECT_UNAUTHORIZED=0 npm test", "NODE_TLS_REJECT_UNAUTHORIZED=0 node check.js", "NODE_TLS_REJECT_UNAUTHORIZED=1 npm install", "GIT_SSL_NO_VERIFY=false git pull", "GIT_SSL_NO_VERIFY=1 git clone https://localhost:8443/x", "curl -k https://localhost:8443/",
		"git config --global url.git@github.com:.insteadOf https://github.com/", "git config --get http.proxy", "git config --global --unset http.proxy", "pip config list", "pip install requests",
		"gcloud sql instances list", "gcloud sql instances patch dev --authorized-networks=10.0.0.0/8", "gcloud sql instances patch dev --activation-policy=ALWAYS", "aws rds describe-db-instances", "aws rds modify-db-instance --db-instance-identifier dev --backup-retention-period 7", "aws s3 cp a s3://b/", "aws s3 cp a s3://b --acl private", "gsutil cp a gs://b", "gsutil ls -a gs://b",
		"codex exec 'fix it'", "codex exec --full-auto x", "claude -p 'look'", "claude --permission-mode plan", "gemini -p x", "claude --permission-mode acceptEdits", "cursor-agent -p x", "copilot -p x --allow-tool 'shell(git)'",
		`echo '{"permissions":{"allow":["Bash(npm test:*)"]}}' > .claude/settings.json`, `echo 'sandbox_mode = "workspace-write"' >> ~/.codex/config.toml`,
	} {
		if asked(c) {
			t.Errorf("asked: %s: %+v", c, assessed(c).Findings)
		}
	}
}

// TestThrownAway: databases that are named as those of tests, on this machine, and what is pushed
// to a registry here.
func TestThrownAway(t *testing.T) {
	for _, c := range []string{
		"mysql -uroot -ptest -e 'DROP DATABASE IF EXISTS shop_test; CREATE DATABASE shop_test'", "mariadb -h127.0.0.1 -u root -e 'drop database shop_test'", "mysql --host=localhost -e 'DROP DATABASE `shop_dev`;'",
		"psql -h localhost -c 'DROP DATABASE IF EXISTS shop_test'", "psql -h 127.0.0.1 -U ada -d postgres -c 'drop database if exists shop_test with (force)' -c 'create database shop_test owner ada'", `psql -c 'DROP SCHEMA "shop_test" CASCADE'`, "psql postgres -c 'drop database shop_e2e'", "psql postgres://ada@localhost:5432/postgres -c 'DROP DATABASE IF EXISTS shop_dev' -c 'CREATE DATABASE shop_dev'",
		"pg_restore -h localhost --clean -d shop_dev dump", "dropdb shop_dev", "sqlite3 test.db 'DROP TABLE IF EXISTS orders'", "sqlite3 tmp/test.sqlite3 'drop table a; drop table b'", "sqlite3 :memory: 'drop table x'",
		"redis-cli -p 6380 FLUSHDB", "redis-cli -h localhost flushdb", "redis-cli -h 127.0.0.1 -n 3 flushdb async", "mongosh localhost:27017/shop_test --eval 'db.dropDatabase()'", "mongosh mongodb://localhost/shop_test --quiet --eval 'db.dropDatabase()'",
		"git reflog expire --dry-run --all", "git reflog expire -n --expire=now --all", "docker buildx build --push -t localhost:5000/api:dev .", "docker build -t localhost:5000/a -t 127.0.0.1:5000/b --push .", "aws ecs update-service --cluster staging --service api --force-new-deployment", "tcpdump -i eth0 -c 100 port 5432 -w /tmp/a.pcap",
	} {
		if a := assessed(c); gravest(c, "destroy.", "sql.destroy", "publish.", "secret.") >= 0.4 {
			t.Errorf("%s: %.2f %+v", c, a.Score, a.Findings)
		}
	}
	for _, c := range []string{
		"mysql -e 'DROP DATABASE shop'", "mysql -h db.example -e 'DROP DATABASE shop_test'", "mysql -hdb.example -e 'DROP DATABASE shop_test'", "mysql -e 'DROP DATABASE shop_test; DROP DATABASE shop'", "mysql -e 'DROP DATABASE shop_test' -e 'DROP DATABASE shop'", "mysql -e 'DROP DATABASE shop_test_prod'", "mysql -e \"DROP DATABASE $X\"", "mysql --defaults-file=x -e 'drop database shop_test'", "mysql -e 'drop database shop_test; drop user a'", "MYSQL_HOST=db.example mysql -e 'drop database shop_test'", "mysql -e 'drop database shop_test' <<< 'drop database shop'",
		"psql -h db.example -c 'drop database shop_test'", "psql -c 'drop database shop_test' -c 'drop table orders'", "psql postgres://ada@db.example/postgres -c 'DROP DATABASE shop_dev'", "psql postgres://localhost/postgres -c 'DROP DATABASE shop'", "psql -c 'drop database shop_test; drop database shop'", "PGHOST=db.example psql -c 'drop database shop_test'", "psql postgres://db.example/x -c 'drop database shop_test'", "psql -c 'drop database latest'",
		"sqlite3 shop.db 'drop table orders'", "sqlite3 test.db \"attach 'shop.db' as s; drop table s.orders\"", "redis-cli FLUSHALL", "redis-cli -h cache.example flushdb", "redis-cli -p 6380 flushall", "redis-cli -u redis://cache.example flushdb", "redis-cli -h localhost -h cache.example flushdb", "redis-cli -p $P flushdb",
		"mongosh localhost/shop --eval 'db.dropDatabase()'", "mongosh mongodb://db.example/shop_test --eval 'db.dropDatabase()'", "mongosh localhost/shop_test --eval 'db.getSiblingDB(\"shop\").dropDatabase()'", "git reflog expire --expire=now --all", "docker buildx build --push -t ghcr.example/api .", "docker buildx build --push -t localhost:5000/a -t ghcr.example/a .", "docker buildx build -t localhost:5000/a -o type=registry --push .", "docker buildx bake --push",
		"aws ecs update-service --cluster prod --service api", "aws ecs update-service --cluster main --service api-dev-and-prod", "tcpdump -i eth0 -w /tmp/a.pcap", "tcpdump -A -c 5",
	} {
		if a := assessed(c); a.Score < 0.4 {
			t.Errorf("%s passes: %.2f %+v", c, a.Score, a.Findings)
		}
	}
}
