package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"reeve.example/reeve"
	"reeve.example/reeve/a2g"
)

// A node that is killed with a thousand intents that wait for people, and again
// while they answer, has lost none, and lets each happen exactly once.
func TestKillPending(t *testing.T) {
	const pending = 1000
	dir := filepath.Join(t.TempDir(), "data")
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := "version: 1\ndefault: allow\nrules: [{name: people, tools: [transfer], effect: escalate, approval: {within: 24h}}]\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startNode(t, dir, "--policy", policy)
	approvals := make([]string, pending)
	each := func(what string, n int, f func(c *a2g.Client, i int) error) {
		t.Helper()
		c := &a2g.Client{URL: p.url + "/a2g", AgentDID: "did:aeon:desk"}
		defer c.Close()
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := w; i < n; i += 16 {
					if err := f(c, i); err != nil {
						t.Errorf("%s %d: %v", what, i, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	ask := func(c *a2g.Client, i int) (*a2g.Verdict, error) {
		return c.Ask(context.Background(), &a2g.Intent{IntentID: fmt.Sprint("i", i), Tool: "transfer", Arguments: a2g.Arguments(map[string]any{"n": i})})
	}
	each("ask", pending, func(c *a2g.Client, i int) error {
		v, err := ask(c, i)
		if err == nil && v.Approval == nil {
			err = fmt.Errorf("%+v", v)
		}
		if err == nil {
			approvals[i] = v.Approval.ID
		}
		return err
	})
	p.Process.Kill()
	p.Wait()

	p = startNode(t, dir, "--policy", policy)
	approve := func(id string) error {
		socket := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, reeve.SocketName))
		}}}
		defer socket.CloseIdleConnections()
		resp, err := socket.Get("http://node/approvals/" + id)
		if err != nil {
			return err
		}
		var shown struct{ State, Seen string }
		err = json.NewDecoder(resp.Body).Decode(&shown)
		resp.Body.Close()
		if err != nil || shown.State == "approved" || shown.State == "used" { // answered before the node was killed
			return err
		}
		resp, err = socket.Post("http://node/approvals/"+id, "application/json", strings.NewReader(fmt.Sprintf(`{"answer":"approve","seen":%q}`, shown.Seen)))
		if err == nil {
			defer resp.Body.Close()
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
			}
		}
		return err
	}
	each("approve", pending/2, func(_ *a2g.Client, i int) error { return approve(approvals[i]) })
	p.Process.Kill() // while the first ones go on
	p.Wait()

	p = startNode(t, dir, "--policy", policy)
	each("approve", pending, func(_ *a2g.Client, i int) error { return approve(approvals[i]) })
	for range 2 {
		each("ask again", pending, func(c *a2g.Client, i int) error {
			v, err := ask(c, i)
			if err == nil && v.Verdict != a2g.Approved {
				err = fmt.Errorf("%+v", v)
			}
			return err
		})
	}
	p.Process.Kill()
	p.Wait()
	report, effects := readBack(t, dir)
	if !report.OK() {
		t.Errorf("the ledger does not hold: %v", report.Problems)
	}
	allowed := 0
	for _, effect := range effects {
		if effect == "allow" {
			allowed++
		}
	}
	if allowed != pending {
		t.Errorf("%d records allow, want one for each of %d", allowed, pending)
	}
}
