package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"reeve.example/reeve/act"
)

// What a command may add to what its manifest lets it write, where that does not say.
const (
	defaultWriteMB    = 10 << 10
	defaultWriteFiles = 1_000_000
)

// maxLook is how long a look at a scope may take. What takes longer is not looked at
// whole: then what its file systems have more counts alone, whoever wrote it.
const maxLook = 2 * time.Second

// amount is how much there is: bytes as they are allocated, files and directories.
type amount struct{ bytes, files int64 }

func (a amount) minus(b amount) amount { return amount{a.bytes - b.bytes, a.files - b.files} }

// over is whether either is more than it may be.
func (a amount) over(most amount) bool { return a.bytes > most.bytes || a.files > most.files }

// quota holds a command to how much more there may be in the directories that it writes
// to than when it began. To look through them takes long, and cannot be done ten times a
// second. So the file systems are asked how much they hold, which is cheap; only when
// they hold so much more that the command could have passed its quota, its directories
// are looked through, while it stands still: files that move about could not be counted.
// What others write in the meantime is so not taken for the command's, if they do not
// write to its scope.
type quota struct {
	dirs  []string
	most  amount
	tree  processes
	base  amount // at the begin
	whole bool   // the base
	disks []disk
	room  amount // how much more the file systems may hold until the next look
	end   context.CancelCauseFunc

	stopped, gone chan struct{}
	why           string // after gone
}

// disk is a file system, and what it held when it was looked at last.
type disk struct {
	path        string
	held        amount
	bytes, file bool // whether it tells these at all
}

// processes are what a quota must know of the command's. nil ones cannot be known.
type processes interface {
	// unlinked sums the files that they have open, or mapped, and that are in no
	// directory any more. It says false where some could be hidden from it.
	unlinked(seen map[fileID]bool) (sum int64, whole bool)
	pause() (whole bool)
	resume()
}

// newQuota looks at what is there before a command begins; nil where it writes nowhere.
func newQuota(m act.Manifest, grants []grant) *quota {
	q := &quota{most: quotaOf(m)}
	for _, g := range grants {
		if g.Write && !g.Base {
			q.dirs = append(q.dirs, g.Path)
		}
	}
	slices.Sort(q.dirs)
	q.dirs = slices.Compact(q.dirs)
	all := slices.Clone(q.dirs)
	q.dirs = slices.DeleteFunc(q.dirs, func(d string) bool { // what lies in another counts there
		return slices.ContainsFunc(all, func(in string) bool { return in != d && below(d, in) })
	})
	if len(q.dirs) == 0 {
		return nil
	}
	q.disks = disksOf(q.dirs)
	q.base, _, q.whole = measure(q.dirs)
	q.room = q.most
	return q
}

func quotaOf(m act.Manifest) amount {
	most := amount{defaultWriteMB << 20, defaultWriteFiles}
	if m.MaxWriteMB > 0 {
		most.bytes = int64(m.MaxWriteMB) << 20
	}
	if m.MaxWriteFiles > 0 {
		most.files = int64(m.MaxWriteFiles)
	}
	return most
}

// watch has ctx end when there is too much. A nil quota watches nothing.
func (q *quota) watch(ctx context.Context, tree processes) context.Context {
	if q == nil {
		return ctx
	}
	q.tree, q.stopped, q.gone = tree, make(chan struct{}), make(chan struct{})
	ctx, q.end = context.WithCancelCause(ctx)
	go q.loop()
	return ctx
}

func (q *quota) loop() {
	defer close(q.gone)
	for pause := diskEvery; ; {
		select {
		case <-q.stopped:
			q.why = q.look() // what was written last counts, too
			return
		case <-time.After(pause):
		}
		begin := time.Now()
		if q.why = q.look(); q.why != "" {
			q.end(errDisk)
			return
		}
		pause = max(diskEvery, 9*time.Since(begin))
	}
}

// stop ends the watching, and says what there was too much of; empty for nothing.
func (q *quota) stop() string {
	if q == nil {
		return ""
	}
	close(q.stopped)
	<-q.gone
	q.end(nil)
	return q.why
}

// look says what the command has written too much of; empty for nothing.
func (q *quota) look() string {
	more, told := q.more()
	if told && !more.over(q.room) {
		return ""
	}
	whole := q.whole
	if q.tree != nil && told {
		whole = q.tree.pause() && whole
		defer q.tree.resume()
	}
	now, seen, all := measure(q.dirs)
	whole = whole && all
	if q.tree != nil {
		bytes, all := q.tree.unlinked(seen)
		now.bytes += bytes
		whole = whole && all
	}
	if !told && !whole {
		return "" // nothing is known
	}
	grown := now.minus(q.base)
	why := ""
	switch {
	case grown.bytes > q.most.bytes:
		why = fmt.Sprintf("more than %d MB", q.most.bytes>>20)
	case grown.files > q.most.files:
		why = fmt.Sprintf("more than %d files", q.most.files)
	case told && !whole:
		why = fmt.Sprintf("%d MB and %d files, as far as can be told (the scope cannot be looked through whole, so that all that its file systems hold more counts),", more.bytes>>20, more.files)
	}
	if why == "" && told { // others wrote it
		q.disks = disksOf(q.dirs)
		q.room = q.most.minus(grown)
		q.room = amount{min(q.room.bytes, q.most.bytes), min(q.room.files, q.most.files)}
	}
	return why
}

// more is how much more the file systems hold than at the last look; told is false
// where one of them does not tell.
func (q *quota) more() (sum amount, told bool) {
	told = len(q.disks) > 0
	for _, d := range q.disks {
		now := holds(d.path)
		told = told && d.bytes && d.file && now.bytes && now.file
		more := now.held.minus(d.held)
		sum.bytes += max(more.bytes, 0)
		sum.files += max(more.files, 0)
	}
	return sum, told
}

// measure sums what is in directories, a file with several names once. It says false
// where it could not look at all of it.
func measure(dirs []string) (sum amount, seen map[fileID]bool, whole bool) {
	seen, whole = map[fileID]bool{}, true
	until := time.Now().Add(maxLook)
	count := func(info fs.FileInfo) (new bool) {
		size, id := allocated(info)
		if id != (fileID{}) {
			if seen[id] {
				return false
			}
			seen[id] = true
		}
		sum.bytes += size
		sum.files++
		return true
	}
	var todo []string
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil {
			continue // it is gone
		}
		if count(info); info.IsDir() {
			todo = append(todo, dir)
		}
	}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		// A directory that became something else must not have this wait, or go elsewhere.
		f, err := os.OpenFile(dir, os.O_RDONLY|onlyDirectory, 0)
		if err != nil {
			whole = whole && (os.IsNotExist(err) || barred(dir))
			continue
		}
		for {
			entries, err := f.ReadDir(1000) // however many there are, so many are held at once
			for _, e := range entries {
				if info, err := e.Info(); err == nil && count(info) && info.IsDir() {
					todo = append(todo, filepath.Join(dir, e.Name()))
				}
			}
			if time.Now().After(until) {
				f.Close()
				return sum, seen, false
			}
			if err != nil || len(entries) == 0 {
				break
			}
		}
		f.Close()
	}
	return sum, seen, whole
}

// addQuota says in the limits of a manifest how its quota is held, where it names one.
func (p *plan) addQuota(m act.Manifest, state, how string) {
	for _, l := range []struct {
		name string
		most int
	}{{"max_write_mb", m.MaxWriteMB}, {"max_write_files", m.MaxWriteFiles}} {
		if l.most > 0 {
			p.add(Limit{Name: l.name, State: state, Mechanism: how,
				Detail: fmt.Sprintf("what filesystem_scope names may grow by it; between two looks, at most ten in a second, more can be written, and a look ends after %v", maxLook)}, "run it on Linux")
		}
	}
}
