package reeve

import (
	"fmt"
	"strings"
	"testing"

	"reeve.example/reeve/internal/identity"

	"github.com/go-json-experiment/json"
)

// A node answers in the shapes that the document which it serves tells.
func TestOpenAPIAnswers(t *testing.T) {
	n := openNode(t)
	said := decided(t, n, message("reader-9", "1", "Is the reading room open?"), message("reader-9", "2", "And on Sunday?"))
	call := func(method, path, body string, into any) int {
		t.Helper()
		status, text := ask(n.Admin(), identity.Operator, identity.Admin, method, path, body)
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s %s: %d %s: %v", method, path, status, text, err)
		}
		return status
	}
	var doc map[string]any
	if status := call("GET", "/api/v1/openapi.json", "", &doc); status != 200 {
		t.Fatal(status)
	}
	within := func(v any, names ...string) any {
		for _, name := range names {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		return v
	}
	var fits func(schema, v any) error
	fits = func(schema, v any) error {
		kind, _ := within(schema, "type").(string)
		if ref, ok := within(schema, "$ref").(string); ok {
			return fits(within(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...), v)
		}
		switch v := v.(type) {
		case map[string]any:
			properties, named := within(schema, "properties").(map[string]any)
			for name, one := range v {
				of := within(schema, "additionalProperties")
				if named {
					of = properties[name]
				}
				if of == nil && kind != "" {
					return fmt.Errorf("%s is not told of", name)
				}
				if err := fits(of, one); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			required, _ := within(schema, "required").([]any)
			for _, name := range required {
				if _, ok := v[name.(string)]; !ok {
					return fmt.Errorf("%s is missing", name)
				}
			}
			if kind != "" && kind != "object" {
				return fmt.Errorf("an object, not of the type %s", kind)
			}
		case []any:
			for _, one := range v {
				if err := fits(within(schema, "items"), one); err != nil {
					return err
				}
			}
			if kind != "" && kind != "array" {
				return fmt.Errorf("an array, not of the type %s", kind)
			}
		default:
			is := map[string]string{"string": "string", "float64": "number integer", "bool": "boolean"}[fmt.Sprintf("%T", v)]
			if kind != "" && !strings.Contains(is, kind) {
				return fmt.Errorf("%v is not of the type %s", v, kind)
			}
		}
		return nil
	}
	for _, tt := range []struct {
		method, route, path, body string
		status                    int
	}{
		{"GET", "/api/v1/decisions", "/api/v1/decisions?user=reader-9", "", 200},
		{"GET", "/api/v1/decisions", "/api/v1/decisions?agnet=x", "", 400},
		{"GET", "/api/v1/decisions/{id}", "/api/v1/decisions/" + said[1].String(), "", 200},
		{"GET", "/api/v1/decisions/{id}", "/api/v1/decisions/0-999", "", 404},
		{"GET", "/api/v1/sessions", "/api/v1/sessions", "", 200},
		{"GET", "/api/v1/sessions/{id}", "/api/v1/sessions/s-reader-9", "", 200},
		{"GET", "/api/v1/habits", "/api/v1/habits", "", 200},
		{"GET", "/api/v1/agents/{id}/habits", "/api/v1/agents/nobody/habits", "", 404},
		{"GET", "/api/v1/policy/shadow", "/api/v1/policy/shadow", "", 404},
		{"POST", "/api/v1/policy/replay", "/api/v1/policy/replay", "{}", 200},
	} {
		var answer any
		status := call(tt.method, tt.path, tt.body, &answer)
		schema := within(doc, "paths", tt.route, strings.ToLower(tt.method), "responses", fmt.Sprint(status), "content", "application/json", "schema")
		if status != tt.status || schema == nil {
			t.Errorf("%s %s: %d %v", tt.method, tt.path, status, answer)
		} else if err := fits(schema, answer); err != nil {
			t.Errorf("%s %s: %v\n%v", tt.method, tt.path, err, answer)
		}
	}
}
