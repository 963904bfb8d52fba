package demo_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/demo"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/store/sqlite"
)

// startNode starts what of a node the demonstration needs: the starter policy
// with this document, a guard and its ledger on disk, and AOS over HTTP.
func startNode(t *testing.T, document []byte) (url string) {
	t.Helper()
	starter, err := policy.StarterOf(demo.Profile)
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(append(starter, policy.File{Name: "demo.yaml", Data: document})...)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := ledger.Open(t.Context(), ledger.Config{Store: store, Origin: "demo.test", Seed: make([]byte, 32), Owner: "test", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(t.Context(), guard.Config{Log: log, Store: store, Policy: set})
	if err != nil {
		t.Fatal(err)
	}
	decide := func(ctx context.Context, a *act.Action) (act.Decision, []byte, error) {
		a.Principal = act.Anonymous
		return g.Decide(ctx, a)
	}
	s := httptest.NewServer(&jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{aos.Namespace(decide, log.Err, "test", time.Now)}})
	t.Cleanup(func() {
		s.Close()
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}
