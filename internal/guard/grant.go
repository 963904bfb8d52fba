package guard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/session"
	"reeve.example/reeve/internal/target"
)

// grantKind is the kind of item that a grant is.
const grantKind = "grant"

// codeGranted is the code of the reason by which a grant lets an act pass.
const codeGranted = "granted"

func newGrants(g *Guard) *Items[approval.Grant] {
	return NewItems(g, Kind[approval.Grant]{
		Name: grantKind,
		Parse: func(item *ledger.Item) (*approval.Grant, error) {
			grant, err := approval.ParseGrant(item.Data)
			if err == nil && grant.ID != item.ID {
				err = errors.New("another one stands in its place")
			}
			return grant, err
		},
		Fill: func(grant *approval.Grant, item *Item) (err error) {
			item.Owner, item.Open, item.Due = grant.Principal, grant.State == approval.Approved, grant.Until
			if !item.Open {
				item.Due = g.cfg.Now().Add(approvalsKept)
				grant.What, grant.Scope.Files = "", nil
			}
			item.Data, err = grant.Data()
			return err
		},
	})
}

// grantID names the grant for acts that have this in common, in one session or, if it is
// empty, in all.
func grantID(a *act.Action, session string, scope *approval.Scope) string {
	return ItemID(10, grantKind, a.Principal.Name, session, scope.Same)
}

// granted returns the grant that answers everything that the policy asks of people about
// an act; nil when there is none. It is read, and not written: to be taken back it needs
// no turn of those that use it.
func (g *Guard) granted(ctx context.Context, q *inquiry) (*approval.Grant, error) {
	a, d := q.in.Action, q.decision
	aim := g.aim(q)
	if aim.Once != "" {
		return nil, nil
	}
	needs, _ := approval.Needs(d.Reasons, a.At)
	var scope *approval.Scope
	for _, session := range []string{cmp.Or(a.Within, a.Session), ""} {
		grant, _, err := g.grants.Get(ctx, grantID(a, session, &aim.Scope))
		if damaged, ok := errors.AsType[*DamagedError](err); ok {
			g.cfg.Logger.Debug("a grant lets nothing pass", "error", damaged)
			continue
		}
		if err != nil {
			return nil, err
		}
		if grant == nil || grant.Session != session || grant.At(a.At) != approval.Approved {
			continue
		}
		if scope == nil {
			scope = aim.Look()
			scope.Defined = q.defined.String()
		}
		if grant.Covers(needs, scope, a.At) {
			return grant, nil
		}
	}
	return nil, nil
}

// aim is what an act that people are asked about has to have in common with another. Of a line of
// commands it is the part about which they are asked: what stands behind that and passes by itself is
// no matter of theirs. What stands before is, since it can change what is done.
func (g *Guard) aim(q *inquiry) *target.Aim {
	if q.aim != nil {
		return q.aim
	}
	aim := g.aimed(q)
	q.aim = aim
	aim.Labels = append(aim.Labels, leftInShell(q.shell)...)
	if aim.Known {
		// Every word that does something is as it was agreed to: none can come from what was read since. Else the
		// first result, such as that of the act itself, would end the agreement. A rule that
		// asks for what its session did is not answered by it.
		noted := ofSession(q.decision)
		aim.Labels = slices.DeleteFunc(aim.Labels, func(l string) bool { return slices.Contains(noted, l) })
	}
	return aim
}

// leftInShell is the label of what earlier calls left in a shell that may still be open: a variable that
// was set since (AWS_PROFILE, RAILS_ENV) can lead the same command elsewhere.
func leftInShell(defs []hazard.Definition) []string {
	last := map[string]string{}
	for _, d := range defs {
		if d.Sets() {
			last[d.Name] = d.Text
		}
	}
	if len(last) == 0 {
		return nil
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(last)) {
		fmt.Fprintf(h, "%d %s %d %s\n", len(name), name, len(last[name]), last[name])
	}
	return []string{"shell sha256:" + hex.EncodeToString(h.Sum(nil))}
}

// ofSession are the labels of an act that say what its session did before, and by which nothing was decided:
// that something from outside was read, what was noted by a rule that only watches.
func ofSession(d *act.Decision) []string {
	labels := []string{target.Tainted}
	for _, c := range session.Checks {
		counts := slices.ContainsFunc(d.Reasons, func(r act.Reason) bool { return r.Code == c.Name && !r.Observe })
		if !counts {
			labels = append(labels, target.Reason+c.Name, target.Threat+c.Doc)
		}
	}
	return labels
}

func (g *Guard) aimed(q *inquiry) *target.Aim {
	a, d := q.in.Action, q.decision
	line := target.ReadLine(a)
	if line == nil {
		return target.Of(a, d, q.tainted)
	}
	alone := func(part *act.Action) (act.Decision, []hazard.Finding) {
		in := *q.in
		in.Action, in.Reading, in.Form = part, hazard.Read(part), nil
		return judgeAs(&in, q.set, nil, g.cfg.Tampering), in.Reading.Assess(hazard.Default()).Findings
	}
	for n := 1; n < line.Len(); n++ {
		first := line.To(n)
		if first == nil {
			break
		}
		after, found := alone(line.From(n))
		if after.Effect != act.Allow || len(after.Edits) > 0 {
			continue
		}
		asked, more := alone(first)
		if Held(&asked) && sameNeeds(&asked, d, a.At) && noMore(q.in.Reading.For(a).Assess(hazard.Default()).Findings, append(found, more...)) && noReason(d, &asked, &after) {
			return target.OfFirst(line, n, &asked, q.tainted)
		}
	}
	return target.Of(a, d, q.tainted)
}

// sameNeeds reports whether people are asked the same about a part of an act as about all of it.
func sameNeeds(part, whole *act.Decision, now time.Time) bool {
	some, _ := approval.Needs(part.Reasons, now)
	all, _ := approval.Needs(whole.Reasons, now)
	asked := approval.Decision{Needs: some}
	return len(some) == len(all) && asked.Covers(all)
}

// noMore reports whether nothing was found in all of an act that is not in its parts: that one
// command does something with what another one left.
func noMore(whole, parts []hazard.Finding) bool {
	return !slices.ContainsFunc(whole, func(f hazard.Finding) bool {
		return !slices.ContainsFunc(parts, func(p hazard.Finding) bool { return p.Code == f.Code && p.Weight >= f.Weight })
	})
}

// noReason reports whether nothing was said of all of an act that is not said of a part of it.
func noReason(whole *act.Decision, parts ...*act.Decision) bool {
	return !slices.ContainsFunc(whole.Reasons, func(r act.Reason) bool {
		return !slices.ContainsFunc(parts, func(d *act.Decision) bool {
			return slices.ContainsFunc(d.Reasons, func(o act.Reason) bool { return o.Rule == r.Rule && o.Code == r.Code && o.Effect == r.Effect })
		})
	})
}

// pass lets an act pass by a grant, and says so in its record.
func pass(d *act.Decision, grant *approval.Grant) {
	d.Effect = act.Allow
	span := "until " + grant.Until.UTC().Format(time.RFC3339)
	if grant.Session != "" {
		span = "for this session, " + span
	}
	d.Reasons = append([]act.Reason{{
		Rule: "approval", Code: codeGranted, Effect: act.Allow,
		Message: fmt.Sprintf("%s agreed to this %s (grant %s).", strings.Join(grant.Who(), " and "), span, grant.ID),
	}}, d.Reasons...)
	d.Approval = &act.Approval{ID: grant.ID, State: codeGranted, Expires: grant.Until}
}

// newGrant makes the grant of an approval that enough people have agreed to, for more
// than once; nil where they agreed to once.
func (g *Guard) newGrant(ctx context.Context, h *approval.Decision, x *approval.Exact, now time.Time) (*Item, error) {
	span := h.For()
	if span.Once() {
		return nil, nil
	}
	session := ""
	if span.Session {
		session = h.Within
	}
	asker := &act.Action{Principal: act.Principal{Name: h.Principal}}
	_, item, err := g.grants.Get(ctx, grantID(asker, session, &x.Scope))
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		return nil, damaged
	}
	if err != nil {
		return nil, err
	}
	grant := &approval.Grant{
		ID: item.ID, Approval: h.ID, Decision: h.Decision, State: approval.Approved,
		Principal: h.Principal, Agent: h.Agent, Session: session, Door: h.Door, Kind: h.Kind, Resource: h.Resource,
		What: (&redaction{what: g.cfg.Redact}).text(x.What, around{}), Scope: x.Scope,
		Needs: h.Needs, Answers: h.Answers, Created: now, Until: span.Until,
	}
	if h.What != "" { // masked by the names of its arguments, too
		grant.What = h.What
	}
	grant.Scope.Act = (&redaction{what: g.cfg.Redact}).text(grant.Scope.Act, around{})
	h.Grant = grant.ID
	return item, g.grants.Fill(grant, item)
}

// Grants lists grants in the order of their ids, after one: those that let acts pass, or
// all that are kept.
func (g *Guard) Grants(ctx context.Context, open bool, after string, limit int) (list []*approval.Grant, bad []*DamagedError, next string, err error) {
	all, bad, next, err := g.grants.Page(ctx, ledger.ItemQuery{Open: open, After: after, Limit: limit})
	for _, grant := range all {
		if grant.State = grant.At(g.cfg.Now()); !open || grant.State == approval.Approved {
			list = append(list, grant)
		}
	}
	return list, bad, next, err
}

// Grant is one grant, also by the id of the approval that made it; ledger.ErrNotFound for none.
func (g *Guard) Grant(ctx context.Context, id string) (*approval.Grant, error) {
	id, err := g.grantOf(ctx, id)
	if err != nil {
		return nil, err
	}
	grant, item, err := g.grants.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !item.Found {
		return nil, ledger.ErrNotFound
	}
	grant.State = grant.At(g.cfg.Now())
	return grant, nil
}

// grantOf is the id of a grant, which may be named by that of the approval that made it.
func (g *Guard) grantOf(ctx context.Context, id string) (string, error) {
	if item, err := g.Read(ctx, grantKind, id); err != nil || item.Found {
		return id, err
	}
	h, _, err := g.approvals.Get(ctx, id)
	if err == nil && h != nil && h.Grant != "" {
		id = h.Grant
	}
	return id, err
}

// Revoke takes a grant back, also by the id of the approval that made it. The errors are
// ledger.ErrNotFound and approval.ErrEnded.
func (g *Guard) Revoke(ctx context.Context, id string, by act.Principal, note string) (*approval.Grant, error) {
	if g.cfg.Redact != 0 {
		note = risk.Mask(note, risk.Scan(note, g.cfg.Redact, nil))
	}
	id, err := g.grantOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return g.endGrant(ctx, id, by, "revoke", func(grant *approval.Grant) error { return grant.Revoke(by, note, g.cfg.Now()) })
}

func (g *Guard) endGrant(ctx context.Context, id string, by act.Principal, what string, end func(*approval.Grant) error) (*approval.Grant, error) {
	return g.grants.Update(ctx, id, func(grant *approval.Grant, item *Item) (*Note, error) {
		if !item.Found {
			return nil, fmt.Errorf("the grant %q: %w", id, ledger.ErrNotFound)
		}
		if err := end(grant); err != nil {
			return nil, err
		}
		details := map[string]string{"grant": grant.ID, "approval": grant.Approval, "decision": grant.Decision, "state": string(grant.State)}
		if grant.Ended != nil && grant.Ended.Note != "" {
			details["note"] = grant.Ended.Note
		}
		return Admin("grant."+what, by, details), nil
	})
}

// eraseGrants ends what people agreed to when they were asked by these decisions, and keeps nothing of what that was.
func (g *Guard) eraseGrants(ctx context.Context, by act.Principal, decisions map[string]bool) error {
	for grant, err := range g.grants.All(ctx, ledger.ItemQuery{}) {
		if err != nil {
			return err
		}
		if !decisions[grant.Decision] || grant.State != approval.Approved && grant.Scope.Act == "" {
			continue
		}
		_, err = g.endGrant(ctx, grant.ID, by, "erase", func(grant *approval.Grant) error {
			if grant.State == approval.Approved {
				grant.State, grant.Ended = approval.Revoked, &approval.Answer{By: by.Name, At: g.cfg.Now()}
			}
			grant.Scope = approval.Scope{Same: grant.Scope.Same}
			return nil
		})
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("end the agreement %s: %w", grant.ID, err)
		}
	}
	return nil
}

// expireGrants ends the grants whose time is over, each with a record.
func (g *Guard) expireGrants(ctx context.Context) error {
	now := g.cfg.Now()
	var failed error
	for grant, err := range g.grants.All(ctx, ledger.ItemQuery{Open: true, DueBefore: now}) {
		if err == nil {
			_, err = g.endGrant(ctx, grant.ID, operator, "expire", func(grant *approval.Grant) error {
				if grant.State != approval.Approved || now.Before(grant.Until) {
					return approval.ErrEnded // somebody was quicker
				}
				grant.State = approval.Expired
				return nil
			})
		}
		if ctx.Err() != nil {
			return err
		}
		if err != nil && !errors.Is(err, approval.ErrEnded) && !errors.Is(err, ledger.ErrLost) && !errors.Is(err, ledger.ErrNotFound) && failed == nil {
			failed = err
		}
	}
	return failed
}
