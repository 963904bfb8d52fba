package operator

import (
	"context"
	"errors"
	"net/http"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/habits"
)

// HabitsList is the agents of whom habits are known.
type HabitsList struct {
	Agents []*habits.Report `json:"agents"` // without values
	// Unusual is what was noted as unusual in the last thirty days, the newest first.
	Unusual []UnusualLine `json:"unusual"`
	// More says that there are others.
	More bool `json:"more,omitzero"`
}

// UnusualLine is one cause of unusual acts.
type UnusualLine struct {
	Agent     string `json:"agent"`
	Principal string `json:"principal"`
	habits.Line
	Text string `json:"text"`
}

// Bounds of how many agents and causes one answer lists.
const (
	habitsPage  = 200
	unusualPage = 200
)

func (o *API) listHabits(r *http.Request, _ act.Principal, _ Nothing) (HabitsList, error) {
	list, err := o.Guard.HabitsOf(r.Context(), r.URL.Query().Get("agent"), habitsPage+1)
	if err != nil {
		return HabitsList{}, o.failed("the habits were not read", err)
	}
	unusual, err := o.Guard.Unusual(r.Context(), r.URL.Query().Get("agent"), unusualPage)
	if err != nil {
		return HabitsList{}, o.failed("what was unusual was not read", err)
	}
	answer := HabitsList{Agents: []*habits.Report{}, Unusual: []UnusualLine{}}
	for _, u := range unusual {
		answer.Unusual = append(answer.Unusual, UnusualLine{u.Agent, u.Principal, u.Line, u.Line.String()})
	}
	for i, p := range list {
		if answer.More = i == habitsPage; answer.More {
			break
		}
		one := p.Report(o.Guard.Policy().HabitSettings(), o.Guard.Now())
		one.Values, one.Said = []habits.Value{}, habits.Said{}
		answer.Agents = append(answer.Agents, one)
	}
	return answer, nil
}

// Habits is what is known of an agent's habits: of the one that bears the name, and with
// which credential where there are several. user is whose own values are listed, too.
func (o *API) Habits(ctx context.Context, agent, principal, user, organization string) (*habits.Report, error) {
	principal, err := o.credentialOf(ctx, agent, principal)
	if err != nil {
		return nil, err
	}
	if user != "" {
		user = guard.UserOfHabits(user, organization)
	}
	report, err := o.Guard.Habits(ctx, principal, agent, user, true)
	if err != nil {
		return nil, o.habitsFailed("the habits were not read", err)
	}
	return report, nil
}

// credentialOf is the credential of the agent that bears a name, where only one does.
func (o *API) credentialOf(ctx context.Context, agent, principal string) (string, error) {
	if principal != "" {
		return principal, nil
	}
	list, err := o.Guard.HabitsOf(ctx, agent, 2)
	switch {
	case err != nil:
		return "", o.failed("the habits were not read", err)
	case len(list) == 0:
		return "", problem{http.StatusNotFound, guard.ErrNoHabits}
	case len(list) > 1:
		return "", problem{http.StatusConflict, errors.New("agents with several credentials bear this name: say which with principal")}
	}
	return list[0].Principal, nil
}

func (o *API) habitsFailed(what string, err error) error {
	if errors.Is(err, guard.ErrNoHabits) || errors.Is(err, habits.ErrFull) || errors.Is(err, habits.ErrFrozen) {
		status := http.StatusNotFound
		if !errors.Is(err, guard.ErrNoHabits) {
			status = http.StatusConflict
		}
		return problem{status, err}
	}
	return o.failed(what, err)
}

func (o *API) showHabits(r *http.Request, _ act.Principal, _ Nothing) (*habits.Report, error) {
	q := r.URL.Query()
	return o.Habits(r.Context(), r.PathValue("id"), q.Get("principal"), q.Get("user"), q.Get("organization"))
}

// HabitsWord is what a person says of an agent's habits.
type HabitsWord struct {
	Say       string `json:"say"` // forget, freeze, thaw or rebuild
	Principal string `json:"principal,omitzero"`
	// Value is what is forgotten; all of it without one. User is whose own.
	Value string `json:"value,omitzero"`
	User  string `json:"user,omitzero"`
	// Organization is the user's, where the agent says it.
	Organization string `json:"organization,omitzero"`
}

func (o *API) sayHabits(r *http.Request, by act.Principal, q HabitsWord) (*habits.Report, error) {
	ctx, agent := r.Context(), r.PathValue("id")
	principal, err := o.credentialOf(ctx, agent, q.Principal)
	if err != nil {
		return nil, err
	}
	if len(q.Value) > maxNote || q.Say != "forget" && (q.Value != "" || q.User != "") {
		return nil, badRequest("a value, of at most 2000 bytes, and a user are for forget")
	}
	switch q.Say {
	case "forget":
		user := q.User
		if user != "" {
			user = guard.UserOfHabits(user, q.Organization)
		}
		_, err = o.Guard.ForgetHabits(ctx, principal, agent, user, q.Value, by)
	case "freeze", "thaw":
		err = o.Guard.FreezeHabits(ctx, principal, agent, q.Say == "freeze", by)
	case "rebuild":
		err = o.Guard.RebuildHabits(ctx, principal, agent, by)
	default:
		return nil, badRequest("want {\"say\": \"forget\", \"freeze\", \"thaw\" or \"rebuild\"}")
	}
	if err != nil {
		return nil, o.habitsFailed("what was said was not recorded", err)
	}
	return o.Habits(ctx, agent, principal, "", "")
}

// Incident says whose session teaches nothing any more. It is not a report: who answers
// approvals need not see what an agent usually does.
type Incident struct {
	Decision  string `json:"decision"`
	Agent     string `json:"agent"`
	Principal string `json:"principal"`
}

// incident has the session of a decision teach nothing.
func (o *API) incident(r *http.Request, by act.Principal, _ Nothing) (Incident, error) {
	pos, err := act.ParsePosition(r.PathValue("id"))
	if err != nil {
		return Incident{}, problem{http.StatusBadRequest, err}
	}
	principal, agent, err := o.Guard.Incident(r.Context(), pos, by)
	if err != nil {
		return Incident{}, o.habitsFailed("the incident was not recorded", err)
	}
	return Incident{pos.String(), agent, principal}, nil
}
