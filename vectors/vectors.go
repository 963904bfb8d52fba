// Package vectors runs the vectors of the folders beside it in the tests of the
// protocols' packages: each file is a request, and what is answered.
package vectors

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/task"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Answers has answer give the answer to each vector of a protocol, whose parts are
// named as in its file, and compares it with the vector's own. least is how many
// vectors there are at least. The README beside a protocol's vectors has their form.
func Answers(t *testing.T, protocol string, least int, answer func(t *testing.T, parts map[string]string) string) {
	files, err := filepath.Glob("../vectors/" + protocol + "/*.txtar")
	if err != nil || len(files) < least {
		t.Fatalf("%d vectors: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			valid, invalid := strings.HasPrefix(name, "valid-"), strings.HasPrefix(name, "invalid-")
			if !valid && !invalid || len(bytes.TrimSpace(archive.Comment)) == 0 || parts["request.json"] == "" || parts["answer.json"] == "" {
				t.Fatal("a vector has a prose head, a request and an answer, and its name begins with valid- or invalid-")
			}
			text := answer(t, parts)
			want, got := generic(t, parts["answer.json"]), generic(t, text)
			if diff := cmp.Diff(want, alike(want, got)); diff != "" {
				t.Errorf("%sanswer (-want +got):\n%s\n%s", archive.Comment, diff, text)
			}
			if m, ok := want.(map[string]any); !ok || (m["error"] == nil) != valid {
				t.Error("the name does not say whether the answer is an error")
			}
		})
	}
}

// generic reads JSON with every number as it is written.
func generic(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// alike is got without the members that want does not name, and with <uuid> for
// each UUID where want has that.
func alike(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		m := map[string]any{}
		for name := range w {
			if v, ok := g[name]; ok {
				m[name] = alike(w[name], v)
			}
		}
		return m
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		list := make([]any, len(w))
		for i := range w {
			list[i] = alike(w[i], g[i])
		}
		return list
	case string:
		if s, ok := got.(string); ok && w == "<uuid>" {
			if _, err := task.ParseID(s); err == nil {
				return w
			}
		}
	}
	return got
}
