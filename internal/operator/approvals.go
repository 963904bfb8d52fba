package operator

import (
	"net/http"
	"strconv"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"

	"github.com/go-json-experiment/json/jsontext"
)

// ApprovalList is a page of held decisions, in the order of their ids.
type ApprovalList struct {
	Approvals []*approval.Decision `json:"approvals"`
	// Next is what to give as after for the next page; empty on the last.
	Next string `json:"next,omitzero"`
	// Damaged are those of the page of which what is stored cannot be read: what they
	// hold is denied.
	Damaged []*guard.DamagedError `json:"damaged,omitempty"`
}

// approvalsPage is how many held decisions one answer lists at most.
const approvalsPage = 200

// listExact lists what is held for those who answer it, and listKept for others.
func (o *API) listExact(r *http.Request, _ act.Principal, _ Nothing) (ApprovalList, error) {
	return o.listApprovals(r, true)
}

func (o *API) listKept(r *http.Request, _ act.Principal, _ Nothing) (ApprovalList, error) {
	return o.listApprovals(r, false)
}

func (o *API) listApprovals(r *http.Request, exact bool) (ApprovalList, error) {
	q := r.URL.Query()
	limit := approvalsPage
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > approvalsPage {
			return ApprovalList{}, badRequest("limit is a number from 1 to %d", approvalsPage)
		}
	}
	list, bad, next, err := o.Guard.Approvals(r.Context(), !all(r), exact, q.Get("after"), limit)
	if err != nil {
		return ApprovalList{}, o.failed("the approvals were not read", err)
	}
	for _, h := range list {
		h.Seen = "" // what nobody has looked at here
	}
	return ApprovalList{Approvals: append([]*approval.Decision{}, list...), Next: next, Damaged: bad}, nil
}

// showExact shows who answers the exact bytes of what is held.
func (o *API) showExact(r *http.Request, _ act.Principal, _ Nothing) (ApprovalShown, error) {
	h, err := o.Guard.Show(r.Context(), r.PathValue("id"))
	if err != nil {
		return ApprovalShown{}, o.failed("the approval was not read", err)
	}
	return o.withBefore(r.Context(), h)
}

// showKept shows others what is kept of it, masked.
func (o *API) showKept(r *http.Request, _ act.Principal, _ Nothing) (ApprovalShown, error) {
	h, err := o.Guard.Approval(r.Context(), r.PathValue("id"))
	if err != nil {
		return ApprovalShown{}, o.failed("the approval was not read", err)
	}
	return o.withBefore(r.Context(), h)
}

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
	// For is for how long the approver agrees; without it once, to exactly what was shown.
	For approval.Span `json:"for,omitzero"`
	// Usual says that upon whom or what the act is done is usual for its agent from now on.
	Usual bool `json:"usual,omitzero"`
	// Changes are those of the act's arguments with which the approver agrees, once.
	Changes []ArgumentChange `json:"changes,omitempty"`
	// Form is, in place of them, the digest of changes that somebody else proposed.
	Form string `json:"form,omitzero"`
	// Passkey is what the approver's passkey signed for this answer, where a rule asks for it.
	Passkey *guard.Proof `json:"passkey,omitzero"`
}

// ArgumentChange gives an argument of an act another value.
type ArgumentChange struct {
	Pointer string         `json:"pointer"`
	Value   jsontext.Value `json:"value"`
}

// maxNote is the longest note of a person, in bytes.
const maxNote = 2000

// replyOf checks an answer as far as it can be without what is answered.
func replyOf(q *ApprovalAnswer) (reply guard.Reply, err error) {
	if q.Answer != "approve" && q.Answer != "deny" || len(q.Note) > maxNote {
		return reply, badRequest("want {\"answer\": \"approve\" or \"deny\"}, with a note of at most 2000 bytes")
	}
	reply = guard.Reply{Agree: q.Answer == "approve", Seen: q.Seen, Decision: q.Decision, Note: q.Note, For: q.For, Usual: q.Usual, Form: q.Form, Passkey: q.Passkey}
	for _, c := range q.Changes {
		reply.Changes = append(reply.Changes, approval.Change{Pointer: c.Pointer, New: string(c.Value)})
	}
	return reply, nil
}

func (o *API) answerApproval(r *http.Request, by act.Principal, q ApprovalAnswer) (*approval.Decision, error) {
	reply, err := replyOf(&q)
	if err != nil {
		return nil, err
	}
	h, err := o.Guard.Answer(r.Context(), r.PathValue("id"), by, reply)
	if err != nil {
		err = o.failed("the answer was not recorded", o.inTheConsole(r.PathValue("id"), err))
	}
	return h, err
}

// GrantList is a page of grants, in the order of their ids.
type GrantList struct {
	Grants []*approval.Grant `json:"grants"`
	// Next is what to give as after for the next page; empty on the last.
	Next string `json:"next,omitzero"`
	// Damaged are those of the page of which what is stored cannot be read: they let
	// nothing pass.
	Damaged []*guard.DamagedError `json:"damaged,omitempty"`
}

func (o *API) listGrants(r *http.Request, _ act.Principal, _ Nothing) (GrantList, error) {
	q := r.URL.Query()
	list, bad, next, err := o.Guard.Grants(r.Context(), !all(r), q.Get("after"), approvalsPage)
	if err != nil {
		return GrantList{}, o.failed("the grants were not read", err)
	}
	return GrantList{Grants: append([]*approval.Grant{}, list...), Next: next, Damaged: bad}, nil
}

func (o *API) showGrant(r *http.Request, _ act.Principal, _ Nothing) (*approval.Grant, error) {
	grant, err := o.Guard.Grant(r.Context(), r.PathValue("id"))
	if err != nil {
		err = o.failed("the grant was not read", err)
	}
	return grant, err
}

// GrantChange changes a grant.
type GrantChange struct {
	State approval.State `json:"state"` // revoked
	Note  string         `json:"note,omitzero"`
}

func (o *API) changeGrant(r *http.Request, by act.Principal, q GrantChange) (*approval.Grant, error) {
	if q.State != approval.Revoked || len(q.Note) > maxNote {
		return nil, badRequest("want {\"state\": \"revoked\"}, with a note of at most 2000 bytes")
	}
	grant, err := o.Guard.Revoke(r.Context(), r.PathValue("id"), by, q.Note)
	if err != nil {
		err = o.failed("the grant was not changed", err)
	}
	return grant, err
}
