package ledger

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"reeve.example/reeve/act"
)

// What guard writes beside a record is JSON, and these are its forms: whoever reads an
// opening reads it by them. The members that they do not name are others' own.

// Asker is who asked for what a record tells of.
type Asker struct {
	Name         string `json:"name"`
	Method       string `json:"method"`
	Organization string `json:"organization,omitzero"`
	act.Delegation
	Claims Claims `json:"claims,omitzero"`
}

// Who is the principal who asked, as far as that is kept.
func (a *Asker) Who() act.Principal {
	p := act.Principal{Name: a.Name, Method: a.Method, Organization: a.Organization}
	if d := a.Delegation; d.OnBehalfOf != "" || d.Client != "" || d.Proof != "" || len(d.Actors)+len(d.Scopes) > 0 {
		p.Delegation = &d
	}
	return p
}

// Claims are what the asker says of itself and of its user.
type Claims struct {
	Agent             string `json:"agent"`
	AgentName         string `json:"agent_name,omitzero"`
	AgentVersion      string `json:"agent_version,omitzero"`
	AgentOrganization string `json:"agent_organization,omitzero"`
	User              string `json:"user,omitzero"`
	UserHash          string `json:"user_hash,omitzero"` // where the user is masked
	UserName          string `json:"user_name,omitzero"`
	UserEmail         string `json:"user_email,omitzero"`
	UserOrganization  string `json:"user_organization,omitzero"`
}

// ActLinks are what an act belongs to: its session, its step, the call that it answers.
type ActLinks struct {
	Digest   string `json:"digest,omitzero"`
	Method   string `json:"method,omitzero"`
	Resource string `json:"resource,omitzero"`
	Tool     string `json:"tool,omitzero"` // the resource in its one form, where that differs
	Server   string `json:"server,omitzero"`
	Session  string `json:"session,omitzero"`
	Parent   string `json:"parent,omitzero"` // the session that began this one
	Turn     string `json:"turn,omitzero"`
	Step     string `json:"step,omitzero"`
	ID       string `json:"id,omitzero"`
	Answers  string `json:"answers,omitzero"`
	Task     string `json:"task,omitzero"` // the root of the tree of tasks
	Approval string `json:"approval,omitzero"`
	// Traceparent names the caller's span that the act is part of: see act.Traceparent.
	Traceparent string `json:"traceparent,omitzero"`
	// From is where an MCP message came from that a proxy asked about.
	From string `json:"from,omitzero"`
	// Hints are what the server had said of the tool then: see act.Hints.
	Hints  string   `json:"hints,omitzero"`
	Faults []string `json:"faults,omitzero"`
	// NotKept names the quota because of which no contents are there.
	NotKept string `json:"not_kept,omitzero"`
	// Habits is the note for what is learned of the agent: see package habits.
	Habits jsontext.Value `json:"habits,omitzero"`
	// Answer is what the agent was told, where that is traced.
	Answer *Answered `json:"answer,omitzero"`
}

// Answered is what an agent was told of a step, in its protocol's own words, and what events of
// the step name of it: it is kept where a setting says that it is traced (acs.trace).
type Answered struct {
	Decision   string       `json:"decision"`
	Reasoning  string       `json:"reasoning,omitzero"`
	Codes      []string     `json:"codes,omitempty"`
	Rules      []string     `json:"rules,omitempty"`
	Chain      string       `json:"chain,omitzero"` // the head of the session's chain
	Provenance []Provenance `json:"provenance,omitempty"`
	// Step has attributes of the step by their names, as texts, numbers and lists of texts.
	Step jsontext.Value `json:"step,omitzero"`
	// Late is there where the agent waited no longer.
	Late *Late `json:"late,omitzero"`
}

// Provenance is where an agent says that a value came from.
type Provenance struct {
	ID     string `json:"provenance_id,omitzero"`
	Origin string `json:"origin"`
	Source string `json:"source_id,omitzero"`
}

// Late is how much later than was agreed to something was decided, in milliseconds; what
// follows at the agent's by what was agreed to; and how many bytes the request had.
type Late struct {
	Elapsed int64  `json:"elapsed_ms"`
	Timeout int64  `json:"timeout_ms"`
	Posture string `json:"posture"`
	Size    int    `json:"payload_bytes"`
}

// Details are what a record of an administrative act, of tasks or of agents says in
// place of Links.
type Details map[string]string

// Outcome is a decision as it is kept beside its record, so that the same act, asked
// about again, gets the same answer.
type Outcome struct {
	Effect  string   `json:"effect"`
	Reasons []Reason `json:"reasons"`
	Risk    act.Risk `json:"risk"`
	// Incomplete says that the edits hold content that is not kept.
	Incomplete bool   `json:"incomplete,omitzero"`
	Edits      []Edit `json:"edits,omitzero"`
	Policy     string `json:"policy"`
	Approval   string `json:"approval,omitzero"`
	// Given is nil in what was written before there was such a thing.
	Given *Given `json:"given,omitzero"`
}

// Given is what an act was judged by beside its request, its session's memory and the
// policy, so that it can be judged again. It quotes nothing of the act.
type Given struct {
	Version    int         `json:"v"` // GivenVersion of whoever wrote it
	Violations []Violation `json:"violations,omitzero"`
	// Refusals are why reeve itself denied it, whatever the policy said.
	Refusals []Refusal `json:"refusals,omitzero"`
	// Enforces and Bounded are those of act.Action.
	Enforces []string `json:"enforces,omitzero"`
	Bounded  bool     `json:"bounded,omitzero"`
	// Model and Threats are what a model said of the call.
	Model   *float64 `json:"model,omitzero"`
	Threats []string `json:"model_threats,omitzero"`
	// Runs is that of act.Action.
	Runs []FileRun `json:"runs,omitzero"`
	// Forgotten says that the session's memory was gone, Masked that what is kept of the
	// act is not all of what was judged.
	Forgotten bool `json:"forgotten,omitzero"`
	Masked    bool `json:"masked,omitzero"`
	// Named says of what is masked that who asked, and what it belongs to, is kept as it was.
	Named bool `json:"named,omitzero"`
}

// FileRun is act.FileRun, without the file's words.
type FileRun struct {
	File   string  `json:"file"`
	Code   string  `json:"code,omitzero"`
	Weight float64 `json:"weight,omitzero"`
	Found  bool    `json:"found,omitzero"`
	Sets   bool    `json:"sets,omitzero"`
	Line   int     `json:"line,omitzero"`
}

// GivenVersion is the form of Given.
const GivenVersion = 1

// Violation is a check that an act did not pass.
type Violation struct {
	Check  string `json:"check"`
	Unsure bool   `json:"unsure,omitzero"`
}

// Refusal is why reeve itself denied an act.
type Refusal struct {
	Rule  string `json:"rule"`
	Code  string `json:"code"`
	Final bool   `json:"final,omitzero"`
}

// Reason is one reason of an Outcome.
type Reason struct {
	Rule    string `json:"rule"`
	Code    string `json:"code,omitzero"`
	Message string `json:"message"`
	Instead string `json:"instead,omitzero"`
	Effect  string `json:"effect"`
	Observe bool   `json:"observe,omitzero"`
	Pointer string `json:"pointer,omitzero"`
	// Final says that nobody can let the act pass.
	Final bool `json:"final,omitzero"`
	// Exception names the policy's exception that lifted the reason.
	Exception string `json:"exception,omitzero"`
	// Traces are where the values came from that the act would be done upon.
	Traces []act.Trace `json:"traces,omitzero"`
}

// Edit is one change of an Outcome.
type Edit struct {
	Pointer string         `json:"pointer"`
	Value   jsontext.Value `json:"value"`
	// Of is a hash of what was replaced: the same act can be sent again with
	// its arguments in another order, and an edit must not hit another one.
	Of string `json:"of"`
}

// Asker reads who asked. Like its sisters, it returns the zero value for what was not
// kept, and on an error what could be read before it.
func (o *Opening) Asker() (a Asker, err error) {
	err = read(o.Principal, &a)
	return a, err
}

// Linked reads what the act belongs to.
func (o *Opening) Linked() (l ActLinks, err error) {
	err = read(o.Links, &l)
	return l, err
}

// Details reads what a record that has no ActLinks says.
func (o *Opening) Details() (Details, error) {
	var said map[string]jsontext.Value
	if err := read(o.Links, &said); err != nil || said == nil {
		return nil, err
	}
	d := Details{}
	for name, v := range said {
		if name == "habits" { // a note for what is learned, as in ActLinks
			continue
		}
		var text string
		if err := json.Unmarshal(v, &text); err != nil {
			return nil, err
		}
		d[name] = text
	}
	return d, nil
}

// Outcome reads the decision.
func (o *Opening) Outcome() (out Outcome, err error) {
	err = read(o.Reasons, &out)
	return out, err
}

func read(text []byte, into any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
