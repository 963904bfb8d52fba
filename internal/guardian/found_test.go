package guardian

import (
	"slices"
	"testing"

	"reeve.example/reeve/act"
)

// TestRunsFound: what no undo brings back asks when a file does it that lay on the disk, as it asks when it
// is typed; of a file of orders only what the call asks for counts, and what passes when it is typed passes.
func TestRunsFound(t *testing.T) {
	files := map[string]string{
		"Makefile": `BUCKET ?= acme-prod-backups
CTX = prod
.PHONY: build
build:
	go build ./...
test: build
	go test ./...
lint:
	golangci-lint run
report:
	aws s3 ls s3://$(BUCKET) --recursive --summarize | tail -2
clean-remote:
	aws s3 rm s3://$(BUCKET) --recursive
clean:
	rm -rf build dist coverage
distclean: clean
	rm -rf node_modules .venv
down:
	docker compose down -v
db-reset:
	docker compose down -v && docker compose up -d db && npx prisma migrate reset --force
test-db:
	dropdb --if-exists shop_test && createdb shop_test
pods:
	kubectl --context $(CTX) get pods
ns-gone:
	kubectl --context $(CTX) delete ns payments
rollout:
	kubectl --context $(CTX) apply -f k8s/
all-of-it: build ns-gone
push-tags:
	git push --force origin main
grant:
	aws iam attach-user-policy --user-name bob --policy-arn arn:aws:iam::aws:policy/AdministratorAccess
scripted:
	bash ops/wipe.sh
help: ## prints this help; never runs terraform destroy
	@grep -E '^[a-z-]+:' Makefile
install:
	npm ci && pip install -r requirements.txt
`,
		"justfile": `set shell := ["bash", "-cu"]
env := "prod"

# everything that is here
default:
  @just --list

test target='unit': build
  npm run test:{{target}}
build:
  npm run build
# removes the payments of prod
[confirm]
prod:
  kubectl --context prod delete ns payments
nuke: build prod
fmt:
  prettier -w . && echo prod
reset:
  docker compose down -v
alias k := prod
`,
		"Taskfile.yml": `version: '3'
vars:
  ENV: prod
tasks:
  default:
    cmds:
      - task --list
  build:
    cmds:
      - go build ./...
  prod:down:
    cmds:
      - terraform destroy -auto-approve
  all:
    deps: [build, 'prod:down']
  echo:
    cmds:
      - echo done
`,
		"Rakefile": `desc 'Wipe the bucket'
task :wipe do
  sh 'aws s3 rm s3://acme-prod --recursive'
end
desc 'Runs what wipe does not'
task :spec do
  sh 'bundle exec rspec'
end
task default: [:spec]
`,
		"package.json": `{"scripts": {"build": "tsc -p . && vite build", "test": "vitest run", "wipe": "terraform destroy -auto-approve", "deploy:preview": "vercel", "deploy": "vercel --prod", "release": "npm run build && npm publish", "db:reset": "docker compose down -v && docker compose up -d", "clean": "rimraf dist"}}`,

		"clean.sh":     "#!/usr/bin/env bash\nset -euo pipefail\nBUCKET=${BUCKET:-acme-prod-backups}\naws s3 rm \"s3://$BUCKET\" --recursive\n",
		"calls.sh":     "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n./clean.sh\n",
		"ops/wipe.sh":  "gcloud sql instances delete payments --quiet\n",
		"ops/wipe.py":  "import subprocess\nsubprocess.run(['terraform', 'destroy', '-auto-approve'], check=True)\n",
		"ops/build.sh": "#!/bin/sh\nset -e\nOUT=${1:-dist}\nrm -rf \"$OUT\" && mkdir -p \"$OUT\" && go build -o \"$OUT/app\" ./...\ntar czf app.tgz \"$OUT\"\n",
		"ops/setup.sh": "#!/bin/sh\nset -e\nsudo apt-get update && sudo apt-get install -y jq\npip install -r requirements.txt\nnpm ci\ndocker compose up -d\n",
		"ops/test.sh":  "#!/bin/sh\ndocker compose -f docker-compose.test.yml up -d\ntrap 'docker compose -f docker-compose.test.yml down -v' EXIT\npytest -q\n",
		"ops/seed.py":  "import sqlite3\nc = sqlite3.connect('dev.db')\nc.execute('DROP TABLE IF EXISTS users')\nc.execute('CREATE TABLE users (id INTEGER)')\n",

		"docker-compose.yml":   "services:\n  db:\n    image: postgres:16\n    volumes: [data:/var/lib/postgresql/data]\nvolumes:\n  data: {}\n",
		".env":                 "DATABASE_URL=postgres://dev:dev@localhost:5432/shop\n",
		"prisma/schema.prisma": "datasource db {\n  provider = \"postgresql\"\n  url = env(\"DATABASE_URL\")\n}\n",
	}
	for asks, commands := range map[bool][]string{
		true: {
			"make clean-remote", "make clean clean-remote", "make -s BUCKET=acme-logs clean-remote", "gmake clean-remote", "make ns-gone", "make rollout", "make all-of-it", "make push-tags", "make grant", "make scripted",
			"just prod", "just nuke", "just k", "just build prod", "task prod:down", "task all", "rake wipe", "rake default wipe",
			"npm run wipe", "yarn wipe", "pnpm run wipe", "npm run release", "npm run deploy", "bun run wipe",
			"bash clean.sh", "./clean.sh", "sh -eu ./clean.sh", "./calls.sh", "sh ops/wipe.sh", "python3 ops/wipe.py", "cd ops && sh wipe.sh", "timeout 60 ./clean.sh",
		},
		false: {
			"make", "make build", "make test", "make lint", "make report", "make clean", "make distclean", "make down", "make db-reset", "make test-db", "make pods", "make help", "make install", "make -n clean-remote",
			"just", "just --list", "just test", "just build", "just fmt", "just reset", "task", "task build", "task echo", "task --list", "rake", "rake spec", "rake -T",
			"npm run build", "npm test", "npm run clean", "npm run deploy:preview", "npm run db:reset", "npm ci", "yarn build",
			"sh ops/build.sh", "./ops/build.sh out", "bash ops/setup.sh", "sh ops/test.sh", "bash -n clean.sh", "cat clean.sh", "python3 ops/seed.py",
		},
	} {
		for _, command := range commands {
			runs := runsAmong(t, command, files, nil)
			if got := slices.ContainsFunc(runs, func(r act.FileRun) bool { return r.Found }); got != asks {
				t.Errorf("%s asks: %v, want %v: %v", command, got, asks, runs)
			}
		}
	}
}
