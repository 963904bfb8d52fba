package sqlite

import (
	"context"
	"errors"
	"fmt"
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
	walFrames = 64 << 20 / pageSize
	// tailBytes is how much may be left for that moment.
	tailBytes = 2 << 20
	// maxBehind is how much may be committed while one round of a checkpoint goes on, or
	// waits to begin. Whoever would write more waits: a disk that copies slowly would let the
	// WAL grow for as long as it appends quickly.
	maxBehind = 4 * checkpointBytes
	// longWAL is the length of the WAL, in pages, from which the log is told that somebody
	// keeps it from being begun anew.
	longWAL = 512 << 20 / pageSize
	// pageSize is about the size of the database's pages.
	pageSize = 4096
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

// tend does in the background what would hold up commits: it copies the WAL into
// the database, and empties the WAL when it may hold what was erased. What fails is
// tried again; commits tell of an error of the disk by themselves.
func (s *Store) tend() {
	_ = s.unwipe(context.Background()) // what a crash left behind
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
		err := s.markHurt()
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

// mergeHeads merges the heads of sessions in the background, when there are many. It is
// not tend that does it: a merge of millions takes longer than the WAL can wait.
func (s *Store) mergeHeads() {
	_ = s.dropRuns() // what a crash left behind
	for {
		select {
		case <-s.stop:
			return
		case <-s.heads.kick:
		}
		for s.heads.isFull() && s.flushHeads() != nil {
			select {
			case <-s.stop:
				return
			case <-time.After(retryAfter):
			}
		}
	}
}

// wrote notes how much was committed, and has it copied where that has become enough.
func (s *Store) wrote(bytes int64) {
	if s.unsynced.Add(bytes) >= checkpointBytes {
		s.wake()
	}
}

// awaitCopy waits while more was committed during a round of a checkpoint than may be.
func (s *Store) awaitCopy(ctx context.Context) error {
	for {
		round := s.rounds.next()
		if s.unsynced.Load() < maxBehind || !s.tends.Load() {
			return nil
		}
		s.wake()
		select {
		case <-round:
		case <-s.stop:
			return errClosed
		case <-ctx.Done():
			return fmt.Errorf("what was written is not copied from the journal into the database as fast as it comes: %w", ctx.Err())
		}
	}
}

// checkpoint copies the WAL into the database. SQLite begins the WAL anew once
// all of it is copied and nobody reads it, which never happens while commits and reads go
// on. So when the WAL has become long, the last of it is copied while no commit
// runs and none of our own reads. Those of other programs and a backup are not waited for.
func (s *Store) checkpoint(c *sqlite.Conn) error {
	frames, _, err := s.copyWAL(c)
	if err != nil || frames < walFrames {
		return err
	}
	defer s.alone()()
	s.newRound()
	frames, copied, err := passive(c)
	if held := err == nil && copied < frames && frames >= longWAL; held != s.walHeld {
		s.walHeld = held
		if held {
			s.log.Warn("the database's journal grows, as a backup or another program has been reading the database for long",
				"file", s.file+"-wal", "bytes", int64(frames)*pageSize)
		} else {
			s.log.Info("the database's journal is copied again", "file", s.file+"-wal")
		}
	}
	return err
}

// alone waits until nobody of this process reads or writes, and keeps everybody from it
// until the function that it returns is called. Reads are short.
func (s *Store) alone() (done func()) {
	for range maxReaders {
		<-s.slots
	}
	s.mu.Lock()
	return func() {
		s.mu.Unlock()
		for range maxReaders {
			s.slots <- struct{}{}
		}
	}
}

// truncate empties the WAL, whose old pages may hold what was erased, after
// copying it into the database. Commits wait for what is left to copy, and never
// for a reader: while another program's needs the WAL, erased stays set, and the
// next tending tries again. Our own readers are short, and made to wait.
func (s *Store) truncate(c *sqlite.Conn) error {
	if _, _, err := s.copyWAL(c); err != nil {
		return err
	}
	defer s.alone()()
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
// left. frames is the length of the WAL in pages, and copied how many of them are.
func (s *Store) copyWAL(c *sqlite.Conn) (frames, copied int, err error) {
	for before := int64(math.MaxInt64); ; {
		s.newRound()
		if frames, copied, err = passive(c); err != nil {
			return 0, 0, err
		}
		// Each round leaves what was committed during it: soon little, unless
		// commits come as fast as the disk can take them.
		left := s.unsynced.Load()
		if left <= tailBytes || left > before/2 {
			return frames, copied, nil
		}
		before = left
	}
}

// newRound begins a round of a checkpoint, which copies all that was committed before.
func (s *Store) newRound() {
	s.unsynced.Store(0)
	s.rounds.over()
}

// passive copies what is in the WAL when it begins, as far as no reader needs
// it, without waiting for anybody. frames is the length of the WAL in pages, and copied
// how many of them are in the database.
func passive(c *sqlite.Conn) (frames, copied int, err error) {
	err = query(c, `PRAGMA wal_checkpoint(PASSIVE)`, func(stmt *sqlite.Stmt) error {
		frames, copied = stmt.ColumnInt(1), stmt.ColumnInt(2)
		return nil
	})
	return frames, copied, err
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

// turns tells those who wait for it that something was done once more.
type turns struct {
	mu   sync.Mutex
	open chan struct{} // closed when a turn is over; nil where nobody waits
}

// next is closed when the next turn is over, or the one that is under way.
func (t *turns) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(chan struct{})
	}
	return t.open
}

func (t *turns) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != nil {
		close(t.open)
		t.open = nil
	}
}

var errInJournal = errors.New("the bytes are overwritten, but a copy stays in the journal as long as a program reads the database; it is removed soon after")
