package operator

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"
	"reeve.example/reeve/internal/server"
)

// Replay asks what would have been decided in a window under a candidate.
type Replay struct {
	// Candidate are the documents of the policy; none for the one in force.
	Candidate []PolicyFile `json:"candidate,omitempty"`
	Since     time.Time    `json:"since,omitzero"`
	Until     time.Time    `json:"until,omitzero"`
	// Limit is how many groups and agents are told, 0 for all, and Acts how many acts of a
	// group are named.
	Limit int `json:"limit,omitzero"`
	Acts  int `json:"acts,omitzero"`
}

// PolicyFile is one document of a policy.
type PolicyFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Bounds of a replay that is asked for.
const (
	maxCandidate = 8 << 20 // bytes of the question
	maxReplay    = 10 * time.Minute
	maxActs      = 1000 // of a group that are named
	looksAtOnce  = 2    // at the memory of single acts and sessions, which are made anew from what was written of them
	waitsToLook  = 10 * time.Second
)

// errBusy is what a second replay gets: one takes half of the processors.
var errBusy = problem{http.StatusTooManyRequests, errors.New("another replay is under way on this node: ask again when it is over")}

// Replays judges what was recorded again. One runs at a time, on half of the processors,
// so that whoever asks for decisions does not wait for it.
type Replays struct {
	Store  replay.Store
	Policy func() *policy.Set
	Keys   guard.Keys
	Scored bool

	busy  chan struct{}
	looks chan struct{}
}

// NewReplays is the way to a node's past.
func NewReplays(store replay.Store, policy func() *policy.Set, keys guard.Keys, scored bool) *Replays {
	return &Replays{Store: store, Policy: policy, Keys: keys, Scored: scored, busy: make(chan struct{}, 1), looks: make(chan struct{}, looksAtOnce)}
}

// look waits for a turn to make memory anew, which takes as much of the machine as whoever
// asks likes: pages that are opened side by side do it one after the other.
func (p *Replays) look(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, waitsToLook)
	defer cancel()
	select {
	case p.looks <- struct{}{}:
		return func() { <-p.looks }, nil
	case <-ctx.Done():
		return nil, problem{http.StatusTooManyRequests, errors.New("others look at what was recorded, and it takes long: ask again in a while")}
	}
}

// Run judges a window again; progress is called now and then, nil for never.
func (p *Replays) Run(ctx context.Context, q *Replay, progress func(done, of uint64)) (*replay.Report, error) {
	switch {
	case q.Limit < 0 || q.Acts < 0 || q.Acts > maxActs:
		return nil, badRequest("limit is not negative, and acts is between 0 and %d", maxActs)
	case !q.Until.IsZero() && !q.Since.Before(q.Until):
		return nil, badRequest("until is not after since")
	}
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	default:
		return nil, errBusy
	}
	candidate := p.Policy()
	if q.Candidate != nil {
		var files []policy.File
		for _, f := range q.Candidate {
			files = append(files, policy.File{Name: f.Name, Data: []byte(f.Text)})
		}
		var err error
		if candidate, err = policy.Load(files...); err != nil {
			return nil, problem{http.StatusUnprocessableEntity, err}
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxReplay, problem{http.StatusUnprocessableEntity,
		errors.New("that is more than a node judges again in ten minutes: take a smaller window, or reeve policy replay on its machine")})
	defer cancel()
	r, err := replay.Run(ctx, p.Store, candidate, replay.Options{
		Since: q.Since, Until: q.Until, Keys: p.Keys, Scored: p.Scored, Acts: q.Acts, Progress: progress, Workers: max(1, runtime.GOMAXPROCS(0)/2),
	})
	if err == nil {
		r.Shorten(q.Limit)
	}
	return r, err
}

// replay answers in the time that it takes, which is longer than answers have else.
func (o *API) replay(w http.ResponseWriter, r *http.Request) {
	server.Hold(r.Context(), time.Now().Add(maxReplay))
	serve(func(r *http.Request, _ act.Principal, q Replay) (*replay.Report, error) {
		report, err := o.Replays.Run(r.Context(), &q, nil)
		if _, told := errors.AsType[problem](err); err != nil && !told && r.Context().Err() == nil {
			err = o.failed("the window was not judged again", err)
		}
		return report, err
	})(w, r)
}

// errNoShadow is what who asks for a candidate's differences gets where there is none.
var errNoShadow = problem{http.StatusNotFound, errors.New("no candidate is beside this node's policy: a document with mode: shadow is one")}

// shadow tells what the candidate beside the policy would have decided otherwise since it
// is there.
func (o *API) shadow(*http.Request, act.Principal, Nothing) (*replay.Report, error) {
	candidate := o.Guard.Policy().Shadow()
	if candidate == nil {
		return nil, errNoShadow
	}
	return o.Shadow.Report(candidate.Hash(), time.Now()), nil
}
