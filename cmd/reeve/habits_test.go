package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/sqlite"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdLived plays a month that is over with a node's guard, by a clock of its own: on each
// day the agent mailer mails team@corp.example, whom a source of one's own names, and ann@
// or bea@corp.example, whom the user of that name names. On the last day its model is
// another one. It sets LAST to the last decision. Unlearned, no node learns of it.
func cmdLived(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: lived DATA POLICY [unlearned]")
	}
	data := ts.MkAbs(args[0])
	text, err := os.ReadFile(filepath.Join(data, "seed"))
	ts.Check(err)
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	ts.Check(err)
	set, err := reeve.LoadPolicy(ts.MkAbs(args[1]))
	ts.Check(err)
	store, err := sqlite.Open(data, sqlite.Options{})
	ts.Check(err)
	defer store.Close()
	owner, release := datadir.Claim(data)
	defer release()
	ctx := context.Background()
	log, err := ledger.Open(ctx, ledger.Config{Store: store, Origin: "reeve.local", Seed: seed, Owner: owner})
	ts.Check(err)
	defer log.Close()
	now := time.Now().Add(-40 * 24 * time.Hour).Truncate(24 * time.Hour)
	g, err := guard.New(ctx, guard.Config{Log: log, Store: store, Policy: set, Now: func() time.Time { return now }})
	ts.Check(err)
	for day := range 36 {
		now = now.Add(24 * time.Hour)
		a := act.Action{
			Door: "aos", Principal: act.Principal{Name: "key:bot", Method: "key"}, Turn: "t", Session: fmt.Sprint("s", day),
			Agent: act.Agent{ID: "mailer", Raw: []byte(`{}`), ModelRaw: []byte(`{"id":"small"}`)}, User: act.User{ID: []string{"ann", "bea"}[day%2]},
		}
		if day == 35 {
			a.Agent.ModelRaw = []byte(`{"id":"large"}`)
		}
		own := a.User.ID + "@corp.example"
		for i, one := range []struct {
			kind           act.Kind
			id, tool, text string
		}{
			{act.MessageUser, "", "", "Tell the team, and " + own},
			{act.ToolCall, "look", "directory", "the team"},
			{act.ToolResult, "look", "directory", "team@corp.example"},
			{act.ToolCall, "one", "send_mail", "team@corp.example"},
			{act.ToolCall, "two", "send_mail", own},
		} {
			one := step(a, i, one.kind, one.id, one.tool, one.text)
			d, _, err := g.Decide(ctx, one)
			ts.Check(err)
			ts.Setenv("LAST", d.Position.String())
			now = now.Add(time.Second)
		}
		if len(args) == 2 {
			_, err := g.Learn(ctx, now.Add(time.Hour))
			ts.Check(err)
		}
	}
}

// step is one thing that an agent's session does or hears: of one text.
func step(a act.Action, i int, kind act.Kind, id, tool, text string) *act.Action {
	a.Kind, a.Step, a.Resource, a.Canonical = kind, fmt.Sprint(i), tool, tool
	a.Body = fmt.Appendf(nil, `{"params":{"to":%q}}`, text)
	a.Digest = sha256.Sum256(append(a.Body, a.Step...))
	a.Content = []act.Leaf{{Pointer: "/params/to", Text: text}}
	switch a.ID = id; kind {
	case act.ToolCall:
		a.Content[0].Arg = "to"
		a.Arguments = []act.Argument{{Name: "to", Value: fmt.Appendf(nil, "%q", text), Pointer: "/params/to"}}
	case act.ToolResult:
		a.ID, a.Answers = "", id
	}
	return &a
}
