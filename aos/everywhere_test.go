package aos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// notRead are the places whose strings are no texts, since they are what a
// caller says of the step and not what it does: see docs/protocol/aos.md.
var notRead = regexp.MustCompile(`^/params/(context|reasoning)(/|$)` +
	`|^/params/(message|trigger/event|knowledgeStep/results/\d+|citations?/\d+)/id$` +
	`|^/params/(toolCallRequest/|toolCallResult/)?executionId$`)

// notDigested are those of them that the digest does not bind.
var notDigested = regexp.MustCompile(`^/params/(context|reasoning)(/|$)` +
	`|^/params/message/id$` +
	`|^/params/(toolCallRequest/|toolCallResult/)?executionId$`)

// decoys are names of members that mean something elsewhere.
var decoys = []string{
	"params", "result", "error", "method", "jsonrpc", "id", "message", "messageId", "parts", "role", "kind", "status", "type", "text", "data", "file",
	"bytes", "blob", "raw", "uri", "mimeType", "metadata", "_meta", "name", "arguments", "value", "content", "structuredContent", "tools", "context",
	"reasoning", "taskId", "contextId", "progressToken", "cursor", "timestamp", "required", "unknown",
}

// TestNothingUnread puts a marked text at every place of every valid vector:
// instead of each value, as another element of each array, as an unknown member
// or a decoy of each object, and as a member's name. Wherever the request is
// still accepted, the text is a leaf, and the digest tells it from another.
func TestNothingUnread(t *testing.T) {
	const marks, key = "4000 1234 5678 901", "AKIAIOSFODNN7EXAMPLE"
	accepted := 0
	for name, body := range vectorRequests(t, "valid") {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var request map[string]any
		if err := decoder.Decode(&request); err != nil {
			t.Fatal(err)
		}
		read := func() (*act.Action, string) {
			body, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			a, err := ActionOf(body)
			if err != nil {
				return nil, ""
			}
			return a, string(body)
		}
		// try makes the same change with two texts and compares.
		try := func(pointer string, change func(mark string)) {
			change(marks + "1")
			a, body := read()
			change(marks + "2")
			b, _ := read()
			if a == nil || b == nil {
				if (a == nil) != (b == nil) {
					t.Errorf("%s: %s: whether it is valid depends on the text", name, pointer)
				}
				return
			}
			accepted++
			pointer = strings.TrimSuffix(pointer, "/mark")
			raw := strings.HasPrefix(a.Method, "protocols/") && request["params"].(map[string]any)["jsonrpc"] != nil
			isRead := raw || !notRead.MatchString(pointer)
			isDigested := raw || !notDigested.MatchString(pointer)
			if raw && (strings.HasPrefix(pointer, "/params/context") || strings.HasPrefix(pointer, "/params/reasoning")) {
				isRead, isDigested = false, false
			}
			// The same with a key's text, which could be an id.
			change(key)
			if c, body := read(); c == nil || isRead && !slices.ContainsFunc(c.Content, func(l act.Leaf) bool { return strings.Contains(l.Text, key) }) {
				t.Errorf("%s: the key at %s is not read\n%s", name, pointer, body)
			}
			if isRead && !slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return strings.Contains(l.Text, marks+"1") }) {
				t.Errorf("%s: the text at %s is not read\n%s", name, pointer, body)
			}
			if isDigested && a.Digest == b.Digest {
				t.Errorf("%s: the text at %s does not change the digest\n%s", name, pointer, body)
			}
		}
		everywhere(request["params"], "/params", func(v any) { request["params"] = v }, try)
	}
	if accepted < 5000 {
		t.Errorf("only %d changes were accepted", accepted)
	}
}

// everywhere tries each place at or below v, and leaves v as it was.
func everywhere(v any, pointer string, set func(any), try func(pointer string, change func(mark string))) {
	if notDigested.MatchString(pointer) {
		return
	}
	try(pointer, func(mark string) { set(mark) })
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range decoys {
			if _, has := v[name]; has {
				continue
			}
			at := pointer + "/" + name
			try(at, func(mark string) { v[name] = mark })
			try(at, func(mark string) { v[name] = map[string]any{"x": []any{mark}} })
			try(at, func(mark string) { v[name] = map[string]any{"type": mark, "id": mark} })
			try(at, func(mark string) { v[name] = map[string]any{mark: nil} })
			try(at, func(mark string) { v[name] = []any{mark} })
			delete(v, name)
		}
		for _, value := range []any{nil, "x", map[string]any{}} {
			last := ""
			try(pointer+"/mark", func(mark string) {
				delete(v, last)
				v[mark], last = value, mark
			})
			delete(v, last)
		}
		for name, member := range v {
			everywhere(member, pointer+"/"+name, func(other any) { v[name] = other }, try)
		}
	case []any:
		for i, e := range v {
			everywhere(e, fmt.Sprintf("%s/%d", pointer, i), func(other any) { v[i] = other }, try)
		}
		try(pointer, func(mark string) { set(append(slices.Clone(v), mark)) })
		try(pointer, func(mark string) { set(append(slices.Clone(v), map[string]any{"x": mark})) })
		set(v)
	}
}
