package reeve

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/agent"
	"reeve.example/reeve/approval"
	"reeve.example/reeve/guard"
	"reeve.example/reeve/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/ledger"
	"reeve.example/reeve/server"

	"github.com/go-json-experiment/json"
)

// Approvals serves what is held for people: the list, one of them, and their
// answers. Callers are approvers, and auditors to read; on the operator's
// socket, the operator.
func (n *Node) Approvals() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /approvals", n.listApprovals)
	mux.HandleFunc("GET /approvals/{id}", n.showApproval)
	mux.HandleFunc("POST /approvals/{id}", n.answerApproval)
	return mux
}

// ApprovalList is a page of held decisions, in the order of their ids.
type ApprovalList struct {
	Approvals []*approval.Decision `json:"approvals"`
	// Next is what to give as after for the next page; empty on the last.
	Next string `json:"next,omitzero"`
}

// approvalsPage is how many held decisions one answer lists at most.
const approvalsPage = 200

func (n *Node) listApprovals(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := approvalsPage
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > approvalsPage {
			answer(w, http.StatusBadRequest, map[string]string{"error": "limit is a number from 1 to " + strconv.Itoa(approvalsPage)})
			return
		}
	}
	list, next, err := n.guard.Approvals(r.Context(), q.Get("all") == "", q.Get("after"), limit)
	if err != nil {
		n.failed(w, "the approvals were not read", err)
		return
	}
	for _, h := range list {
		h.Seen = "" // what nobody has looked at here
	}
	page := ApprovalList{Approvals: list, Next: next}
	if page.Approvals == nil {
		page.Approvals = []*approval.Decision{}
	}
	answer(w, http.StatusOK, page)
}

func (n *Node) showApproval(w http.ResponseWriter, r *http.Request) {
	show := n.guard.Approval
	if _, role := identity.FromContext(r.Context()); answers(role) {
		show = n.guard.Show
	}
	h, err := show(r.Context(), r.PathValue("id"))
	if err != nil {
		n.failed(w, "the approval was not read", err)
		return
	}
	answer(w, http.StatusOK, h)
}

// answers reports whether a role answers what is held. Who does sees the exact
// bytes of it; others see what is kept, masked.
func answers(role identity.Role) bool { return role == identity.Approver || role == identity.Admin }

// ApprovalAnswer is an approver's answer.
type ApprovalAnswer struct {
	Answer string `json:"answer"` // approve or deny
	// Seen is the digest that stands beside what the approver looked at. Nobody
	// agrees without it, or with another's.
	Seen string `json:"seen,omitzero"`
	Note string `json:"note,omitzero"`
	// Decision is the id of the decision that the approver looked at. When it is
	// given and another is held by now, the answer is refused.
	Decision string `json:"decision,omitzero"`
}

// maxNote is the longest note of an approver, in bytes.
const maxNote = 2000

func (n *Node) answerApproval(w http.ResponseWriter, r *http.Request) {
	by, role := identity.FromContext(r.Context())
	if !answers(role) {
		answer(w, http.StatusForbidden, map[string]string{"error": "only the roles approver and admin answer"})
		return
	}
	var q ApprovalAnswer
	if err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxAnswer), &q, json.RejectUnknownMembers(true)); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	if q.Answer != "approve" && q.Answer != "deny" || len(q.Note) > maxNote {
		answer(w, http.StatusBadRequest, map[string]string{"error": "want {\"answer\": \"approve\" or \"deny\"}, with a note of at most 2000 bytes"})
		return
	}
	h, err := n.guard.Answer(r.Context(), r.PathValue("id"), by, guard.Reply{
		Agree: q.Answer == "approve", Seen: q.Seen, Decision: q.Decision, Note: q.Note,
	})
	if err != nil {
		n.failed(w, "the answer was not recorded", err)
		return
	}
	answer(w, http.StatusOK, h)
}

// failed answers with what an approver can do about an error, or tells the
// operator of it.
func (n *Node) failed(w http.ResponseWriter, what string, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		answer(w, http.StatusNotFound, map[string]string{"error": "there is nothing of this name"})
		return
	case errors.Is(err, approval.ErrOwn), errors.Is(err, approval.ErrNotAsked):
		status = http.StatusForbidden
	case errors.Is(err, approval.ErrEnded), errors.Is(err, approval.ErrAnswered), errors.Is(err, guard.ErrChanged),
		errors.Is(err, approval.ErrUnseen), errors.Is(err, approval.ErrUnshown), errors.Is(err, guard.ErrSealed),
		errors.Is(err, agent.ErrRevoked):
		status = http.StatusConflict
	}
	if status == http.StatusInternalServerError {
		n.logger.Error(what, "error", err)
		answer(w, status, map[string]string{"error": what})
		return
	}
	answer(w, status, map[string]string{"error": err.Error()})
}

// awaitAnswer waits until people have answered about a held act, as long as is
// configured, and reports whether they have. Calls that wait have a limit of
// their own; beyond it, and on a connection of many calls, nobody waits.
func (n *Node) awaitAnswer(ctx context.Context, held *act.Approval) bool {
	wait := n.cfg.Approvals.Wait
	if wait <= 0 || jsonrpc.ConnFrom(ctx) != nil || held == nil || held.State != string(approval.Held) {
		return false
	}
	select {
	case n.held <- struct{}{}:
		defer func() { <-n.held }()
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(n.stopping, cancel)()
	server.Hold(ctx, time.Now().Add(wait))
	return n.guard.Await(ctx, held.ID) == nil
}
