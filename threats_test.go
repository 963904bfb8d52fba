package reeve_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// untold are the threats of SECURITY.md's table that no test names yet. When one does,
// it is taken out of here, and its name is put into the table.
var untold = map[string]bool{}

// TestThreatTable holds SECURITY.md's table against the tests that there are: every
// threat has a row, every row names its tests, and each of them exists.
func TestThreatTable(t *testing.T) {
	function := regexp.MustCompile(`(?m)^func (TestThreat([0-9]{2})[A-Za-z0-9]*)\(t \*testing\.T\)`)
	tests := map[string]string{} // by name, the threat
	walk(t, func(path, text string) {
		for _, found := range function.FindAllStringSubmatch(text, -1) {
			tests[found[1]] = strings.TrimPrefix(found[2], "0")
		}
	})
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| T([0-9]+) \|(.*)$`)
	name := regexp.MustCompile("`(TestThreat[0-9]{2}[A-Za-z0-9]*)`")
	named, next := map[string]bool{}, 1
	for _, r := range row.FindAllStringSubmatch(string(text), -1) {
		if r[1] != fmt.Sprint(next) {
			t.Errorf("T%s stands where T%d should", r[1], next)
		}
		next++
		names := name.FindAllStringSubmatch(r[2], -1)
		if (len(names) == 0) != untold[r[1]] {
			t.Errorf("T%s: %d tests are named, and it is said to have none: %v", r[1], len(names), untold[r[1]])
		}
		for _, n := range names {
			if named[n[1]] = true; tests[n[1]] != r[1] {
				t.Errorf("T%s names %s, which is no test of it", r[1], n[1])
			}
		}
	}
	if next != 30 {
		t.Errorf("the table has %d threats, and 29 are known", next-1)
	}
	for _, n := range slices.Sorted(maps.Keys(tests)) {
		if !named[n] {
			t.Errorf("%s is not in the table", n)
		}
	}
}

// decoders are the rooms that read what strangers send, or what lies on a disk that others
// can write. A room that imports a reader and is in neither list is a room to think about.
var decoders = strings.Fields(`a2a a2a/message a2g aos executor flow internal/canon internal/content internal/hook internal/identity
	internal/jsonrpc internal/ledger internal/mcp/message internal/mcp/proxy internal/mcp/proxy/install
	internal/outbound internal/policy internal/rawjson internal/risk internal/risk/hazard internal/risk/model
	internal/server internal/session internal/store/internal/layout internal/visible internal/yamldoc task`)

// TestThreat04FuzzTargets: each decoder has a fuzz target. make fuzz and make soak run them all.
func TestThreat04FuzzTargets(t *testing.T) {
	target := regexp.MustCompile(`(?m)^func Fuzz[A-Z][A-Za-z0-9]*\(f \*testing\.F\)`)
	rooms := map[string]bool{}
	walk(t, func(path, text string) {
		if target.MatchString(text) {
			rooms[filepath.ToSlash(filepath.Dir(path))] = true
		}
	})
	for _, room := range decoders {
		if !rooms[room] {
			t.Errorf("%s has no fuzz target", room)
		}
	}
}

// walk reads every test of the project.
func walk(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		f(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
