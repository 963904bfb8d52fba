package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestDestroysInMounts: what a container's command destroys under the target of a mount it destroys of this
// machine's folder; what is ordinary in a folder of the project is so there, too.
func TestDestroysInMounts(t *testing.T) {
	for line, asks := range map[string]bool{
		`docker run --rm -v ~/Pictures:/d alpine sh -c 'rm -rf /d/*'`:                               true,
		`docker run --rm -v ~/Pictures:/d alpine rm -rf /d/.`:                                       true,
		`docker run --rm -v "$HOME/Pictures":/d alpine find /d -mindepth 1 -delete`:                 true,
		`docker run --rm -v ${HOME}/Documents:/d alpine find /d -mindepth 1 -delete`:                true,
		`podman run -it --rm -v ~/Pictures:/d:Z docker.io/alpine sh -c 'cd /d && rm -rf *'`:         true,
		`nerdctl run --rm -v ~/Pictures:/d -w /d alpine sh -c 'rm -rf ./*'`:                         true,
		`docker run --mount type=bind,source=/home/dev/Pictures,target=/d alpine rm -rf /d/2024`:    true,
		`docker run --mount=type=bind,src=/home/dev/Pictures,dst=/d alpine sh -c 'D=/d; rm -r $D'`:  true,
		`docker container run --rm --volume=$HOME/Documents:/d alpine rm -rf /d/taxes`:              true,
		`docker run --rm -v ~/Documents:/d --entrypoint rm alpine -rf /d/taxes`:                     true,
		`docker run --rm -v ~/Documents:/d python:3 python -c 'import shutil; shutil.rmtree("/d")'`: true,
		`docker run --rm -v $HOME:/h alpine sh -c 'rm -rf /h/*'`:                                    true,
		`docker run --rm -v /:/h alpine rm -rf /h/home`:                                             true,

		`docker run --rm -v "$PWD":/w -w /w node:22 sh -c "rm -rf node_modules && npm ci"`:             false,
		`docker run --rm -v "$PWD":/w -w /w node:22 rm -rf dist build`:                                 false,
		`docker run --rm -v ./build:/out alpine sh -c 'rm -rf /out/*'`:                                 false,
		`docker run --rm -v $(pwd):/src golang:1.26 sh -c 'rm -rf /src/bin && go build -o /src/bin .'`: false,
		`docker run --rm -v ~/Pictures:/d:ro alpine sh -c 'find /d -name "*.jpg" | wc -l'`:             false,
		`docker run --rm -v ~/Pictures:/d alpine sh -c 'rm -rf /tmp/x; ls /d'`:                         false,
		`docker run --rm -v ~/.cache/pip:/c python:3.12 sh -c 'rm -rf /var/lib/apt/lists/* && pip -V'`: false,
		`docker run --rm -v ~/Documents:/d pandoc/core -o /d/out.pdf /d/in.md`:                         false,
		`docker run --rm -v shop_cache:/c alpine rm -rf /c/tmp`:                                        false,
		`docker run --rm -v "$PWD":/w alpine chown -R 1000:1000 /w`:                                    false,
	} {
		if a := Assess("shell", []act.Leaf{{Arg: "command", Pointer: "/command", Text: line}}); a.Score >= asksFrom != asks {
			t.Errorf("%s: asks %v: %v", line, asks, a.Findings)
		}
	}
	for _, test := range []struct {
		service string
		asks    bool
	}{
		{"    volumes:\n      - ${HOME}/Documents:/d\n    command: [\"find\", \"/d\", \"-mindepth\", \"1\", \"-delete\"]\n", true},
		{"    volumes:\n      - {type: bind, source: ~/Documents, target: /d}\n    command: rm -rf /d/notes.md\n", true},
		{"    volumes:\n      - type: bind\n        source: ${HOME:?}/Pictures\n        target: /d\n    working_dir: /d\n    command: sh -c 'rm -rf *'\n", true},
		{"    volumes: [\"~/Pictures:/d:rw\"]\n    entrypoint: [\"sh\", \"-c\"]\n    command: [\"rm -rf /d/*\"]\n", true},
		{"    volumes:\n      - /home/dev/Pictures:/d\n    entrypoint: rm\n    command: -rf /d\n", true},
		{"    volumes:\n      - .:/app\n    working_dir: /app\n    command: sh -c \"rm -rf node_modules && npm ci && npm run dev\"\n", false},
		{"    volumes:\n      - ./dist:/out\n    command: sh -c 'rm -rf /out/* && cp -r build/* /out'\n", false},
		{"    volumes:\n      - .:/app\n    command: bash -c \"rm -f tmp/pids/server.pid && bundle exec rails s -b 0.0.0.0\"\n", false},
		{"    volumes:\n      - ~/Documents:/docs:ro\n    command: [\"sh\", \"-c\", \"rm -rf /tmp/site && mkdocs build -d /tmp/site\"]\n", false},
		{"    volumes:\n      - pgdata:/var/lib/postgresql/data\n    command: postgres -c log_statement=all\n", false},
	} {
		text := "services:\n  tidy:\n    image: alpine:3.20\n" + test.service
		if weight, _, _ := Default().ifRun("compose.yml", text); weight >= asksFrom != test.asks {
			t.Errorf("%s: %.2f, asks %v", text, weight, test.asks)
		}
	}
}
