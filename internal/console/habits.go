package console

import (
	"net/http"
	"net/url"

	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/operator"
)

// habitsView is what one agent usually does.
type habitsView struct {
	Agent      string
	Report     *habits.Report // nil where nothing is known, or Several
	Several    []*habits.Report
	Dimensions []dimensionView
	New        []habits.Value // first seen within a week
	Least      int            // sessions from which on anything is called new
}

// dimensionView is one dimension, and its values as far as a page lists them.
type dimensionView struct {
	habits.Dimension
	Shown []habits.Value
	More  int
}

// Values that a page lists, of one dimension and of what is new.
const mostValues = 20

// habitsOf asks what is known of an agent's habits: of the one that bears the name, with
// that credential where there are several.
func (v *visit) habitsOf(agent, principal string) (h habitsView, err error) {
	h.Agent, h.Least = agent, habits.Learning
	path := "/api/v1/agents/" + segment(agent) + "/habits"
	if principal != "" {
		path += "?" + url.Values{"principal": {principal}}.Encode()
	}
	var r habits.Report
	switch err := v.ask("GET", path, nil, &r); operator.StatusOf(err) {
	case http.StatusNotFound:
		return h, nil
	case http.StatusConflict:
		var list operator.HabitsList
		err := v.ask("GET", "/api/v1/habits?"+url.Values{"agent": {agent}}.Encode(), nil, &list)
		h.Several = list.Agents
		return h, err
	default:
		if err != nil {
			return h, err
		}
	}
	h.Report = &r
	for _, d := range r.Dimensions {
		one := dimensionView{Dimension: d}
		for _, value := range r.Values {
			switch {
			case value.Dimension != d.Name:
			case len(one.Shown) == mostValues:
				one.More++
			default:
				one.Shown = append(one.Shown, value)
			}
		}
		h.Dimensions = append(h.Dimensions, one)
	}
	for _, value := range r.Values {
		if value.New && len(h.New) < mostValues {
			h.New = append(h.New, value)
		}
	}
	return h, nil
}

// habits shows the habits of an agent that goes by any name.
func (v *visit) habits() (view, error) {
	agent := v.FormValue("agent")
	if agent == "" {
		return there(home + "agents")
	}
	h, err := v.habitsOf(agent, v.FormValue("principal"))
	return view{template: "habits", title: agent + " — Habits", data: h}, err
}
