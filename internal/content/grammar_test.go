package content

import (
	"encoding/json"
	"testing"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
)

// TestDouble: what some readers take for a member of the protocol is found where
// the protocol defines an object, and nowhere else.
func TestDouble(t *testing.T) {
	g := NewGrammar(map[string]string{
		"message": "method params:params list:item free taskId task_id content:item@role role",
		"params":  "name _meta isError requests:*message",
		"item":    "size kind",
	})
	for _, tt := range []struct{ body, at, name string }{
		{`{"method":"a","params":{"name":"b"}}`, "", ""},
		{`{"Method":"a"}`, "", "Method"},
		{`{"m\u0045thod":"a"}`, "", "mEthod"},
		{`{"param\u017f":{}}`, "", "param\u017f"},
		{`{"params":{"NAME":"b"}}`, "/params", "NAME"},
		{`{"params":{"is_error":true}}`, "/params", "is_error"},
		{`{"params":{"meta":1,"unknown":{"Name":1,"_Meta_":2},"other":{"Method":1}}}`, "", ""},
		{`{"params":{"_META":1}}`, "/params", "_META"},
		{`{"params":{"requests":{"Method":{"method":"a"}}}}`, "", ""},
		{`{"params":{"requests":{"a":{"method":"a","params":{"Name":1}}}}}`, "/params/requests/a/params", "Name"},
		{`{"list":[{"size":1},[{"\u017fize":1}]]}`, "/list/1/0", "\u017fize"},
		{`{"list":[{"\u212aind":1}]}`, "/list/0", "\u212aind"},
		{`{"list":[{"k\u0131nd":1,"x":0}]}`, "/list/0", "k\u0131nd"},
		{`{"free":{"Method":1},"Free2":1}`, "", ""},
		{`{"taskId":"a"}`, "", ""},
		{`{"task_id":"a","taskId":"b"}`, "", "task_id"},
		{`{"task-id":"a"}`, "", "task-id"},
		{`{"content":{"Size":1}}`, "", ""},
		{`{"role":"a","content":{"Size":1}}`, "/content", "Size"},
		{`[{"Method":1}]`, "", ""},
	} {
		doc, err := rawjson.Parse([]byte(tt.body))
		if err != nil {
			t.Fatal(tt.body, err)
		}
		d := g.Double(doc.Root(), "message", "")
		if d == nil {
			d = &Double{}
		}
		if d.Name != tt.name || d.Pointer != tt.at {
			t.Errorf("%s: %q at %q, want %q at %q", tt.body, d.Name, d.Pointer, tt.name, tt.at)
		}
	}
	if d := g.Double(must(`{"Method":1}`), "message", "", "Method"); d != nil {
		t.Error("a member beside the message was taken for its own:", d)
	}
}

func must(body string) rawjson.Value {
	doc, err := rawjson.Parse([]byte(body))
	if err != nil {
		panic(err)
	}
	return doc.Root()
}

// FuzzFoldName: what Go's reader takes for a member is that for the grammar, too.
func FuzzFoldName(f *testing.F) {
	for _, s := range []string{"method", "Method", "para\u017fms", "\u212aelvin", "K", "ſ", "\u0130d", "paramſ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		var into struct {
			Method string `json:"method"`
			Params string `json:"params"`
			Kelvin string `json:"kelvin"`
			ID     string `json:"id"`
			Tasks  string `json:"tasks"`
		}
		body, err := json.Marshal(map[string]string{name: "x"})
		if err != nil || json.Unmarshal(body, &into) != nil {
			return
		}
		for want, got := range map[string]string{"method": into.Method, "params": into.Params, "kelvin": into.Kelvin, "id": into.ID, "tasks": into.Tasks} {
			if got != "" && canon.FoldMember(name) != want {
				t.Errorf("%q is %s to Go, and %q here", name, want, canon.FoldMember(name))
			}
		}
	})
}
