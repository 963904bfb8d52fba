//go:build !windows

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reeve.example/reeve/act"
)

func TestScope(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"data/2024/sub", "data/2025", "ws", "secret", "ws/real"} {
		os.MkdirAll(filepath.Join(dir, d), 0o755)
	}
	for _, f := range []string{"data/a.csv", "data/b.csv", "data/c.txt", "data/2024/d.csv", "data/2024/sub/e.csv", "data/[x].csv", "secret/key"} {
		os.WriteFile(filepath.Join(dir, f), nil, 0o644)
	}
	for link, to := range map[string]string{"data/link.csv": dir + "/secret/key", "data/dir": dir + "/secret", "ws/vendor": dir + "/secret", "ws/inside": "real", "current": "data", "way": dir + "/ws/vendor"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		scope, read []string
		want        string // granted paths, written ones with a +
		said        string
	}{
		"a directory":                             {scope: []string{"ws"}, want: "+ws"},
		"everything below":                        {scope: []string{"data/**"}, want: "+data"},
		"with a slash":                            {scope: []string{"ws/"}, want: "+ws"},
		"one file":                                {read: []string{"data/a.csv"}, want: "data/a.csv"},
		"a glob of files":                         {read: []string{"data/*.csv"}, want: "data/[x].csv data/a.csv data/b.csv", said: "is the 3 that match"},
		"a glob does not take directories":        {scope: []string{"data/*"}, want: "+data/[x].csv +data/a.csv +data/b.csv +data/c.txt"},
		"a glob of directories":                   {scope: []string{"data/20*/**"}, want: "+data/2024 +data/2025"},
		"brackets are themselves":                 {read: []string{"data/[a].*"}, want: "", said: "is the 0 that match"},
		"below any directory":                     {read: []string{"data/**/*.csv"}, want: "data/2024/d.csv data/2024/sub/e.csv data/[x].csv data/a.csv data/b.csv"},
		"one character":                           {read: []string{"data/?.txt"}, want: "data/c.txt"},
		"what does not exist":                     {scope: []string{"data/none"}, want: "", said: "does not exist and is not granted"},
		"below what does not exist":               {scope: []string{"none/**/x*"}, want: "", said: "matches nothing"},
		"a symlink that the policy names":         {scope: []string{"current"}, want: "+data", said: "/current is "},
		"a glob below a symlink that it names":    {scope: []string{"current/a*"}, want: "+data/a.csv"},
		"a symlink that the command planted":      {scope: []string{"ws/**"}, read: []string{"ws/vendor"}, want: "+ws", said: "symlink out of a directory that may be written"},
		"planted, and to be written":              {scope: []string{"ws", "ws/vendor"}, want: "+ws", said: "symlink out of"},
		"a symlink to one that was planted":       {scope: []string{"ws"}, read: []string{"way"}, want: "+ws", said: "symlink out of"},
		"a glob below one that was planted":       {scope: []string{"ws"}, read: []string{"ws/vendor/k*"}, want: "+ws", said: "symlink out of"},
		"a symlink that stays inside":             {scope: []string{"ws"}, read: []string{"ws/inside"}, want: "+ws ws/real"},
		"a name that begins like the scope's":     {scope: []string{"ws"}, read: []string{"wsx"}, want: "+ws", said: "does not exist"},
		"a glob does not follow symlinks":         {read: []string{"data/l*"}, want: ""},
		"nor into directories that are symlinks":  {read: []string{"data/*/key"}, want: ""},
		"nor anywhere below":                      {read: []string{"**/key"}, want: "secret/key"},
		"a file's own name in place of directory": {scope: []string{"data/a.csv/**"}, want: "+data/a.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			var m act.Manifest
			for _, e := range c.scope {
				m.FilesystemScope = append(m.FilesystemScope, dir+"/"+e)
			}
			for _, e := range c.read {
				m.FilesystemRead = append(m.FilesystemRead, dir+"/"+e)
			}
			s, err := resolveScope(m)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range s.grants {
				p := strings.TrimPrefix(g.Path, dir+"/")
				if g.Write {
					p = "+" + p
				}
				got = append(got, p)
				if info, err := os.Stat(g.Path); err != nil || info.IsDir() != g.Dir {
					t.Errorf("%+v: %v", g, err)
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
			if said := s.detail("filesystem_scope", true) + s.detail("filesystem_read", false); !strings.Contains(said, c.said) {
				t.Errorf("%q is not said in %q", c.said, said)
			}
		})
	}
}

// TestScopeIsBounded has a glob match too much, and look at too much.
func TestScopeIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range maxGrants + 1 {
		os.WriteFile(filepath.Join(dir, strings.Repeat("x", i%200)+"-"+string(rune('a'+i/200))), nil, 0o644)
	}
	if _, err := resolveScope(act.Manifest{FilesystemRead: []string{dir + "/*"}}); err == nil || !strings.Contains(err.Error(), "name a directory") {
		t.Error(err)
	}
	deep := dir + strings.Repeat("/**/*", 50)
	if _, err := resolveScope(act.Manifest{FilesystemRead: []string{deep}}); err != nil {
		t.Log(err)
	}
}

func TestRootIsNotEverything(t *testing.T) {
	s, err := resolveScope(act.Manifest{FilesystemRead: []string{"/**"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/proc/1", "/sys/fs/cgroup", "/dev/mem", "/run/docker.sock"} {
		if s.covers(p) {
			t.Errorf("%s is granted", p)
		}
	}
	if !s.covers("/etc/hosts") {
		t.Error("/etc is not")
	}
}
