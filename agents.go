package reeve

import (
	"context"
	"errors"
	"net/http"

	"reeve.example/reeve/agent"
	"reeve.example/reeve/guard"
	"reeve.example/reeve/identity"

	"github.com/go-json-experiment/json"
)

// Agents serves what is known of agents, and lets an admin suspend, resume and
// revoke them.
func (n *Node) Agents() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /agents", n.listAgents)
	mux.HandleFunc("GET /agents/{did}", n.showAgent)
	mux.HandleFunc("POST /agents/{did}", n.setAgent)
	return mux
}

// AgentList is a page of agents, in the order of their DIDs.
type AgentList struct {
	Agents []*agent.Agent `json:"agents"`
	// Next is what to give as after for the next page; empty on the last.
	Next string `json:"next,omitzero"`
}

// agentsPage is how many agents one answer lists at most.
const agentsPage = 200

func (n *Node) listAgents(w http.ResponseWriter, r *http.Request) {
	list, err := n.guard.Agents(r.Context(), r.URL.Query().Get("after"), agentsPage)
	if err != nil {
		n.failed(w, "the agents were not read", err)
		return
	}
	page := AgentList{Agents: list}
	if page.Agents == nil {
		page.Agents = []*agent.Agent{}
	}
	if len(list) == agentsPage {
		page.Next = list[len(list)-1].DID
	}
	answer(w, http.StatusOK, page)
}

// AgentReport is an agent, and how what it asked for ended.
type AgentReport struct {
	*agent.Agent
	Conduct agent.Conduct `json:"conduct"`
}

func (n *Node) showAgent(w http.ResponseWriter, r *http.Request) {
	report, err := n.agentReport(r.Context(), r.PathValue("did"))
	if err != nil {
		n.failed(w, "the agent was not read", err)
		return
	}
	if report.State == "" && report.Conduct.Intents == 0 && report.Violations == 0 {
		answer(w, http.StatusNotFound, map[string]string{"error": "nothing is known of this agent"})
		return
	}
	answer(w, http.StatusOK, report)
}

func (n *Node) agentReport(ctx context.Context, did string) (AgentReport, error) {
	known, err := n.guard.Agent(ctx, did)
	if err != nil {
		return AgentReport{}, err
	}
	intents, err := n.guard.Intents(ctx, did, false)
	return AgentReport{known, agent.ConductOf(intents, known.Violations)}, err
}

// AgentState gives an agent another state.
type AgentState struct {
	State agent.State `json:"state,omitzero"` // active, suspended or revoked
	// ResetKey forgets its public key instead.
	ResetKey bool   `json:"reset_key,omitzero"`
	Reason   string `json:"reason,omitzero"`
}

func (n *Node) setAgent(w http.ResponseWriter, r *http.Request) {
	by, role := identity.FromContext(r.Context())
	if role != identity.Admin {
		answer(w, http.StatusForbidden, map[string]string{"error": "only the role admin changes an agent's state"})
		return
	}
	var q AgentState
	if err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxAnswer), &q, json.RejectUnknownMembers(true)); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	did := r.PathValue("did")
	if q.ResetKey && q.State == "" && len(did) <= agent.MaxDID {
		known, err := n.guard.ResetKey(r.Context(), did, by)
		if errors.Is(err, guard.ErrNoKey) {
			answer(w, http.StatusConflict, map[string]string{"error": err.Error()})
			return
		}
		if err != nil {
			n.failed(w, "the agent's key was not reset", err)
			return
		}
		answer(w, http.StatusOK, known)
		return
	}
	if q.ResetKey || q.State != agent.Active && q.State != agent.Suspended && q.State != agent.Revoked || len(did) > agent.MaxDID || len(q.Reason) > maxNote {
		answer(w, http.StatusBadRequest, map[string]string{"error": "want {\"state\": \"active\", \"suspended\" or \"revoked\"}, with a reason of at most 2000 bytes"})
		return
	}
	known, err := n.a2g.SetState(r.Context(), did, q.State, q.Reason, by)
	if err != nil {
		n.failed(w, "the agent's state was not changed", err)
		return
	}
	answer(w, http.StatusOK, known)
}

// endOverdue ends what nobody answered or reported in time, each with a record.
func (n *Node) endOverdue(ctx context.Context) {
	if err := n.guard.ExpireApprovals(ctx); err != nil && ctx.Err() == nil {
		n.logger.Error("approvals whose time is over were not ended", "error", err)
	}
	if _, err := n.guard.EndIntents(ctx); err != nil && ctx.Err() == nil {
		n.logger.Error("intents whose time is over were not ended", "error", err)
	}
	if _, err := n.store.TrimItems(ctx, n.now()); err != nil && ctx.Err() == nil {
		n.logger.Error("items that are over were not removed", "error", err)
	}
}
