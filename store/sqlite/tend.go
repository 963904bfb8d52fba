package sqlite

import (
	"context"
	"errors"
	"math"
	"time"

	"zombiezen.com/go/sqlite"
)

const (
	// checkpointBytes is how much is committed before the next checkpoint.
	checkpointBytes = 32 << 20
	// walFrames is the length of the WAL, in pages, from which a checkpoint
	// holds up commits for a moment, so that the WAL is begun anew.
	walFrames = 64 << 20 / 4096
	// tailBytes is how much may be left for that moment.
	tailBytes = 2 << 20
	// idleCheckpoint is how often what is in the WAL alone is copied into the
	// database, however little it is. A long WAL makes the next start slow.
	idleCheckpoint = 30 * time.Second
	// retryAfter is the pause after an error of the disk.
	retryAfter = time.Second
)

// tend does in the background what would hold up commits: it merges the heads
// of sessions, and copies the WAL into the database. What fails is tried
// again; commits tell of an error of the disk by themselves.
func (s *Store) tend() {
	_ = s.dropRuns() // what a crash left behind
	c := (*sqlite.Conn)(nil)
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	idle := time.NewTicker(idleCheckpoint)
	defer idle.Stop()
	for {
		due := false
		select {
		case <-s.stop:
			return
		case <-s.kick:
		case <-idle.C:
			due = s.unsynced.Load() > 0
		}
		var err error
		s.heads.mu.RLock()
		full := s.heads.full()
		s.heads.mu.RUnlock()
		if full {
			err = s.flushHeads()
		}
		if due || s.unsynced.Load() >= checkpointBytes {
			if c == nil {
				var failed error
				if c, failed = s.openWriter(); failed != nil {
					c, err = nil, errors.Join(err, failed)
				}
			}
			if c != nil {
				if failed := s.checkpoint(c); failed != nil {
					_ = c.Close()
					c, err = nil, errors.Join(err, failed)
				}
			}
		}
		if err == nil {
			continue
		}
		select {
		case <-s.stop:
			return
		case <-time.After(retryAfter):
		}
		select { // try again at once
		case s.kick <- struct{}{}:
		default:
		}
	}
}

// checkpoint copies the WAL into the database. SQLite begins the WAL anew once
// all of it is copied, which never happens while commits go on. So when the WAL
// has become long, the last of it is copied while no commit runs.
func (s *Store) checkpoint(c *sqlite.Conn) error {
	for before := int64(math.MaxInt64); ; {
		s.unsynced.Store(0)
		frames, err := passive(c)
		if err != nil || frames < walFrames {
			return err
		}
		// Each round leaves what was committed during it: soon little, unless
		// commits come as fast as the disk can take them.
		left := s.unsynced.Load()
		if left <= tailBytes || left > before/2 {
			break
		}
		before = left
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsynced.Store(0)
	_, err := passive(c)
	return err
}

// passive copies what is in the WAL when it begins, as far as no reader needs
// it, without waiting for anybody. frames is the length of the WAL in pages.
func passive(c *sqlite.Conn) (frames int, err error) {
	err = query(c, `PRAGMA wal_checkpoint(PASSIVE)`, func(stmt *sqlite.Stmt) error {
		frames = stmt.ColumnInt(1)
		return nil
	})
	return frames, err
}

// truncate empties the WAL, whose old pages may hold what was removed, after
// copying it into the database. Who calls it holds mu.
func (s *Store) truncate(ctx context.Context) error {
	c, err := s.writable()
	if err != nil {
		return err
	}
	for {
		busy := false
		err := query(c, `PRAGMA wal_checkpoint(TRUNCATE)`, func(stmt *sqlite.Stmt) error {
			busy = stmt.ColumnInt(0) != 0
			return nil
		})
		if err != nil {
			return s.broken(err)
		}
		if !busy {
			return nil
		}
		if ctx.Err() != nil {
			return errors.New("the bytes are removed, but a copy stays in the journal until a reader of the database ends")
		}
	}
}
