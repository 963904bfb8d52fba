package operator

import (
	"cmp"
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/bom"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/report"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// operation is what the document says of a route.
type operation struct {
	Summary     string           `json:"summary"`
	OperationID string           `json:"operationId"`
	Roles       []identity.Role  `json:"x-roles"`
	Parameters  []map[string]any `json:"parameters"`
	RequestBody any              `json:"requestBody"`
	Responses   map[string]any   `json:"responses"`
}

type document struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]map[string]any `json:"schemas"`
	} `json:"components"`
}

func described(t *testing.T) (d document) {
	t.Helper()
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The document has each route under /api/v1 and no other, with who may use it, the parts of
// its path, what a query asks by, and a body where one is read.
func TestOpenAPIRoutes(t *testing.T) {
	d := described(t)
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Errorf("it is of OpenAPI %q", d.OpenAPI)
	}
	in := map[string]operation{}
	ids := map[string]bool{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			in[strings.ToUpper(method)+" "+path] = op
			if op.Summary == "" || op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s: summary %q, id %q", method, path, op.Summary, op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
	asks := []string{"limit", "log", "order", "since", "until"}
	for _, one := range questions {
		asks = append(asks, one.name)
	}
	follows := slices.DeleteFunc(slices.Clone(asks), func(name string) bool { return slices.Contains([]string{"text", "cursor", "limit", "order"}, name) })
	habitsOf := []string{"principal", "user", "organization"}
	queries := map[string][]string{
		"GET /api/v1/decisions":            asks,
		"GET /api/v1/decisions/stream":     append(follows, "after"),
		"GET /api/v1/sessions":             asks,
		"GET /api/v1/sessions/{id}":        append(slices.Clone(asks), "part"),
		"GET /api/v1/habits":               {"agent"},
		"GET /api/v1/agents/{id}/habits":   habitsOf,
		"GET /api/v1/agents/{id}/drift":    {"principal"},
		"GET /api/v1/sessions/{id}/labels": {"principal", "agent"},
		"GET /api/v1/evidence":             {"since", "until"},
		"GET /api/v1/boms":                 {"after"},
		"GET /api/v1/agents/{id}/bom":      {"principal", "since", "format"},
	}
	for _, route := range (&API{}).Routes() {
		if !strings.Contains(route.Pattern, " /api/v1/") {
			continue
		}
		op, ok := in[route.Pattern]
		if !ok {
			t.Errorf("%s is not in it", route.Pattern)
			continue
		}
		delete(in, route.Pattern)
		if diff := gocmp.Diff(route.Roles, op.Roles); diff != "" {
			t.Errorf("%s: roles (-want +got):\n%s", route.Pattern, diff)
		}
		if route.JSON != (op.RequestBody != nil) {
			t.Errorf("%s: its body is %v", route.Pattern, op.RequestBody)
		}
		var path, query []string
		for _, p := range op.Parameters {
			name, _ := p["name"].(string)
			switch p["in"] {
			case "path":
				path = append(path, name)
			case "query":
				query = append(query, name)
			}
		}
		var want []string
		if strings.Contains(route.Pattern, "{id}") {
			want = []string{"id"}
		}
		if diff := gocmp.Diff(want, path); diff != "" {
			t.Errorf("%s: path (-want +got):\n%s", route.Pattern, diff)
		}
		if diff := gocmp.Diff(slices.Sorted(slices.Values(queries[route.Pattern])), slices.Sorted(slices.Values(query))); diff != "" {
			t.Errorf("%s: query (-want +got):\n%s", route.Pattern, diff)
		}
	}
	for pattern := range in {
		t.Errorf("%s is in it, and no route", pattern)
	}
}

// The schemas are those of what the node reads and answers with.
func TestOpenAPISchemas(t *testing.T) {
	of := schemas{}
	for _, v := range []any{ledger.Answer{}, ledger.Line{}, DecisionShown{}, LedgerShown{}, report.Runs{}, report.Window{}, HabitsList{}, habits.Report{}, HabitsWord{}, BOMList{}, bom.Report{},
		Nothing{}, Incident{}, SessionLabels{}, LabelsWord{}, Replay{}, replay.Report{}, Drift{}, Running{}} {
		of.ref(reflect.TypeOf(v))
	}
	of["Error"] = map[string]any{"type": "object", "properties": map[string]any{"error": map[string]any{"type": "string"}}, "required": []any{"error"}}
	var want map[string]map[string]any
	text, err := json.Marshal(of, json.Deterministic(true))
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, described(t).Components.Schemas); diff != "" {
		t.Errorf("schemas (-want +got):\n%s\nthey are:\n%s", diff, text)
	}
}

// Every answer that a route gives is described, its schema is there, and the document is
// what is served.
func TestOpenAPIServed(t *testing.T) {
	d := described(t)
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/openapi.json", nil)
	(&API{}).Mux().ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), identity.Operator, identity.Auditor)))
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Body.String() != string(openAPI) {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	refs := strings.Split(string(openAPI), `"$ref": "#/components/schemas/`)[1:]
	used := map[string]bool{}
	for _, ref := range refs {
		name, _, _ := strings.Cut(ref, `"`)
		if used[name] = true; d.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		if !used[name] {
			t.Errorf("the schema %s is nobody's", name)
		}
	}
}

// schemas are those of Go types, by their names.
type schemas map[string]map[string]any

// ref names the schema of a type, which it adds where it has a name of its own.
func (s schemas) ref(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[jsontext.Value]():
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ref(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.ref(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.ref(t.Elem())}
	case reflect.Struct:
		name := t.Name()
		for _, own := range []string{"habits", "replay", "bom"} {
			if strings.HasSuffix(t.PkgPath(), "/"+own) && !strings.HasPrefix(strings.ToLower(name), own) {
				name = map[string]string{"habits": "Habits", "replay": "Replay", "bom": "BOM"}[own] + name
			}
		}
		if s[name] == nil {
			s[name] = map[string]any{} // it may speak of itself
			s[name] = s.object(t)
		}
		return map[string]any{"$ref": "#/components/schemas/" + name}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "integer"}
}

func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []any{}
	s.members(t, properties, &required)
	o := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func (s schemas) members(t reflect.Type, properties map[string]any, required *[]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			s.members(f.Type, properties, required)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		name = cmp.Or(name, f.Name)
		if properties[name] = s.ref(f.Type); strings.Contains(options, "string") {
			properties[name] = map[string]any{"type": "string"}
		}
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
