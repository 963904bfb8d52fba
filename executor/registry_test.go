package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described is an executor that is only described.
type described Description

func (d described) Describe() Description { return Description(d) }

func (d described) Execute(context.Context, *Job) (jsontext.Value, error) {
	return jsontext.Value("{}"), nil
}

func TestRegister(t *testing.T) {
	schema := jsontext.Value(`{"type":"object"}`)
	for name, c := range map[string]struct {
		d    Description
		want string // in the error; empty for none
	}{
		"good":                     {Description{ID: "weather", InputSchema: schema}, ""},
		"no id":                    {Description{InputSchema: schema}, "needs an id"},
		"no schema":                {Description{ID: "x"}, "a schema of its inputs"},
		"an id with a space":       {Description{ID: "my executor", InputSchema: schema}, "must begin with a letter"},
		"an id with a bidi mark":   {Description{ID: "x\u202e", InputSchema: schema}, "must begin with a letter"},
		"a long id":                {Description{ID: strings.Repeat("x", 129), InputSchema: schema}, "must begin with a letter"},
		"a negative number":        {Description{ID: "x", InputSchema: schema, Concurrent: -1}, "Concurrent"},
		"a limit that is none":     {Description{ID: "x", InputSchema: schema, Enforces: []string{"memory"}}, `"memory" is no limit`},
		"a schema that is no JSON": {Description{ID: "x", InputSchema: jsontext.Value(`{`)}, "no JSON object"},
		"a schema with a member twice": {Description{ID: "x", InputSchema: jsontext.Value(`{"type":"object","type":"array"}`)},
			"no JSON object"},
		"a schema that is a list":       {Description{ID: "x", InputSchema: jsontext.Value(`[]`)}, "no JSON object"},
		"a schema that is none":         {Description{ID: "x", InputSchema: jsontext.Value(`{"type":"nothing"}`)}, "the schema of its inputs"},
		"a schema that loads a file":    {Description{ID: "x", InputSchema: jsontext.Value(`{"$ref":"file:///etc/passwd"}`)}, "the schema of its inputs"},
		"a schema that loads from afar": {Description{ID: "x", InputSchema: jsontext.Value(`{"$ref":"http://127.0.0.1:1/x"}`)}, "the schema of its inputs"},
	} {
		var r Registry
		err := r.Register(described(c.d))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if len(r.List()) > 0 != (err == nil) {
			t.Errorf("%s: registered %v", name, r.List())
		}
	}
	if err := new(Registry).Register(nil); !errors.Is(err, ErrNoDescription) {
		t.Errorf("nothing: %v", err)
	}
}

// all are the executors of this package.
func all() []Executor {
	return []Executor{NewSystemInfo(SystemInfoConfig{}), NewCommand(CommandConfig{}), NewREST(RESTConfig{}), NewLLM(LLMConfig{}),
		NewMCP(MCPConfig{}), NewA2A(A2AConfig{}), NewWASM(WASMConfig{}), NewAggregate()}
}

// A schema of this package's is not compiled when its executor is registered.
func TestOwnSchemas(t *testing.T) {
	for _, e := range all() {
		d := e.Describe()
		if !slices.ContainsFunc(ownSchemas, func(own jsontext.Value) bool { return string(own) == string(d.InputSchema) }) {
			t.Errorf("the schema of %s is not among them", d.ID)
		}
	}
	for _, own := range ownSchemas {
		if err := compile(own); err != nil {
			t.Errorf("%s: %v", own, err)
		}
	}
}

func TestRegistry(t *testing.T) {
	var r Registry
	for _, e := range all() {
		if err := r.Register(e); err != nil {
			t.Error(err)
		}
		if err := r.Register(e); !errors.Is(err, ErrDuplicate) {
			t.Errorf("twice: %v", err)
		}
	}
	var ids []string
	for _, d := range r.List() {
		ids = append(ids, d.ID)
		if d.Name == "" || d.Description == "" || d.Manifest.TimeoutSeconds == 0 || len(d.Enforces) == 0 {
			t.Errorf("%s says little of itself: %+v", d.ID, d)
		}
		if e, got, ok := r.Get(d.ID); !ok || e.Describe().ID != d.ID || got.ID != d.ID {
			t.Errorf("%s is not found", d.ID)
		}
	}
	want := []string{"a2a_executor", "aggregate_results_executor", "command_executor", "llm_executor", "mcp_executor", "rest_executor", "system_info_executor", "wasm_executor"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, _, ok := r.Get("nothing"); ok {
		t.Error("nothing is found")
	}
}

// TestSchemas: what a schema takes and refuses is what its executor does.
func TestSchemas(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{}
	executors := map[string]Executor{}
	for _, e := range all() {
		d := e.Describe()
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(d.InputSchema)))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(d.ID, doc); err != nil {
			t.Fatal(err)
		}
		schemas[d.ID], executors[d.ID] = c.MustCompile(d.ID), e
	}
	for _, c := range []struct {
		id, inputs string
		ok         bool
		name       string // of the input that the executor's error names
	}{
		{"system_info_executor", `{}`, true, ""},
		{"system_info_executor", `{"resource":"cpu","dependency":{"x":1}}`, true, ""},
		{"system_info_executor", `{"resource":"gpu"}`, false, "resource"},
		{"system_info_executor", `{"resource":["cpu"]}`, false, "resource"},
		{"system_info_executor", `{"timeout":0}`, false, "timeout"},
		{"system_info_executor", `{"timeout":"1"}`, false, "timeout"},
		{"system_info_executor", `[]`, false, "object"},
		{"aggregate_results_executor", `{"strategy":"merge"}`, true, ""},
		{"aggregate_results_executor", `{"strategy":"sum"}`, false, "strategy"},
		{"command_executor", `{}`, false, "command"},
		{"command_executor", `{"command":""}`, false, "command"},
		{"command_executor", `{"command":[]}`, false, "command"},
		{"command_executor", `{"command":["a",1]}`, false, "command"},
		{"command_executor", `{"command":{"a":1}}`, false, "command"},
		{"command_executor", `{"command":"true","env":{"A":1}}`, false, "env.A"},
		{"command_executor", `{"command":"true","timeout":-1}`, false, "timeout"},
		{"rest_executor", `{}`, false, "url"},
		{"rest_executor", `{"url":7}`, false, "url"},
		{"rest_executor", `{"url":"http://x/","method":"TRACE"}`, false, "method"},
		{"rest_executor", `{"url":"http://x/","headers":{"a":1}}`, false, "headers.a"},
		{"rest_executor", `{"url":"http://x/","query":{"a":{}}}`, false, "query"},
		{"rest_executor", `{"url":"http://x/","auth":{"type":"magic"}}`, false, "auth"},
		{"rest_executor", `{"url":"http://x/","retries":11}`, false, "retries"},
		{"rest_executor", `{"url":"http://x/","retries":1.5}`, false, "retries"},
		{"mcp_executor", `{"url":"http://x/","tool":"t","arguments":[]}`, false, "arguments"},
		{"mcp_executor", `{"command":"x","tool":"t"}`, false, "command"},
		{"a2a_executor", `{"url":"http://x/"}`, false, "message"},
		{"a2a_executor", `{"url":"http://x/","message":7}`, false, "message"},
		{"a2a_executor", `{"url":"http://x/","message":[]}`, false, "message"},
		{"a2a_executor", `{"url":"http://x/","message":"m","stream":"yes"}`, false, "stream"},
		{"wasm_executor", `{}`, false, "module"},
		{"wasm_executor", `{"module":"m","args":"x"}`, false, "args"},
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(c.inputs))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas[c.id].Validate(value); (err == nil) != c.ok {
			t.Errorf("%s: the schema says of %s: %v", c.id, c.inputs, err)
		}
		_, err = try(t, executors[c.id], c.inputs).run(t.Context(), executors[c.id])
		if c.ok {
			if err != nil {
				t.Errorf("%s says of %s: %v", c.id, c.inputs, err)
			}
			continue
		}
		if e := wrong(t, err); !e.Final || !strings.Contains(e.Message, c.name) {
			t.Errorf("%s says of %s: %+v", c.id, c.inputs, e)
		}
	}
}
