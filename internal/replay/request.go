package replay

import (
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/a2g"
	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/session"

	"github.com/go-json-experiment/json"
)

// Request reads an AOS or A2G request as a node would: by an unauthenticated caller, at the
// request's own timestamp, as the first step of its session.
func Request(request []byte) (*policy.Input, error) {
	a, err := actionOf(request)
	if err != nil {
		return nil, err
	}
	if a.Principal, a.At = act.Anonymous, a.SaidAt; a.At.IsZero() {
		a.At = time.Now()
	}
	in := &policy.Input{Action: a}
	var state *session.State
	if a.Session != "" {
		state = &session.State{Known: true}
		in.Session.Known, in.Session.Past = true, state.Past
	}
	in.Violations, _ = state.Check(a, nil)
	return in, nil
}

// Case is Request for a test case of a policy, which is about one step: the call that a
// result or an answer belongs to was made and allowed, unless the case says otherwise.
func Case(request []byte) (*policy.Input, error) {
	in, err := Request(request)
	if err == nil {
		in.Violations = slices.DeleteFunc(in.Violations, func(v act.Violation) bool { return v.Check == "result.orphan" || v.Check == "reply.orphan" })
	}
	return in, err
}

// actionOf reads a request of AOS, or one of A2G that an agent makes.
func actionOf(request []byte) (*act.Action, error) {
	var r struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(request, &r) == nil && strings.HasPrefix(r.Method, "a2g/") {
		a, err := a2g.ActionOf(request)
		if a != nil {
			a.Bounded = true
		}
		return a, err
	}
	return aos.ActionOf(request)
}
