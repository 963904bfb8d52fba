package hazard

import (
	"slices"
	"testing"

	"reeve.example/reeve/act"
)

// What only waits for what is typed is told of, in every wrapping; what has something to do
// is not.
func TestInteractive(t *testing.T) {
	interactive := func(command string) bool {
		a := Assess("shell", []act.Leaf{leafOf("command", command)})
		return slices.ContainsFunc(a.Findings, func(f Finding) bool { return f.Code == "shell.interactive" })
	}
	for _, command := range []string{
		"bash", "sh", "zsh -i", "/bin/bash --login", "python", "python3 -i", "/usr/bin/python3 -q", "node", "perl", "psql", "psql -U shop -h db shop",
		"sqlite3 shop.db", "mysql -u root shop", "ssh host", "ssh -p 22 me@host", "telnet host 25", "redis-cli", "cd x && python3", "FOO=1 env bash", "timeout 600 python3", "irb", "(cd x; bash)",
		"true; exec bash", "script -c bash x",
		"sudo -i", "sudo -s", "su -", "su - postgres", "bin/rails dbconsole", "php artisan tinker", "python3 manage.py shell", "nix develop", "nix develop .#dev", "nix-shell -p jq", "screen", "tmux", "sftp prod-1",
		"duckdb", "duckdb x.db", "gcloud compute ssh prod", "heroku run bash",
	} {
		if !interactive(command) {
			t.Errorf("%q opens an interpreter", command)
		}
	}
	for _, command := range []string{
		"bash build.sh", "bash -c 'make test'", "python3 manage.py test", "python3 -m pytest", "python --version", "node --version", "node index.js", "echo 1 | python3", "cat x.py | python3 -",
		"python3 <<'E'\nprint(1)\nE", "bash < build.sh", "psql -c 'select 1' shop", "psql -f x.sql", "psql --command=x", "psql shop < dump.sql", "sqlite3 shop.db .tables", "mysql shop < dump.sql",
		"mysql -e 'select 1'", "ssh host uptime", "ssh -p 22 me@host ls -l", "ssh -T git@github.com", "ssh -N -L 1:h:2 host", "ssh -V", "redis-cli ping", "which python3", "man bash", "make | bash -s",
		"sudo -u postgres psql -c 'select 1'", "sudo make install", "su - postgres -c 'psql -l'", "rails test", "rails console --sandbox", "poetry shell", "aws ssm start-session --target i-1", "bin/rails db:migrate", "php artisan migrate", "php artisan tinker --execute='1'", "python3 manage.py test", "python3 manage.py shell -c 'print(1)'",
		"nix develop -c make", "nix develop --command make", "nix-shell --run make", "nix build", "poetry run pytest", "screen -ls", "screen -dmS dev npm start", "tmux new -d -s dev", "tmux ls", "sftp -b orders host", "duckdb -c 'select 1'", "duckdb x.db 'select 1'",
		"aws s3 ls", "gcloud compute ssh prod --command uptime", "heroku logs", "expect x.exp",
		"npm test", "git log", "ls", "python3 -c 'print(1)'", "perl -e 1", "ruby x.rb", "bash --version", "bash -n x.sh", "lua x.lua", "cat x | sqlite3 db",
	} {
		if interactive(command) {
			t.Errorf("%q has something to do", command)
		}
	}
}
