package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

func value(t testing.TB, text string) rawjson.Value {
	t.Helper()
	doc, err := rawjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

// TestThreat05ArgumentNames: an argument that some programs take for another one,
// which the tool's schema defines, is refused wherever it stands.
func TestThreat05ArgumentNames(t *testing.T) {
	const schema = `{"type":"object",
		"properties":{"path":{"type":"string"},"options":{"type":"object","properties":{"force":{"type":"boolean"},"userId":{}}},
			"edits":{"type":"array","items":{"type":"object","properties":{"old_text":{},"new_text":{}}}},
			"x":{},"X":{},"tree":{"$ref":"#/$defs/node"},"env":{"type":"object","additionalProperties":{"type":"object","properties":{"value":{}}}},
			"pair":{"type":"array","prefixItems":[{"properties":{"left":{}}},{"properties":{"right":{}}}]}},
		"anyOf":[{"properties":{"file_name":{}}},{"properties":{"url":{}}}],
		"$defs":{"node":{"properties":{"name":{},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
	for arguments, double := range map[string]string{
		`{"path":"/a"}`:                                     "",
		`{"Path":"/a"}`:                                     "Path",
		`{"path":"/a","PATH":"/b"}`:                         "PATH",
		`{"pa_th":"/a"}`:                                    "pa_th",
		`{"\u0050ath":"/a"}`:                                "Path",
		`{"_path":"/a","paths":1,"Other":2}`:                "",
		`{"x":1,"X":2}`:                                     "",
		`{"fileName":"a"}`:                                  "fileName",
		`{"Url":"a"}`:                                       "Url",
		`{"options":{"force":true,"user_id":1}}`:            "user_id",
		`{"options":{"Force":true}}`:                        "Force",
		`{"options":{"Path":"/a"}}`:                         "",
		`{"other":{"Path":"/a"}}`:                           "",
		`{"edits":[{"old_text":"a"},{"oldText":1}]}`:        "oldText",
		`{"tree":{"children":[{"children":[{"Name":1}]}]}}`: "Name",
		`{"env":{"Path":{"value":1},"a":{"Value":1}}}`:      "Value",
		`{"env":{"PATH":{},"Path":{}}}`:                     "",
		`{"pair":[{"left":1},{"Right":1}]}`:                 "Right",
		`"path"`:                                            "",
		`null`:                                              "",
	} {
		r := doubleArgument(value(t, schema), value(t, arguments))
		switch {
		case (r == nil) != (double == ""):
			t.Errorf("%s: %+v", arguments, r)
		case r != nil && (!r.Final || r.Effect != act.Deny || r.Code != act.CodeAmbiguous || !strings.Contains(r.Message, `"`+double+`"`)):
			t.Errorf("%s: %+v", arguments, r)
		}
	}
	// What is too large to be compared does not pass.
	var many []string
	for i := range 2000 {
		many = append(many, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
	}
	deep := strings.Repeat(`{"p1":`, 100) + "{}" + strings.Repeat("}", 100)
	if r := doubleArgument(value(t, `{"properties":{`+strings.Join(many, ",")+`}}`), value(t, deep)); r == nil || !r.Final {
		t.Errorf("a schema that refers to itself: %+v", r)
	}
	if r := doubleArgument(value(t, `{"$ref":"#","anyOf":[{"$ref":"#"},{"$ref":"#/anyOf/0"}]}`), value(t, `{}`)); r == nil {
		t.Error("a schema without end was compared")
	}
}

// TestThreat07VersionInBody: a request that names the version with headers in its body
// alone needs them all the same.
func TestThreat07VersionInBody(t *testing.T) {
	m, err := read([]byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a","_meta":{"` + metaVersion + `":"` + firstStateless + `"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		headers http.Header
		agrees  bool
	}{
		{http.Header{}, false},
		{http.Header{methodHeader: {"resources/read"}}, false},
		{http.Header{methodHeader: {"resources/read"}, nameHeader: {"b"}}, false},
		{http.Header{methodHeader: {"resources/read"}, nameHeader: {"a"}}, true},
	} {
		if got := disagreement(test.headers, m, newToolbox()); (got == "") != test.agrees {
			t.Errorf("%v: %q", test.headers, got)
		}
	}
}

// TestArgumentNamesAreJudged: such a call reaches no server, whatever the policy.
func TestArgumentNamesAreJudged(t *testing.T) {
	p, _ := testProxy(t, nil)
	s := &scripted{schema: `{"properties":{"path":{}}}`, answer: func(raw []byte) [][]byte {
		return [][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)}
	}}
	got := exchange(t, p, s, 1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"path":"/a","Path":"/b"}}}`)
	if !strings.Contains(got[0], act.CodeAmbiguous) || !strings.Contains(got[0], `\"Path\"`) {
		t.Error(got[0])
	}
	for _, raw := range s.got {
		if strings.Contains(string(raw), "/b") {
			t.Errorf("the server got %s", raw)
		}
	}
}
