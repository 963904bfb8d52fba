package console

import (
	"net/http"
	"net/url"
	"strings"

	"reeve.example/reeve/internal/agent"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/mcp/proxy"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/words"
)

// agentsView is the agents that acted, by whichever door, those that registered, and those
// whose habits are known by any name.
type agentsView struct {
	operator.AgentList
	Acted operator.BOMList
	Known operator.HabitsList
}

func (v *visit) agents() (view, error) {
	var list operator.AgentList
	path := "/agents"
	if after := v.FormValue("after"); after != "" {
		path += "?after=" + url.QueryEscape(after)
	}
	if err := v.ask("GET", path, nil, &list); err != nil {
		return view{}, err
	}
	a := agentsView{AgentList: list}
	path = "/api/v1/boms" // which are kept of all that act
	if after := v.FormValue("acted"); after != "" {
		path += "?after=" + url.QueryEscape(after)
	}
	if err := v.ask("GET", path, nil, &a.Acted); err != nil {
		return view{}, err
	}
	if err := v.ask("GET", "/api/v1/habits", nil, &a.Known); err != nil {
		return view{}, err
	}
	return view{template: "agents", title: "Agents", data: a}, nil
}

// agentView is one agent, and what may be done about it.
type agentView struct {
	operator.AgentReport
	Habits  habitsView
	Changes bool // whether the visitor may change its state
	Problem string
	Note    string
}

func (v *visit) agent() (view, error) { return v.showAgent(0, "") }

func (v *visit) showAgent(status int, problem string) (view, error) {
	a := agentView{Changes: v.may(admins), Problem: problem, Note: v.FormValue("reason")}
	if err := v.ask("GET", "/agents/"+url.PathEscape(v.PathValue("did")), nil, &a.AgentReport); err != nil {
		return view{}, err
	}
	var err error
	if a.Habits, err = v.habitsOf(a.DID, v.FormValue("principal")); err != nil {
		return view{}, err
	}
	return view{template: "agent", title: a.DID + " — Agents", data: a, status: status}, nil
}

// setAgent gives an agent another state, which needs a reason.
func (v *visit) setAgent() (view, error) {
	if !v.may(admins) {
		return v.showAgent(http.StatusForbidden, "Your role, "+string(v.Role)+", only looks.")
	}
	q := operator.AgentState{State: agent.State(v.PostFormValue("state")), Reason: strings.TrimSpace(v.PostFormValue("reason"))}
	if q.Reason == "" {
		return v.showAgent(http.StatusUnprocessableEntity, "Say why: it is recorded, and stands here for others.")
	}
	var after agent.Agent
	path := "/agents/" + url.PathEscape(v.PathValue("did"))
	if err := v.ask("POST", path, q, &after); err != nil {
		if status := operator.StatusOf(err); status >= 400 && status < 500 {
			return v.showAgent(status, sentence(err.Error()))
		}
		return view{}, err
	}
	return there(home + strings.TrimPrefix(path, "/"))
}

// toolsView is the MCP servers' tools that were agreed to, and those that wait.
type toolsView struct {
	Servers []*pins.Server
	Held    int
	Damaged int
	Problem string
}

func (v *visit) tools() (view, error) { return v.showTools(0, "") }

func (v *visit) showTools(status int, problem string) (view, error) {
	var list proxy.Servers
	if err := v.ask("GET", "/mcp/servers", nil, &list); err != nil {
		return view{}, err
	}
	t := toolsView{Servers: list.Servers, Damaged: len(list.Damaged), Problem: problem}
	for _, s := range t.Servers {
		for _, tool := range s.Tools {
			if tool.Held != nil && tool.Held.Refused == "" {
				t.Held++
			}
		}
	}
	title := "MCP tools"
	if t.Held > 0 {
		title = words.Count(t.Held, "definition") + " wait — MCP tools"
	}
	return view{template: "tools", title: title, data: t, status: status}, nil
}

// answerTool agrees to the definition of a tool that was shown, or refuses it.
func (v *visit) answerTool() (view, error) {
	q := proxy.ToolAnswer{Server: v.PostFormValue("server"), Tool: v.PostFormValue("tool"), Hash: v.PostFormValue("hash")}
	switch answer := v.PostFormValue("answer"); {
	case q.Hash == "" || answer != "agree" && answer != "refuse":
		return v.showTools(http.StatusBadRequest, "Nothing was answered: choose one of the buttons.")
	default:
		q.Agree = answer == "agree"
	}
	var after pins.Tool
	if err := v.ask("POST", "/mcp/answer", q, &after); err != nil {
		if status := operator.StatusOf(err); status >= 400 && status < 500 {
			return v.showTools(status, "Your answer was not taken: "+sentence(err.Error()))
		}
		return view{}, err
	}
	return there(home + "tools")
}
