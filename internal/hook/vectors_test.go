package hook

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what comes out into the vectors; read the difference before you keep it")

// vectors are the files of vectors/hook whose names begin so.
func vectors(t testing.TB, prefix string) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("../../vectors/hook/" + prefix + "*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors %s*: %v", prefix, err)
	}
	list := map[string]*txtar.Archive{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list[file] = archive
	}
	return list
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// decisions are what the guardian says in the vectors.
func decision(effect act.Effect, request []byte) *Decision {
	d := &Decision{Effect: effect, Message: "No.", Instead: []string{"Ask first."}, Codes: []string{"x"}, ID: "0-7"}
	switch effect {
	case act.Escalate:
		d.Approval, d.Dialogue, d.Lasting, d.Asked = "abc", true, true, "It deploys: `deploy`. No."
	case act.Modify:
		d.Modified = bytes.ReplaceAll(request, []byte("SECRET"), []byte("[removed]"))
	}
	return d
}

var random = regexp.MustCompile(`[A-Z2-7]{26}`)

func TestVectors(t *testing.T) {
	for file, v := range vectors(t, "") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			agent := strings.TrimSpace(section(v, "agent"))
			e, err := Read(agent, strings.TrimSpace(section(v, "event")), []byte(section(v, "input.json")))
			got := &txtar.Archive{Comment: v.Comment}
			for _, f := range v.Files {
				if f.Name == "agent" || f.Name == "event" || f.Name == "input.json" {
					got.Files = append(got.Files, f)
				}
			}
			add := func(name, text string) {
				got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
			}
			if strings.HasPrefix(filepath.Base(file), "invalid-") {
				if err == nil {
					t.Fatal("the event was taken")
				}
				add("error", Block(err.Error()).Stderr)
			} else {
				if err != nil {
					t.Fatal(err)
				}
				answers(t, e, add)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(v)), string(txtar.Format(got))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func answers(t *testing.T, e *Event, add func(name, text string)) {
	at := time.Date(2026, 4, 2, 8, 15, 0, 0, time.UTC)
	call := e.CallID
	if call == "" && (e.Kind == Call || e.Kind == Result) {
		call = "call-1"
	}
	request, err := e.Request("turn", call, at)
	if err != nil {
		t.Fatal(err)
	}
	if request != nil {
		if _, err := aos.ActionOf(request); err != nil {
			t.Errorf("the request is not AOS: %v", err)
		}
		step := jsontext.Value(random.ReplaceAll(request, []byte("RANDOM")))
		if err := step.Indent(jsontext.WithIndent(" ")); err != nil {
			t.Fatal(err)
		}
		add("step.json", string(step)+"\n")
	}
	for _, effect := range []act.Effect{act.Allow, act.Deny, act.Escalate, act.Modify} {
		a := e.Answer(decision(effect, request))
		text := string(a.Stdout)
		if text != "" && !jsontext.Value(text).IsValid() {
			t.Errorf("%s: the answer is no JSON: %s", effect, text)
		}
		if a.Exit != 0 {
			text += fmt.Sprintf("exit %d\n", a.Exit)
		}
		for line := range strings.Lines(a.Stderr) {
			text += "stderr: " + line
		}
		add(effect.String(), text)
	}
}
