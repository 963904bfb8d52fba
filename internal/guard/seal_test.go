package guard_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
)

// inFiles reports which files of a folder hold a text, plain or in Base64.
func inFiles(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for shift := range 3 { // Base64 of it, wherever it begins
			coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + text))
			if bytes.Contains(data, []byte(text)) || bytes.Contains(data, []byte(coded[4:len(coded)-4])) {
				found = append(found, path)
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestShownExactly: who may answer sees every byte of what would be done, and of
// what the policy makes of it; who only looks sees it masked; and the clear bytes
// are in no file, neither while people are asked nor after.
func TestShownExactly(t *testing.T) {
	const key = "gh" + "p_016C7Aa9Zq4Tb8Xw2Vn5Rm1Lk3Jh6Gf0DdCcYy"
	const text = `x='` + key + "' ; curl evil\x1b[2K \u202e card 4000 0000 0000 0002"
	for _, after := range []string{"approved", "denied", "expired"} {
		t.Run(after, func(t *testing.T) {
			dir := t.TempDir()
			now := time.Now()
			n := open(t, dir, func(c *guard.Config) {
				c.Policy, c.Redact = load(t, asking), risk.Secret|risk.Card
				c.Now = func() time.Time { return now }
			})
			a := call("s", "1", "transfer", text)
			a.Body = fmt.Appendf(nil, `{"params":{"text":%s}}`, rawjson.Quote(text))
			held, _ := n.decide(t, a)
			if held.Effect != act.Escalate {
				t.Fatalf("%v %+v", held.Effect, held.Reasons)
			}
			h, err := n.Show(t.Context(), held.Approval.ID)
			if err != nil {
				t.Fatal(err)
			}
			if h.Exact == nil || h.Exact.Request != string(a.Body) || h.Sealed != nil {
				t.Fatalf("shown: %+v", h)
			}
			if c := h.Exact.Changes; len(c) != 1 || c[0].Pointer != "/params/text" || !strings.Contains(c[0].Old, "4000 0000 0000 0002") || !strings.Contains(c[0].New, "card ****") || !strings.Contains(c[0].New, key) {
				t.Errorf("changes: %+v", c)
			}
			masked, err := n.Approval(t.Context(), h.ID)
			if err != nil || masked.Exact != nil || masked.Sealed != nil || !strings.Contains(string(masked.Request), "[GitHub token removed]") {
				t.Errorf("to who only looks: %+v, %v", masked, err)
			}
			list, _, _, err := n.Approvals(t.Context(), true, false, "", 0)
			if err != nil || len(list) != 1 || list[0].Request != nil || list[0].Sealed != nil || list[0].Exact != nil {
				t.Errorf("in the list: %+v, %v", list, err)
			}
			if found := inFiles(t, dir, key); found != nil {
				t.Errorf("while people are asked, the clear bytes are in %v", found)
			}
			switch after {
			case "expired":
				now = now.Add(2 * approval.Within)
				if err := n.ExpireApprovals(t.Context()); err != nil {
					t.Fatal(err)
				}
			default:
				n.answer(t, held, after == "approved")
			}
			h, err = n.Show(t.Context(), h.ID)
			if err != nil || string(h.State) != after || h.Exact != nil {
				t.Errorf("after: %+v, %v", h, err)
			}
			item, err := n.store.Item(t.Context(), "approval", h.ID)
			if err != nil || bytes.Contains(item.Data, []byte("sealed")) {
				t.Errorf("what is stored after: %s, %v", item.Data, err)
			}
			if found := inFiles(t, dir, key); found != nil {
				t.Errorf("after, the clear bytes are in %v", found)
			}
			n.close()
			if found := inFiles(t, dir, key); found != nil {
				t.Errorf("when the node is closed, the clear bytes are in %v", found)
			}
		})
	}
}

// TestSealedElsewhere: what is sealed is opened for its approval only. What cannot be shown can be refused.
func TestSealedElsewhere(t *testing.T) {
	dir := t.TempDir()
	n, _ := asker(t, dir)
	one, _ := n.decide(t, call("s", "1", "transfer", "1"))
	two, _ := n.decide(t, call("s", "2", "transfer", "2"))
	move := func(from, to string) {
		t.Helper()
		read := func(id string) (ledger.Item, *approval.Decision) {
			item, err := n.store.Item(t.Context(), "approval", id)
			if err != nil {
				t.Fatal(err)
			}
			h, err := approval.Parse(item.Data)
			if err != nil {
				t.Fatal(err)
			}
			return item, h
		}
		_, source := read(from)
		item, h := read(to)
		h.Sealed, h.Seen = source.Sealed, source.Seen
		var err error
		if item.Data, err = h.Data(); err != nil {
			t.Fatal(err)
		}
		key := ledger.ItemKey("approval", to)
		e := &ledger.Entry{Record: ledger.Record{Kind: "admin.test", Door: "reeve"}, Writes: []*ledger.Write{{
			Head: ledger.NewKeyHead(key, item.Version, true), Item: &item,
		}}}
		ticket, err := n.log.Enqueue(n.log.Generation(), e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	move(one.Approval.ID, two.Approval.ID)
	if _, err := n.Show(t.Context(), two.Approval.ID); !errors.Is(err, guard.ErrSealed) {
		t.Errorf("what was sealed for another approval is shown: %v", err)
	}
	if _, err := n.Show(t.Context(), one.Approval.ID); err != nil {
		t.Errorf("its own: %v", err)
	}
	if _, err := n.Answer(t.Context(), two.Approval.ID, alice, guard.Reply{}); err != nil {
		t.Errorf("refusing what cannot be shown: %v", err)
	}
}

// TestUnshown: what cannot be shown as it is cannot be agreed to.
func TestUnshown(t *testing.T) {
	n, _ := asker(t, t.TempDir())
	for name, edit := range map[string]func(a *act.Action){
		"too large":  func(a *act.Action) { a.Body = fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("y", 256<<10)) },
		"no JSON":    func(a *act.Action) { a.Body = []byte("text") },
		"no text":    func(a *act.Action) { a.Body = []byte("{\"x\":\"\xff\"}") },
		"two of one": func(a *act.Action) { a.Body = []byte(`{"text":1,"text":2}`) },
	} {
		a := call("s", name, "transfer", name)
		edit(a)
		d, _ := n.decide(t, a)
		if d.Effect != act.Deny || d.Reasons[0].Code != "approval_impossible" || d.Approval != nil {
			t.Errorf("%s: %v %+v", name, d.Effect, d.Reasons)
		}
	}
}

// TestNoteMasked: what a person writes is for the record and for the agent, and
// holds no secret there.
func TestNoteMasked(t *testing.T) {
	const key = "gh" + "p_016C7Aa9Zq4Tb8Xw2Vn5Rm1Lk3Jh6Gf0DdCcYy"
	dir := t.TempDir()
	n := open(t, dir, func(c *guard.Config) { c.Policy, c.Redact = load(t, asking), risk.Secret })
	held, _ := n.decide(t, call("s", "1", "transfer", "1"))
	seen := n.seen(t, held)
	h, err := n.Answer(t.Context(), held.Approval.ID, alice, guard.Reply{Agree: true, Seen: seen, Note: "use " + key})
	if err != nil || h.Answers[0].Note != "use [GitHub token removed]" || h.Answers[0].Seen != seen {
		t.Errorf("%+v, %v", h, err)
	}
	if found := inFiles(t, dir, key); found != nil {
		t.Errorf("the note's secret is in %v", found)
	}
	d, _ := n.decide(t, call("s", "2", "transfer", "1"))
	if !strings.Contains(d.Reasons[0].Message, "use [GitHub token removed]") {
		t.Errorf("the reason: %+v", d.Reasons[0])
	}
}

// TestThreat17SealedIntent: what an intent asks for is in no file in clear, neither while
// people are asked nor after, and its node has it as it came until they have answered.
func TestThreat17SealedIntent(t *testing.T) {
	const key = "gh" + "p_016C7Aa9Zq4Tb8Xw2Vn5Rm1Lk3Jh6Gf0DdCcYy"
	params := []byte(`{"tool":"transfer","arguments":{"text":"` + key + `"},"context":{"why":"` + key + `"}}`)
	for _, after := range []string{"approved", "denied", "expired"} {
		t.Run(after, func(t *testing.T) {
			dir := t.TempDir()
			now := time.Now()
			n := open(t, dir, func(c *guard.Config) {
				c.Policy, c.Redact = load(t, asking), risk.Secret
				c.Now = func() time.Time { return now }
			})
			a := intentOf("i", "transfer", key)
			held, _, err := n.Ask(t.Context(), a, intent.Asking{Params: params, Lasts: time.Minute})
			if err != nil || held.Verdict.Effect != act.Escalate {
				t.Fatalf("%+v, %v", held, err)
			}
			got, err := n.Get(t.Context(), a.Principal.Name, a.Agent.ID, a.ID)
			if err != nil || !bytes.Equal(got.Params, params) {
				t.Fatalf("%s, %v", got.Params, err)
			}
			if found := inFiles(t, dir, key); found != nil {
				t.Errorf("held: in clear in %v", found)
			}
			switch after {
			case "approved":
				n.answer(t, held.Verdict, true)
				n.ask(t, a)
			case "denied":
				n.answer(t, held.Verdict, false)
				n.ask(t, a)
			case "expired":
				now = now.Add(48 * time.Hour)
				if err := n.ExpireApprovals(t.Context()); err != nil {
					t.Fatal(err)
				}
				if ended, err := n.Expire(t.Context()); err != nil || len(ended) != 1 {
					t.Fatalf("%v, %v", ended, err)
				}
			}
			got, err = n.Get(t.Context(), a.Principal.Name, a.Agent.ID, a.ID)
			if err != nil || got.Params != nil || got.Sealed != nil {
				t.Errorf("afterwards: %+v, %v", got, err)
			}
			if found := inFiles(t, dir, key); found != nil {
				t.Errorf("%s: in clear in %v", after, found)
			}
		})
	}
}
