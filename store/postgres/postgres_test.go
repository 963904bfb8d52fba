package postgres

import (
	"sync"
	"testing"

	"reeve/ledger"
	"reeve/store/storetest"
)

func open(tb testing.TB, url string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	var mu sync.Mutex
	urls := map[*testing.T]string{}
	storetest.Exercise(t, func(t *testing.T) ledger.Store {
		mu.Lock()
		defer mu.Unlock()
		if urls[t] == "" {
			urls[t] = storetest.Postgres(t)
		}
		return open(t, urls[t])
	})
}
