package reeve

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/retention"

	"github.com/go-json-experiment/json"
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
	n.keys.Logger = slog.New(slog.NewTextHandler(&said, nil))
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

// What the preview of a pruning names is what goes, also by the newest checkpoint.
func TestPreviewIsWhatIsPruned(t *testing.T) {
	n := openNode(t)
	var head ledger.Head
	for head.Size < 256 {
		_, err := n.guard.Note(t.Context(), "note", identity.Operator, nil)
		if err != nil {
			t.Fatal(err)
		}
		if head, err = n.store.Head(t.Context(), n.log.Number()); err != nil {
			t.Fatal(err)
		}
	}
	prune := func(preview bool) (p retention.Pruned) {
		t.Helper()
		status, text := ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/prune",
			fmt.Sprintf(`{"preview":%v,"checkpoint":%q}`, preview, head.Checkpoint))
		if err := json.Unmarshal([]byte(text), &p); status != 200 || err != nil {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		return p
	}
	before := prune(true)
	if before.From != 256 || before.Records != 256 || before.First.IsZero() || before.Last.Before(before.First) {
		t.Errorf("the preview says %+v", before)
	}
	if after := prune(false); after.From != before.From {
		t.Errorf("records below %d went, and %d was said", after.From, before.From)
	}
}
