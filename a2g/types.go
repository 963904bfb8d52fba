package a2g

import (
	stdjson "encoding/json"
	"time"

	"github.com/go-json-experiment/json"
)

// The messages as a caller writes and reads them. The headings are those of the
// text, "Message Types"; what it leaves open is in docs/protocol/a2g.md. A field
// that the text requires is always written; an optional one is left out when it
// has its zero value.

// Raw is a JSON value as its bytes.
type Raw = stdjson.RawMessage

// Verdicts (G2A_VERDICT, Verdict Values).
const (
	Approved    = "APPROVED"    // may happen within its manifest
	Denied      = "DENIED"      // must not happen
	Escalate    = "ESCALATE"    // a person must agree first
	Conditional = "CONDITIONAL" // may happen under the conditions only
)

// Statuses of a report (A2G_REPORT, Status Values).
const (
	Success = "SUCCESS" // the tool did it
	Failure = "FAILURE" // the tool failed
	Timeout = "TIMEOUT" // it took too long
	Aborted = "ABORTED" // it was called off
)

// Levels of risk (Risk Assessment). From a score: at least 0.9, 0.7, 0.4, less.
const (
	Critical = "CRITICAL"
	High     = "HIGH"
	Medium   = "MEDIUM"
	Low      = "LOW"
)

// Error codes (Error Codes), beside those of JSON-RPC.
const (
	PolicyViolation     = -32000 // denied
	ExecutionError      = -32001 // a report that no valid verdict covers
	RegistrationFailed  = -32002 // a registration or a signed handshake was refused
	CapabilityExhausted = -32003 // a quota or budget of the agent is used up
	SessionExpired      = -32004 // the agent has to register again
)

// What an intent was denied by: blocked_by in the data of the error (Error Response).
const (
	ByPolicy     = "static_policy" // a rule
	ByRisk       = "risk"          // its score
	ByCapability = "capability"    // what the agent may do at all, or how often
	ByIdentity   = "identity"      // who asks: signature, replay, a revoked or suspended agent
	ByApproval   = "approval"      // a person who was asked
	ByExpiry     = "expired"       // its verdict has ended
)

// Intent is the params of a2g/intent (A2G_INTENT): may I call this tool?
type Intent struct {
	AgentDID string `json:"agent_did"`
	// IntentID is unique among the agent's intents. The text says a UUID; any
	// string of 1 to 256 bytes is taken.
	IntentID string `json:"intent_id"`
	Tool     string `json:"tool"`
	// Arguments is an object: see Arguments, which makes one.
	Arguments Raw            `json:"arguments"`
	Context   *IntentContext `json:"context,omitzero"`
}

// IntentContext is what an intent says about itself. It is no part of the act:
// the same call in another context is the same call.
type IntentContext struct {
	SessionID    string `json:"session_id,omitzero"`
	ParentIntent string `json:"parent_intent,omitzero"` // the intent that this one serves
	Reasoning    string `json:"reasoning,omitzero"`     // why, in the agent's words
	// Signature is an addition of the SDKs: see Key.Sign.
	Signature *Signature `json:"signature,omitzero"`
}

// Signature says that the holder of an agent's key wrote the params it stands in.
type Signature struct {
	Timestamp string `json:"timestamp"` // milliseconds since 1970, in digits
	Nonce     string `json:"nonce"`     // never used twice
	Hash      string `json:"hash"`      // hex: 64 digits of HMAC-SHA256, or 128 of Ed25519
}

// Verdict is the answer to an intent (G2A_VERDICT).
type Verdict struct {
	Verdict  string         `json:"verdict"`
	IntentID string         `json:"intent_id"`
	Risk     RiskAssessment `json:"risk_assessment"`
	// Manifest bounds what the tool may use. Absent in a denial.
	Manifest *CapabilityManifest `json:"capability_manifest,omitzero"`
	// Conditions say in sentences what an approval depends on.
	Conditions []string `json:"conditions"`
	// ModifiedArguments, if there, are the only arguments that the tool may be
	// called with. An addition to the text.
	ModifiedArguments Raw `json:"modified_arguments,omitzero"`
	// ExpiresAt is when the verdict ends: what has not begun by then must be
	// asked for again, as a new intent.
	ExpiresAt time.Time `json:"expires_at,omitzero"`

	// The rest are additions to the text.

	// Approval names what people were asked, while the verdict is ESCALATE.
	Approval *Approval `json:"approval,omitzero"`
	// Decision is the record's place in the ledger: LOG-INDEX.
	Decision string `json:"decision,omitzero"`
	// Repeat says that this intent_id was asked about before, and Used that its
	// act was reported: it must not be done again.
	Repeat  bool     `json:"repeat,omitzero"`
	Used    bool     `json:"used,omitzero"`
	Reasons []Reason `json:"reasons,omitzero"` // the rules that applied
	// BlockedBy and Instead belong to a denial: what denied it, and what the
	// agent could do.
	BlockedBy string   `json:"blocked_by,omitzero"`
	Instead   []string `json:"instead,omitzero"`
	// Message is that of the error which a denial is answered with.
	Message string `json:"-"`
}

// Allows reports whether the tool may be called: with the verdict's arguments, if
// it has any, and before it expires.
func (v *Verdict) Allows(now time.Time) bool {
	return v != nil && (v.Verdict == Approved || v.Verdict == Conditional) && (v.ExpiresAt.IsZero() || now.Before(v.ExpiresAt))
}

// RiskAssessment is how dangerous an act looks (Risk Assessment).
type RiskAssessment struct {
	Score float64 `json:"score"` // 0 to 1: the larger of the two below
	Level string  `json:"level"`
	// ModelScore is null when no model was asked, or none answered.
	ModelScore     *float64 `json:"model_score"`
	HeuristicScore float64  `json:"heuristic_score"`
	Threats        []string `json:"threats"`
}

// CapabilityManifest is what an approved act may use (Capability Manifest), with
// what reeve adds to the text: see act.Manifest.
type CapabilityManifest struct {
	MaxMemoryMB     int      `json:"max_memory_mb"`
	MaxCPUPercent   int      `json:"max_cpu_percent"` // 100 is one CPU
	TimeoutSeconds  int      `json:"timeout_seconds"`
	NetworkAllowed  bool     `json:"network_allowed"`
	FilesystemScope []string `json:"filesystem_scope"`

	FilesystemRead  []string `json:"filesystem_read,omitzero"`
	MaxWriteMB      int      `json:"max_write_mb,omitzero"`
	MaxWriteFiles   int      `json:"max_write_files,omitzero"`
	AllowedDomains  []string `json:"allowed_domains,omitzero"`
	BlockedDomains  []string `json:"blocked_domains,omitzero"`
	BlockedPatterns []string `json:"blocked_patterns,omitzero"`
	Advisory        []string `json:"advisory,omitzero"`
}

// Approval is what people were asked.
type Approval struct {
	ID        string    `json:"id"`
	State     string    `json:"state,omitzero"` // held, until somebody answers
	ExpiresAt time.Time `json:"expires_at"`
}

// Reason is a rule that applied to an intent.
type Reason struct {
	Rule    string `json:"rule"`
	Code    string `json:"code,omitzero"`
	Message string `json:"message"`
	Instead string `json:"instead,omitzero"`
}

// Report is the params of a2g/report (A2G_REPORT): how it went.
type Report struct {
	AgentDID string   `json:"agent_did"`
	IntentID string   `json:"intent_id"`
	Status   string   `json:"status"`
	Result   Raw      `json:"result,omitzero"` // any JSON
	Metrics  *Metrics `json:"metrics,omitzero"`
	Error    string   `json:"error,omitzero"` // of a failure; not in the text

	// What was really done, so that it can be compared with what was approved.
	// Additions to the text: a report without them is believed to be of what
	// was approved.
	Tool      string `json:"tool,omitzero"`
	Arguments Raw    `json:"arguments,omitzero"`
	Digest    string `json:"digest,omitzero"` // of the act: sha256:…
}

// Metrics are what an execution used.
type Metrics struct {
	DurationMS   float64  `json:"duration_ms"`
	MemoryUsedMB *float64 `json:"memory_used_mb,omitzero"`
	CPUPercent   *float64 `json:"cpu_percent,omitzero"`
}

// Recorded is the answer to a report. The text has none. A report that no verdict
// covers is recorded as well, and answered with the error ExecutionError.
type Recorded struct {
	IntentID string `json:"intent_id"`
	Status   string `json:"status"` // "recorded"
}

// Register is the params of a2g/register (A2G_REGISTER).
type Register struct {
	AgentDID string `json:"agent_did"`
	// PublicKey is "ed25519:" and 64 hex digits, or empty, as the SDKs send it.
	// An agent that registers one signs with it from then on.
	PublicKey             string         `json:"public_key"`
	CapabilitiesRequested []string       `json:"capabilities_requested"` // tools; none means none in particular
	Metadata              map[string]any `json:"metadata,omitzero"`
}

// Registered is the answer to a registration. The text has none.
type Registered struct {
	AgentDID string  `json:"agent_did"`
	Status   string  `json:"status"` // "registered"
	Policy   *Policy `json:"policy"`
	// Additions to the text. Signatures is "required" when messages must be signed
	// from now on, else "optional"; Warning says what is wrong with the key.
	Signatures string `json:"signatures,omitzero"`
	Warning    string `json:"warning,omitzero"`
}

// Policy is the params of g2a/policy (G2A_POLICY): what an agent may do now.
type Policy struct {
	AgentDID         string       `json:"agent_did"`
	Version          string       `json:"version"`
	Capabilities     Capabilities `json:"capabilities"`
	ConstitutionHash string       `json:"constitution_hash"` // of the policy: sha256:…
}

// Capabilities are what a policy says of tools, network and resources.
type Capabilities struct {
	// Tools has each tool that the agent asked for or the policy names.
	Tools     map[string]ToolPolicy `json:"tools"`
	Network   NetworkPolicy         `json:"network"`
	Resources ResourcePolicy        `json:"resources"`
}

// ToolPolicy is what a policy says of one tool. A verdict has the last word.
type ToolPolicy struct {
	// Allowed is always written: the Python SDK dies of an entry without it.
	Allowed     bool        `json:"allowed"`
	Constraints Constraints `json:"constraints"`
}

// Constraints bound one tool. Of what is absent, nothing is said.
type Constraints struct {
	BlockedPatterns []string `json:"blocked_patterns,omitzero"`
	FilesystemScope []string `json:"filesystem_scope,omitzero"`
	FilesystemRead  []string `json:"filesystem_read,omitzero"`
	AllowedDomains  []string `json:"allowed_domains,omitzero"`
	BlockedDomains  []string `json:"blocked_domains,omitzero"`
	NetworkAllowed  *bool    `json:"network_allowed,omitzero"`
	MaxMemoryMB     int      `json:"max_memory_mb,omitzero"`
	MaxCPUPercent   int      `json:"max_cpu_percent,omitzero"`
	TimeoutSeconds  int      `json:"timeout_seconds,omitzero"`
	MaxWriteMB      int      `json:"max_write_mb,omitzero"`
	MaxWriteFiles   int      `json:"max_write_files,omitzero"`
}

// NetworkPolicy names the hosts that may and may not be reached.
type NetworkPolicy struct {
	AllowedDomains []string `json:"allowed_domains"`
	BlockedDomains []string `json:"blocked_domains"`
}

// ResourcePolicy bounds all tools.
type ResourcePolicy struct {
	MaxMemoryMB   int `json:"max_memory_mb"`
	MaxCPUPercent int `json:"max_cpu_percent"`
}

// Heartbeat is the params of a2g/heartbeat: I am here. The text names no form.
type Heartbeat struct {
	AgentDID string `json:"agent_did"`
	Status   string `json:"status,omitzero"` // how the agent is, in a word of its own
}

// Beat is the answer to a heartbeat.
type Beat struct {
	// Status is the agent's standing: unregistered, active, suspended, revoked.
	Status        string `json:"status"`
	PolicyVersion string `json:"policy_version"`
	// Pending are the g2a/* messages that have not reached the agent: whole
	// JSON-RPC notifications.
	Pending []Raw `json:"pending"`
}

// Directive is the params of g2a/directive: what became of an escalated intent.
// Beside the agent it has what a verdict has, and the verdict may be DENIED.
type Directive struct {
	AgentDID string `json:"agent_did"`
	Verdict  `json:",inline"`
}

// Revoke is the params of g2a/revoke: verdicts are taken back at once.
type Revoke struct {
	AgentDID string `json:"agent_did"`
	// IntentIDs are the intents that are revoked; none means the agent itself
	// with all of them.
	IntentIDs []string  `json:"intent_ids,omitzero"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
}

// Arguments makes an intent's arguments from a map or a struct. It is nil when
// the value cannot be written as an object, and such an intent is refused.
func Arguments(v any) Raw {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil || len(data) == 0 || data[0] != '{' {
		return nil
	}
	return data
}
