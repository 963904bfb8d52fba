package aos

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"

	"github.com/go-json-experiment/json"
)

// Decisions, as a Result names them (5.1.1).
const (
	Allow  = "allow"
	Deny   = "deny"
	Modify = "modify"
)

// Result is the guardian's answer to a step (5.1.1).
type Result struct {
	// Decision is Allow, Deny or Modify. With Modify the step may happen as
	// ModifiedRequest says, and not as it was asked.
	Decision        string   `json:"decision"`
	Message         string   `json:"message"`
	Reasoning       string   `json:"reasoning,omitzero"`
	ReasonCode      []string `json:"reasonCode,omitzero"`
	Data            Data     `json:"data,omitzero"`
	ModifiedRequest Raw      `json:"modifiedRequest,omitzero"`
}

// Data is what reeve adds to an answer.
type Data struct {
	DecisionID string     `json:"decision_id"`       // the record's place in the ledger: LOG-INDEX
	Policy     string     `json:"policy"`            // content hash of the policy that decided
	Rules      []string   `json:"rules"`             // the rules that applied
	Risk       act.Risk   `json:"risk"`              // what the detectors found
	Receipt    string     `json:"receipt"`           // path of the proof that the decision is recorded
	Repeat     bool       `json:"repeat"`            // the recorded answer to an act asked about before
	Instead    []string   `json:"instead,omitzero"`  // what the agent could do
	Observed   []Observed `json:"observed,omitzero"` // rules that only watch
	Approval   Approval   `json:"approval,omitzero"` // what people were asked about the act
}

// Approval is what people were asked about an act.
type Approval struct {
	ID        string    `json:"id"`
	State     string    `json:"state"` // held, approved, used, denied, expired or revoked
	ExpiresAt time.Time `json:"expires_at"`
}

// Observed is a rule that only watches: what it would have decided.
type Observed struct {
	Rule    string `json:"rule"`
	Code    string `json:"code,omitzero"`
	Effect  string `json:"effect"`
	Message string `json:"message"`
}

// Modified decodes the params of the modified request, such as a
// *ToolCallRequestParams. It is an error when the decision is not Modify.
func (r *Result) Modified(params any) error {
	if r.Decision != Modify {
		return fmt.Errorf("the decision is %q: there is no modified request", r.Decision)
	}
	var request struct {
		Params Raw `json:"params"`
	}
	if err := json.Unmarshal(r.ModifiedRequest, &request); err != nil {
		return fmt.Errorf("read the modified request: %w", err)
	}
	if err := json.Unmarshal(request.Params, params); err != nil {
		return fmt.Errorf("read the params of the modified request: %w", err)
	}
	return nil
}

// Pending reports whether the step is denied for now: a person must agree first,
// and the same step may be asked about again.
func (r *Result) Pending() bool { return r.Decision == Deny && r.Data.Approval.State == "held" }

// PingResult says how the guardian is (5.3.1).
type PingResult struct {
	Status    string         `json:"status"` // "connected", or "error": the guardian cannot record
	Version   string         `json:"version"`
	Timestamp time.Time      `json:"timestamp"`
	Metadata  map[string]any `json:"metadata,omitzero"`
}

// Error is an error that the guardian answered (3.13).
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Data of an invalid request: the field (a JSON Pointer from the request's
	// root), what is wrong with it, and what was expected.
	Data struct {
		Field    string `json:"field"`
		Reason   string `json:"reason"`
		Expected string `json:"expected"`
	} `json:"data"`
}

func (e *Error) Error() string {
	s := fmt.Sprintf("the guardian answered error %d: %s", e.Code, e.Message)
	if e.Data.Field != "" {
		s += ": " + e.Data.Field
	}
	if e.Data.Reason != "" {
		s += ": " + e.Data.Reason
	}
	return s
}

// Client asks a guardian before an agent acts. It fails closed: whenever a
// method returns an error, the step must not happen. A lost answer is asked
// for again with the same ids, and the guardian gives the recorded one.
//
// A Client is safe for concurrent use. Its zero value but for URL is ready.
type Client struct {
	// URL of the guardian, such as http://127.0.0.1:8080/.
	URL string
	// HTTP makes the requests. Nil means a client that waits 30 seconds and
	// follows no redirect.
	HTTP *http.Client
	// Key is an API key or token, sent as a bearer credential. Empty for none.
	Key string
	// Retries is how often a request is sent again after the network, not the
	// guardian, failed. Zero means 2; negative means none.
	Retries int

	id atomic.Int64
}

// maxAnswer bounds an answer's size, which is at most that of the request and a little.
const maxAnswer = 64 << 20

var defaultHTTP = &http.Client{
	Timeout: 30 * time.Second,
	// A redirect would carry what the agent does to somebody else.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// AgentTrigger asks about an event that wakes the agent (4.1).
func (c *Client) AgentTrigger(ctx context.Context, p *AgentTriggerParams) (*Result, error) {
	stamp(&p.Context)
	return c.ask(ctx, "steps/agentTrigger", p)
}

// KnowledgeRetrieval asks about retrieved knowledge, before the model reads it (4.2).
func (c *Client) KnowledgeRetrieval(ctx context.Context, p *KnowledgeRetrievalParams) (*Result, error) {
	stamp(&p.Context)
	return c.ask(ctx, "steps/knowledgeRetrieval", p)
}

// MemoryStore asks about memory that is to be stored (4.3).
func (c *Client) MemoryStore(ctx context.Context, p *MemoryParams) (*Result, error) {
	stamp(&p.Context)
	return c.ask(ctx, "steps/memoryStore", p)
}

// MemoryContextRetrieval asks about memory that is to be used (4.4).
func (c *Client) MemoryContextRetrieval(ctx context.Context, p *MemoryParams) (*Result, error) {
	stamp(&p.Context)
	return c.ask(ctx, "steps/memoryContextRetrieval", p)
}

// Message asks about a message, before the agent or the user gets it (4.5).
func (c *Client) Message(ctx context.Context, p *MessageParams) (*Result, error) {
	stamp(&p.Context)
	return c.ask(ctx, "steps/message", p)
}

// ToolCallRequest asks about a tool call, before it is made (4.6).
func (c *Client) ToolCallRequest(ctx context.Context, p *ToolCallRequestParams) (*Result, error) {
	stamp(&p.Context)
	return c.ask(ctx, "steps/toolCallRequest", p)
}

// ToolCallResult asks about a tool's result, before the model reads it (4.6).
func (c *Client) ToolCallResult(ctx context.Context, p *ToolCallResultParams) (*Result, error) {
	stamp(&p.Context)
	return c.ask(ctx, "steps/toolCallResult", p)
}

// A2A asks about an A2A message that is to be sent or was received (4.7).
func (c *Client) A2A(ctx context.Context, p *ProtocolParams) (*Result, error) {
	if p.Context != nil {
		stamp(p.Context)
	}
	return c.ask(ctx, "protocols/A2A", p)
}

// MCP asks about an MCP message that is to be sent or was received (4.8).
func (c *Client) MCP(ctx context.Context, p *ProtocolParams) (*Result, error) {
	if p.Context != nil {
		stamp(p.Context)
	}
	return c.ask(ctx, "protocols/MCP", p)
}

// Ping asks whether the guardian is alive and able to record (4.9).
func (c *Client) Ping(ctx context.Context) (*PingResult, error) {
	params := struct {
		Timestamp time.Time `json:"timestamp"`
	}{time.Now().UTC()}
	_, raw, err := c.call(ctx, "ping", params)
	if err != nil {
		return nil, err
	}
	r := new(PingResult)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("read the guardian's answer to ping: %w", err)
	}
	if r.Status != "connected" && r.Status != "error" {
		return nil, fmt.Errorf("the guardian's status %q is neither connected nor error", r.Status)
	}
	return r, nil
}

// stamp fills in the time of a step that has none.
func stamp(c *StepContext) {
	if c.Timestamp.IsZero() {
		c.Timestamp = time.Now().UTC()
	}
}

// ask calls a method that gives a decision.
func (c *Client) ask(ctx context.Context, method string, params any) (*Result, error) {
	id, raw, err := c.call(ctx, method, params)
	if err != nil {
		return nil, err
	}
	r := new(Result)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("read the guardian's answer to %s: %w", method, err)
	}
	switch r.Decision {
	case Allow, Deny:
		if r.ModifiedRequest != nil {
			return nil, fmt.Errorf("the guardian answered %s to %s together with a modified request", r.Decision, method)
		}
	case Modify:
		var m struct {
			Method string `json:"method"`
			ID     int64  `json:"id"`
			Params Raw    `json:"params"`
		}
		if err := json.Unmarshal(r.ModifiedRequest, &m); err != nil || m.Method != method || m.ID != id || m.Params == nil {
			return nil, fmt.Errorf("the guardian answered modify to %s without a modified request of the same method and id", method)
		}
	default:
		return nil, fmt.Errorf("the guardian's decision %q is not one of allow, deny, modify", r.Decision)
	}
	return r, nil
}

// call makes one JSON-RPC call and returns its id and raw result.
func (c *Client) call(ctx context.Context, method string, params any) (id int64, result Raw, err error) {
	id = c.id.Add(1)
	body, err := json.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int64  `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params})
	if err != nil {
		return 0, nil, fmt.Errorf("write the params of %s: %w", method, err)
	}
	answer, err := c.post(ctx, body)
	if err != nil {
		return 0, nil, fmt.Errorf("ask the guardian: %s: %w", method, err)
	}
	var r struct {
		JSONRPC string `json:"jsonrpc"`
		ID      Raw    `json:"id"`
		Result  Raw    `json:"result"`
		Error   *Error `json:"error"`
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return 0, nil, fmt.Errorf("read the guardian's answer to %s: %w", method, err)
	}
	switch {
	case r.JSONRPC != "2.0":
		return 0, nil, fmt.Errorf("the guardian's answer to %s is not JSON-RPC 2.0", method)
	case (r.Result != nil) == (r.Error != nil):
		return 0, nil, fmt.Errorf("the guardian's answer to %s needs either a result or an error", method)
	case r.Error != nil:
		return 0, nil, r.Error
	case string(r.ID) != fmt.Sprint(id):
		return 0, nil, fmt.Errorf("the guardian's answer to %s has id %.40s, not %d", method, r.ID, id)
	}
	return id, r.Result, nil
}

// post sends a body until the guardian answers. Sending it again is safe: all
// ids in it are the same, so the guardian knows the act again.
func (c *Client) post(ctx context.Context, body []byte) ([]byte, error) {
	retries := c.Retries
	if retries == 0 {
		retries = 2
	}
	pause := 100 * time.Millisecond
	for try := 0; ; try++ {
		answer, again, err := c.postOnce(ctx, body)
		if err == nil || again == jsonrpc.Never || try >= retries || ctx.Err() != nil {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
		pause *= 4
	}
}

// postOnce sends a body once.
func (c *Client) postOnce(ctx context.Context, body []byte) (answer []byte, again jsonrpc.Retry, err error) {
	r, err := jsonrpc.NewRequest(ctx, http.MethodPost, c.URL, c.Key, body)
	if err != nil {
		return nil, jsonrpc.Never, err
	}
	return jsonrpc.Post[Error](cmp.Or(c.HTTP, defaultHTTP), r, maxAnswer)
}
