package operator

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/replay"

	"github.com/go-json-experiment/json/jsontext"
)

// Drift is what an agent says that it is, before it last changed and now. The zero Drift is
// of an agent that says nothing of itself, or of which nothing is kept.
type Drift struct {
	// Changed is what differs: instructions, tools, model, version.
	Changed []string  `json:"changed,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when that was noticed, where its habits are known
	Before  *Says     `json:"before,omitzero"`
	Now     *Says     `json:"now,omitzero"`
}

// Says is what an agent said of itself with one of its acts, as that is kept: masked.
type Says struct {
	Decision     string         `json:"decision"`
	At           time.Time      `json:"at"`
	Instructions string         `json:"instructions,omitzero"`
	Tools        jsontext.Value `json:"tools,omitzero"`
	Model        jsontext.Value `json:"model,omitzero"`
	Version      string         `json:"version,omitzero"`
}

// How far back it is looked for what an agent was before, where its habits do not say when
// it changed, and in how many of its acts what it says of itself is looked for.
const (
	driftAge  = 30 * 24 * time.Hour
	driftActs = 20
)

func (o *API) showDrift(r *http.Request, _ act.Principal, _ Nothing) (Drift, error) {
	ctx, agent, principal := r.Context(), r.PathValue("id"), r.URL.Query().Get("principal")
	q := ledger.Query{Agent: agent, Principal: principal, Limit: driftActs}
	var d Drift
	leave, err := o.Replays.look(ctx)
	if err != nil {
		return d, err
	}
	defer leave()
	if d.Now, err = o.says(ctx, q); err != nil || d.Now == nil {
		return d, o.asked("what the agent says of itself was not read", err)
	}
	if known, err := o.Habits(ctx, agent, principal, "", ""); err == nil && len(known.Chapters) > 1 {
		d.Since = known.Chapters[len(known.Chapters)-1].Since
		q.Until = d.Since
		if d.Before, err = o.says(ctx, q); err != nil {
			return d, o.asked("what the agent said of itself was not read", err)
		}
	}
	if d.Before == nil {
		q.Since, q.Until, q.Oldest = d.Now.At.Add(-driftAge), time.Time{}, true
		if d.Before, err = o.says(ctx, q); err != nil || d.Before == nil {
			return d, o.asked("what the agent said of itself was not read", err)
		}
	}
	for _, one := range []struct {
		name        string
		before, now string
	}{
		{"instructions", d.Before.Instructions, d.Now.Instructions}, {"tools", string(d.Before.Tools), string(d.Now.Tools)},
		{"model", string(d.Before.Model), string(d.Now.Model)}, {"version", d.Before.Version, d.Now.Version},
	} {
		if one.before != one.now && one.before != "" && one.now != "" {
			d.Changed = append(d.Changed, one.name)
		}
	}
	if d.Changed == nil {
		d.Since = time.Time{}
	}
	return d, nil
}

// says is what an agent said of itself with the first of the acts that are asked for of which
// that is kept; nil where there is none.
func (o *API) says(ctx context.Context, q ledger.Query) (*Says, error) {
	found, err := ledger.Search(ctx, o.Store, q)
	if err != nil {
		return nil, err
	}
	for i := range found.Lines {
		l := &found.Lines[i]
		if l.Effect == "" {
			continue
		}
		again, err := replay.Once(ctx, o.Replays.Store, l.Position(), o.Replays.Keys, nil)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		a := again.Action
		if a == nil || cmp.Or(string(a.Agent.Instructions), string(a.Agent.Tools), string(a.Agent.ModelRaw), a.Agent.Model) == "" {
			continue
		}
		s := &Says{Decision: l.Decision, At: l.Time, Instructions: unquotedText(a.Agent.Instructions), Tools: shownJSON(a.Agent.Tools), Model: shownJSON(a.Agent.ModelRaw), Version: a.Agent.Version}
		return s, nil
	}
	return nil, nil
}

// unquotedText is the text of a JSON string.
func unquotedText(raw []byte) string {
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(text)
}
