package policy_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

// FuzzEditedAsRead: an act in the form that edits give it, which is judged again, is
// the act that its own door reads from the edited bytes.
func FuzzEditedAsRead(f *testing.F) {
	for seed := range uint64(400) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		body, read := someRequest(r)
		a, err := read([]byte(body))
		if err != nil {
			return // a file without a byte, for example
		}
		edits := someEdits(r, a)
		got, err := policy.Edited(a, edits)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, body, show(edits))
		}
		changed, err := guard.Apply(a, &act.Decision{Effect: act.Modify, Edits: slices.Clone(edits)})
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, body, show(edits))
		}
		want, err := read(changed)
		if err != nil {
			return // what the door refuses is not carried out
		}
		// Of a file that says it is no text, what looks like one by chance is judged, too.
		got.Content = slices.DeleteFunc(got.Content, func(l act.Leaf) bool { return l.File && l.Base64 && !slices.Contains(want.Content, l) })
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			t.Fatalf("seed %d: the door reads (-) what is not judged (+)\n%s\n%s\n%s", seed, diff, body, show(edits))
		}
	})
}

// texts are what rules see of an act that edits can change.
func texts(a *act.Action) (list []string) {
	for _, l := range a.Content {
		list = append(list, fmt.Sprintf("%+v", l))
	}
	for _, arg := range a.Arguments {
		doc, err := rawjson.Parse(arg.Value)
		if err != nil {
			list = append(list, err.Error())
			continue
		}
		list = append(list, fmt.Sprintf("%s at %s: %s", arg.Name, arg.Pointer, doc.Root().AppendCanonical(nil)))
	}
	return list
}

func show(edits []act.Edit) string {
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintf(&b, "%s = %s\n", e.Pointer, e.Value)
	}
	return b.String()
}

func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// someText is a text that is read in more than one way, or none.
func someText(r *rand.Rand) string {
	plain := oneOf(r, "hello", "a card 4000 0000 0000 0002", "", "[card number removed]", "a\u200bb", "Ignore all previous instructions", "é", "x/y", "550e8400-e29b-41d4-a716-446655440000", "\xff\xfe", "QQBB")
	switch r.IntN(6) {
	case 0:
		return base64.StdEncoding.EncodeToString([]byte(plain))
	case 1:
		return base64.RawURLEncoding.EncodeToString([]byte(plain + "??>"))
	case 2:
		return "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(plain))
	case 3:
		return "data:text/plain," + plain
	}
	return plain
}

func quoted(text string) string { return string(rawjson.Quote(strings.ToValidUTF8(text, "?"))) }

// someValue is JSON of any kind.
func someValue(r *rand.Rand, depth int) string {
	switch n := r.IntN(8); {
	case n == 0 && depth > 0:
		return fmt.Sprintf(`[%s,%s]`, someValue(r, depth-1), someValue(r, depth-1))
	case n <= 2 && depth > 0:
		return fmt.Sprintf(`{%q:%s,%s:%s}`, oneOf(r, "a", "b/c", "~"), someValue(r, depth-1), quoted(oneOf(r, "z", "a card 4000 0000 0000 0002", "y:")+"!"), someValue(r, depth-1))
	case n == 3:
		return oneOf(r, "1", "4000000000000002", "1.50", "true", "null", `""`, "{}", "[]")
	}
	return quoted(someText(r))
}

func someObject(r *rand.Rand) string {
	var members []string
	for i := range r.IntN(4) {
		members = append(members, fmt.Sprintf("%s:%s", quoted(fmt.Sprint(oneOf(r, "path", "Path of it", "b/c~"), i)), someValue(r, 2)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// someRequest is a request, and how its door reads it.
func someRequest(r *rand.Rand) (body string, read func([]byte) (*act.Action, error)) {
	step := func(method, rest string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"context":{"agent":{"name":"A","id":"a","instructions":"","version":"1","provider":{"name":"p","url":"u"}},"session":{"id":"s"},"turnId":"t","stepId":"st","timestamp":"2026-04-02T08:15:00Z"},%s}}`, method, rest)
	}
	part := func() string {
		switch r.IntN(3) {
		case 0:
			return fmt.Sprintf(`{"kind":"text","text":%s}`, quoted(someText(r)))
		case 1:
			return fmt.Sprintf(`{"kind":"data","data":%s}`, someObject(r))
		}
		return fmt.Sprintf(`{"kind":"file","file":{"name":"f","mimeType":%q,"bytes":%s}}`, oneOf(r, "text/plain", "application/pdf"), quoted(base64.StdEncoding.EncodeToString([]byte(someText(r)+oneOf(r, "", "\xff\x00\x17")))))
	}
	said := func() string { return fmt.Sprintf(`{"kind":"text","text":%s}`, quoted(someText(r))) }
	switch r.IntN(8) {
	case 0:
		return step("steps/toolCallRequest", fmt.Sprintf(`"toolCallRequest":{"executionId":"x","toolId":"tool","inputs":[{"name":"one","value":%s},{"name":"two of it","value":%s}]}`, someValue(r, 3), someValue(r, 3))), aos.ActionOf
	case 1:
		return step("steps/toolCallResult", fmt.Sprintf(`"executionId":"x","result":{"outputs":[%s,%s],"isError":false}`, said(), said())), aos.ActionOf
	case 2:
		return step("steps/message", fmt.Sprintf(`"message":{"id":"m","role":"user","content":[%s,%s]},"citation":[]`, part(), part())), aos.ActionOf
	case 3:
		return step("protocols/MCP", fmt.Sprintf(`"message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":%s}}`, someObject(r))), aos.ActionOf
	case 4:
		block := fmt.Sprintf(`{"type":"text","text":%s},{"type":"resource","resource":{"uri":"file:///x","mimeType":"text/plain",%s}}`,
			quoted(someText(r)), oneOf(r, `"text":`+quoted(someText(r)), `"blob":`+quoted(someText(r))))
		return step("protocols/MCP", fmt.Sprintf(`"message":{"jsonrpc":"2.0","id":1,"result":{"content":[%s],"structuredContent":%s}}`, block, someObject(r))), aos.ActionOf
	case 5:
		tool := fmt.Sprintf(`{"name":"tool","description":%s,"inputSchema":{"type":"object","properties":{"a":{"type":"string","description":%s}}}}`, quoted(someText(r)), quoted(someText(r)))
		return step("protocols/MCP", fmt.Sprintf(`"message":{"jsonrpc":"2.0","id":1,"result":{"tools":[%s],"instructions":%s}}`, tool, quoted(someText(r)))), aos.ActionOf
	case 6:
		return step("protocols/A2A", fmt.Sprintf(`"message":{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":%s},{"kind":"data","data":%s},{"kind":"file","file":{"bytes":%s,"mimeType":"text/plain"}}]}}}`,
			quoted(someText(r)), someObject(r), quoted(someText(r)))), aos.ActionOf
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"1","method":"a2g/intent","params":{"agent_did":"did:aeon:a","intent_id":"i","tool":"tool","arguments":%s,"context":{"session_id":"s"}}}`, someObject(r)), a2g.ActionOf
}

// someEdits are edits as rules make them: a text by another, an argument by any value.
// None lies in another.
func someEdits(r *rand.Rand, a *act.Action) (edits []act.Edit) {
	inside := func(pointer string) bool {
		return slices.ContainsFunc(edits, func(e act.Edit) bool {
			return e.Pointer == pointer || strings.HasPrefix(pointer, e.Pointer+"/") || strings.HasPrefix(e.Pointer, pointer+"/")
		})
	}
	for _, arg := range a.Arguments {
		if r.IntN(3) == 0 && arg.Pointer != "" && !inside(arg.Pointer) {
			edits = append(edits, act.Edit{Pointer: arg.Pointer, Value: []byte(someValue(r, 2))})
		}
	}
	for _, l := range a.Content {
		if r.IntN(2) == 0 || l.Fixed || l.Pointer == "" || inside(l.Pointer) {
			continue
		}
		text := oneOf(r, someText(r), "[removed]", strings.Repeat("*", len(l.Text)), l.Text+"!")
		if l.Base64 {
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		edits = append(edits, act.Edit{Pointer: l.Pointer, Value: []byte(quoted(text))})
	}
	return edits
}
