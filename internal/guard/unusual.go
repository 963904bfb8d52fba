package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
)

// What policies note as unusual is gathered while habits are learned, a minute or two after
// the decisions: in one item for each agent, in which one cause is one line. Nodes that
// share a database count an act once.

const unusualKind = "habits.unusual"

func newUnusual(g *Guard) *Items[habits.Unusual] {
	return NewItems(g, Kind[habits.Unusual]{
		Name: unusualKind,
		Parse: func(item *ledger.Item) (*habits.Unusual, error) {
			u := new(habits.Unusual)
			if err := json.Unmarshal(item.Data, u); err != nil {
				return nil, err
			}
			if u.Agent == "" && u.Principal == "" {
				return nil, errors.New("it names nobody")
			}
			return u, nil
		},
		Fill: func(u *habits.Unusual, item *Item) (err error) {
			item.Due = u.Lines[len(u.Lines)-1].Last.Add(habits.UnusualKept)
			item.Data, err = json.Marshal(u, json.Deterministic(true))
			return err
		},
	})
}

// Noted is a line that something unusual was added to.
type Noted struct {
	Agent, Principal string
	habits.Line
	// Fresh is in what it is unusual only since: all of it where the line is a new one.
	Fresh []string
}

// noteUnusual adds notes that were read, and tells of each line that changed.
func (g *Guard) noteUnusual(ctx context.Context, list []noted) error {
	byAgent := map[string][]noted{}
	for _, n := range list {
		byAgent[n.note.Agent] = append(byAgent[n.note.Agent], n)
	}
	for id, list := range byAgent {
		who, _, err := g.profileItems.Get(ctx, id)
		if _, damaged := errors.AsType[*DamagedError](err); damaged {
			who, err = nil, nil
		}
		if err != nil {
			return err
		}
		var changed []Noted
		_, err = g.unusual.Update(ctx, id, func(u *habits.Unusual, item *Item) (*Note, error) {
			changed = nil
			if !item.Found {
				if who == nil { // nobody called it unusual who knew nothing: its profile was just forgotten
					return nil, nil
				}
				u.Agent, u.Principal = who.Agent, who.Principal
			}
			for _, n := range list {
				line, fresh := u.Add(n.note, n.at, who)
				if line == nil {
					continue
				}
				if i := slices.IndexFunc(changed, func(c Noted) bool { return c.First.Equal(line.First) }); i >= 0 {
					fresh = append(changed[i].Fresh, fresh...)
					changed = slices.Delete(changed, i, i+1)
				}
				changed = append(changed, Noted{Agent: u.Agent, Principal: u.Principal, Line: *line, Fresh: fresh})
			}
			if len(changed) == 0 {
				return nil, nil
			}
			return Admin("habits.unusual", operator, map[string]string{"agent": u.Agent, "principal": u.Principal, "decision": changed[len(changed)-1].Decision}), nil
		})
		switch _, damaged := errors.AsType[*DamagedError](err); {
		case damaged: // the log says so
			continue
		case err != nil:
			return err
		}
		for _, c := range changed {
			g.cfg.Unusual(ctx, c)
		}
	}
	return nil
}

// UnusualIn says in what a decision was unusual that its policy noted: by dimension.
func (g *Guard) UnusualIn(ctx context.Context, decision act.Position) ([]string, error) {
	n, err := g.noteAt(ctx, decision)
	if err != nil || n.Said == habits.SaidNothing {
		return nil, err
	}
	return n.Unusual(), nil
}

// Unusual is what was noted as unusual lately, of all agents or of those that bear a name:
// what came last comes first, at most as many lines as most.
func (g *Guard) Unusual(ctx context.Context, agent string, most int) (list []Noted, err error) {
	from := g.cfg.Now().Add(-habits.UnusualKept)
	for u, err := range g.unusual.All(ctx, ledger.ItemQuery{Kind: unusualKind}) {
		if _, damaged := errors.AsType[*DamagedError](err); damaged {
			continue
		}
		if err != nil {
			return nil, err
		}
		if agent != "" && u.Agent != agent {
			continue
		}
		for _, l := range u.Lines {
			if l.Last.After(from) {
				list = append(list, Noted{Agent: u.Agent, Principal: u.Principal, Line: l.Line})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Noted) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Agent, b.Agent)) })
	return list[:min(len(list), most)], nil
}
