package target

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// TestKubeconfigs: a file that a call names for its cluster counts where the cluster that is chosen in it is on this
// machine, by its address.
func TestKubeconfigs(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	config := func(server string) string {
		return "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: \"" + server + "\"}\ncontexts:\n- name: kind-e2e\n  context: {cluster: c, user: u}\ncurrent-context: kind-e2e\n"
	}
	for name, text := range map[string]string{"app/.kubeconfig": config("https://127.0.0.1:6443"), "app/far": config("https://k8s.acme.example"), "app/odd": "x: [", "home/k": config("https://localhost:1")} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	near := []act.Kubeconfig{{File: filepath.Join(dir, "app/.kubeconfig"), Context: "kind-e2e"}}
	for command, want := range map[string][]act.Kubeconfig{
		"KUBECONFIG=.kubeconfig kubectl get ns": near, "kubectl --kubeconfig .kubeconfig get ns": near, "kubectl --kubeconfig=.kubeconfig get ns": near, "export KUBECONFIG=$PWD/.kubeconfig; helm list": near, "export KUBECONFIG=\"$(pwd)/.kubeconfig\"": near,
		"KUBECONFIG=~/k kubectl get ns": {{File: filepath.Join(dir, "home/k"), Context: "kind-e2e"}},
		"KUBECONFIG=far kubectl get ns": nil, "KUBECONFIG=odd kubectl get ns": nil, "KUBECONFIG=none kubectl get ns": nil, "KUBECONFIG=.kubeconfig:far kubectl get ns": nil, "kubectl get ns": nil,
	} {
		got := Kubeconfigs(call("bash", "command", string(rawjson.Quote(command))), filepath.Join(dir, "app"))
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}
