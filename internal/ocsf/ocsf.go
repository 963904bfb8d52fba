// Package ocsf makes security events of a log's records, in the form of the Open
// Cybersecurity Schema Framework, and sends them where such events are collected. Each
// event names the record that it tells of and carries what proves it: the hash under which
// it stands in the log, the record before it, and the log's signed checkpoint.
//
// Events say who did what with which tool, and what was decided by which rules. What acts
// hold is not in them.
package ocsf

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/trace"

	"github.com/go-json-experiment/json"
)

// SchemaVersion is the version of OCSF that events are of. Schema version and mapping
// change together: see docs/events.md.
const SchemaVersion = "1.9.0"

// Classes and their categories.
const (
	apiActivity      = 6003
	datastore        = 6005
	detectionFinding = 2004
	authentication   = 3002
)

// The event, as far as reeve fills it. Names are the schema's.
type event struct {
	ActivityID   int         `json:"activity_id"`
	ActivityName string      `json:"activity_name,omitzero"`
	CategoryUID  int         `json:"category_uid"`
	ClassUID     int         `json:"class_uid"`
	ClassName    string      `json:"class_name,omitzero"`
	TypeUID      int         `json:"type_uid"`
	SeverityID   int         `json:"severity_id"`
	Time         int64       `json:"time"`
	Message      string      `json:"message,omitzero"`
	StatusID     int         `json:"status_id,omitzero"`
	Metadata     metadata    `json:"metadata"`
	Actor        *actor      `json:"actor,omitzero"`
	User         *user       `json:"user,omitzero"`
	API          *api        `json:"api,omitzero"`
	Service      *named      `json:"service,omitzero"`
	SrcEndpoint  *named      `json:"src_endpoint,omitzero"`
	Databucket   *databucket `json:"databucket,omitzero"`
	AIAgent      *aiAgent    `json:"ai_agent,omitzero"`

	App     *named   `json:"app,omitzero"` // these four are of ACS's classes
	Process *process `json:"process,omitzero"`
	Module  *module  `json:"module,omitzero"`
	Device  *device  `json:"device,omitzero"`

	Enrichments []enrichment `json:"enrichments,omitempty"`
	FindingInfo *findingInfo `json:"finding_info,omitzero"`
	Evidences   []evidence   `json:"evidences,omitempty"`
	RiskScore   *int         `json:"risk_score,omitzero"`
	RiskLevelID *int         `json:"risk_level_id,omitzero"`

	ActionID       *int            `json:"action_id,omitzero"` // profile security_control
	Action         string          `json:"action,omitzero"`
	DispositionID  *int            `json:"disposition_id,omitzero"`
	Disposition    string          `json:"disposition,omitzero"`
	IsAlert        *bool           `json:"is_alert,omitzero"`
	Authorizations []authorization `json:"authorizations,omitempty"`

	RawData         string        `json:"raw_data"`
	AttestationList []attestation `json:"attestation_list"` // profile record_integrity
	Unmapped        unmapped      `json:"unmapped"`
}

type metadata struct {
	Version        string   `json:"version"`
	Product        product  `json:"product"`
	Profiles       []string `json:"profiles"`
	UID            string   `json:"uid"`
	CorrelationUID string   `json:"correlation_uid,omitzero"`
	EventCode      string   `json:"event_code"`
	LogName        string   `json:"log_name"`
	Sequence       uint64   `json:"sequence"`
	TenantUID      string   `json:"tenant_uid,omitzero"`
}

type product struct {
	Name       string `json:"name"`
	VendorName string `json:"vendor_name"`
	Version    string `json:"version"`
}

type actor struct {
	User    *user    `json:"user,omitzero"`
	Session *session `json:"session,omitzero"`
	AppName string   `json:"app_name,omitzero"`
	AppUID  string   `json:"app_uid,omitzero"`
	// InvokedBy is who acts for the user.
	InvokedBy string `json:"invoked_by,omitzero"`
}

type user struct {
	UID    string `json:"uid,omitzero"`
	Name   string `json:"name,omitzero"`
	TypeID int    `json:"type_id"`
	Type   string `json:"type,omitzero"`
	Org    *named `json:"org,omitzero"`
}

type session struct {
	UID string `json:"uid"`
}

type api struct {
	Operation string   `json:"operation"`
	Service   *named   `json:"service,omitzero"`
	Request   *request `json:"request,omitzero"`
}

type request struct {
	UID string `json:"uid"`
}

type named struct {
	Name string `json:"name,omitzero"`
	UID  string `json:"uid,omitzero"`
}

type databucket struct {
	Name   string `json:"name"`
	TypeID int    `json:"type_id"`
	Type   string `json:"type"`
}

type aiAgent struct {
	UID         string `json:"uid,omitzero"`
	InstanceUID string `json:"instance_uid,omitzero"`
	Name        string `json:"name,omitzero"`
	Version     string `json:"version,omitzero"`
}

type findingInfo struct {
	UID         string    `json:"uid"`
	Title       string    `json:"title"`
	Desc        string    `json:"desc,omitzero"`
	CreatedTime int64     `json:"created_time"`
	Types       []string  `json:"types,omitempty"`
	Analytic    *analytic `json:"analytic,omitzero"`
}

type analytic struct {
	Name   string `json:"name"`
	TypeID int    `json:"type_id"`
	UID    string `json:"uid,omitzero"`
	// Version is that of the policy.
	Version string `json:"version,omitzero"`
}

type evidence struct {
	Actor   *actor   `json:"actor,omitzero"`
	AIAgent *aiAgent `json:"ai_agent,omitzero"`
	API     *api     `json:"api,omitzero"`
}

type attestation struct {
	UID          string      `json:"uid"`
	AuthorityUID string      `json:"authority_uid"`
	ChainUID     string      `json:"chain_uid"`
	Fingerprint  fingerprint `json:"fingerprint"`
	PrevEvent    *prevEvent  `json:"prev_event,omitzero"`
	Signatures   []signature `json:"signatures,omitempty"`
}

type fingerprint struct {
	AlgorithmID     int    `json:"algorithm_id"`
	Value           string `json:"value"`
	EncodingID      int    `json:"encoding_id"`
	SerializationID int    `json:"serialization_id"`
	Serialization   string `json:"serialization"`
}

type prevEvent struct {
	UID         string       `json:"uid"`
	Fingerprint *fingerprint `json:"fingerprint,omitzero"`
}

type signature struct {
	AlgorithmID     int         `json:"algorithm_id"`
	Algorithm       string      `json:"algorithm"`
	SerializationID int         `json:"serialization_id"`
	Serialization   string      `json:"serialization"`
	Digest          fingerprint `json:"digest"`
}

// unmapped is what the schema has no place for.
type unmapped struct {
	Reeve details     `json:"reeve"`
	ACS   *acsDetails `json:"acs,omitzero"`
}

type details struct {
	Kind      string   `json:"kind"`
	Door      string   `json:"door,omitzero"`
	Effect    string   `json:"effect,omitzero"`
	Would     string   `json:"would,omitzero"`
	Rules     []string `json:"rules,omitempty"`
	Codes     []string `json:"codes,omitempty"`
	OWASP     []string `json:"owasp,omitempty"`
	Policy    string   `json:"policy,omitzero"`
	Turn      string   `json:"turn,omitzero"`
	Step      string   `json:"step,omitzero"`
	Answers   string   `json:"answers,omitzero"`
	Task      string   `json:"task,omitzero"`
	Approval  string   `json:"approval,omitzero"`
	Principal string   `json:"principal,omitzero"`
	Method    string   `json:"method,omitzero"` // by which the principal was established
	act.Delegation
	// Trace and Span are where traces have the act, if they are sent.
	Trace      string `json:"trace,omitzero"`
	Span       string `json:"span,omitzero"`
	Checkpoint string `json:"checkpoint,omitzero"` // in base64
}

const (
	recordForm     = "the record in raw_data, as a leaf of RFC 6962"
	checkpointForm = "C2SP tlog-checkpoint, in unmapped.reeve.checkpoint"
)

// Checkpoint is a log's signed state.
type Checkpoint struct {
	Root []byte
	Text string
}

// Config is what a Mapper is made of.
type Config struct {
	Version string // the program's
	Log     string // the log's name
	Key     string // its public key
	ACS     bool   // the classes and words of the Agent Control Standard, where it has some
}

// Mapper makes events of records, in their order.
type Mapper struct {
	cfg  Config
	prev *prevEvent
}

// NewMapper returns a Mapper.
func NewMapper(cfg Config) *Mapper { return &Mapper{cfg: cfg} }

// Events are what a record tells, as JSON: the activity, and where it was not plainly
// allowed a finding.
func (m *Mapper) Events(r *export.Record, cp *Checkpoint) ([][]byte, error) {
	links, _ := r.Opening.Linked()
	asker, _ := r.Opening.Asker()
	said, _ := r.Opening.Outcome()
	if m.cfg.ACS {
		r = toldACS(r, &links)
	}
	e := m.base(r, &links, &asker, &said, cp)
	m.prev = &prevEvent{UID: r.ID(), Fingerprint: &e.AttestationList[0].Fingerprint}
	m.classify(e, r, &links)
	if e.Unmapped.Reeve.Effect != "" {
		control(e, r)
	}
	if m.cfg.ACS {
		m.decidedACS(e, r, &links)
	}
	list := []*event{e}
	switch effect, _ := act.ParseEffect(r.Effect); {
	case r.Effect != "" && (effect < act.Allow || r.Observed != ""), m.cfg.ACS && e.Unmapped.ACS.found():
		list = append(list, finding(e, r, &said))
	case m.cfg.ACS && links.Answer != nil && e.ClassUID != applicationLifecycle:
		list = append(list, allowedACS(e, r))
	}
	var out [][]byte
	for _, e := range list {
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// base is what all events have.
func (m *Mapper) base(r *export.Record, links *ledger.ActLinks, asker *ledger.Asker, said *ledger.Outcome, cp *Checkpoint) *event {
	print := fingerprint{AlgorithmID: 3, Value: hex.EncodeToString(r.Leaf[:]), EncodingID: 1, SerializationID: 99, Serialization: recordForm}
	a := attestation{UID: r.ID(), AuthorityUID: m.cfg.Key, ChainUID: m.cfg.Log, Fingerprint: print}
	if m.prev != nil && r.Index > 0 {
		a.PrevEvent = m.prev
	}
	d := details{
		Kind: r.Kind, Door: r.Door, Effect: r.Effect, Would: r.Observed, Rules: r.Rules, Codes: r.Codes, OWASP: categoriesOf(r.Codes, said.Risk.Threats),
		Policy: r.Policy, Turn: links.Turn, Step: links.Step, Answers: links.Answers, Task: r.Facts.Task, Approval: r.Facts.Approval,
		Principal: r.Facts.Principal, Method: r.Facts.Method, Delegation: r.Facts.Delegation,
	}
	if cp != nil {
		d.Checkpoint = cp.Text
		a.Signatures = []signature{{AlgorithmID: 99, Algorithm: "Ed25519", SerializationID: 99, Serialization: checkpointForm,
			Digest: fingerprint{AlgorithmID: 3, Value: hex.EncodeToString(cp.Root), EncodingID: 1, SerializationID: 99, Serialization: "root of the log's Merkle tree, RFC 6962"}}}
	}
	e := &event{
		Time: r.Time.UnixMilli(), SeverityID: 1, RawData: string(r.Raw), AttestationList: []attestation{a}, Unmapped: unmapped{Reeve: d},
		Metadata: metadata{
			Version: SchemaVersion, Product: product{"reeve", "reeve", m.cfg.Version}, Profiles: []string{"record_integrity"}, UID: r.ID(),
			EventCode: r.Kind, LogName: m.cfg.Log, Sequence: r.Index, TenantUID: r.Facts.Organization,
		},
		Actor: &actor{AppName: cmp.Or(asker.Claims.AgentName, r.Facts.Agent, "reeve"), AppUID: r.Facts.Agent},
	}
	if where, ok := trace.Of(m.cfg.Key, r, links); ok {
		e.Unmapped.Reeve.Trace = hex.EncodeToString(where.Trace[:])
		if where.Span != [8]byte{} {
			e.Unmapped.Reeve.Span = hex.EncodeToString(where.Span[:])
		}
	}
	if r.Facts.Session != "" {
		e.Actor.Session = &session{r.Facts.Session}
		e.Metadata.CorrelationUID = r.Facts.Session
		if call := cmp.Or(links.ID, links.Answers); call != "" {
			e.Metadata.CorrelationUID += ":" + call
		}
	}
	switch id := cmp.Or(r.Facts.User, r.Facts.UserHash); {
	case r.Facts.OnBehalfOf != "": // which a token says, and not the agent
		e.Actor.User = &user{Name: r.Facts.OnBehalfOf, TypeID: 1}
		e.Actor.InvokedBy = r.Facts.Principal
		if len(r.Facts.Actors) > 0 {
			e.Actor.InvokedBy = r.Facts.Actors[0]
		}
	case id != "":
		e.Actor.User = &user{UID: id, Name: asker.Claims.UserName, TypeID: 1}
	case r.Facts.Principal != "":
		e.Actor.User = &user{Name: r.Facts.Principal, TypeID: 99, Type: cmp.Or(r.Facts.Method, "principal")}
	}
	if e.Actor.User != nil && r.Facts.Organization != "" {
		e.Actor.User.Org = &named{UID: r.Facts.Organization}
	}
	return e
}

func (e *event) class(uid, category, activity int, name string) {
	e.ClassUID, e.CategoryUID, e.ActivityID, e.TypeUID = uid, category, activity, uid*100+activity
	if activity == 99 {
		e.ActivityName = name
	}
}

// classify says what was done.
func (m *Mapper) classify(e *event, r *export.Record, links *ledger.ActLinks) {
	e.SrcEndpoint = &named{Name: cmp.Or(r.Facts.Principal, r.Facts.Agent, m.cfg.Log)}
	if r.Facts.Agent != "" {
		e.AIAgent = &aiAgent{UID: r.Facts.Agent, InstanceUID: r.Facts.Session, Name: e.Actor.AppName}
	}
	if r.Kind == "admin.agent.handshake" {
		e.class(authentication, 3, 1, "")
		e.User, e.Service, e.StatusID = &user{Name: cmp.Or(r.Facts.Agent, r.Facts.Principal, "unknown"), TypeID: 99, Type: "agent"}, &named{Name: "reeve"}, 1
		e.SrcEndpoint = &named{Name: e.User.Name}
		e.Metadata.Profiles = append(e.Metadata.Profiles, "ai_operation")
		return
	}
	if m.cfg.ACS && classifyACS(e, r, links) {
		return
	}
	resource := cmp.Or(links.Resource, r.Facts.Tool)
	switch act.Kind(r.Kind) {
	case act.KnowledgeRetrieve, act.MemoryRetrieve, act.MemoryStore:
		activity := 1 // read
		if r.Kind == string(act.MemoryStore) {
			activity = 4 // write
		}
		e.class(datastore, 6, activity, "")
		e.Databucket = &databucket{Name: cmp.Or(resource, r.Kind), TypeID: 99, Type: strings.SplitN(r.Kind, ".", 2)[0]}
	default:
		e.class(apiActivity, 6, 99, r.Kind)
		e.API = &api{Operation: cmp.Or(resource, links.Method, r.Kind), Service: &named{Name: cmp.Or(links.Server, r.Door, "reeve")}}
		if call := cmp.Or(links.ID, links.Answers); call != "" {
			e.API.Request = &request{call}
		}
	}
	e.Metadata.Profiles = append(e.Metadata.Profiles, "ai_operation")
}

// control is what a decision is in the profile security_control.
func control(e *event, r *export.Record) {
	effect, _ := act.ParseEffect(r.Effect)
	set := func(action, disposition, severity int, message string) {
		alert := severity >= 3
		e.ActionID, e.DispositionID, e.SeverityID, e.Message, e.IsAlert = &action, &disposition, severity, message, &alert
	}
	switch {
	case effect == act.Deny:
		set(2, 2, 4, "denied") // denied, blocked
	case effect == act.Escalate:
		set(99, 14, 3, "held for a person") // delayed
	case effect == act.Modify:
		set(4, 11, 2, "changed") // modified, corrected
	case r.Observed != "":
		set(3, 17, 2, "allowed; would be "+r.Observed) // observed, logged
	default:
		set(1, 1, 1, "allowed")
	}
	if len(r.Rules) > 0 {
		e.Message += " by " + strings.Join(r.Rules, ", ")
	}
	e.Metadata.Profiles = append(e.Metadata.Profiles, "security_control")
}

// finding is the event that says why something was not plainly allowed.
func finding(of *event, r *export.Record, said *ledger.Outcome) *event {
	e := *of
	e.class(detectionFinding, 2, 1, "")
	e.ActivityName, e.StatusID = "", 1 // new
	e.Metadata.Profiles = slices.DeleteFunc(slices.Clone(of.Metadata.Profiles), func(p string) bool { return p == "ai_operation" || p == "host" })
	e.Metadata.UID += "/finding"
	e.Actor, e.API, e.SrcEndpoint, e.Databucket, e.AIAgent, e.User, e.Service = nil, nil, nil, nil, nil, nil, nil
	e.App, e.Process, e.Module, e.Device = nil, nil, nil, nil
	e.FindingInfo = &findingInfo{UID: r.ID(), Title: cmp.Or(strings.Join(r.Codes, ", "), e.Message), CreatedTime: e.Time, Types: e.Unmapped.Reeve.OWASP}
	if len(r.Rules) > 0 {
		e.FindingInfo.Analytic = &analytic{Name: r.Rules[0], TypeID: 1, UID: r.Rules[0], Version: r.Policy}
	}
	e.Evidences = []evidence{{Actor: of.Actor, AIAgent: of.AIAgent, API: of.API}}
	if of.Unmapped.ACS != nil {
		findingACS(&e, of)
	}
	if said.Risk.Level != "" {
		score, level := int(said.Risk.Score*100), map[string]int{"LOW": 1, "MEDIUM": 2, "HIGH": 3, "CRITICAL": 4}[said.Risk.Level]
		e.RiskScore, e.RiskLevelID = &score, &level
	}
	return &e
}

// Target takes events. Its errors are *export.RefusedError, or say that it is to be tried
// again.
type Target interface {
	Send(ctx context.Context, events [][]byte) error
}

// Sink is an export.Sink that sends events to one target.
type Sink struct {
	mapper *Mapper
	target Target
	head   func(ctx context.Context) (checkpoint []byte, err error)
	wait   []*export.Record
	made   [][]byte
	last   uint64
	any    bool
}

// NewSink returns a Sink. head reads the log's newest checkpoint.
func NewSink(cfg Config, target Target, head func(ctx context.Context) ([]byte, error)) *Sink {
	return &Sink{mapper: NewMapper(cfg), target: target, head: head}
}

// Take takes up a record. The events are made in Send, since the checkpoint must cover it.
func (s *Sink) Take(r *export.Record) {
	s.wait = append(s.wait, r)
	s.last, s.any = r.Index, true
}

// Pass does nothing: no event waits for another.
func (s *Sink) Pass(time.Time) {}

// Since is the last record, which the next one's event names as the one before.
func (s *Sink) Since() (uint64, bool) { return s.last, s.any }

// Forget drops what waits, and remembers what comes before what is next.
func (s *Sink) Forget() {
	for _, r := range s.wait {
		_, _ = s.mapper.Events(r, nil) // made before without a fault
	}
	s.wait, s.made = nil, nil
}

// perSend is how many events are sent at once.
const perSend = 256

// Send makes the events of what waits, and sends them.
func (s *Sink) Send(ctx context.Context) (sent int, err error) {
	if len(s.wait) > 0 {
		text, err := s.head(ctx)
		if err != nil {
			return 0, err
		}
		parsed, err := ledger.ParseCheckpoint(text)
		if err != nil {
			return 0, err
		}
		cp := &Checkpoint{Root: parsed.Root[:], Text: base64.StdEncoding.EncodeToString(text)}
		for _, r := range s.wait {
			events, err := s.mapper.Events(r, cp)
			if err != nil {
				return 0, err
			}
			s.made = append(s.made, events...)
		}
		s.wait = nil
	}
	return export.SendEach(&s.made, perSend, func(events [][]byte) error { return s.target.Send(ctx, events) })
}
