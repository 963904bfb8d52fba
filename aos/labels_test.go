package aos

import (
	"context"
	"slices"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

// TestThreat08LabelsOfSends: what goes out to another agent has the labels of what was read before
// it, whatever the message says of itself and however it is wrapped: a peer that is told nothing
// would take foreign text for the sender's word.
func TestThreat08LabelsOfSends(t *testing.T) {
	const parts = `"role":"user","parts":[{"kind":"text","text":"hello"}]`
	wrapped := func(message string) string {
		return `{"message":{"jsonrpc":"2.0","id":8,"method":"message/send","params":{"message":` + message + `}}}`
	}
	both := []string{"private", "foreign"}
	for _, c := range []struct {
		name, params string
		labels       []string
		effect       act.Effect
		masked       bool
		want         string // the modified request's params; empty for none
	}{
		{"nothing was read", wrapped(`{` + parts + `}`), nil, act.Allow, false, ""},
		{"no metadata", wrapped(`{` + parts + `}`), both, act.Allow, false, wrapped(`{` + parts + `,"metadata":{"reeve.labels":["private","foreign"]}}`)},
		{"metadata", wrapped(`{"metadata":{"a":[1] },` + parts + `}`), both, act.Allow, false, wrapped(`{"metadata":{"a":[1],"reeve.labels":["private","foreign"]},` + parts + `}`)},
		{"empty metadata", wrapped(`{"metadata":{ },` + parts + `}`), both, act.Allow, false, wrapped(`{"metadata":{"reeve.labels":["private","foreign"]},` + parts + `}`)},
		{"metadata that is none", wrapped(`{"metadata":null,` + parts + `}`), both, act.Allow, false, wrapped(`{"metadata":{"reeve.labels":["private","foreign"]},` + parts + `}`)},
		{"it says so already", wrapped(`{"metadata":{"reeve.labels":["foreign","private"]},` + parts + `}`), both, act.Allow, false, ""},
		{"it says less", wrapped(`{"metadata":{"reeve.labels":["secret","private"]},` + parts + `}`), both, act.Allow, false, wrapped(`{"metadata":{"reeve.labels":["secret","private","foreign"]},` + parts + `}`)},
		{"it says that it is its own", wrapped(`{"metadata":{"reeve.labels":"own"},` + parts + `}`), both, act.Allow, false, wrapped(`{"metadata":{"reeve.labels":["foreign","private"]},` + parts + `}`)},
		{"a bare message", `{"message":{` + parts + `}}`, both, act.Allow, false, `{"message":{` + parts + `,"metadata":{"reeve.labels":["private","foreign"]}}}`},
		{"params that are a message", `{"jsonrpc":"2.0","id":8,"method":"message/send","params":{"message":{` + parts + `}}}`, both, act.Allow, false,
			`{"jsonrpc":"2.0","id":8,"method":"message/send","params":{"message":{` + parts + `,"metadata":{"reeve.labels":["private","foreign"]}}}}`},
		{"another request", `{"message":{"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"id":"t"}}}`, both, act.Allow, false,
			`{"message":{"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"id":"t","metadata":{"reeve.labels":["private","foreign"]}}}}`},
		{"a request without params", `{"message":{"jsonrpc":"2.0","id":8,"method":"agent/getAuthenticatedExtendedCard"}}`, both, act.Allow, false, ""},
		{"changed by the policy", wrapped(`{` + parts + `}`), both, act.Modify, true, wrapped(`{"role":"user","parts":[{"kind":"text","text":"*****"}],"metadata":{"reeve.labels":["private","foreign"]}}`)},
		{"denied", wrapped(`{` + parts + `}`), both, act.Deny, false, ""},
		{"held", wrapped(`{` + parts + `}`), both, act.Escalate, false, ""},
		{"an answer, which came in", `{"message":{"jsonrpc":"2.0","id":8,"result":{"kind":"message","role":"agent","parts":[]}}}`, both, act.Allow, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent []string
			space := Namespace(func(_ context.Context, a *act.Action) (act.Decision, []byte, error) {
				d := act.Decision{Effect: c.effect, Labels: slices.Clone(c.labels)}
				if c.masked {
					doc, err := rawjson.Parse(a.Body)
					if err != nil {
						t.Fatal(err)
					}
					cursor := rawjson.Cursor{Doc: doc}
					text := cursor.At("/params/message/params/message/parts/0/text")
					changed, err := doc.Splice([]rawjson.Replacement{{At: text, With: []byte(`"*****"`)}})
					return d, changed, err
				}
				return d, nil, nil
			}, func() error { return nil }, "1", time.Now)
			answer, fail := space.Handle(t.Context(), requestOf(t, []byte(`{"jsonrpc":"2.0","id":1,"method":"protocols/A2A","params":`+c.params+`}`)))
			if fail != nil {
				t.Fatal(fail)
			}
			doc, err := rawjson.Parse(answer)
			if err != nil {
				t.Fatal(err)
			}
			got := doc.Root().Get("modifiedRequest")
			if c.want == "" {
				if got.Exists() {
					t.Fatalf("it is changed: %s", got.Raw())
				}
				return
			}
			if said := doc.Root().Get("decision").Text(); said != "modify" {
				t.Errorf("the decision is %s", said)
			}
			if diff := cmp.Diff(c.want, string(got.Get("params").Raw())); diff != "" {
				t.Error(diff)
			}
			again, err := ActionOf(got.Raw())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range c.labels {
				if !slices.Contains(again.Labels, l) {
					sent = append(sent, l)
				}
			}
			if len(sent) > 0 {
				t.Errorf("whoever reads it does not find %v", sent)
			}
		})
	}
}
