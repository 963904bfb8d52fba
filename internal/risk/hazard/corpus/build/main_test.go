package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/internal/risk/hazard"
)

// TestBuild builds a corpus of two small sources, and reads it back.
func TestBuild(t *testing.T) {
	clones, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"nl2bash/data/bash/all.cm":                                "ls -l\nls -l\nfind . -name x\n\ngrep a b\n",
		"atomic-red-team/atomics/T1003/T1003.yaml":                "attack_technique: T1003.008\natomic_tests:\n- supported_platforms: [linux]\n  input_arguments:\n    out:\n      default: /tmp/x\n  executor:\n    name: sh\n    command: 'cat /etc/shadow > #{out}'\n- executor:\n    name: manual\n    command: by hand\n",
		"PayloadsAllTheThings/Directory Traversal/Intruder/a.txt": "../../{FILE}\n",
	} {
		path := filepath.Join(clones, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := build(clones, out); err != nil {
		t.Fatal(err)
	}
	var all string
	for _, name := range []string{"tuned.jsonl", "heldout.jsonl"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	r, err := hazard.Evaluate(strings.NewReader(all))
	if err != nil {
		t.Fatal(err)
	}
	if row, _ := r.Row("linux"); row.Malicious != 1 || row.Benign != 3 {
		t.Errorf("%+v of\n%s", row, all)
	}
	if row, _ := r.Row("traversal"); row.Malicious != 1 {
		t.Errorf("%+v of\n%s", row, all)
	}
	for _, want := range []string{"cat /etc/shadow \\u003e /tmp/x", "../../etc/passwd"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}
