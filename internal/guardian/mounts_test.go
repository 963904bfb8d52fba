package guardian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTamperingMounts: no container, sandbox or machine within the machine is given a
// folder in which the guardian's own data lie, in whatever way it is said.
func TestTamperingMounts(t *testing.T) {
	g, home := aGuarded(t)
	forms := []string{
		"docker run -v FROM:/h alpine ls", "docker run -vFROM:/h alpine ls", "docker run --rm --volume=FROM:/h:ro alpine ls", "docker run --volume FROM:/h:rshared alpine ls", "docker container run -v FROM:/h alpine ls",
		"docker run --mount type=bind,source=FROM,target=/h alpine ls", "docker run --mount type=bind,src=FROM,dst=/h,ro alpine ls", "docker run --mount=dst=/h,src=FROM,type=bind alpine ls", "docker create -v FROM:/h alpine",
		"docker volume create --opt type=none --opt o=bind --opt device=FROM x", "docker volume create -o device=FROM -o o=bind x", "sudo docker run -v FROM:/h alpine", "docker --context x run -v FROM:/h alpine",
		"podman run -v FROM:/h alpine", "podman run --rootfs FROM ls", "podman --remote run --mount type=bind,src=FROM,dst=/h x", "nerdctl run -v FROM:/h x", "finch run -v FROM:/h x",
		"buildah run -v FROM:/h x -- ls", "buildah bud -v FROM:/h .", "ctr run --mount type=bind,src=FROM,dst=/h,options=rbind x y", "lxc config device add c d disk source=FROM path=/h", "incus config device add c d disk source=FROM path=/h",
		"apptainer exec --bind FROM:/h x.sif ls", "apptainer exec -B FROM x.sif ls", "singularity shell -B FROM:/h x.sif", "bwrap --bind FROM /h ls", "bwrap --ro-bind FROM / --dev /dev ls", "bwrap --dev-bind FROM / sh",
		"systemd-nspawn --bind=FROM:/h -D /x", "flatpak run --filesystem=FROM org.x", "udocker run -v FROM:/h x", "multipass mount FROM vm:/h", "limactl start --mount FROM:w", "nsjail --bindmount FROM:/h -- /bin/sh",
		"proot -b FROM:/h ls", "distrobox create --volume FROM:/h x", "docker-compose run -v FROM:/h web sh", "docker compose run --volume FROM:/h web sh", "zorkbox start -v FROM:/h image", "zorkbox start --mount type=bind,source=FROM,target=/h",
		"minikube mount FROM:/h --volume FROM:/h", "x=FROM; docker run -v $x:/h alpine", "docker run -v \"FROM\":/h alpine", "sh -c 'docker run -v FROM:/h alpine'", "echo '-v FROM:/h alpine' | xargs docker run",
		"docker compose -f - up <<'E'\nservices:\n  a:\n    image: x\n    volumes: ['FROM:/h']\nE", "kubectl create -f - <<'E'\nkind: Pod\nspec:\n  volumes:\n  - name: x\n    hostPath:\n      path: FROM\nE",
		"docker compose -f HOME/c.yaml up -d", "podman kube play HOME/pod.yaml", "kubectl apply -f HOME/pod.yaml", "cd HOME/composed && docker compose up",
	}
	if err := os.MkdirAll(home+"/composed", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"/", "~/", "$HOME", "HOME", "~/.config", "HOME/.config/reeve", "HOME/link", "~/.config/reeve/data", "//", "/.", "HOME/../" + filepath.Base(home), "~/src/..", "/proc", "/proc/43210"} {
		plain := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(from, "$HOME", home), "~", home), "HOME", home)
		for name, text := range map[string]string{
			"c.yaml": "services:\n  a:\n    image: x\n    volumes:\n      - type: bind\n        source: " + plain + "\n        target: /h\n", "composed/compose.yaml": "services:\n  a:\n    volumes:\n      - " + plain + ":/h\n",
			"pod.yaml": "kind: ConfigMap\n---\nkind: Pod\nspec:\n  volumes:\n    - hostPath: {path: " + plain + "}\n",
		} {
			if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range forms {
			if from == "$HOME" && strings.Contains(f, "'") {
				continue // nothing is put in there
			}
			line := strings.ReplaceAll(f, "FROM", from)
			line = strings.ReplaceAll(strings.ReplaceAll(line, "HOME", home), "$"+home, "$HOME")
			if len(g.Tampering(call(home+"/src/proj", "shell", "command", line), nil)) == 0 {
				t.Errorf("is let pass: %s", line)
			}
		}
	}
	if err := os.WriteFile(home+"/c.yaml", []byte("services:\n  a:\n    image: x\n    volumes: ['./src:/app', 'data:/var/lib/x', '/etc/localtime:/etc/localtime:ro']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(`
docker run --rm -v HOME/src/proj:/app -w / node:22 npm test
docker run --rm -v .:/app -w /app node:22 npm test
docker run --rm -v $PWD:/app node:22 npm test
docker run -v data:/var/lib/postgresql/data postgres:16
docker run -v /tmp/x:/:ro alpine
docker exec web ls /
docker cp web:/ /tmp/x
docker run alpine find / -name x
docker run -v /etc/localtime:/etc/localtime:ro alpine
docker run -v /var/run/docker.sock:/var/run/docker.sock x
docker run --mount type=tmpfs,target=/ alpine
docker run -v HOME/.cache/go:/root/.cache alpine
docker compose -f HOME/c.yaml up -d
docker compose up -d
docker build -f Dockerfile -t x .
podman run --security-opt label=disable x
bwrap --ro-bind /usr /usr --bind HOME/src/proj / sh
kubectl apply -f k8s/
kubectl exec web -- ls /
kubectl get pods -o yaml
pytest -v ~/src/proj/tests
go test -v ./...
curl -v http://localhost:3000/
rsync -v HOME/src/a HOME/src/b
ssh -v host
grep -v / list.txt
tar -v -cf x.tar src
ps -o pid
multipass mount HOME/src vm:/srv
flatpak run --filesystem=~/src org.x
systemd-nspawn -D /x --bind=/srv:/srv
lxc config device add c d disk source=/srv path=/
`), "\n") {
		line = strings.ReplaceAll(line, "HOME/", home+"/")
		if r := g.Tampering(call(home+"/src/proj", "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("is denied: %s: %s", line, r[0].Message)
		}
	}
}

// TestTamperingDevContainer: so it is where a dev container's file says the home in its own words.
func TestTamperingDevContainer(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/box"
	if err := os.MkdirAll(work+"/.devcontainer", 0o700); err != nil {
		t.Fatal(err)
	}
	for mount, tampers := range map[string]bool{
		`"source=${localEnv:HOME}/.config,target=/cfg,type=bind"`:                            true,
		`{"source": "${localEnv:HOME:-/x}/.config/reeve", "target": "/cfg", "type": "bind"}`: true,
		`"source=${localEnv:HOME}/.ssh/known_hosts,target=/root/.ssh/known_hosts,type=bind"`: false,
		`"source=${localWorkspaceFolder}/cache,target=/cache,type=bind"`:                     false,
	} {
		if err := os.WriteFile(work+"/.devcontainer/devcontainer.json", []byte(`{"image": "x", "mounts": [`+mount+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := len(g.Tampering(call(work, "shell", "command", "devcontainer up --workspace-folder ."), nil)) > 0; got != tampers {
			t.Errorf("%s: %v", mount, got)
		}
	}
}
