package reeve

import (
	"log/slog"
	"testing"
)

// TestConnections: callers' connections leave files for the ledger.
func TestConnections(t *testing.T) {
	n := &Node{logger: slog.New(slog.DiscardHandler)}
	n.cfg.Limits.Concurrent = 1024
	for files, want := range map[int]int{0: 4096, 1 << 20: 4096, 6000: 4096, 4096: 3072, 1024: 768, 256: 128, 130: 16, 20: 16} {
		if got := n.connections(files); got != want {
			t.Errorf("with %d files: %d connections, want %d", files, got, want)
		}
	}
}
