package hook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/secret"
)

// Judge asks about an event and returns the agent's answer. ask is the
// callback that sends a request to the guardian. After an error the event was not judged:
// Refuse is the answer then.
func Judge(ctx context.Context, e *Event, trail *Trail, ask func(context.Context, []byte) (*Decision, error)) (Answer, error) {
	if e.Kind == Ignored {
		return e.Answer(&Decision{Effect: act.Allow}), nil
	}
	turn, call, err := trail.names(e)
	if err != nil {
		return Answer{}, err
	}
	if e.Kind == Asking {
		return e.Answer(&Decision{Effect: act.Allow}), trail.AskOwn(e)
	}
	asked := false
	if e.Kind == Result {
		e.Approval, asked = trail.Asked(e, call)
		e.Agreed = e.Approval != "" || !asked && trail.AskedOwn(e)
	}
	if err := trail.brought(e); err != nil {
		return Answer{}, err
	}
	request, err := e.Request(turn, call, time.Now())
	if err != nil {
		return Answer{}, fmt.Errorf("the event cannot be told to the guardian: %w", err)
	}
	if request == nil {
		return e.Answer(&Decision{Effect: act.Allow}), nil
	}
	if e.Kind == Call { // what goes with a call comes first: a call that is recorded as allowed is made
		if d, err := e.judgeBeside(ctx, turn, call, ask); err != nil || d != nil {
			return e.refused(d), err
		}
	}
	d, err := ask(ctx, request)
	if err != nil {
		return Answer{}, err
	}
	if e.fresh {
		e.noted = d.Files
	}
	if err := trail.toldBrought(e); err != nil {
		return Answer{}, err
	}
	e.goesBy = nil // nothing else that is asked about this event tells them again
	if e.Kind == Prompt && d.Effect == act.Allow {
		if off, err := e.judgeOff(ctx, turn, ask); err != nil {
			return Answer{}, err
		} else if off != nil {
			d = off
		}
	}
	if e.Kind == Prompt && d.Effect == act.Allow {
		if beside, err := e.judgeBeside(ctx, turn, call, ask); err != nil {
			return Answer{}, err
		} else if beside != nil {
			d = beside
		}
	}
	if e.Kind == Call && e.CallID == "" {
		if err := trail.Decided(e, call, e.outcome(d)); err != nil {
			return Answer{}, err
		}
	}
	switch {
	case e.Asks(d):
		if err := trail.Ask(e, call, d.Approval); err != nil {
			return Answer{}, err
		}
	case e.Kind == Result && d.Unanswered() && asked:
		// The user agreed in the agent's window to what was held no longer, since its time was
		// over or somebody else had refused, or to another call than the one that was made.
		// The record says so, and what the tool gave is judged all the same.
		if request, err = e.AsRetrieved(turn, call, time.Now()); err != nil {
			return Answer{}, err
		}
		read, err := ask(ctx, request)
		if err != nil {
			return Answer{}, err
		}
		if read.Covers(d) {
			d = read
		}
	}
	return e.Answer(d), nil
}

// refused is the answer to an event that a decision about something else bars; nil is none.
func (e *Event) refused(d *Decision) Answer {
	if d == nil {
		return Answer{}
	}
	return e.Answer(d)
}

// names are those of an event's turn and call, from the trail where the agent has
// none for them.
func (t *Trail) names(e *Event) (turn, call string, err error) {
	turn, call = e.Turn, e.CallID
	switch {
	case turn != "":
	case e.Kind == Prompt:
		turn, err = t.BeginTurn()
	default:
		turn, err = t.Turn()
	}
	if err != nil {
		return "", "", fmt.Errorf("which turn this is cannot be told: %w", err)
	}
	switch {
	case call != "":
	case e.Kind == Call:
		call, err = t.BeginCall(e)
	case e.Kind == Result:
		if call, err = t.EndCall(e); err == nil && call == "" {
			err = errors.New("it is the result of a call that was never asked about")
		}
	case e.Kind == Start:
		t.Tidy(time.Now())
	}
	return turn, call, err
}

// Unreachable is why a node could not be asked.
type Unreachable struct{ Err error }

func (u *Unreachable) Error() string { return "the node cannot be reached: " + u.Err.Error() }
func (u *Unreachable) Unwrap() error { return u.Err }

// nodeClient asks nodes: not through a proxy that the environment names, and not
// anywhere else that an answer names.
var nodeClient = &http.Client{
	Transport:     &http.Transport{DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// maxDecision is the largest answer that is read: a changed request may be in it.
const maxDecision = 4 * MaxInput

// Ask puts a request before the node at a URL. key refers to an API key of the role
// agent; empty for none. The error is an *Unreachable when no node answered.
func Ask(ctx context.Context, url, key string, request []byte) (*Decision, error) {
	var credential []byte
	if key != "" {
		var err error
		if credential, err = secret.Read(key); err != nil {
			return nil, fmt.Errorf("the key for the node: %w", err)
		}
	}
	ctx = act.WithTraceparent(ctx, os.Getenv("TRACEPARENT")) // as agents that trace tell the programs they start
	r, err := jsonrpc.NewRequest(ctx, http.MethodPost, url, string(credential), request)
	if err != nil {
		return nil, err
	}
	answer, err := jsonrpc.Fetch(nodeClient, r, maxDecision)
	switch {
	case errors.Is(err, jsonrpc.ErrTooLarge):
		return nil, errors.New("the node's answer is too large")
	case err != nil:
		return nil, &Unreachable{err}
	case answer.Code == http.StatusBadGateway || answer.Code == http.StatusServiceUnavailable || answer.Code == http.StatusGatewayTimeout:
		return nil, &Unreachable{fmt.Errorf("it answers %s", answer.Status)}
	case answer.Code == http.StatusUnauthorized:
		return nil, errors.New("the node asks for a credential: give an API key of the role agent with --key")
	}
	d, err := ReadDecision(answer.Body)
	if err != nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("%w (%s)", err, answer.Status)
	}
	return d, err
}
