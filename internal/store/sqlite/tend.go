package sqlite

import (
	"context"
	"errors"
	"math"
	"sync"
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
	// eraseTries is how often Erase has the WAL emptied before it gives up and
	// leaves it to the tending, and erasePause the pause after the first try,
	// which doubles: about three seconds in all, beside the tries themselves,
	// each of which may take eraseMost: the machine can be busy.
	eraseTries = 8
	erasePause = 12 * time.Millisecond
	eraseMost  = 30 * time.Second
)

// tend does in the background what would hold up commits: it merges the heads
// of sessions, copies the WAL into the database, and empties the WAL when it may
// hold what was erased. What fails is tried again; commits tell of an error of
// the disk by themselves.
func (s *Store) tend() {
	_ = s.dropRuns()                   // what a crash left behind
	_ = s.unwipe(context.Background()) // likewise
	c := (*sqlite.Conn)(nil)
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	// beside runs f with a connection of tend's own, a new one after an error.
	beside := func(f func(c *sqlite.Conn) error) (err error) {
		if c == nil {
			if c, err = s.openWriter(); err != nil {
				c = nil
				return err
			}
		}
		if err = f(c); err != nil {
			_ = c.Close()
			c = nil
		}
		return err
	}
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
		err = errors.Join(err, s.markHurt())
		switch {
		case s.erased.Load():
			err = errors.Join(err, beside(s.truncate))
			s.tries.over()
		case due || s.unsynced.Load() >= checkpointBytes:
			err = errors.Join(err, beside(s.checkpoint))
		}
		if err == nil {
			continue
		}
		select {
		case <-s.stop:
			return
		case <-time.After(retryAfter):
		}
		s.wake() // try again at once
	}
}

// wake makes tend look for what there is to do.
func (s *Store) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// checkpoint copies the WAL into the database. SQLite begins the WAL anew once
// all of it is copied, which never happens while commits go on. So when the WAL
// has become long, the last of it is copied while no commit runs.
func (s *Store) checkpoint(c *sqlite.Conn) error {
	frames, err := s.copyWAL(c)
	if err != nil || frames < walFrames {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsynced.Store(0)
	_, err = passive(c)
	return err
}

// truncate empties the WAL, whose old pages may hold what was erased, after
// copying it into the database. Commits wait for what is left to copy, and never
// for a reader: while another program's needs the WAL, erased stays set, and the
// next tending tries again. Our own readers are short, and made to wait.
func (s *Store) truncate(c *sqlite.Conn) error {
	if _, err := s.copyWAL(c); err != nil {
		return err
	}
	for range maxReaders {
		<-s.slots
		defer func() { s.slots <- struct{}{} }()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.SetBusyTimeout(0)
	defer c.SetBusyTimeout(busyTimeout)
	return query(c, `PRAGMA wal_checkpoint(TRUNCATE)`, func(stmt *sqlite.Stmt) error {
		if busy := stmt.ColumnInt(0) != 0; !busy {
			s.erased.Store(false)
		}
		return nil
	})
}

// copyWAL copies the WAL into the database while commits go on, until little is
// left. frames is the length of the WAL in pages.
func (s *Store) copyWAL(c *sqlite.Conn) (frames int, err error) {
	for before := int64(math.MaxInt64); ; {
		s.unsynced.Store(0)
		if frames, err = passive(c); err != nil {
			return 0, err
		}
		// Each round leaves what was committed during it: soon little, unless
		// commits come as fast as the disk can take them.
		left := s.unsynced.Load()
		if left <= tailBytes || left > before/2 {
			return frames, nil
		}
		before = left
	}
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

// emptyWAL has the WAL emptied, which holds what Erase has just overwritten in
// the database. Readers can keep it from being emptied for as long as they like:
// after a few tries that is left to the tending, and emptyWAL returns an error.
func (s *Store) emptyWAL(ctx context.Context) error {
	s.erased.Store(true) // after the write, so that no truncation before it clears this
	pause := erasePause
	wait := func(tried <-chan struct{}, most time.Duration) (goOn bool) {
		select {
		case <-ctx.Done():
			return false
		case <-s.stop:
			return false
		case <-tried:
			return true
		case <-time.After(most):
			return tried == nil
		}
	}
	for range eraseTries {
		tried := s.tries.next()
		s.wake()
		if !s.erased.Load() {
			return nil
		}
		if !wait(tried, eraseMost) {
			break
		}
		if !s.erased.Load() {
			return nil
		}
		if !wait(nil, pause) {
			break
		}
		pause *= 2
	}
	return errInJournal
}

// tries tells when the WAL was tried to be emptied.
type tries struct {
	mu   sync.Mutex
	open chan struct{} // closed when a try is over; nil where nobody waits
}

// next is closed when the next try is over, or the one that is under way.
func (t *tries) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(chan struct{})
	}
	return t.open
}

func (t *tries) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != nil {
		close(t.open)
		t.open = nil
	}
}

var errInJournal = errors.New("the bytes are overwritten, but a copy stays in the journal as long as a program reads the database; it is removed soon after")
