package sqlite

import (
	"sync"
	"testing"

	"reeve/ledger"
	"reeve/store/storetest"
)

func TestStore(t *testing.T) {
	var mu sync.Mutex
	dirs := map[*testing.T]string{}
	storetest.Exercise(t, func(t *testing.T) ledger.Store {
		mu.Lock()
		defer mu.Unlock()
		if dirs[t] == "" {
			dirs[t] = t.TempDir()
		}
		s, err := Open(dirs[t], Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
