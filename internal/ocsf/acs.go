package ocsf

import (
	"cmp"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The mapping of the Agent Control Standard: the classes that its table of steps names
// (trace/ocsf-mapping.json), and its words for what was decided, in unmapped.acs. It is for
// those who collect events of several guardians in one place. What the table does not name
// stays what it is by OCSF's own reading: messages of MCP and A2A, tasks, what people do.

// Further classes of that mapping.
const (
	processActivity      = 1007
	moduleActivity       = 1005
	inventoryInfo        = 5001
	applicationLifecycle = 6002
)

// acsDetails are an event's part unmapped.acs. What is marked is told where acs.trace is on.
type acsDetails struct {
	SessionID    string                    `json:"session_id,omitzero"`
	RequestID    string                    `json:"request_id,omitzero"`
	StepID       string                    `json:"step_id,omitzero"`
	RequestIDRef string                    `json:"request_id_ref,omitzero"` // marked
	Step         *acsStep                  `json:"step,omitzero"`
	Tool         *acsTool                  `json:"tool,omitzero"`
	Attributes   map[string]jsontext.Value `json:"attributes,omitempty"` // marked
	Provenance   []ledger.Provenance       `json:"provenance,omitempty"` // marked
	Decision     string                    `json:"decision,omitzero"`
	Metadata     *acsEvaluator             `json:"metadata,omitzero"`
	Reasoning    string                    `json:"reasoning,omitzero"` // marked
	Reasons      []string                  `json:"reason_codes,omitempty"`
	References   []acsReference            `json:"policy_references,omitempty"`
	Chain        string                    `json:"chain_hash,omitzero"` // marked
	Failure      *acsFailure               `json:"failure,omitzero"`    // marked
}

// acsFailure says of a decision that its agent did not wait for it.
type acsFailure struct {
	Class string `json:"class"`
	ledger.Late
}

type enrichment struct {
	Name  string            `json:"name"`
	Value string            `json:"value"`
	Data  ledger.Provenance `json:"data"`
}

type acsStep struct {
	ID     string `json:"id,omitzero"`
	Type   string `json:"type"`
	TurnID string `json:"turn_id,omitzero"`
}

type acsTool struct {
	ID          string `json:"id"`
	ExecutionID string `json:"execution_id,omitzero"`
}

type acsEvaluator struct {
	Evaluator string `json:"evaluator"`
	Version   string `json:"evaluator_version"`
}

type acsReference struct {
	PolicyID      string `json:"policy_id"`
	PolicyVersion string `json:"policy_version,omitzero"`
	PolicyName    string `json:"policy_name"`
	RuleID        string `json:"rule_id"`
}

type authorization struct {
	Decision string  `json:"decision"`
	Policy   *policy `json:"policy,omitzero"`
}

type policy struct {
	Name    string `json:"name"`
	UID     string `json:"uid"`
	Version string `json:"version,omitzero"`
}

type process struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

type device struct {
	UID    string `json:"uid,omitzero"`
	Name   string `json:"name"`
	TypeID int    `json:"type_id"`
	Type   string `json:"type"`
}

type module struct {
	LoadTypeID int    `json:"load_type_id"`
	LoadType   string `json:"load_type"`
	File       *file  `json:"file,omitzero"`
}

type file struct {
	Name   string `json:"name"`
	TypeID int    `json:"type_id"`
	Type   string `json:"type"`
}

// captions are the names of the classes.
var captions = map[int]string{
	apiActivity: "API Activity", datastore: "Datastore Activity", detectionFinding: "Detection Finding", authentication: "Authentication",
	processActivity: "Process Activity", moduleActivity: "Module Activity", inventoryInfo: "Device Inventory Info", applicationLifecycle: "Application Lifecycle",
}

// toldACS are the steps of which there is no decision: their records are notes, which tell
// in details what an act's links do.
func toldACS(r *export.Record, links *ledger.ActLinks) *export.Record {
	if r.Door != "acs" || !strings.HasPrefix(r.Kind, "acs.") {
		return r
	}
	d, err := r.Opening.Details()
	if err != nil {
		return r
	}
	*links = ledger.ActLinks{Method: d["method"], Session: d["session"], Step: d["request_id"]}
	answer := new(ledger.Answered)
	if json.Unmarshal([]byte(d["answer"]), answer) == nil && d["answer"] != "" {
		links.Answer = answer
	}
	told := *r
	told.Facts.Agent, told.Facts.Session = d["agent"], d["session"]
	return &told
}

// classifyACS says what was done as ACS's table does; false where it has no line.
func classifyACS(e *event, r *export.Record, links *ledger.ActLinks) bool {
	step := stepOf(r, links)
	tool := cmp.Or(links.Resource, r.Facts.Tool, r.Kind)
	call := cmp.Or(links.ID, links.Answers, r.ID())
	agent := &device{UID: r.Facts.Agent, Name: e.Actor.AppName, TypeID: 99, Type: "AI Agent"}
	switch step {
	case "sessionStart", "subagentStart":
		e.logon(1, r)
	case "sessionEnd", "subagentStop":
		e.logon(2, r)
	case "userMessage", "agentResponse", "agentTrigger", "turnStart", "turnEnd":
		e.class(applicationLifecycle, 6, 99, step)
		e.App = &named{Name: e.Actor.AppName, UID: r.Facts.Agent}
		e.SrcEndpoint = nil                                       // which this class has not
		e.Metadata.Profiles = append(e.Metadata.Profiles, "host") // which gives it the actor
	case "toolCallRequest", "toolCallResult":
		activity := 1 // launch
		if step == "toolCallResult" {
			activity = 2 // terminate
		}
		e.class(processActivity, 1, activity, "")
		e.Process, e.Device, e.SrcEndpoint = &process{UID: call, Name: tool}, agent, nil
	case "skillLoad", "skillUnload":
		activity := 1 // load
		if step == "skillUnload" {
			activity = 2
		}
		e.class(moduleActivity, 1, activity, "")
		e.Module = &module{LoadTypeID: 99, LoadType: "skill", File: &file{Name: tool, TypeID: 99, Type: "skill"}}
		e.Device, e.SrcEndpoint = agent, nil
	case "preCompact", "postCompact":
		e.class(datastore, 6, 99, step)
		e.Databucket = &databucket{Name: "context", TypeID: 99, Type: "context"}
	case "skillRegister", "agbom/snapshot", "agbom/changed":
		e.class(inventoryInfo, 5, 2, "") // collect
		e.Device, e.SrcEndpoint, e.AIAgent = agent, nil, nil
		return true // a class without the profile ai_operation
	default:
		return false
	}
	e.Metadata.Profiles = append(e.Metadata.Profiles, "ai_operation")
	return true
}

// logon is the begin (1) or end (2) of a session.
func (e *event) logon(activity int, r *export.Record) {
	e.class(authentication, 3, activity, "")
	e.User = &user{UID: r.Facts.Agent, Name: cmp.Or(e.Actor.AppName, r.Facts.Principal), TypeID: 99, Type: "AI Agent"}
	e.Service, e.StatusID = &named{Name: "reeve"}, 1
	if r.Effect == act.Deny.String() {
		e.StatusID = 2 // failure
	}
}

// stepOf is the step of ACS that an act is, by whichever door it came.
func stepOf(r *export.Record, links *ledger.ActLinks) string {
	switch act.Kind(r.Kind) {
	case act.MessageUser:
		return "userMessage"
	case act.MessageAgent:
		return "agentResponse"
	case act.Trigger:
		return "agentTrigger"
	case act.ToolCall:
		return "toolCallRequest"
	case act.ToolResult:
		return "toolCallResult"
	case act.KnowledgeRetrieve:
		return "knowledgeRetrieval"
	case act.MemoryStore:
		return "memoryStore"
	case act.MemoryRetrieve:
		return "memoryContextRetrieval"
	case act.AgentEvent:
		return strings.TrimPrefix(links.Method, "steps/")
	}
	if step := strings.TrimPrefix(links.Method, "steps/"); r.Kind == "acs."+step {
		return step
	}
	return ""
}

// verdict is what a decision of ACS is in the profile security_control. Where that has no
// number of its own, the decision's name stands beside 99.
type verdict struct {
	action, disposition, severity int
	does, disposes                string
}

var verdicts = map[string]verdict{
	"allow":  {1, 1, 1, "Allowed", "Allowed"},
	"deny":   {2, 2, 4, "Denied", "Blocked"},
	"modify": {4, 99, 2, "Modified", "modify"},
	"defer":  {99, 99, 3, "defer", "defer"},
	"ask":    {99, 99, 3, "ask", "ask"},
}

// decidedACS adds what was decided, in ACS's words. It is the guardian's verdict, also where
// a rule that only watches would have decided otherwise.
func (m *Mapper) decidedACS(e *event, r *export.Record, links *ledger.ActLinks) {
	e.ClassName = captions[e.ClassUID]
	d := &acsDetails{SessionID: r.Facts.Session, RequestID: links.Step, StepID: links.Step}
	if step := cmp.Or(stepOf(r, links), strings.TrimPrefix(links.Method, "steps/")); step != "" && links.Step != "" {
		d.Step = &acsStep{ID: links.Step, Type: step, TurnID: links.Turn}
	}
	e.Unmapped.ACS = d
	if d.SessionID != "" && d.RequestID != "" { // the pair by which events of both sides are joined
		e.Metadata.CorrelationUID = d.SessionID + ":" + d.RequestID
	}
	answer := links.Answer
	if answer == nil { // what can be said of the decision alone
		answer = &ledger.Answered{Decision: r.Effect, Codes: r.Codes, Rules: r.Rules}
		if r.Effect == act.Escalate.String() {
			answer.Decision = "defer"
		}
	}
	d.Reasoning, d.Reasons, d.Chain, d.Provenance = answer.Reasoning, answer.Codes, answer.Chain, answer.Provenance
	_ = json.Unmarshal(answer.Step, &d.Attributes) // as it was written
	text := func(name string) (s string) { _ = json.Unmarshal(d.Attributes[name], &s); return s }
	d.RequestIDRef = text("acs.request_id_ref")
	if tool := cmp.Or(links.Resource, r.Facts.Tool, text("gen_ai.tool.name")); tool != "" {
		d.Tool = &acsTool{ID: tool, ExecutionID: cmp.Or(links.ID, links.Answers)}
	}
	for _, from := range answer.Provenance {
		e.Enrichments = append(e.Enrichments, enrichment{"acs_provenance_origin", from.Origin, from})
	}
	if answer.Late != nil {
		d.Failure = &acsFailure{"timeout", *answer.Late}
	}
	v, decided := verdicts[answer.Decision]
	if !decided {
		return
	}
	d.Decision, d.Metadata = answer.Decision, &acsEvaluator{"deterministic", m.cfg.Version}
	for _, rule := range answer.Rules {
		of := acsReference{PolicyID: "reeve", PolicyVersion: r.Policy, PolicyName: "the policy of this guardian", RuleID: rule}
		d.References = append(d.References, of)
		e.Authorizations = append(e.Authorizations, authorization{Decision: d.Decision, Policy: &policy{Name: of.PolicyName, UID: of.PolicyID, Version: of.PolicyVersion}})
	}
	if r.Effect == "" { // else the profile is there already
		e.Metadata.Profiles = append(e.Metadata.Profiles, "security_control")
	}
	alert := v.severity >= 3
	e.ActionID, e.Action, e.DispositionID, e.Disposition, e.SeverityID, e.IsAlert = &v.action, v.does, &v.disposition, v.disposes, v.severity, &alert
}

// allowedACS is the event of a decision that allowed a step: of the class of messages, which
// say it themselves.
func allowedACS(of *event, r *export.Record) *event {
	e := *of
	e.class(applicationLifecycle, 6, 99, "decision")
	e.ClassName = captions[applicationLifecycle]
	e.Metadata.UID += "/allow"
	e.Metadata.Profiles = slices.DeleteFunc(slices.Clone(of.Metadata.Profiles), func(p string) bool { return p == "ai_operation" })
	e.Metadata.Profiles = append(e.Metadata.Profiles, "host") // which gives the class the actor
	e.App = &named{Name: e.Actor.AppName, UID: r.Facts.Agent}
	e.API, e.SrcEndpoint, e.Databucket, e.AIAgent, e.User, e.Service, e.StatusID = nil, nil, nil, nil, nil, nil, 0
	e.Process, e.Module, e.Device = nil, nil, nil
	return &e
}

// found reports whether the decision has a finding beside its act: all but an allow in time.
func (d *acsDetails) found() bool {
	return d.Decision != "" && d.Decision != act.Allow.String() || d.Failure != nil
}

// findingACS makes a finding what ACS asks of an event of a decision: it is known by the
// agent, the session and the tool, and its verdict and status are those of who looks at it.
func findingACS(e, of *event) {
	e.StatusID, e.ClassName, e.Enrichments = 0, captions[e.ClassUID], of.Enrichments
	acs := of.Unmapped.ACS
	e.FindingInfo.Desc = acs.Reasoning
	e.FindingInfo.Title = cmp.Or(strings.Join(acs.Reasons, ", "), e.FindingInfo.Title, acs.Decision)
	if acs.Failure != nil {
		e.FindingInfo.Types = append(slices.Clone(e.FindingInfo.Types), map[string]string{"deny": "late_decision_fail_closed"}[acs.Failure.Posture])
	}
	if of.AIAgent == nil || of.Actor == nil || of.Actor.Session == nil {
		return // no step of an agent's session
	}
	e.Evidences = []evidence{{AIAgent: of.AIAgent, Actor: &actor{Session: of.Actor.Session}}}
	if acs.Tool != nil && acs.Step != nil && strings.HasPrefix(acs.Step.Type, "toolCall") {
		e.Evidences[0].API = &api{Operation: acs.Tool.ID}
	}
}
