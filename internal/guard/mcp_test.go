package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/rawjson"
)

func definitions(t *testing.T, list ...string) (all []rawjson.Value) {
	t.Helper()
	for _, text := range list {
		doc, err := rawjson.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, doc.Root())
	}
	return all
}

// TestPinTools: what is pinned survives a restart, belongs to who asked, and is
// bounded.
func TestPinTools(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	a, b := act.Principal{Name: "key:a", Method: "key"}, act.Principal{Name: "key:b", Method: "key"}
	first := definitions(t, `{"name":"x","description":"1"}`)
	changed := definitions(t, `{"name":"x","description":"2"}`)
	n := open(t, dir, nil)
	pin := func(n *node, by act.Principal, list []rawjson.Value) map[string]act.Reason {
		t.Helper()
		held, err := n.pins.Compare(ctx, by, "s", pins.TrustFirst, list)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	if held := pin(n, a, first); len(held) != 0 {
		t.Errorf("%v", held)
	}
	n.close()
	n = open(t, dir, nil)
	if held := pin(n, a, changed); len(held) != 1 || held["x"].Effect != act.Deny {
		t.Errorf("after a restart: %v", held)
	}
	if held := pin(n, b, changed); len(held) != 0 {
		t.Errorf("another principal's: %v", held)
	}
	servers, _, err := n.pins.Servers(ctx)
	if err != nil || len(servers) != 2 {
		t.Fatalf("%v, %v", servers, err)
	}
	for _, s := range servers {
		_, err := n.pins.Answer(ctx, s.ID, "x", "", true, b)
		if want := s.Principal == b.Name; errors.Is(err, pins.ErrNoTool) != want {
			t.Errorf("%s: %v", s.Principal, err)
		}
	}
	if held := pin(n, a, changed); len(held) != 0 {
		t.Errorf("after somebody agreed: %v", held)
	}
	if held := pin(n, a, first); len(held) != 1 {
		t.Errorf("the definition before it: %v", held)
	}

	// A server that lists other names each time, and long ones.
	for i := range 4 {
		var list []string
		for k := range pins.MaxTools {
			list = append(list, fmt.Sprintf(`{"name":"t%d-%d","description":%q}`, i, k, strings.Repeat("word ", 2000)))
		}
		list = append(list[1:], fmt.Sprintf(`{"name":"long%d","description":%q}`, i, strings.Repeat("word ", 20_000)))
		if held, err := n.pins.Compare(ctx, a, "flood", pins.TrustFirst, definitions(t, list...)); err != nil || i > 0 && len(held) < pins.MaxTools {
			t.Errorf("%d held, %v", len(held), err)
		}
	}
	servers, _, err = n.pins.Servers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		size := 0
		for _, tool := range s.Tools {
			size += len(tool.Definition)
			if tool.Held != nil {
				size += len(tool.Held.Definition)
			}
		}
		if len(s.Tools) > 2*pins.MaxTools || size > 5<<20 {
			t.Errorf("%s: %d tools, %d bytes", s.Name, len(s.Tools), size)
		}
	}
}

// TestPinToolsAtOnce: of many listings at once none is lost.
func TestPinToolsAtOnce(t *testing.T) {
	ctx := context.Background()
	n := open(t, t.TempDir(), nil)
	by := act.Principal{Name: "key:a", Method: "key"}
	list := definitions(t, `{"name":"x"}`, `{"name":"y"}`)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if held, err := n.pins.Compare(ctx, by, "s", pins.TrustFirst, list); err != nil || len(held) > 0 {
				t.Errorf("%v, %v", held, err)
			}
		})
	}
	all.Wait()
	servers, _, err := n.pins.Servers(ctx)
	if err != nil || len(servers) != 1 || len(servers[0].Tools) != 2 {
		t.Errorf("%v, %v", servers, err)
	}
}

// TestForgetPins: a server that is forgotten makes room, and is as if it were new; so is
// one of which what is stored is damaged.
func TestForgetPins(t *testing.T) {
	servers = 1
	defer func() { servers = 0 }()
	for name, data := range damages {
		t.Run(name, func(t *testing.T) {
			dir, ctx, now := t.TempDir(), t.Context(), time.Now()
			n := open(t, dir, func(c *guard.Config) { c.Now = func() time.Time { return now } })
			by := act.Principal{Name: "key:a", Method: "key"}
			compare := func(server, tool string) (held int, err error) {
				list, err := n.pins.Compare(ctx, by, server, pins.TrustFirst, definitions(t, tool))
				return len(list), err
			}
			if held, err := compare("one", `{"name":"x"}`); held != 0 || err != nil {
				t.Fatalf("%d held, %v", held, err)
			}
			list, _, err := n.pins.Servers(ctx)
			if err != nil || len(list) != 1 {
				t.Fatalf("%d servers: %v", len(list), err)
			}
			if _, err := compare("two", `{"name":"x"}`); err == nil {
				t.Error("a second server fits")
			}
			damage(t, dir, "mcp.tool", list[0].ID, data)
			for _, want := range []error{nil, pins.ErrNoServer} {
				if err := n.pins.Forget(ctx, list[0].ID, alice); !errors.Is(err, want) {
					t.Errorf("forgotten: %v, want %v", err, want)
				}
			}
			now = now.Add(2 * time.Second) // what somebody has is counted anew after one
			if held, err := compare("two", `{"name":"x"}`); held != 0 || err != nil {
				t.Errorf("in the room of the one that was forgotten: %d held, %v", held, err)
			}
			if list, bad, err := n.pins.Servers(ctx); err != nil || len(list) != 1 || list[0].Name != "two" || len(bad) != 0 {
				t.Errorf("%d servers, %v, %v", len(list), bad, err)
			}
		})
	}
}
