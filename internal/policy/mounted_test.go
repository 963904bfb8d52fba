package policy

import (
	"testing"
	"time"

	"reeve.example/reeve/act"
)

// TestMountedSecrets: what runs in a container has the keys that it is given, whether a command says so or the
// file that a session wrote for Compose; the project's own folders and variables are given to containers all day.
func TestMountedSecrets(t *testing.T) {
	starter := starterSet(t)
	judge := func(compose, line string) act.Effect {
		command := commandAct(line)
		command.At = time.Now()
		return oneAfterAnother(t, starter, writeAct("write_file", "compose.yaml", "content", "services:\n  a:\n    image: x/agent\n"+compose), command)
	}
	for _, compose := range []string{
		"    volumes:\n      - ${HOME}/.aws:/root/.aws:ro\n",
		"    volumes: [\"$HOME/.config/gh:/gh\"]\n",
		"    volumes:\n      - ~/.ssh:/keys\n",
		"    volumes:\n      - ${HOME:-/root}/.kube:/kube\n",
		"    volumes:\n      - /home/dev/.ssh/id_ed25519:/k:ro\n",
		"    volumes:\n      - type: bind\n        source: ~/.gnupg\n        target: /k\n",
		"    build:\n      context: .\n      additional_contexts:\n        home: ${HOME}/.aws\n",
	} {
		for _, line := range []string{"docker compose up -d", "docker-compose run --rm a", "podman compose -f compose.yaml up", "COMPOSE_FILE=compose.yaml docker compose create"} {
			if got := judge(compose, line); got == act.Allow {
				t.Errorf("%s: passes with\n%s", line, compose)
			}
		}
		if got := judge(compose, "docker compose ps"); got != act.Allow {
			t.Errorf("docker compose ps: %v", got)
		}
	}
	for _, compose := range []string{
		"    env_file: [.env]\n    environment: {A: $B}\n    volumes:\n      - .:/app\n      - node_modules:/app/node_modules\n",
		"    volumes:\n      - ./certs:/certs:ro\n      - ${HOME}/.cache/pip:/root/.cache/pip\n      - ~/.m2:/root/.m2\n",
		"    volumes:\n", "    build:\n      context: .\n      additional_contexts:\n        lib: ../lib\n",
	} {
		if got := judge(compose, "docker compose up -d"); got != act.Allow {
			t.Errorf("%v with\n%s", got, compose)
		}
	}
	for line, want := range map[string]act.Effect{
		"docker build --build-context home=$HOME/.aws -t x .":    act.Escalate,
		"docker buildx build --build-context keys=~/.ssh -t x .": act.Escalate,
		"docker build --build-context lib=../lib -t x .":         act.Allow,
	} {
		a := commandAct(line)
		a.At = time.Now()
		if got := starter.Evaluate(&Input{Action: a}).Effect; got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
