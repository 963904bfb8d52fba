package hook

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"reeve.example/reeve/act"
)

// Run is one run of a hook, as the agent's configuration says it.
type Run struct {
	Agent string // one of Agents
	Event string // for agents that do not say it on standard input
	// Trails is the folder of what a session's hooks tell each other; empty for one in
	// the user's cache folder.
	Trails  string
	Timeout time.Duration // of the whole call
}

// Respond answers an event from the agent's standard input. ask puts a request before
// the guardian. Whatever goes wrong blocks.
func (r *Run) Respond(ctx context.Context, input []byte, ask func(context.Context, []byte) (*Decision, error)) Answer {
	e, err := Read(r.Agent, r.Event, input)
	if err != nil {
		if e, err = readResult(r.Agent, r.Event, input, err); err != nil {
			return unread(e, err)
		}
	}
	if e.Kind == Ignored {
		return e.Answer(&Decision{Effect: act.Allow})
	}
	if e.Kind == Configured {
		if why := e.disarmed(); why != "" {
			return Block(why)
		}
		return e.Answer(&Decision{Effect: act.Allow})
	}
	trail, err := r.trail(e)
	if err != nil {
		return e.Refuse("what the session's hooks tell each other cannot be kept: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	e.look()
	answer, err := Judge(ctx, e, trail, ask)
	if err != nil {
		return e.Refuse(err.Error())
	}
	answer.Stderr += e.notices()
	return answer
}

// trail opens the session's trail.
func (r *Run) trail(e *Event) (*Trail, error) {
	dir := r.Trails
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(cache, "reeve", "hooks")
	}
	return OpenTrail(dir, e)
}

// Timeout is how long a run may take if its configuration does not say: some agents
// go on after 30 seconds.
const Timeout = 20 * time.Second

// Input reads an event from an agent.
func Input(stdin io.Reader) ([]byte, error) {
	input, err := io.ReadAll(io.LimitReader(stdin, MaxInput+1))
	if err != nil {
		return nil, fmt.Errorf("the event cannot be read: %w", err)
	}
	return input, nil
}
