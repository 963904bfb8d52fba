package hazard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// aims are what the heuristics must reach on the corpus that is kept.
var aims = []struct {
	category                    string
	recall, falsePositives, auc float64 // -1: not asked
}{
	{"reverse_shell", 0.95, -1, 0.9},
	{"linux", 0.9, 0.01, 0.9},
	{"traversal", 0.9, -1, 0.9},
	{"read_write", -1, 0.005, 0.9},
	{"windows", 0.9, 0.05, 0.9},
	{"url", 0.9, 0.01, 0.9},
	{"sql", 0.9, 0.01, 0.9},
	{"prose", -1, 0.01, 0.9},
	{"all", 0.9, 0.01, 0.9},
}

func TestCorpus(t *testing.T) {
	f, err := os.Open("corpus/own.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Evaluate(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", r)
	for _, a := range aims {
		row, ok := r.Row(a.category)
		if !ok {
			t.Errorf("the corpus has no %s", a.category)
			continue
		}
		if row.Recall < a.recall || a.falsePositives >= 0 && row.FalsePositiveRate > a.falsePositives || row.AUC < a.auc {
			t.Errorf("%s: recall %.3f, false positives %.4f, AUC %.3f; want %v", a.category, row.Recall, row.FalsePositiveRate, row.AUC, a)
		}
	}
}

// TestBuiltCorpus holds the heuristics to the aims of the large corpus, in the
// directory that REEVE_HAZARD_CORPUS names (see corpus/README.md).
func TestBuiltCorpus(t *testing.T) {
	dir := os.Getenv("REEVE_HAZARD_CORPUS")
	if dir == "" {
		t.Skip("REEVE_HAZARD_CORPUS names no directory")
	}
	for _, half := range []string{"tuned", "heldout"} {
		f, err := os.Open(filepath.Join(dir, half+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := Evaluate(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s\n%v", half, r)
		linux, _ := r.Row("linux")
		reverse, _ := r.Row("reverse_shell")
		traversal, _ := r.Row("traversal")
		files, _ := r.Row("read_write")
		all, _ := r.Row("all")
		if linux.Recall < 0.6 || linux.FalsePositiveRate > 0.01 || reverse.Recall < 0.95 || traversal.Recall < 0.9 || files.FalsePositiveRate > 0.005 || all.AUC < 0.9 {
			t.Errorf("%s: below the aims", half)
		}
	}
}

func TestEvaluate(t *testing.T) {
	const corpus = `{"label":"malicious","category":"a","tool":"sh","arguments":{"command":"cat /etc/shadow"}}
{"label":"malicious","category":"a","tool":"sh","arguments":{"command":"ls"},"more":[1]}

{"label":"benign","category":"a","tool":"sh","arguments":{"command":"ls"}}
{"label":"benign","category":"b","tool":"sh","arguments":{"argv":["cat","/etc/shadow"]}}`
	r, err := Evaluate(strings.NewReader(corpus))
	if err != nil {
		t.Fatal(err)
	}
	const want = `category  malicious  benign  precision  recall                false positives          AUC
a         2          1       1.0000     50.0 % (9.5 to 90.5)  0.0 % (0.0 to 79.3)      0.750 (0.093 to 1.000)
b         0          1       0.0000     -                     100.0 % (20.7 to 100.0)  0.250 (0.000 to 0.967)
all       2          2       0.5000     50.0 % (9.5 to 90.5)  50.0 % (9.5 to 90.5)     0.500 (0.000 to 1.000)
`
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEvaluateRefuses(t *testing.T) {
	const good = `{"label":"benign","category":"a","tool":"sh","arguments":{}}` + "\n"
	for _, bad := range []string{
		`{`, `[]`, `"a"`, `{}`,
		`{"label":"evil","category":"a","tool":"sh","arguments":{}}`,
		`{"label":"benign","category":"","tool":"sh","arguments":{}}`,
		`{"label":"benign","category":"all","tool":"sh","arguments":{}}`,
		`{"label":"benign","category":"a","tool":1,"arguments":{}}`,
		`{"label":"benign","category":"a","tool":"sh","arguments":[]}`,
		`{"label":"benign","label":"malicious","category":"a","tool":"sh","arguments":{}}`,
		`{"label":"benign","category":"a","tool":"sh","arguments":{}} x`,
		strings.Repeat("x", maxLine+1),
	} {
		_, err := Evaluate(strings.NewReader(good + "\n" + bad + "\n" + good))
		if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
			t.Errorf("%.60s: %v", bad, err)
		}
	}
}
