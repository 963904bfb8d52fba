//go:build unix

package guardian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/risk/hazard"
)

// TestSettingsOfOthers: settings that a call names are asked about where somebody else can write them.
func TestSettingsOfOthers(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "reeve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, mode := range map[string]os.FileMode{"own": 0o600, "open": 0o666} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	isOther := os.Chown(filepath.Join(dir, "other"), os.Getuid()+1, -1) == nil // else nobody may give it away
	for command, asks := range map[string]bool{
		"KUBECONFIG=DIR/own kubectl get nodes": false, "HOME=DIR/new npm test": false, "OUT=DIR/open make": false,
		"KUBECONFIG=DIR/open kubectl get nodes": true, "export HOME=DIR/open": true, "KUBECONFIG=DIR/other kubectl get nodes": isOther,
	} {
		a := &act.Action{
			Door: "aos", Kind: act.ToolCall, Resource: "shell", Canonical: "shell", Folder: dir,
			Content: []act.Leaf{{Pointer: "/command", Arg: "command", Text: strings.ReplaceAll(command, "DIR", dir)}},
		}
		runs := New(Node{Home: t.TempDir()}).Runs(a, hazard.Read(a), func(string) bool { return false }, nil, nil)
		if got := len(runs) > 0; got != asks {
			t.Errorf("%s: %v", command, runs)
		}
	}
}
