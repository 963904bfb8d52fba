package a2g

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// The types of telemetry events.
const (
	EventIntentReceived    = "INTENT_RECEIVED"
	EventRiskAssessment    = "RISK_ASSESSMENT"
	EventIntentAllowed     = "INTENT_ALLOWED"
	EventIntentBlocked     = "INTENT_BLOCKED"
	EventExecutionComplete = "EXECUTION_COMPLETE"
	EventHeartbeat         = "HEARTBEAT"
	EventPolicyViolation   = "POLICY_VIOLATION"
)

// Event is one thing that an observer is told. Every event but HEARTBEAT is
// read from a record of the ledger, so none is lost when a connection is, and
// all who ask from the same place are told the same.
type Event struct {
	Type string `json:"type"`
	// Position is the record's: connect with ?from=POSITION to be told what
	// comes after it. Of a HEARTBEAT, it is the newest record's.
	Position string    `json:"position,omitzero"`
	Time     time.Time `json:"time"`
	Agent    string    `json:"agent_did,omitzero"`
	Intent   string    `json:"intent_id,omitzero"`
	Tool     string    `json:"tool,omitzero"`
	Verdict  string    `json:"verdict,omitzero"`
	// Phase is which part of the judgement blocked an intent: blocked_by of its error.
	Phase     string   `json:"phase,omitzero"`
	RiskScore *float64 `json:"risk_score,omitzero"`
	RiskLevel string   `json:"risk_level,omitzero"`
	Threats   []string `json:"threats,omitzero"`
	Codes     []string `json:"codes,omitzero"`
	Reason    string   `json:"reason,omitzero"`
}

// Telemetry streams a ledger's A2G events over WebSocket, one JSON text frame
// each. ?from=POSITION, which may be given once for each log, begins after a
// record; without it the stream begins with what comes next.
type Telemetry struct {
	Store  ledger.Reader
	Tail   *ledger.Tail // tells when there is something new
	Logger *slog.Logger
	// Stopping is done when the node stops serving; nil for never.
	Stopping context.Context
}

const (
	telemetryBeat  = 30 * time.Second // between heartbeats of a silent stream
	telemetryWrite = 10 * time.Second // for a reader to take a frame
	telemetryBatch = 500              // records read at once
)

// ServeHTTP answers the upgrade, and streams until the reader goes away.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := &stream{Telemetry: t, next: map[uint32]uint64{}}
	for _, text := range r.URL.Query()["from"] {
		pos, err := act.ParsePosition(text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.next[pos.Log] = pos.Index + 1
	}
	if err := s.begin(r.Context()); err != nil {
		t.Logger.Error("telemetry could not read the ledger", "error", err)
		http.Error(w, "the ledger cannot be read", http.StatusInternalServerError)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the server has checked Host and Origin
	if err != nil {
		return // and has been answered
	}
	defer conn.CloseNow()
	s.conn = conn
	ctx := conn.CloseRead(r.Context()) // what the reader sends ends the stream
	if t.Stopping != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer context.AfterFunc(t.Stopping, cancel)()
	}
	err = s.run(ctx)
	if ctx.Err() == nil && websocket.CloseStatus(err) == -1 {
		t.Logger.Warn("a telemetry stream ended", "error", err)
	}
	conn.Close(websocket.StatusGoingAway, "")
}

// stream is one reader's.
type stream struct {
	*Telemetry
	conn *websocket.Conn
	next map[uint32]uint64 // by log, the first record that was not told yet
}

// begin notes the ends of the logs that the reader named no place in.
func (s *stream) begin(ctx context.Context) error {
	logs, err := s.Store.Logs(ctx)
	if err != nil {
		return err
	}
	for _, log := range logs {
		if _, named := s.next[log]; named {
			continue
		}
		head, err := s.Store.Head(ctx, log)
		if err != nil {
			return err
		}
		s.next[log] = head.Size
	}
	return nil
}

func (s *stream) run(ctx context.Context) error {
	beat := time.NewTicker(telemetryBeat)
	defer beat.Stop()
	for {
		written := s.Tail.Written()
		told, err := s.tell(ctx)
		if err != nil {
			return err
		}
		if told {
			beat.Reset(telemetryBeat)
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-written:
		case <-beat.C:
			if err := s.send(ctx, &Event{Type: EventHeartbeat, Time: time.Now().UTC()}); err != nil {
				return err
			}
		}
	}
}

// tell sends what is new, some of it, and reports whether there was anything.
func (s *stream) tell(ctx context.Context) (told bool, err error) {
	logs, err := s.Store.Logs(ctx)
	if err != nil {
		return false, err
	}
	for _, log := range logs {
		head, err := s.Store.Head(ctx, log)
		if err != nil {
			return false, err
		}
		from := s.next[log] // a log that is new begins at its beginning
		to := min(head.Size, from+telemetryBatch)
		if from >= to {
			continue
		}
		told = true
		var records []ledger.Record
		err = s.Store.Records(ctx, log, from, to, func(_ uint64, data []byte) error {
			r, err := ledger.ParseRecord(data)
			records = append(records, r)
			return err
		})
		if err != nil {
			return false, err
		}
		for i := range records {
			events, err := s.events(ctx, &records[i])
			if err != nil {
				return false, err
			}
			for j := range events {
				if err := s.send(ctx, &events[j]); err != nil {
					return false, err
				}
			}
		}
		s.next[log] = to
	}
	return told, nil
}

func (s *stream) send(ctx context.Context, e *Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, telemetryWrite)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// phaseOf is what blocked an intent.
func phaseOf(effect act.Effect, reasons []ledger.Reason) string {
	if effect == act.Escalate {
		return ByApproval
	}
	d := act.Decision{Effect: effect}
	for _, r := range reasons {
		e, _ := act.ParseEffect(r.Effect)
		d.Reasons = append(d.Reasons, act.Reason{Code: r.Code, Effect: e, Observe: r.Observe})
	}
	return blockedByOf(&d)
}

// events are what a record means to an observer: none for those that are not A2G's.
func (s *stream) events(ctx context.Context, r *ledger.Record) ([]Event, error) {
	if r.Door != "a2g" && !strings.HasPrefix(r.Kind, "admin.agent.") {
		return nil, nil
	}
	o, err := ledger.ReadOpening(ctx, s.Store, act.Position{Log: r.Log, Index: r.Index})
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	// What was not kept, or written by another version, is left out.
	by, _ := o.Asker()
	links, _ := o.Linked()
	details, _ := o.Details()
	e := Event{Position: r.ID(), Time: r.Time, Agent: by.Claims.Agent, Intent: links.ID, Tool: links.Resource, Codes: r.Codes}
	switch r.Kind {
	case string(act.ToolCall):
		out, _ := o.Outcome()
		return intentEvents(e, r, &out), nil
	case string(act.ToolResult):
		e.Type, e.Intent, e.Reason = EventExecutionComplete, links.Answers, statusIn(o.Request)
		return []Event{e}, nil
	case "admin.agent.violation":
		e.Type, e.Agent, e.Reason = EventPolicyViolation, details["agent"], details["violation"]
		return []Event{e}, nil
	case "admin.agent.heartbeat":
		e.Type, e.Agent = EventHeartbeat, details["agent"]
		return []Event{e}, nil
	}
	return nil, nil
}

// statusIn is how a report said that an act ended.
func statusIn(report []byte) string {
	doc, err := rawjson.Parse(report)
	if err != nil {
		return ""
	}
	return doc.Root().Get("params").Get("status").Text()
}

// intentEvents are the three things that one record of an intent tells.
func intentEvents(e Event, r *ledger.Record, out *ledger.Outcome) []Event {
	received, risk, end := e, e, e
	received.Type, received.Codes = EventIntentReceived, nil
	risk.Type, risk.Codes = EventRiskAssessment, nil
	if out.Risk.Level != "" {
		risk.RiskScore, risk.RiskLevel, risk.Threats = &out.Risk.Score, out.Risk.Level, out.Risk.Threats
	}
	effect, _ := act.ParseEffect(r.Effect)
	end.Type, end.Verdict = EventIntentAllowed, (&ruling{decision: &act.Decision{Effect: effect}}).word()
	if effect <= act.Escalate {
		end.Type, end.Phase = EventIntentBlocked, phaseOf(effect, out.Reasons)
		if len(out.Reasons) > 0 {
			end.Reason = out.Reasons[0].Message
		}
	}
	return slices.Clip([]Event{received, risk, end})
}
