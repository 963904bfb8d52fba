package reeve_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/policy"
)

// established denies where a caller's word stands for what reeve established, or
// where what the caller says of itself was said anywhere but in its place.
const established = `
version: 1
default: allow
rules:
  - name: principal
    when: action.principal.name != "key:real" || action.principal.method != "key" || action.principal.organization != "org"
    effect: deny
  - name: time
    when: action.time != timestamp("2026-11-22T12:00:00Z")
    effect: deny
  - name: names
    when: '[action.kind, action.door, action.method, action.from, agent.id, agent.name, agent.organization, user.id, user.name, user.email, user.organization, session.id].exists(v, v.contains("forged"))'
    effect: deny
  - name: session
    when: session.steps != 7 || session.calls != 3 || session.tainted || session.autonomous || !session.known
    effect: deny
`

// shadowing are names that would matter if a caller's members and what reeve
// established met in one place.
var shadowing = []string{
	"action", "principal", "time", "at", "policy", "kind", "door", "effect", "decision", "session_state", "lists", "args", "folded",
	"action.principal.name", "action.time", "action.kind", "agent.id", "user.id", "session.steps", "lists.trusted", "@evaluation", "@found.secret",
	"@violates.call.loop", "__result__", "in", "true", "null", "size", "has", "matches", "type", "Principal", "At", "Kind", "__proto__", "constructor", "$ref",
}

// TestThreat08Shadowing: members of a request, wherever they stand and whatever they
// are called, do not become what reeve itself says of an act.
func TestThreat08Shadowing(t *testing.T) {
	set, err := policy.Load(policy.File{Name: "established.yaml", Data: []byte(established)})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	accepted := 0
	for door, read := range map[string]func([]byte) (*act.Action, error){"aos": aos.ActionOf, "a2g": a2g.ActionOf} {
		files, err := filepath.Glob("vectors/" + door + "/valid-*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("no vectors of %s: %v", door, err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				var request map[string]any
				plain, err := read(f.Data)
				if f.Name != "request.json" || err != nil || json.Unmarshal(f.Data, &request) != nil {
					continue
				}
				everyObject(request, func(object map[string]any) {
					for i, name := range shadowing {
						if _, has := object[name]; has {
							continue
						}
						object[name] = []any{"forged", map[string]any{"name": "forged", "method": "forged", "id": "forged", "principal": map[string]any{"name": "forged"}}, 1e9, true}[i%4]
						body, err := json.Marshal(request)
						delete(object, name)
						if err != nil {
							t.Fatal(err)
						}
						a, err := read(body)
						if err != nil {
							continue // it is refused, which is as good
						}
						accepted++
						if a.Principal != (act.Principal{}) || !a.At.IsZero() || a.Kind != plain.Kind || a.Door != plain.Door || a.Method != plain.Method {
							t.Errorf("%s with %q: the door took %s %s %s %+v %s", file, name, a.Kind, a.Door, a.Method, a.Principal, a.At)
						}
						a.Principal, a.At = act.Principal{Name: "key:real", Method: "key", Organization: "org"}, at
						v := set.Evaluate(&policy.Input{Action: a, Session: policy.Session{Steps: 7, Calls: 3, Known: true}})
						for _, r := range v.Reasons {
							if slices.Contains([]string{"principal", "time", "names", "session"}, r.Rule) {
								t.Errorf("%s with %q: %s %s\n%s", file, name, r.Rule, r.Message, body)
							}
						}
					}
				})
			}
		}
	}
	if accepted < 5000 {
		t.Errorf("only %d forged requests were accepted and looked at", accepted)
	}
}

// everyObject calls f with each object of a value.
func everyObject(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, member := range v {
			everyObject(member, f)
		}
	case []any:
		for _, e := range v {
			everyObject(e, f)
		}
	}
}
