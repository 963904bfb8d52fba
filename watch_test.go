package reeve

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/act"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// followed is what a policyWatch does, with the time since its beginning.
type followed struct {
	After time.Duration
	What  string
}

// following runs a policyWatch, and feeds it.
func following(t *testing.T, feed func(events chan fsnotify.Event, errors chan error, hup chan os.Signal)) (did []followed) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		note := func(what string) { did = append(did, followed{time.Since(began), what}) }
		events, errors, hup := make(chan fsnotify.Event), make(chan error), make(chan os.Signal, 1)
		w := policyWatch{
			events: events, errors: errors, hup: hup,
			ours:   func(name string) bool { return ofPolicy("/p", "", name) },
			missed: func(err error) { note(err.Error()) },
			reload: func(by act.Principal) { note(by.Name) },
		}
		done := make(chan struct{})
		go func() { w.follow(ctx); close(done) }()
		feed(events, errors, hup)
		time.Sleep(time.Hour)
		stop()
		<-done
	})
	return did
}

func TestFollow(t *testing.T) {
	const ms = time.Millisecond
	changed := func(name string) fsnotify.Event { return fsnotify.Event{Name: name, Op: fsnotify.Write} }
	for _, tt := range []struct {
		name string
		feed func(events chan fsnotify.Event, errors chan error, hup chan os.Signal)
		want []followed
	}{
		{"several steps of one change", func(events chan fsnotify.Event, _ chan error, _ chan os.Signal) {
			for range 3 {
				events <- changed("/p/a.yaml")
				time.Sleep(30 * ms)
			}
		}, []followed{{200 * ms, "watch"}}},
		{"another change later", func(events chan fsnotify.Event, _ chan error, _ chan os.Signal) {
			events <- changed("/p/a.yaml")
			time.Sleep(300 * ms)
			events <- changed("/p/a.yaml")
		}, []followed{{200 * ms, "watch"}, {500 * ms, "watch"}}},
		{"a busy folder", func(events chan fsnotify.Event, _ chan error, _ chan os.Signal) {
			for i := range 20 {
				events <- changed("/p/reeve.log")
				if i == 4 {
					events <- changed("/p/a.yml")
				}
				time.Sleep(50 * ms)
			}
		}, []followed{{400 * ms, "watch"}}},
		{"a policy that is written without end", func(events chan fsnotify.Event, _ chan error, _ chan os.Signal) {
			for range 10 {
				events <- changed("/p/a.yaml")
				time.Sleep(50 * ms)
			}
		}, []followed{{200 * ms, "watch"}, {400 * ms, "watch"}, {600 * ms, "watch"}}},
		{"errors", func(events chan fsnotify.Event, errors chan error, _ chan os.Signal) {
			errors <- fsnotify.ErrEventOverflow
			errors <- fsnotify.ErrEventOverflow
			time.Sleep(time.Second)
			events <- changed("/p/a.yaml")
		}, []followed{{0, fsnotify.ErrEventOverflow.Error()}, {0, fsnotify.ErrEventOverflow.Error()}, {200 * ms, "watch"}, {1200 * ms, "watch"}}},
		{"a signal", func(_ chan fsnotify.Event, _ chan error, hup chan os.Signal) {
			time.Sleep(10 * ms)
			hup <- os.Interrupt
		}, []followed{{10 * ms, "signal"}}},
		{"the end of the watching", func(events chan fsnotify.Event, errors chan error, hup chan os.Signal) {
			close(events)
			close(errors)
			time.Sleep(10 * ms)
			hup <- os.Interrupt
		}, []followed{{10 * ms, "signal"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, following(t, tt.feed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfPolicy(t *testing.T) {
	for _, tt := range []struct {
		file, name string
		want       bool
	}{
		{"", "/p/a.yaml", true}, {"", "/p/b.yml", true}, {"", "/p/a.test.yaml", true}, {"", "/p", true}, {"", "/p/..data", true},
		{"", "/p/a.yaml~", false}, {"", "/p/.a.yaml.swp", false}, {"", "/p/reeve.db-wal", false}, {"", "/p/yaml", false},
		{"rules.txt", "/p/rules.txt", true}, {"rules.txt", "/p/..data", true}, {"rules.txt", "/p", true},
		{"rules.txt", "/p/a.yaml", false}, {"rules.txt", "/p/rules.txt.new", false},
	} {
		if got := ofPolicy("/p", tt.file, tt.name); got != tt.want {
			t.Errorf("of the policy %q, %s: %v, want %v", tt.file, tt.name, got, tt.want)
		}
	}
}

// TestWatch changes files in real folders, named in several ways.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, "p.yaml")
	write(t, file, "1")
	for _, path := range []string{dir, dir + string(filepath.Separator), ".", file, "p.yaml", "./p.yaml"} {
		w, ours, err := watch(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "other.log"), path)
		write(t, file, path)
		for deadline := time.After(5 * time.Second); ; {
			var seen bool
			select {
			case event := <-w.Events:
				if seen = ours(event.Name); seen && filepath.Base(event.Name) != "p.yaml" {
					t.Errorf("%s: %s is taken for the policy", path, event.Name)
				}
			case err := <-w.Errors:
				t.Fatal(err)
			case <-deadline:
				t.Fatalf("%s: a change was not seen", path)
			}
			if seen {
				break
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := watch(filepath.Join(dir, "nothing")); err == nil {
		t.Error("what is not there is watched")
	}
}
