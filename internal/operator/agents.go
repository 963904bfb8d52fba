package operator

import (
	"context"
	"errors"
	"net/http"

	"reeve.example/reeve/a2g/intent"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/guard"
)

// AgentList is a page of agents, in the order of their DIDs.
type AgentList struct {
	Agents []*agent.Agent `json:"agents"`
	// Next is what to give as after for the next page; empty on the last.
	Next string `json:"next,omitzero"`
	// Damaged are those of the page of which what is stored cannot be read.
	Damaged []*guard.DamagedError `json:"damaged,omitempty"`
}

// agentsPage is how many agents one answer lists at most.
const agentsPage = 200

func (o *API) listAgents(r *http.Request, _ act.Principal, _ Nothing) (AgentList, error) {
	list, bad, next, err := o.Guard.Agents(r.Context(), r.URL.Query().Get("after"), agentsPage)
	if err != nil {
		return AgentList{}, o.failed("the agents were not read", err)
	}
	return AgentList{Agents: append([]*agent.Agent{}, list...), Next: next, Damaged: bad}, nil
}

// AgentReport is an agent, and how what it asked for ended.
type AgentReport struct {
	*agent.Agent
	Conduct intent.Conduct `json:"conduct"`
	// Damaged are its intents of which what is stored cannot be read; they are not counted.
	Damaged []*guard.DamagedError `json:"damaged,omitempty"`
}

func (o *API) showAgent(r *http.Request, _ act.Principal, _ Nothing) (AgentReport, error) {
	report, err := o.report(r.Context(), r.PathValue("did"))
	if err != nil {
		return report, o.failed("the agent was not read", err)
	}
	if report.State == "" && report.Conduct.Intents == 0 && report.Violations == 0 {
		return report, problem{http.StatusNotFound, errors.New("nothing is known of this agent")}
	}
	return report, nil
}

func (o *API) report(ctx context.Context, did string) (AgentReport, error) {
	known, err := o.Guard.Agent(ctx, did)
	if err != nil {
		return AgentReport{}, err
	}
	intents, bad, err := o.Agents.Intents(ctx, did)
	return AgentReport{known, intent.ConductOf(intents, known.Violations), bad}, err
}

// AgentState gives an agent another state.
type AgentState struct {
	State agent.State `json:"state,omitzero"` // active, suspended or revoked
	// ResetKey forgets its public key instead.
	ResetKey bool   `json:"reset_key,omitzero"`
	Reason   string `json:"reason,omitzero"`
}

func (o *API) setAgent(r *http.Request, by act.Principal, q AgentState) (*agent.Agent, error) {
	did := r.PathValue("did")
	if q.ResetKey && q.State == "" && len(did) <= agent.MaxDID {
		known, err := o.Guard.ResetKey(r.Context(), did, by)
		if err != nil {
			err = o.failed("the agent's key was not reset", err)
		}
		return known, err
	}
	if q.ResetKey || q.State != agent.Active && q.State != agent.Suspended && q.State != agent.Revoked || len(did) > agent.MaxDID || len(q.Reason) > maxNote {
		return nil, badRequest("want {\"state\": \"active\", \"suspended\" or \"revoked\"}, with a reason of at most 2000 bytes")
	}
	known, err := o.Agents.SetState(r.Context(), did, q.State, q.Reason, by)
	if err != nil {
		err = o.failed("the agent's state was not changed", err)
	}
	return known, err
}
