package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Disk bounds what a command may have written to a directory. No kernel holds it to
// that: the directory is looked at every tenth of a second, and the command is ended
// when there is too much. So for a moment there can be more: as much as is written
// between two looks.
type Disk struct {
	Dir   string // that nobody else writes to
	Bytes int64  // as they are allocated, with those of files that were removed and are open still
	Files int    // and directories
}

// diskEvery is how often a directory is looked at. A look that takes long is made more
// seldom, so that it takes a tenth of the time at most.
const diskEvery = 100 * time.Millisecond

// errDisk is why a command's context ended that wrote too much.
var errDisk = errors.New("it wrote too much")

// diskWatch looks at a directory while a command runs.
type diskWatch struct {
	disk     *Disk
	unlinked func(seen map[fileID]bool) int64 // bytes of files that are open and in no directory
	end      context.CancelCauseFunc
	stopped  chan struct{}
	gone     chan struct{}
	why      string // after gone
}

// fileID tells a file from others, where it has several names.
type fileID struct{ device, inode uint64 }

// watchDisk has ctx end when there is too much. A nil disk is not watched.
func watchDisk(ctx context.Context, disk *Disk, unlinked func(seen map[fileID]bool) int64) (context.Context, *diskWatch) {
	if disk == nil {
		return ctx, nil
	}
	w := &diskWatch{disk: disk, unlinked: unlinked, stopped: make(chan struct{}), gone: make(chan struct{})}
	ctx, w.end = context.WithCancelCause(ctx)
	go w.loop()
	return ctx, w
}

func (w *diskWatch) loop() {
	defer close(w.gone)
	for pause := diskEvery; ; {
		select {
		case <-w.stopped:
			w.why = w.look() // what was written last counts, too
			return
		case <-time.After(pause):
		}
		begin := time.Now()
		if w.why = w.look(); w.why != "" {
			w.end(errDisk)
			return
		}
		pause = max(diskEvery, 9*time.Since(begin))
	}
}

// stop ends the looking, and says what there was too much of; empty for nothing.
func (w *diskWatch) stop() string {
	if w == nil {
		return ""
	}
	close(w.stopped)
	<-w.gone
	w.end(nil)
	return w.why
}

// look sums what is there, and says what is too much of it.
func (w *diskWatch) look() string {
	seen := map[fileID]bool{}
	bytes, files := int64(0), -1 // but for the directory itself
	closed := ""
	opened := map[string]bool{}
	var walk fs.WalkDirFunc
	walk = func(path string, d fs.DirEntry, err error) error {
		if err != nil && d != nil && d.IsDir() && !opened[path] && os.Chmod(path, 0o700) == nil {
			opened[path] = true // what ran there took away the right to look
			return filepath.WalkDir(path, walk)
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				closed = "a directory that cannot be looked into"
			}
			return nil
		}
		if files++; files > w.disk.Files {
			return fs.SkipAll
		}
		if info, err := d.Info(); err == nil {
			size, id := allocated(info)
			if id == (fileID{}) || !seen[id] {
				bytes += size
				seen[id] = id != (fileID{})
			}
		}
		return nil
	}
	if err := filepath.WalkDir(w.disk.Dir, walk); err != nil {
		closed = "a directory that cannot be looked into"
	}
	if bytes <= w.disk.Bytes && w.unlinked != nil {
		bytes += w.unlinked(seen)
	}
	switch {
	case files > w.disk.Files:
		return fmt.Sprintf("more than %d files", w.disk.Files)
	case bytes > w.disk.Bytes:
		return fmt.Sprintf("more than %d bytes", w.disk.Bytes)
	}
	return closed
}
