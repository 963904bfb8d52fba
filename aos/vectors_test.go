package aos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const vectors = "../vectors/aos"

// vectorRequests returns the requests of all vectors whose name begins so.
func vectorRequests(t testing.TB, prefix string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(vectors, prefix+"*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors %s*: %v", prefix, err)
	}
	requests := map[string][]byte{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		requests[strings.TrimSuffix(filepath.Base(file), ".txtar")] = section(archive, "request.json")
	}
	return requests
}

func section(archive *txtar.Archive, name string) []byte {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// knownGaps reads the vectors that are known to fail, each with its reason.
func knownGaps(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(vectors), "gaps.txt"))
	if err != nil {
		t.Fatal(err)
	}
	gaps := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			name, _, _ := strings.Cut(line, " ")
			if name, ours := strings.CutPrefix(name, "aos/"); ours {
				gaps[name] = true
			}
		}
	}
	return gaps
}

// TestVectors sends each vector's request to an endpoint that allows
// everything, or changes what the vector's edits say, and compares the answer
// and what was read from the request. See vectors/aos/README.md.
func TestVectors(t *testing.T) {
	gaps := knownGaps(t)
	ran := map[string]bool{}
	for name := range vectorRequests(t, "") {
		ran[name] = true
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(filepath.Join(vectors, name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			problem := runVector(archive)
			switch {
			case gaps[name] && problem == "":
				t.Error("the vector is listed in gaps.txt, and it passes: take it off the list")
			case gaps[name]:
				t.Skip("known gap: " + problem)
			case problem != "":
				t.Errorf("%s\n%s", archive.Comment, problem)
			}
		})
	}
	for name := range gaps {
		if !ran[name] {
			t.Errorf("gaps.txt lists %s, which is no vector", name)
		}
	}
}

var testTime = time.Date(2026, 4, 2, 8, 15, 0, 0, time.UTC)

// runVector returns what is wrong, or "".
func runVector(archive *txtar.Archive) string {
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return "the vector has no prose head that says which fact it pins"
	}
	request, answer := section(archive, "request.json"), section(archive, "answer.json")
	if request == nil || answer == nil {
		return "the vector lacks request.json or answer.json"
	}
	var edits map[string]json.RawMessage
	if data := section(archive, "edits.json"); data != nil {
		if err := json.Unmarshal(data, &edits); err != nil {
			return "edits.json: " + err.Error()
		}
	}
	var acts []*act.Action
	space := Namespace(
		func(_ context.Context, a *act.Action) (act.Decision, []byte, error) {
			acts = append(acts, a)
			if edits == nil {
				return act.Decision{Effect: act.Allow}, nil, nil
			}
			modified, err := edited(a.Body, edits)
			return act.Decision{Effect: act.Modify, Reasons: []act.Reason{{
				Rule: "mask-cards", Code: "pii.card", Message: "A card number was masked", Effect: act.Modify,
			}}}, modified, err
		},
		func() error { return nil }, "test", func() time.Time { return testTime },
	)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(request))
	r.Header.Set("Content-Type", "application/json")
	(&jsonrpc.Handler{Namespaces: []jsonrpc.Namespace{space}}).ServeHTTP(w, r)

	if len(bytes.TrimSpace(answer)) == 0 {
		if w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			return "want 204 and no body, got " + w.Result().Status + " " + w.Body.String()
		}
	} else {
		if w.Code != http.StatusOK {
			return "HTTP status " + w.Result().Status
		}
		want, err := generic(answer)
		if err != nil {
			return "answer.json: " + err.Error()
		}
		got, err := generic(w.Body.Bytes())
		if err != nil {
			return "the answer is not JSON: " + err.Error() + "\n" + w.Body.String()
		}
		if diff := cmp.Diff(want, matched(want, got)); diff != "" {
			return "answer (-want +got):\n" + diff
		}
	}
	if data := section(archive, "act.json"); data != nil {
		want, err := generic(data)
		if err != nil {
			return "act.json: " + err.Error()
		}
		if len(acts) != 1 {
			return "the request is not one act"
		}
		if diff := cmp.Diff(want, matched(want, describe(acts[0]))); diff != "" {
			return "act (-want +got):\n" + diff
		}
	}
	return ""
}

// edited is what a guard does with a decision's edits.
func edited(body []byte, edits map[string]json.RawMessage) ([]byte, error) {
	doc, err := rawjson.Parse(body)
	if err != nil {
		return nil, err
	}
	var reps []rawjson.Replacement
	for pointer, value := range edits {
		at := doc.At(pointer)
		if !at.Exists() {
			return nil, errors.New("the request has no " + pointer)
		}
		reps = append(reps, rawjson.Replacement{At: at, With: value})
	}
	return doc.Splice(reps)
}

// generic reads JSON with every number as it is written.
func generic(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

// matched is got without the members of objects that want does not name, and
// with "*" where want has it and got has anything.
func matched(want, got any) any {
	switch w := want.(type) {
	case string:
		if w == "*" && got != nil {
			return "*"
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		m := map[string]any{}
		for name, x := range w {
			if y, ok := g[name]; ok {
				m[name] = matched(x, y)
			}
		}
		return m
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		list := make([]any, len(g))
		for i := range g {
			list[i] = matched(w[i], g[i])
		}
		return list
	}
	return got
}

// describe is an act in the terms of act.json.
func describe(a *act.Action) any {
	m := map[string]any{
		"kind": string(a.Kind), "resource": a.Resource, "id": a.ID, "answers": a.Answers, "failed": a.Failed,
		"agent": a.Agent.ID, "user": a.User.ID, "session": a.Session, "turn": a.Turn, "step": a.Step,
		"method": a.InnerMethod, "reasoning": a.Reasoning, "said_at": a.SaidAt.UTC().Format(time.RFC3339Nano),
		"tools_known": a.Agent.Tools != nil, "declared": a.Tool != nil,
	}
	strings := func(list []string) any {
		out := []any{}
		for _, s := range list {
			out = append(out, s)
		}
		return out
	}
	m["faults"], m["cites"], m["retrieved"] = strings(a.Faults), strings(a.Cites), strings(a.Retrieved)
	leaves := []any{}
	for _, l := range a.Content {
		leaf := map[string]any{"at": l.Pointer, "text": l.Text}
		if l.Item != "" {
			leaf["item"] = l.Item
		}
		if l.Arg != "" {
			leaf["argument"] = l.Arg
		}
		if l.Base64 {
			leaf["base64"] = true
		}
		if l.Fixed {
			leaf["fixed"] = true
		}
		leaves = append(leaves, leaf)
	}
	m["content"] = leaves
	arguments := map[string]any{}
	for _, x := range a.Arguments {
		v, err := generic(x.Value)
		if err != nil {
			v = "not JSON: " + err.Error()
		}
		arguments[x.Name] = map[string]any{"at": x.Pointer, "value": v}
	}
	m["arguments"] = arguments
	listed := []any{}
	for _, d := range a.Listed {
		listed = append(listed, d.Name)
	}
	m["listed"] = listed
	return m
}

// TestVectorFiles holds the vectors to their form: one fact each, under a name
// that says of which sort it is.
func TestVectorFiles(t *testing.T) {
	for name, request := range vectorRequests(t, "") {
		prefix, _, _ := strings.Cut(name, "-")
		if !slices.Contains([]string{"valid", "invalid", "modify", "wire"}, prefix) {
			t.Errorf("%s: a vector's name begins with valid-, invalid-, modify- or wire-", name)
		}
		if len(bytes.TrimSpace(request)) == 0 {
			t.Errorf("%s: no request", name)
		}
	}
}
