package task

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	results := []Result{
		{ID: uuid1, ClientID: "fetch", Status: Completed, Value: jsontext.Value(`{"body":"hi \"you\"","n":1.50,"list":[{"a.b":"x"},null],"o":{"k":"${{ fetch.body }}"}}`)},
		{ID: uuid2, Status: Completed, Value: jsontext.Value(`{}`)},
		{ID: uuid3, ClientID: "my.task", Status: Failed},
	}
	merged := func(inputs string) string {
		return strings.TrimSuffix(inputs, "}") + `,"fetch":` + string(results[0].Value) + `,"` + uuid2 + `":{}}`
	}
	tests := []struct{ inputs, want string }{
		{`{}`, `{"fetch":` + string(results[0].Value) + `,"` + uuid2 + `":{}}`},
		{`{"fetch":1,"` + uuid2 + `":2}`, `{"fetch":1,"` + uuid2 + `":2}`},
		{`{"a":"${{ fetch.n }}"}`, merged(`{"a":1.50}`)},
		{`{"a":"${{fetch.body}}"}`, merged(`{"a":"hi \"you\""}`)},
		{`{"a":"${{ fetch.list }}"}`, merged(`{"a":[{"a.b":"x"},null]}`)},
		{`{"a":["${{ fetch.list.1 }}"]}`, merged(`{"a":[null]}`)},
		{`{"a":"${{ fetch.list.0.\"a.b\" }}"}`, merged(`{"a":"x"}`)},
		{`{"a":"${{ \"fetch\".n }}"}`, merged(`{"a":1.50}`)},
		{`{"a":"${{ ` + uuid1 + `.n }}"}`, merged(`{"a":1.50}`)},
		{`{"a":"${{ ` + uuid2 + ` }}"}`, merged(`{"a":{}}`)},
		{`{"a":"<${{ fetch.body }}|${{ fetch.n }}|${{ fetch.list }}>"}`, merged(`{"a":"<hi \"you\"|1.50|[{\"a.b\":\"x\"},null]>"}`)},
		{`{"a":" ${{ fetch.n }}"}`, merged(`{"a":" 1.50"}`)},
		{`{"a":"$${{ fetch.n }} $$${{ x }}"}`, merged(`{"a":"${{ fetch.n }} $${{ x }}"}`)},
		{`{"a":"${{ fetch.o.k }}"}`, merged(`{"a":"${{ fetch.body }}"}`)}, // once, not again
		{`{"${{ fetch.n }}":"{{ fetch.n }} $ {{"}`, merged(`{"${{ fetch.n }}":"{{ fetch.n }} $ {{"}`)},
	}
	for _, tt := range tests {
		inputs := jsontext.Value(tt.inputs)
		got, err := Resolve(inputs, results)
		if err != nil {
			t.Errorf("%s: %v", tt.inputs, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.inputs, diff)
		}
		if string(inputs) != tt.inputs {
			t.Errorf("%s was overwritten with %s", tt.inputs, inputs)
		}
	}

	refused := []struct{ inputs, says string }{
		{`{"a":{"b":["${{ nobody }}"]}}`, "inputs.a.b.0"},
		{`{"a":"${{ fetch.none.x }}"}`, `has no "none"`},
		{`{"a":"${{ fetch.list.2 }}"}`, `has no "list.2"`},
		{`{"a":"${{ fetch.list.00 }}"}`, `has no "list.00"`},
		{`{"a":"${{ fetch.n.x }}"}`, `has no "n.x"`},
		{`{"a":"${{ \"my.task\" }}"}`, "it is failed"},
		{`{"a":"${{ fetch"}`, "no reference"},
		{`{"a":"${{ fetch. }}"}`, "no reference"},
		{`{"a":"${{ fetch n }}"}`, "no reference"},
		{`{"a":"${{ \"fetch }}"}`, "no reference"},
		{`{"a":"${{ \"\" }}"}`, "no reference"},
		{`[]`, "not an object"},
		{`{"a":1,"a":2}`, "not acceptable JSON"},
	}
	for _, tt := range refused {
		if got, err := Resolve(jsontext.Value(tt.inputs), results); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: the result is %s, the error %v, want %q", tt.inputs, got, err, tt.says)
		}
	}
}

func TestResolveSameClientID(t *testing.T) {
	results := []Result{
		{ID: uuid1, ClientID: "x", Status: Completed, Value: jsontext.Value(`{"n":1}`)},
		{ID: uuid2, ClientID: "x", Status: Completed, Value: jsontext.Value(`{"n":2}`)},
	}
	if got, err := Resolve(jsontext.Value(`{"a":"${{ x.n }}"}`), results); err == nil {
		t.Errorf("an id that two tasks have resolves to %s", got)
	}
	got, err := Resolve(jsontext.Value(`{}`), results)
	if want := `{"` + uuid1 + `":{"n":1},"` + uuid2 + `":{"n":2}}`; err != nil || string(got) != want {
		t.Errorf("the result is %s (%v), want %s", got, err, want)
	}
}

func TestResolveBounds(t *testing.T) {
	big := jsontext.Value(`{"s":"` + strings.Repeat("x", 3<<20) + `"}`)
	results := []Result{{ID: uuid1, ClientID: "a", Status: Completed, Value: big}}
	tests := []struct {
		name, inputs string
		ok           bool
	}{
		{"once", `{"a":0,"x":"${{ a.s }}"}`, true},
		{"thrice", `{"a":0,"x":["${{ a.s }}","${{ a.s }}","${{ a.s }}"]}`, false},
		{"thrice in one string", `{"a":0,"x":"${{ a.s }}${{ a.s }}${{ a.s }}"}`, false},
		{"twice, and merged", `{"x":"${{ a.s }}${{ a.s }}"}`, false},
	}
	for _, tt := range tests {
		if _, err := Resolve(jsontext.Value(tt.inputs), results); (err == nil) != tt.ok {
			t.Errorf("%s: the error is %v", tt.name, err)
		}
	}
	deep := jsontext.Value(`{"d":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`)
	inputs := jsontext.Value(`{"a":0,"x":` + strings.Repeat("[", 100) + `"${{ a.d }}"` + strings.Repeat("]", 100) + `}`)
	if _, err := Resolve(inputs, []Result{{ID: uuid1, ClientID: "a", Value: deep}}); err == nil {
		t.Error("what is nested too deep together is accepted")
	}
}

func TestResolveManyReferences(t *testing.T) {
	// A hundred thousand references into an array as long: only an index serves.
	const n = 100_000
	list := jsontext.Value(`{"l":[0` + strings.Repeat(",0", n-1) + `]}`)
	var inputs strings.Builder
	inputs.WriteString(`{"a":0,"x":[0`)
	for i := range n {
		fmt.Fprintf(&inputs, `,"${{ a.l.%d }}"`, n-1-i)
	}
	inputs.WriteString("]}")
	began := time.Now()
	if _, err := Resolve(jsontext.Value(inputs.String()), []Result{{ID: uuid1, ClientID: "a", Value: list}}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestReferences(t *testing.T) {
	got := References(jsontext.Value(`{"a":"${{ x.y }} ${{ z }}","b":["${{ x }}","$${{ no }}",1],"c":"${{ broken"}`))
	if diff := cmp.Diff([]string{"x", "z"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRename(t *testing.T) {
	rename := func(id string) string {
		return map[string]string{"a": "b", "q q": uuid1, "d": "x.y"}[id]
	}
	keep := func(id string) string { return cmpOr(rename(id), id) }
	got, err := Rename(jsontext.Value(`{"x":"${{a.n.\"p.q\"}} $${{ a }} ${{ c.a }}","y":["${{ \"q q\" }}","a"],"z":"${{ d }}"}`), keep)
	want := `{"x":"${{ b.n.\"p.q\" }} $${{ a }} ${{ c.a }}","y":["${{ ` + uuid1 + ` }}","a"],"z":"${{ \"x.y\" }}"}`
	if err != nil || string(got) != want {
		t.Errorf("the result is %s (%v), want %s", got, err, want)
	}
	if _, err := Rename(jsontext.Value(`{"x":"${{"}`), keep); err == nil {
		t.Error("what is no reference is accepted")
	}
}

func FuzzResolve(f *testing.F) {
	f.Add(`{"a":"${{ r.x.0 }} $${{ ${{ r }}"}`, `{"x":[1,"s"]}`)
	f.Add(`{"a":"${{ \"r\".\"a b\" }}","r":1}`, `{"a b":{"c":"${{ r }}"}}`)
	f.Add(`{"a":["${{r}}"]}`, `[]`)
	f.Add(``, `{}`)
	f.Fuzz(func(t *testing.T, inputs, result string) {
		value := jsontext.Value(result)
		if _, err := rawjson.Parse(value); err != nil {
			return
		}
		out, err := Resolve(jsontext.Value(inputs), []Result{{ID: uuid1, ClientID: "r", Status: Completed, Value: value}})
		if err != nil {
			return
		}
		doc, err := rawjson.Parse(out)
		if err != nil || doc.Root().Kind() != rawjson.Object {
			t.Fatalf("%s with %s is %s: %v", inputs, result, out, err)
		}
		if !doc.Root().Get("r").Exists() {
			t.Fatalf("%s with %s is %s, without the result", inputs, result, out)
		}
		same, err := Rename(jsontext.Value(inputs), func(id string) string { return id })
		if err != nil || string(same) != inputs {
			t.Fatalf("%s with the same names is %s: %v", inputs, same, err)
		}
		renamed, err := Rename(jsontext.Value(inputs), func(id string) string { return "new " + id })
		if err != nil {
			t.Fatalf("%s: %v", inputs, err)
		}
		if was, is := References(jsontext.Value(inputs)), References(renamed); len(was) != len(is) {
			t.Fatalf("%s refers to %q, and %s to %q", inputs, was, renamed, is)
		}
	})
}
