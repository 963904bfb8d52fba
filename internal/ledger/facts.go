package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"reeve.example/reeve/act"
)

// Facts tell who asked for what a record tells of, for whom, and what it belongs to: what
// a record is found by, besides what stands in it. They are read from the fields principal
// and links of its opening, which are kept longer than the rest.
type Facts struct {
	Agent        string `json:"agent,omitzero"`
	Principal    string `json:"principal,omitzero"`
	Method       string `json:"method,omitzero"` // by which the principal was established
	Organization string `json:"organization,omitzero"`
	act.Delegation
	User     string `json:"user,omitzero"`
	UserHash string `json:"user_hash,omitzero"` // instead of a user that is masked
	Tool     string `json:"tool,omitzero"`      // in the one form that rules match
	Resource string `json:"resource,omitzero"`  // the tool as it was sent, where that differs
	Server   string `json:"server,omitzero"`
	Session  string `json:"session,omitzero"`
	Parent   string `json:"parent,omitzero"` // the session that this one was begun by
	Turn     string `json:"turn,omitzero"`
	Step     string `json:"step,omitzero"`
	Call     string `json:"call,omitzero"`    // by which a result names its call
	Answers  string `json:"answers,omitzero"` // the call that this one is the result of
	Task     string `json:"task,omitzero"`    // the root of the tree of tasks
	Approval string `json:"approval,omitzero"`
	Note     string `json:"note,omitzero"` // of who answered, or changed something
}

// Facts are read from the fields of an opening. What cannot be read is not there.
func (o *Opening) Facts() Facts {
	by, _ := o.Asker() // beside a damaged member may stand others that can be read
	f := Facts{
		Agent: by.Claims.Agent, Principal: by.Name, Method: by.Method,
		Organization: cmp.Or(by.Organization, by.Claims.AgentOrganization),
		Delegation:   by.Delegation,
		User:         by.Claims.User, UserHash: by.Claims.UserHash,
	}
	if f.UserHash != "" {
		f.User = "" // masked: what stands there is nobody's id
	}
	if l, err := o.Linked(); err == nil {
		f.Tool, f.Resource, f.Server = cmp.Or(l.Tool, l.Resource), l.Resource, l.Server
		f.Session, f.Parent, f.Turn, f.Step, f.Call, f.Answers = l.Session, l.Parent, l.Turn, l.Step, l.ID, l.Answers
		f.Task, f.Approval = l.Task, l.Approval
		if f.Resource == f.Tool {
			f.Resource = ""
		}
	}
	if f.Step != "" || f.Session != "" || f.Tool != "" {
		return f
	}
	// Of records that are no acts the details say it, under names of their own.
	if d, err := o.Details(); err == nil {
		f.Agent = cmp.Or(f.Agent, d["did"], d["agent"])
		f.Task = cmp.Or(f.Task, d["root"], d["a2a_task"])
		f.Approval = cmp.Or(f.Approval, d["approval"])
		f.Session = cmp.Or(f.Session, d["session"])
		f.Note = d["note"]
	}
	return f
}

// UserHash is what stands beside a decision for a user whose id is masked, and what a
// user is looked for by: half a SHA-256, in letters only, so that no detector takes it
// for a number.
func UserHash(id string) string {
	sum := sha256.Sum256([]byte("user\x00" + id))
	letters := make([]byte, 0, len(sum))
	for _, c := range sum[:len(sum)/2] {
		letters = append(letters, 'a'+c>>4, 'a'+c&15)
	}
	return string(letters)
}

// Line is a record with its facts, as a query answers with it.
type Line struct {
	Decision string    `json:"decision"`
	Time     time.Time `json:"time"`
	Door     string    `json:"door,omitzero"`
	Kind     string    `json:"kind"`
	Effect   string    `json:"effect,omitzero"`
	Would    string    `json:"would,omitzero"` // if rules that only watch were enforced
	Rules    []string  `json:"rules,omitempty"`
	Codes    []string  `json:"codes,omitempty"`
	Policy   string    `json:"policy,omitzero"`
	Facts
	// Gone says that the facts have expired, were erased, or cannot be read.
	Gone bool `json:"gone,omitzero"`
}

// Position is where the line's record stands.
func (l *Line) Position() act.Position {
	pos, _ := act.ParsePosition(l.Decision) // as lineOf wrote it
	return pos
}

func lineOf(r *Record, o *Opening) Line {
	l := Line{
		Decision: r.ID(), Time: r.Time, Door: r.Door, Kind: r.Kind, Effect: r.Effect, Would: r.Observed,
		Rules: r.Rules, Codes: r.Codes, Policy: r.Policy, Gone: o == nil,
	}
	if o != nil {
		l.Facts = o.Facts()
	}
	return l
}

// ReadLine is the line of one record. ErrNotFound when the record is gone.
func ReadLine(ctx context.Context, store Reader, pos act.Position) (Line, error) {
	lines, err := readLines(ctx, store, pos.Log, pos.Index, pos.Index+1, every)
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("record %s: %w", pos, ErrNotFound)
	}
	if err != nil {
		return Line{}, err
	}
	return lines[0], nil
}

func every(uint64) bool { return true }

// readLines reads lines of a stretch of a log, in its order: of those records that are
// wanted and were not pruned.
func readLines(ctx context.Context, store Reader, log uint32, from, to uint64, wanted func(index uint64) bool) ([]Line, error) {
	var records []Record
	err := store.Records(ctx, log, from, to, func(index uint64, data []byte) error {
		if !wanted(index) {
			return nil
		}
		r, err := ParseRecord(data)
		if err != nil {
			return fmt.Errorf("record %s: the log is damaged, run reeve ledger verify: %w", act.Position{Log: log, Index: index}, err)
		}
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	facts := make(map[uint64]*Opening, len(records))
	err = store.Facts(ctx, log, from, to, func(index uint64, data []byte) error {
		if !wanted(index) {
			return nil
		}
		// Where the facts are damaged, the record is all that is known.
		if o, err := parseOpening(data, noParts); err == nil {
			opening := cloneOpening(&o)
			facts[index] = &opening
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(records))
	for i := range records {
		r := &records[i]
		o := facts[r.Index]
		if o == nil {
			// What older programs wrote lies whole in one place.
			if o, err = olderFacts(ctx, store, act.Position{Log: log, Index: r.Index}); err != nil {
				return nil, err
			}
		}
		lines[i] = lineOf(r, o)
	}
	return lines, nil
}

// noParts says that facts have no parts.
func noParts([32]byte) ([]byte, error) { return nil, ErrNotFound }

// olderFacts reads the facts out of an opening that holds them, too; nil for none.
func olderFacts(ctx context.Context, store Reader, pos act.Position) (*Opening, error) {
	data, err := store.Opening(ctx, pos)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := parseOpening(data, func(hash [32]byte) ([]byte, error) { return store.Part(ctx, hash) })
	if err != nil || !o[Principal].present && !o[Links].present {
		return nil, nil
	}
	opening := openingOf(&o)
	return &opening, nil
}

// cloneOpening is what was read of facts, in memory of its own.
func cloneOpening(o *[fields]opened) Opening {
	return Opening{Principal: append([]byte(nil), o[Principal].content...), Links: append([]byte(nil), o[Links].content...)}
}

// LineOf is the line of a receipt, with the facts that it discloses.
func LineOf(r *Receipt) Line {
	if r.Opening.Principal == nil && r.Opening.Links == nil {
		return lineOf(&r.Record, nil)
	}
	return lineOf(&r.Record, &r.Opening)
}
