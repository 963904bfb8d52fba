package reeve

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"reeve.example/reeve/act"

	"github.com/fsnotify/fsnotify"
)

// Who reloads the policy, where nobody asks for it over HTTP.
var (
	byWatch  = act.Principal{Name: "watch", Method: "local"}  // the files changed
	bySignal = act.Principal{Name: "signal", Method: "local"} // SIGHUP
)

// watchPolicy reads the policy again when it changes on disk, and on SIGHUP.
// A policy that does not compile leaves the old one in force.
func (n *Node) watchPolicy(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	if len(reloadSignals) > 0 {
		signal.Notify(hup, reloadSignals...)
		defer signal.Stop(hup)
	}
	w := policyWatch{hup: hup}
	watched := watch
	path := n.cfg.Policy
	if own := n.cfg.OwnPolicy(); own != "" {
		watched, path = watchOwn, own
	}
	if path != "" {
		watcher, ours, err := watched(path)
		if err != nil {
			n.logger.Error("the policy's changes cannot be watched; send SIGHUP or use reeve policy reload", "error", err)
		} else {
			defer watcher.Close()
			w.events, w.errors, w.ours = watcher.Events, watcher.Errors, ours
		}
	}
	w.missed = func(err error) {
		n.logger.Warn("changes of the policy may have been missed, so it is read again", "error", err)
	}
	w.reload = func(by act.Principal) { n.readPolicy(ctx, by) }
	w.follow(ctx)
}

// readPolicy reads the policy again where nobody waits for the answer.
func (n *Node) readPolicy(ctx context.Context, by act.Principal) {
	before := n.guard.Policy().Hash()
	changed, err := n.ReloadPolicy(ctx, by)
	if err != nil {
		n.logger.Error("POLICY NOT CHANGED", "error", err)
	} else if changed {
		n.logger.Info("a new policy is in force", "policy", n.guard.Policy().Hash(), "before", before)
	}
}

// watch watches a policy's folder: a file that is replaced is another file.
// ours tells whether something that happened to a name there changes the policy.
func watch(path string) (w *fsnotify.Watcher, ours func(name string) bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	dir, file := path, ""
	if !info.IsDir() {
		dir, file = filepath.Split(path)
		dir = filepath.Clean(dir)
	}
	if w, err = fsnotify.NewWatcher(); err != nil {
		return nil, nil, err
	}
	if err := w.Add(dir); err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return w, func(name string) bool { return ofPolicy(filepath.Clean(dir), file, filepath.Clean(name)) }, nil
}

// watchOwn watches a folder that is a policy once somebody makes it, and none once it is gone.
func watchOwn(dir string) (w *fsnotify.Watcher, ours func(name string) bool, err error) {
	if w, err = fsnotify.NewWatcher(); err != nil {
		return nil, nil, err
	}
	if err := w.Add(filepath.Dir(dir)); err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	w.Add(dir) // as it is there; later, when it is made
	return w, func(name string) bool {
		name = filepath.Clean(name)
		if name == dir {
			w.Add(dir)
			return true
		}
		return filepath.Dir(name) == dir && ofPolicy(dir, "", name)
	}, nil
}

// ofPolicy reports whether a name in a folder belongs to a policy: to its file,
// or if that is empty, to any that package policy reads from a folder.
func ofPolicy(dir, file, name string) bool {
	base := filepath.Base(name)
	switch {
	case name == dir: // the folder itself was moved or removed
		return true
	case base == "..data": // Kubernetes replaces all files of a volume by this link
		return true
	case file != "":
		return base == file
	}
	return slices.Contains([]string{".yaml", ".yml", ".toml"}, filepath.Ext(base))
}

// policyWatch tells when a policy is to be read again.
type policyWatch struct {
	events <-chan fsnotify.Event // of the policy's folder, which others may write, too
	errors <-chan error          // must be read, or there are no more events
	hup    <-chan os.Signal
	ours   func(name string) bool
	missed func(error)
	reload func(by act.Principal)
}

// settle is how long after a change the policy is read: editors write a file in
// several steps.
const settle = 200 * time.Millisecond

// follow reloads until ctx ends. What changes after the policy was read makes it
// be read again; what goes on without a pause does not keep it from being read.
func (w *policyWatch) follow(ctx context.Context) {
	var due <-chan time.Time // nil while nothing has changed
	for {
		changed := false
		select {
		case <-ctx.Done():
			return
		case <-w.hup:
			w.reload(bySignal)
		case <-due:
			due = nil
			w.reload(byWatch)
		case event, ok := <-w.events:
			if !ok {
				w.events = nil
			}
			changed = ok && w.ours(event.Name)
		case err, ok := <-w.errors:
			if !ok {
				w.errors = nil
				continue
			}
			w.missed(err)
			changed = true
		}
		if changed && due == nil {
			due = time.After(settle)
		}
	}
}
