package reeve

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"reeve/identity"
)

// Without a checkpoint nobody said what is to go, and nothing does.
func TestPruneWithoutCheckpoint(t *testing.T) {
	n := openNode(t)
	before, err := n.store.Head(t.Context(), n.log.Number())
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{}`, `{"checkpoint":""}`} {
		if status, text := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/prune", body); status != 400 || !strings.Contains(text, "say up to where") {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if head, err := n.store.Head(t.Context(), n.log.Number()); err != nil || head.Size != before.Size {
		t.Errorf("%d records before, %d after, %v", before.Size, head.Size, err)
	}
}

// The first key ends anonymous use; the log says so, once.
func TestFirstKeyIsLogged(t *testing.T) {
	n := openNode(t)
	var said bytes.Buffer
	n.logger = slog.New(slog.NewTextHandler(&said, nil))
	for _, name := range []string{"ann", "bob"} {
		if status, text := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/keys", `{"name":"`+name+`","role":"agent"}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	if got := strings.Count(said.String(), "from now on credentials are required"); got != 1 {
		t.Errorf("said %d times:\n%s", got, said.String())
	}
}

// A preview tells what would go, records nothing and removes nothing.
func TestPreviews(t *testing.T) {
	n := openNode(t)
	decided(t, n, message("ann", "1", "hello"), message("ann", "2", "hello"), message("bob", "1", "hello"))
	head, err := n.store.Head(t.Context(), n.log.Number())
	if err != nil {
		t.Fatal(err)
	}
	admin := func(path, body, want string) {
		t.Helper()
		if status, text := ask(n.Admin(), identity.Operator, identity.Admin, "POST", path, body); status != 200 || text != want {
			t.Errorf("%s: %d %s, want %s", path, status, text, want)
		}
	}
	admin("/admin/erase", `{"user":"ann","preview":true}`, `{"count":2}`)
	admin("/admin/prune", `{"preview":true,"checkpoint":`+strconv.Quote(string(head.Checkpoint))+`}`, `{"from":0}`)
	after, err := n.store.Head(t.Context(), n.log.Number())
	if err != nil || after.Size != head.Size {
		t.Errorf("%d records before, %d after, %v", head.Size, after.Size, err)
	}
	admin("/admin/erase", `{"user":"ann"}`, `{"count":2}`)
}
