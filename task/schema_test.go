package task

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCheckInputs(t *testing.T) {
	tests := []struct {
		schema, inputs string
		field, says    string // of the error; both empty for none
	}{
		{`{"type":"object","required":["url"]}`, `{"url":"x"}`, "", ""},
		{`true`, `{}`, "", ""},
		{`{"type":"object","required":["url","a"]}`, `{}`, "inputs.a", "missing"},
		{`{"properties":{"a":{"items":{"type":"integer","maximum":10}}}}`, `{"a":[1,11]}`, "inputs.a.1", "maximum"},
		{`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"b":1,"a":1}`, "inputs.a", "got number, want string"},
		{`{"properties":{"n":{"multipleOf":0.01}}}`, `{"n":19.99}`, "", ""},
		{`{"properties":{"n":{"const":9007199254740993}}}`, `{"n":9007199254740992}`, "inputs.n", "9007199254740993"},
		{`{"properties":{"n":{"pattern":"^a+$"}}}`, `{"n":"aab"}`, "inputs.n", "pattern"},
		{`{"additionalProperties":false}`, `{"x":1}`, "inputs", "additional"},
		{`{"properties":{"u":{"format":"uri"}}}`, `{"u":"http:// x"}`, "inputs.u", "uri"},
		{`{"definitions":{"p":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/p"}}}`, `{"a":"x"}`, "inputs.a", "got string"},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"a":{"prefixItems":[{"type":"string"}]}}}`, `{"a":[1]}`, "inputs.a.0", "got number"},
		{`{"properties":{"a":{"prefixItems":[{"type":"string"}]}}}`, `{"a":[1]}`, "", ""}, // draft 7 knows no prefixItems
		{`{"properties":{"n":{"minimum":1}}}`, `{"n":1e1000000}`, "inputs", "too long"},
		{`{"properties":{"n":{"minimum":1}}}`, `{"n":` + strings.Repeat("9", 1000) + `}`, "inputs", "too long"},
		{`{"type":"object"}`, `{`, "inputs", "not acceptable JSON"},

		{`{"type":"thing"}`, `{}`, "schemas.input_schema", ""},
		{`[]`, `{}`, "schemas.input_schema", "an array"},
		{`{"a":1,"a":2}`, `{}`, "schemas.input_schema", "Duplicate"},
		{`{"$ref":"https://example.com/schema"}`, `{}`, "schemas.input_schema", "example.com"},
		{`{"$ref":"file:///etc/passwd"}`, `{}`, "schemas.input_schema", "passwd"},
		{`{"$schema":"https://example.com/schema"}`, `{}`, "schemas.input_schema", "outside"},
		{`{"$ref":"#/nowhere"}`, `{}`, "schemas.input_schema", ""},
		{`{"$dynamicRef":"#a"}`, `{}`, "schemas.input_schema", "#a"},
		{`{"pattern":"(?=a)"}`, `{}`, "schemas.input_schema", ""},
		{`{"pattern":"` + strings.Repeat("a", 2000) + `"}`, `{}`, "schemas.input_schema", ""},
		{`{"pattern":"` + strings.Repeat("x{1000}", 30) + `"}`, `{}`, "schemas.input_schema", ""},
		{`{"minimum":1e1000000}`, `{}`, "schemas.input_schema", "too long"},
		{strings.Repeat(`{"not":`, 40) + `{}` + strings.Repeat(`}`, 40), `{}`, "schemas.input_schema", "levels"},
		{`{"anyOf":[true` + strings.Repeat(",true", 3000) + `]}`, `{}`, "schemas.input_schema", "parts"},
		{`{"title":"` + strings.Repeat("x", maxSchema) + `"}`, `{}`, "schemas.input_schema", "bytes"},
	}
	for _, tt := range tests {
		for range 2 { // and from the cache
			err := CheckInputs(jsontext.Value(tt.schema), jsontext.Value(tt.inputs))
			switch {
			case err == nil && tt.field != "":
				t.Errorf("%.100s: %.100s is accepted", tt.schema, tt.inputs)
			case err != nil && (err.Code != CodeInvalid || err.Field != tt.field || !strings.Contains(err.Reason, tt.says)):
				t.Errorf("%.100s: %.100s: the error is %q in %q, want %q in %q", tt.schema, tt.inputs, err.Reason, err.Field, tt.says, tt.field)
			}
		}
	}
}

// TestCheckInputsEnds has schemas whose checking would never end: a few lines that
// double the work with each.
func TestCheckInputsEnds(t *testing.T) {
	doubling := func(keyword, leaf string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"definitions":{"d0":%s`, leaf)
		for i := 1; i <= 60; i++ {
			fmt.Fprintf(&b, `,"d%d":{"%s":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]}`, i, keyword, i-1, i-1)
		}
		return b.String() + `},`
	}
	long := `{"a":["` + strings.Repeat(`x","`, 200_000) + `x"]}`
	var words strings.Builder
	words.WriteString(`"word"`)
	for i := range 5_000 {
		fmt.Fprintf(&words, `,"%d"`, i)
	}
	tests := []struct{ name, schema, inputs string }{
		{"allOf", doubling("allOf", `{"type":"object"}`) + `"$ref":"#/definitions/d60"}`, `{}`},
		// The validator stops at the first failure here: the answer is right, and soon.
		{"failing, within not", doubling("allOf", `{"type":"null"}`) + `"not":{"$ref":"#/definitions/d60"}}`, `{}`},
		{"anyOf of failures", doubling("anyOf", `{"type":"null"}`) + `"$ref":"#/definitions/d60"}`, `{}`},
		{"oneOf", doubling("oneOf", `{"type":"object"}`) + `"$ref":"#/definitions/d60"}`, `{}`},
		{"the levels of the inputs", `{"definitions":{"d":{"additionalProperties":{"allOf":[{"$ref":"#/definitions/d"},{"$ref":"#/definitions/d"}]}}},"$ref":"#/definitions/d"}`,
			strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)},
		{"a long enum", `{"properties":{"a":{"items":{"enum":[` + words.String() + `]}}}}`, long},
		{"a large pattern", `{"properties":{"a":{"items":{"allOf":[` + strings.Repeat(`{"pattern":"(a|x)*(x{900})"},`, 300) + `true]}}}}`, `{"a":["` + strings.Repeat(strings.Repeat("x", 800)+`","`, 2000) + `"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			err := CheckInputs(jsontext.Value(tt.schema), jsontext.Value(tt.inputs))
			if stops := strings.HasPrefix(tt.name, "failing"); stops != (err == nil) || err != nil && !strings.Contains(err.Reason, "too long") {
				t.Errorf("the error is %v", err)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestCheckInputsLarge(t *testing.T) {
	row := `{"id":1,"name":"n","tags":["a","b"],"kind":"k"}`
	inputs := `{"rows":[` + strings.Repeat(row+",", 20_000) + row + `]}`
	schema := `{"properties":{"rows":{"items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer","minimum":0},
		"name":{"type":"string","maxLength":9},"tags":{"items":{"type":"string"},"uniqueItems":true},"kind":{"enum":["k","l"]}}}}}}`
	if err := CheckInputs(jsontext.Value(schema), jsontext.Value(inputs)); err != nil {
		t.Errorf("an honest schema of large inputs: %v", err)
	}
}

func TestSchemaCache(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 60 {
				schema := fmt.Sprintf(`{"title":"%s","properties":{"n":{"minimum":%d}}}`, strings.Repeat("x", 40_000), i)
				if err := CheckInputs(jsontext.Value(schema), jsontext.Value(fmt.Sprintf(`{"n":%d}`, i-1))); err == nil || err.Field != "inputs.n" {
					t.Errorf("goroutine %d, schema %d: the error is %v", g, i, err)
				}
			}
		})
	}
	wg.Wait()
	schemas.mu.Lock()
	defer schemas.mu.Unlock()
	held := 0
	for e := schemas.order.Front(); e != nil; e = e.Next() {
		held += e.Value.(*compiled).bytes
	}
	if held != schemas.bytes || held > cacheBytes || len(schemas.entries) != schemas.order.Len() || held < cacheBytes/2 {
		t.Errorf("the cache holds %d bytes, says %d, and may hold %d; %d entries, %d in order", held, schemas.bytes, cacheBytes, len(schemas.entries), schemas.order.Len())
	}
}
