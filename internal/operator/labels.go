package operator

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
)

// SessionLabels are what a session has read, as rules ask for it.
type SessionLabels struct {
	Session   string `json:"session"`
	Agent     string `json:"agent,omitzero"`
	Principal string `json:"principal"`
	// Labels are the tags of what was read, and foreign.
	Labels []string `json:"labels"`
	// Planned are the tools that were called or planned before anything foreign was read.
	Planned []string `json:"planned"`
	// Heard says that a message of the user was seen.
	Heard bool `json:"heard"`
}

// LabelsWord is what a person says of a session's labels.
type LabelsWord struct {
	// Clear are the labels that are taken away: tags, or foreign.
	Clear []string `json:"clear"`
	// Principal is the session's credential, where several have a session of the name, and
	// Agent is its agent, where several of one credential have.
	Principal string `json:"principal,omitzero"`
	Agent     string `json:"agent,omitzero"`
}

// linesOfName is how many of the newest records that bear a session's name are looked
// through for whose it is.
const linesOfName = 200

// sessionNamed is the session of a name.
func (o *API) sessionNamed(r *http.Request, principal, agent string) (guard.SessionName, error) {
	id := r.PathValue("id")
	found, err := ledger.Search(r.Context(), o.Store, ledger.Query{Session: id, Principal: principal, Agent: agent, Limit: linesOfName})
	if err != nil {
		return guard.SessionName{}, o.asked("the session was not looked for", err)
	}
	var names []guard.SessionName
	for i := range found.Lines {
		l := &found.Lines[i]
		if l.Session != id || l.Effect == "" {
			continue
		}
		n := guard.SessionName{Principal: l.Principal, Session: id, Agent: l.Agent}
		if l.Door == "a2g" {
			n.Door = l.Door
		}
		same := func(o guard.SessionName) bool {
			return o.Principal == n.Principal && o.Door == n.Door && (o.Agent == n.Agent || n.Door != "a2g")
		}
		if !slices.ContainsFunc(names, same) {
			names = append(names, n)
		}
	}
	switch len(names) {
	case 1:
		return names[0], nil
	case 0:
		return guard.SessionName{}, problem{http.StatusNotFound, fmt.Errorf("there is no session %.80q", id)}
	}
	return guard.SessionName{}, problem{http.StatusConflict, errors.New("several agents or credentials have a session of this name: say which with principal and agent")}
}

func (o *API) sessionLabels(r *http.Request, of guard.SessionName) (SessionLabels, error) {
	l, err := o.Guard.Labels(r.Context(), of)
	if err != nil {
		return SessionLabels{}, o.failed("the session was not read", err)
	}
	return SessionLabels{
		Session: of.Session, Agent: of.Agent, Principal: of.Principal, Heard: l.Heard,
		Labels: append([]string{}, l.Labels...), Planned: append([]string{}, l.Planned...),
	}, nil
}

func (o *API) showLabels(r *http.Request, _ act.Principal, _ Nothing) (SessionLabels, error) {
	of, err := o.sessionNamed(r, r.URL.Query().Get("principal"), r.URL.Query().Get("agent"))
	if err != nil {
		return SessionLabels{}, err
	}
	return o.sessionLabels(r, of)
}

// clearLabels takes labels away from a session.
func (o *API) clearLabels(r *http.Request, by act.Principal, q LabelsWord) (SessionLabels, error) {
	if len(q.Clear) == 0 || len(strings.Join(q.Clear, "")) > maxNote {
		return SessionLabels{}, badRequest("want {\"clear\": [\"foreign\"]}, or tags that the session has")
	}
	of, err := o.sessionNamed(r, q.Principal, q.Agent)
	if err != nil {
		return SessionLabels{}, err
	}
	if _, err := o.Guard.ClearLabels(r.Context(), of, q.Clear, by); err != nil {
		return SessionLabels{}, o.failed("the labels were not cleared", err)
	}
	return o.sessionLabels(r, of)
}
