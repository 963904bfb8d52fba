package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
)

// habitsView is what one agent usually does.
type habitsView struct {
	Agent      string
	Report     *habits.Report // nil where nothing is known, or Several
	Several    []*habits.Report
	Dimensions []dimensionView
	New        []habits.Value // first seen within a week
	Unusual    []operator.UnusualLine
	Drift      driftView
	Hours      *hoursView
	Least      int // sessions from which on anything is called new
}

// dimensionView is one dimension, and its values as far as a page lists them.
type dimensionView struct {
	habits.Dimension
	Shown []valueView
	More  int
}

// valueView is a value, and when it was seen first and last: in hundredths of the time from
// the first of all to now.
type valueView struct {
	habits.Value
	X, W float64
}

// Bars are the shares of sessions with something new, the oldest first: each for 32 sessions.
func (d dimensionView) Bars() (list []barView) {
	for i, share := range slices.Backward(d.Changes) {
		list = append(list, barView{X: float64(8 * (len(d.Changes) - 1 - i)), H: max(0.6, 20*share), Over: share >= manyNew})
	}
	return list
}

// Wide is how wide its picture is.
func (d dimensionView) Wide() int { return 8 * len(d.Changes) }

// manyNew is the share of sessions with something new from which on a bar stands out.
const manyNew = 0.25

type barView struct {
	X, H float64
	Over bool
}

// driftView is what an agent says of itself, where that has changed.
type driftView struct {
	operator.Drift
	Parts []changedFile
}

// hoursView is how many calls an agent made in each of the last hours, against what is usual.
type hoursView struct {
	Bars  []barView
	Line  float64 // where the most that is usual stands; 0 where that is not known
	Usual int
	Most  int
	Calls int
	More  bool // there were others
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
	first, now := v.console.Now(), v.console.Now()
	for _, value := range r.Values {
		if value.First.Before(first) {
			first = value.First
		}
	}
	for _, d := range r.Dimensions {
		one := dimensionView{Dimension: d}
		for _, value := range r.Values {
			switch {
			case value.Dimension != d.Name:
			case len(one.Shown) == mostValues:
				one.More++
			default:
				one.Shown = append(one.Shown, spanOf(value, first, now))
			}
		}
		h.Dimensions = append(h.Dimensions, one)
	}
	for _, value := range r.Values {
		if value.New && len(h.New) < mostValues {
			h.New = append(h.New, value)
		}
	}
	return h, v.pictures(&h)
}

// spanOf is where a value's first and last sight stand. Both are days.
func spanOf(value habits.Value, first, now time.Time) valueView {
	all := max(now.Sub(first), time.Hour)
	at := func(t time.Time) float64 { return 100 * float64(t.Sub(first)) / float64(all) }
	x := min(at(value.First), 97)
	return valueView{value, x, min(max(3, at(value.Seen.Add(24*time.Hour))-x), 100-x)}
}

// lastHours are how many hours are drawn.
const lastHours = 24

// pictures adds what has changed about the agent, what was unusual, and how much it does.
func (v *visit) pictures(h *habitsView) error {
	var list operator.HabitsList
	if err := v.ask("GET", "/api/v1/habits?"+url.Values{"agent": {h.Agent}}.Encode(), nil, &list); err != nil {
		return err
	}
	for _, line := range list.Unusual {
		if line.Principal == h.Report.Principal {
			h.Unusual = append(h.Unusual, line)
		}
	}
	d := &h.Drift
	if err := v.ask("GET", "/api/v1/agents/"+segment(h.Agent)+"/drift?"+url.Values{"principal": {h.Report.Principal}}.Encode(), nil, &d.Drift); err != nil {
		return err
	}
	if d.Before != nil && d.Changed != nil {
		for _, part := range []struct{ name, before, now string }{
			{"instructions", d.Before.Instructions, d.Now.Instructions}, {"tools", indented(d.Before.Tools), indented(d.Now.Tools)},
			{"model", indented(d.Before.Model), indented(d.Now.Model)}, {"version", d.Before.Version, d.Now.Version},
		} {
			if slices.Contains(d.Changed, part.name) {
				d.Parts = append(d.Parts, changedFile{part.name, diff(part.before, part.now)})
			}
		}
	}
	var found ledger.Answer
	asked := url.Values{"agent": {h.Agent}, "principal": {h.Report.Principal}, "since": {"24h"}, "limit": {strconv.Itoa(liveLines)}}
	if err := v.ask("GET", "/api/v1/decisions?"+asked.Encode(), nil, &found); err != nil {
		return err
	}
	hours := hoursView{Usual: -1, More: found.Next != ""}
	for _, volume := range h.Report.Volumes {
		if volume.Of == "calls in an hour" {
			hours.Usual = volume.Usual
		}
	}
	var count [lastHours]int
	for i := range found.Lines {
		if ago := int(v.console.Now().Sub(found.Lines[i].Time) / time.Hour); found.Lines[i].Effect != "" && act.Kind(found.Lines[i].Kind) == act.ToolCall && ago < lastHours {
			count[max(0, ago)]++
			hours.Calls++
		}
	}
	hours.Most = max(hours.Usual, slices.Max(count[:]))
	if hours.Most <= 0 {
		return nil
	}
	for ago, n := range count {
		hours.Bars = append(hours.Bars, barView{float64(8 * (lastHours - 1 - ago)), 30 * float64(n) / float64(hours.Most), hours.Usual >= 0 && n > hours.Usual})
	}
	if hours.Usual > 0 {
		hours.Line = 30 - 30*float64(hours.Usual)/float64(hours.Most)
	}
	h.Hours = &hours
	return nil
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
