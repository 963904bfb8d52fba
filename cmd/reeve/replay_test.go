package main

import (
	"io"
	"path/filepath"
	"testing"

	"reeve.example/reeve"
	"reeve.example/reeve/demo"
	"reeve.example/reeve/internal/replay"
)

// What the demonstration's policy decided, it decides the same again. What it masked is
// not known any more where its rules look for that, and that is said.
func TestReplayDemo(t *testing.T) {
	base := t.TempDir()
	o := demo.Options{Out: io.Discard, Dir: filepath.Join(base, "world")}
	stop, err := demoNode(t.Context(), base, &o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = demo.Run(t.Context(), o)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	cfg, store := openReader(t, map[string]string{"data": filepath.Join(base, "data"), "policy": filepath.Join(base, "policy")})
	set, err := reeve.LoadPolicy(cfg.Policy)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := cfg.PastKeys()
	if err != nil {
		t.Fatal(err)
	}
	r, err := replay.Run(t.Context(), store, set, replay.Options{Keys: keys, Acts: 9})
	if err != nil {
		t.Fatal(err)
	}
	if r.Changed != 0 || r.CannotTell != r.Because[replay.Masked] || r.Same < 10 || r.CannotTell > r.Same {
		t.Errorf("%+v", r)
	}
}
