package reeve

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
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
	for _, body := range []string{`{}`, `{"checkpoint":""}`, `{"checkpoint":"x","before":"2026-01-01T00:00:00Z"}`} {
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

// What the preview of a pruning names is what goes, also by the newest checkpoint; and
// nothing younger than the setting says.
func TestPreviewIsWhatIsPruned(t *testing.T) {
	n := openNode(t)
	n.cfg.Retention.Records = time.Hour
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
	ask := func(q operator.Prune) (status int, p retention.Pruned, text string) {
		t.Helper()
		body, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if status, text = ask(n.Admin(), identity.Operator, identity.Admin, "POST", "/admin/prune", string(body)); status == 200 {
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
		}
		return status, p, text
	}
	newest := operator.Prune{Checkpoint: string(head.Checkpoint)}
	now := operator.Prune{Before: time.Now().Add(time.Hour)}
	for _, q := range []operator.Prune{newest, now} {
		for _, q.Preview = range []bool{true, false} {
			if status, _, text := ask(q); status != 409 || !strings.Contains(text, "retention.records") {
				t.Errorf("records of now: %d %s", status, text)
			}
		}
	}
	n.cfg.Retention.Records = 0
	n.operator = sync.OnceValue(n.newOperator)
	if _, p, text := ask(operator.Prune{Before: time.Now().Add(-time.Hour)}); p != (retention.Pruned{}) {
		t.Errorf("records before there were any: %s", text)
	}
	if after, err := n.store.Head(t.Context(), n.log.Number()); err != nil || after.Size != head.Size || after.Pruned != 0 {
		t.Fatalf("%+v, %v", after, err)
	}
	newest.Preview, now.Preview = true, true
	_, before, _ := ask(newest)
	if _, other, _ := ask(now); other != before {
		t.Errorf("up to the checkpoint %+v, before now %+v", before, other)
	}
	if before.From != 256 || before.Records != 256 || before.First.IsZero() || before.Last.Before(before.First) {
		t.Errorf("the preview says %+v", before)
	}
	now.Preview = false
	if _, after, text := ask(now); after.From != before.From {
		t.Errorf("%s, and %d was said", text, before.From)
	}
	if r, err := ledger.Verify(t.Context(), n.store, ledger.VerifyOptions{Log: n.log.Number(), TrustedKey: n.log.VerifierKey()}); err != nil || !r.OK() || r.Pruned != 256 {
		t.Errorf("what is left: %+v, %v", r, err)
	}
}
