package sqlite

import (
	"testing"

	"reeve.example/reeve/internal/store"
	"reeve.example/reeve/internal/store/storetest"
)

func BenchmarkCommit64(b *testing.B) { storetest.BenchmarkCommit64(b, temporary) }

func BenchmarkTasks64(b *testing.B) { storetest.BenchmarkTasks64(b, temporary) }

func temporary(b *testing.B) store.Store {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}
