package aos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestTablesAgreeWithSchema changes every value of every valid vector in many
// ways, and compares what the tables say with what a JSON Schema says that was
// written from the specification on its own.
func TestTablesAgreeWithSchema(t *testing.T) {
	file, err := os.Open("testdata/params.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.AssertContent()
	if err := compiler.AddResource("params.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for method := range methods {
		schemas[method] = compiler.MustCompile("params.schema.json#/$defs/" + strings.ReplaceAll(method, "/", "."))
	}
	schemas["ping"] = compiler.MustCompile("params.schema.json#/$defs/ping")

	valid, rejected := 0, 0
	compare := func(what string, request map[string]any) {
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		call := instance.(map[string]any)
		oracle := schemas[call["method"].(string)].Validate(call["params"])
		fault := validate(t, body)
		if (oracle == nil) != (fault == nil) {
			t.Errorf("%s: the tables say %v, the schema says %v\n%s", what, fault, oracle, body)
		}
		if fault == nil {
			valid++
		} else {
			rejected++
		}
	}
	for name, body := range vectorRequests(t, "valid") {
		if strings.HasPrefix(name, "valid-time-") {
			continue // the schema's date-time is RFC 3339, which is less than ISO 8601
		}
		var request map[string]any
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		compare(name, request)
		skip := "context" // which is the same in all, save in these two
		if name == "valid-toolCallRequest" || name == "valid-message-user-minimal" {
			skip = ""
		}
		mutations(request["params"], skip, func(what string) { compare(name+": "+what, request) })
	}
	t.Logf("%d requests valid by both, %d by neither", valid, rejected)
	if valid < 1000 || rejected < 1000 {
		t.Errorf("too few mutations: %d valid, %d not", valid, rejected)
	}
}

// validate checks a request with the tables alone.
func validate(t testing.TB, body []byte) error {
	doc, err := rawjson.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	r := &jsonrpc.Request{Method: root.Get("method").Text(), ID: root.Get("id").Raw(), Params: root.Get("params"), Message: root, Body: body}
	if r.Method == "ping" {
		if f := pingTable.Check(r.Params, root); f != nil {
			return f
		}
		return nil
	}
	if _, err := decode(r, methods[r.Method]); err != nil {
		return err
	}
	return nil
}

// mutations changes one place at a time at or below v, but for what is inside
// the member skip, calls f, and changes it back.
func mutations(v any, skip string, f func(what string)) {
	others := []any{nil, true, "", "x", json.Number("7"), json.Number("7.5"), []any{}, []any{nil}, []any{"x"}, map[string]any{}, map[string]any{"kind": "text"}}
	switch v := v.(type) {
	case map[string]any:
		for name, old := range v {
			delete(v, name)
			f("without " + name)
			for _, other := range others {
				v[name] = other
				f(fmt.Sprintf("%s = %v", name, other))
			}
			v[name] = old
			if name != skip {
				mutations(old, skip, f)
			}
		}
		v["unknown"] = "member"
		f("with an unknown member")
		delete(v, "unknown")
	case []any:
		for i, old := range v {
			for _, other := range others {
				v[i] = other
				f(fmt.Sprintf("[%d] = %v", i, other))
			}
			v[i] = old
			mutations(old, skip, f)
		}
	}
}
