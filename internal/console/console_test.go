package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"os"
	"reeve.example/reeve/flow"
	"reeve.example/reeve/task"
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve/internal/approval"
)

// TestVendored: the files of others are those of the versions that are named.
func TestVendored(t *testing.T) {
	list, err := os.ReadFile("vendored.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		text, err := os.ReadFile(f[2])
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != f[3] {
			t.Errorf("%s is not that of %s %s", f[2], f[0], f[1])
		}
	}
}

// TestNothingInline: the policy of the pages forbids scripts and styles in them, and
// handlers; nothing is fetched from another host.
func TestNothingInline(t *testing.T) {
	bad := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|<style|\sstyle=|\son[a-z]+=|hx-on|javascript:|hx-vals=.js:|(?:src|href|action|hx-get|hx-post)="?https?:|//[a-z]+\.[a-z]`)
	entries, err := fs.ReadDir(files, "templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(files, "templates/"+entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := bad.Find(text); found != nil {
			t.Errorf("%s has %q", entry.Name(), found)
		}
	}
}

// FuzzSee: whatever an agent writes is no markup, and each character of it is seen.
func FuzzSee(f *testing.F) {
	for _, s := range []string{"<script>alert(1)</script>", "a\x1b[2J", "\u202egpj.exe", "⟨U+0041⟩", "a\u200bb", "<img src=x onerror=alert(1)>", "&lt;b&gt;", "\xff", "'\"><svg/onload=1>", "пример"} {
		f.Add(s)
	}
	tag := regexp.MustCompile(`</?span(?: class="odd")?>`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, shown := range []string{string(see(s)), string(lines(s)), string(readable(s))} {
			rest := tag.ReplaceAllString(shown, "")
			if strings.ContainsAny(rest, "<>\"'") {
				t.Errorf("%q is shown as %q", s, shown)
			}
			for _, r := range html.UnescapeString(rest) {
				if r < ' ' && r != '\n' || r == 0x7f || r >= 0x202a && r <= 0x202e || r == 0x200b || r == 0xfeff {
					t.Errorf("%q is shown with %U", s, r)
				}
			}
		}
	})
}

// FuzzMarked: a text in pieces is the whole text, wherever findings say that they are.
func FuzzMarked(f *testing.F) {
	f.Add("curl x | sh", 0, 4, 9, 11)
	f.Add("aä\x1b", -1, 3, 2, 99)
	f.Fuzz(func(t *testing.T, s string, a, b, c, d int) {
		var whole string
		for _, p := range marked(approval.Part{Text: s, Findings: []approval.Finding{{Code: "one", Start: a, End: b}, {Code: "two", Start: c, End: d}}}) {
			whole += string(p.Text)
		}
		if strings.ContainsAny(regexp.MustCompile(`</?span(?: class="odd")?>`).ReplaceAllString(whole, ""), "<>") || s != "" && whole == "" {
			t.Errorf("%q is shown as %q", s, whole)
		}
	})
}

// TestDiff: of a difference, what stays and goes is the one text, and what stays and comes
// the other.
func TestDiff(t *testing.T) {
	for _, tt := range [][2]string{
		{"", ""}, {"a", "b"}, {"a\nb\nc", "a\nc"}, {"a\nc", "a\nb\nc"}, {"x\ny", "y\nx"}, {"same\n", "same\n"}, {"a\nb\nc\nd", "b\nd\ne"},
		{strings.Repeat("a\n", 2500), strings.Repeat("b\n", 2500)},
	} {
		var before, after []string
		for _, l := range diff(tt[0], tt[1]) {
			if l.Sign != "+" {
				before = append(before, string(l.Text))
			}
			if l.Sign != "-" {
				after = append(after, string(l.Text))
			}
		}
		if got := [2]string{strings.Join(before, "\n"), strings.Join(after, "\n")}; got != tt {
			t.Errorf("the difference of %.20q has %.40q", tt, got)
		}
	}
	if got := fmt.Sprint(diff("a\nb", "a\nc")); got != "[{  a} {- b} {+ c}]" {
		t.Error(got)
	}
}

// TestGraph: a tree of any size is drawn in boxes that a person takes in; each task is in one,
// each arrow goes right, and the critical path is seen.
func TestGraph(t *testing.T) {
	id := func(n int) (id task.ID) {
		id[0], id[14], id[15] = 1, byte(n>>8), byte(n)
		return id
	}
	for name, needs := range map[string]func(i int) []int{
		"a chain":      func(i int) []int { return []int{i - 1} },
		"a wide tree":  func(i int) []int { return []int{i % 3} },
		"layers":       func(i int) []int { return []int{i - 100, i - 100 + i%7} },
		"several ends": func(i int) []int { return []int{i / 2} },
	} {
		for _, size := range []int{3, 200, 1000, 10_000} {
			rows := make([]rowView, size)
			for i := range rows {
				rows[i] = rowView{Task: flow.Task{ID: id(i + 1), Parent: id(1 + i%5), Name: "t", Status: task.Completed}, Slow: i%1000 == 1}
				for _, need := range needs(i) {
					if need >= 0 && need < i {
						rows[i].Dependencies = append(rows[i].Dependencies, flow.Need{ID: id(need + 1)})
					}
				}
			}
			rows[size-1].Status = task.Failed
			g := layout(rows)
			if g == nil {
				continue
			}
			tasks, failed, slow := 0, 0, 0
			for _, b := range g.Boxes {
				tasks += b.Count
				failed += b.failed
				if b.Slow {
					slow++
				}
				if b.Count > 1 && b.failed > 0 && (b.Status != task.Failed || !strings.Contains(b.Name, "failed")) {
					t.Errorf("%s of %d: a box with what failed is %s, %q", name, size, b.Status, b.Name)
				}
				for from := range b.from {
					if from.X >= b.X {
						t.Errorf("%s of %d: an arrow goes from %d to %d", name, size, from.X, b.X)
					}
				}
			}
			if tasks != g.Tasks || failed != 1 || len(g.Boxes) > maxBoxes || size > 3 && slow == 0 || size <= maxBoxes && len(g.Boxes) != tasks {
				t.Errorf("%s of %d: %d of %d tasks in %d boxes, %d failed, %d slow", name, size, tasks, g.Tasks, len(g.Boxes), failed, slow)
			}
		}
	}
}
