package executor

import (
	"context"
	stdjson "encoding/json" // the SDK's types are decoded by it
	"errors"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A2AConfig is for NewA2A.
type A2AConfig struct {
	// AllowPrivate lets agents be at addresses that are not public.
	AllowPrivate bool
	// Credentials are sent to their agents by requests that have none of their own.
	Credentials Credentials
	// Peers are the agents whose cards must be signed, by these keys.
	Peers []Peer
	// Signed refuses every agent that is none of them.
	Signed bool

	pause time.Duration // before the first poll; 0 means half a second
}

// NewA2A returns a2a_executor, which gives a message to another agent and waits
// until it is done.
func NewA2A(c A2AConfig) Executor {
	if c.pause == 0 {
		c.pause = 500 * time.Millisecond
	}
	return &a2aExecutor{c}
}

type a2aExecutor struct{ config A2AConfig }

func (e *a2aExecutor) Describe() Description {
	return Description{
		ID:           "a2a_executor",
		Name:         "A2A agent",
		Description:  "Sends a message to an agent that speaks A2A (1.0 or 0.3), waits until its task has ended, and cancels it when nobody waits any more.",
		Tags:         []string{"a2a", "agent", "network"},
		InputSchema:  a2aSchema,
		ResultSchema: a2aResultSchema,
		Manifest:     act.Manifest{TimeoutSeconds: 600, NetworkAllowed: true},
		Enforces:     networkLimits,
	}
}

var a2aSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["url", "message"],
  "properties": {
    "url": {"type": "string", "description": "The agent's URL, below which its card is, or the card's own URL, which ends in .json."},
    "message": {
      "description": "A text, or the message's parts as A2A 1.0 has them.",
      "oneOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "minItems": 1, "items": {"type": "object"}}
      ]
    },
    "context_id": {"type": "string", "description": "The conversation that the message belongs to."},
    "task_id": {"type": "string", "description": "The agent's task that the message continues."},
    "metadata": {"type": "object", "description": "Of the message."},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Headers of the requests. They are sent to no other host than the URL's, and shown in no result."},
    "stream": {"type": "boolean", "description": "False polls, although the agent could stream."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may take; never more than the manifest allows."}
  },
  "additionalProperties": true
}`)

type a2aInputs struct {
	URL      string            `json:"url"`
	Message  jsontext.Value    `json:"message"`
	Context  string            `json:"context_id"`
	Task     string            `json:"task_id"`
	Metadata jsontext.Value    `json:"metadata"`
	Headers  map[string]string `json:"headers"`
	Stream   *bool             `json:"stream"`
	Timeout  *float64          `json:"timeout"`
}

// message is what the agent is sent.
func (in *a2aInputs) message(key string, labels []string) (*a2a.Message, error) {
	m := &a2a.Message{ID: key, Role: a2a.MessageRoleUser, ContextID: in.Context, TaskID: a2a.TaskID(in.Task)}
	if key == "" {
		m.ID = a2a.NewMessageID()
	}
	switch in.Message.Kind() {
	case '"':
		var text string
		if err := json.Unmarshal(in.Message, &text); err != nil || text == "" {
			return nil, final("the input \"message\" is empty")
		}
		m.Parts = a2a.ContentParts{a2a.NewTextPart(text)}
	case '[':
		if err := stdjson.Unmarshal(in.Message, &m.Parts); err != nil || len(m.Parts) == 0 {
			return nil, final("the input \"message\" has parts that A2A does not have; a part has one of text, raw, url and data")
		}
		for _, part := range m.Parts {
			if part == nil {
				return nil, final("the input \"message\" has a part that is null")
			}
		}
	default:
		return nil, final("the input \"message\" must be a text or an array of parts")
	}
	if len(in.Metadata) > 0 {
		if err := stdjson.Unmarshal(in.Metadata, &m.Metadata); err != nil {
			return nil, final("the input \"metadata\" must be an object")
		}
	}
	if len(labels) > 0 {
		m.SetMeta(act.LabelsKey, in.labelled(labels))
	}
	return m, nil
}

// labelled are the labels of a message: what its tree has read, and what the task itself
// says that it is.
func (in *a2aInputs) labelled(labels []string) (all []any) {
	for _, l := range labels {
		all = append(all, l)
	}
	var said map[string]jsontext.Value
	var more []string
	if json.Unmarshal(in.Metadata, &said) == nil && json.Unmarshal(said[act.LabelsKey], &more) == nil {
		for _, l := range more {
			if !slices.Contains(labels, l) {
				all = append(all, l)
			}
		}
	}
	return all
}

func (e *a2aExecutor) Execute(ctx context.Context, job *Job) (value jsontext.Value, err error) {
	defer func() {
		// The SDK trusts what it decodes: a null where it expects an object is enough
		// for a panic, and what an agent sends must not end the node.
		if recover() != nil {
			value, err = nil, final("what the agent sent cannot be understood")
		}
	}()
	var in a2aInputs
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	to, err := webURL("url", in.URL)
	if err != nil {
		return nil, err
	}
	m, err := in.message(job.Key, job.Labels)
	if err != nil {
		return nil, err
	}
	c := &conversation{agent: to.Hostname(), pause: e.config.pause, stream: in.Stream == nil || *in.Stream}
	header, err := headers(in.Headers, &c.secrets)
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := limited(ctx, job.Manifest, in.Timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	d, _ := allowedTime(job.Manifest, in.Timeout)
	options := peer(to, header, d, 3)
	e.config.Credentials.arm(&options, &c.secrets)
	client, err := newSession(job.Manifest, e.config.AllowPrivate, options)
	if err != nil {
		return nil, err
	}
	c.report = report(job)
	defer c.report.close()
	defer client.close(c.cancel)

	if err := c.connect(ctx, client.Client, to, &e.config); err != nil {
		return nil, err
	}
	if err := c.send(ctx, m); err != nil {
		return nil, err
	}
	return c.result()
}

// conversation is what is known of the agent's task.
type conversation struct {
	client  *a2aclient.Client
	stream  bool
	pause   time.Duration
	report  *reporter
	secrets secrets

	task  *a2a.Task    // nil while the agent has named none
	reply *a2a.Message // an agent may answer without a task
	said  string       // what was reported last
	// labels are what the agent says of what it has read: they can only lower what is thought
	// of what it answers.
	labels []string
	agent  string // its host
}

// connect reads the agent's card and chooses how to speak with it.
func (c *conversation) connect(ctx context.Context, client *http.Client, to *url.URL, config *A2AConfig) error {
	parse := a2av0.NewAgentCardParser() // reads 1.0 too
	var served []byte
	resolver := &agentcard.Resolver{Client: client, CardParser: func(text []byte) (*a2a.AgentCard, error) {
		served = text
		return parse(text)
	}}
	root := (&url.URL{Scheme: to.Scheme, Host: to.Host}).String()
	var card *a2a.AgentCard
	var err error
	if strings.HasSuffix(to.Path, ".json") {
		card, err = resolver.Resolve(ctx, root, agentcard.WithPath(to.EscapedPath()))
	} else {
		card, err = resolver.Resolve(ctx, root+strings.TrimSuffix(to.EscapedPath(), "/"))
		if status := (*agentcard.ErrStatusNotOK)(nil); errors.As(err, &status) && status.StatusCode == http.StatusNotFound && strings.Trim(to.Path, "/") != "" {
			card, err = resolver.Resolve(ctx, root) // the URL is the endpoint's, and not the agent's
		}
	}
	if err != nil {
		return failed(ctx, "the agent's card was not read", err, c.secrets)
	}
	// Of several keys of one agent, set apart in several peers, each may have signed.
	var keys jose.JSONWebKeySet
	for _, p := range config.Peers {
		if p.Origin == originOf(to) {
			keys.Keys = append(keys.Keys, p.Keys.Keys...)
		}
	}
	switch {
	case len(keys.Keys) > 0:
		covered, err := verifyCard(served, &keys)
		if err == nil {
			card, err = parse(covered)
		}
		if err != nil {
			return final("the agent's card is not trusted: %s", cut(c.secrets.mask(err.Error()), 500))
		}
	case config.Signed:
		return final("the agent's card is not trusted: this node takes signed cards only, and knows no key of %s (a2a.peers)", cut(originOf(to), 200))
	}
	other := ""
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(i *a2a.AgentInterface) bool {
		if i == nil {
			return true
		}
		leads := len(keys.Keys) == 0 && !belongs(i.URL, to)
		if leads {
			other = i.URL
		}
		return leads
	})
	if other != "" && len(card.SupportedInterfaces) == 0 {
		return final("the agent's card leads to another host (%s), and the policy was asked about %s: give the url of that agent, or sign the card (a2a.peers)", cut(c.secrets.mask(other), 200), to.Hostname())
	}
	c.stream = c.stream && card.Capabilities.Streaming
	c.client, err = a2aclient.NewFromCard(ctx, card,
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithJSONRPCTransport(client),
		a2aclient.WithRESTTransport(client),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: client}),
		a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: client}),
	)
	if err != nil {
		return final("the agent's card names no interface that is spoken here: %s", cut(c.secrets.mask(err.Error()), 500))
	}
	return nil
}

// belongs reports whether an interface that a card names is at the host whose card it is, or at one below or above it: what
// the policy was asked about is a message to that host.
func belongs(address string, to *url.URL) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	at, of := strings.ToLower(u.Hostname()), strings.ToLower(to.Hostname())
	below := func(a, b string) bool {
		return strings.Contains(b, ".") && strings.HasSuffix(a, "."+b) && net.ParseIP(a) == nil
	}
	return at == of || below(at, of) || below(of, at)
}

// send gives the agent the message, and waits for the end.
func (c *conversation) send(ctx context.Context, m *a2a.Message) error {
	if c.stream {
		if err := c.follow(ctx, c.client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: m})); err != nil {
			return err
		}
	} else {
		answer, err := c.client.SendMessage(ctx, &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: true}})
		if err != nil {
			return c.failed(ctx, err)
		}
		c.take(answer)
	}
	if c.reply != nil {
		return nil
	}
	if c.task == nil {
		return &Error{Message: "the agent answered with neither a task nor a message"}
	}
	return c.poll(ctx)
}

// follow takes what is streamed. A stream that breaks off is no failure once the
// task is known: it can be asked after.
func (c *conversation) follow(ctx context.Context, events iter.Seq2[a2a.Event, error]) error {
	for event, err := range events {
		if err != nil && (c.task == nil || ctx.Err() != nil) {
			return c.failed(ctx, err)
		}
		if err != nil {
			break
		}
		c.take(event)
		if c.reply != nil || c.over() {
			break
		}
	}
	if gone := ended(ctx); gone != nil {
		return gone
	}
	return nil
}

// take adds what the agent said.
func (c *conversation) take(event a2a.Event) {
	switch e := event.(type) {
	case *a2a.Message:
		c.reply = e
		c.label(e.Metadata)
	case *a2a.Task:
		c.task = e
		c.label(e.Metadata)
		c.labelMessage(e.Status.Message)
		for _, made := range e.Artifacts {
			c.labelArtifact(made)
		}
	case *a2a.TaskStatusUpdateEvent:
		c.about(e.TaskInfo())
		c.task.Status = e.Status
		c.label(e.Metadata)
		c.labelMessage(e.Status.Message)
	case *a2a.TaskArtifactUpdateEvent:
		c.about(e.TaskInfo())
		c.artifact(e)
		c.label(e.Metadata)
		c.labelArtifact(e.Artifact)
	}
	if c.task == nil {
		return
	}
	said := stateName(c.task.Status.State)
	if text := text(c.task.Status.Message); text != "" {
		said += ": " + text
	}
	if said = c.secrets.mask(said); said != c.said {
		c.said = said
		c.report.say(-1, said)
	}
}

// label notes the labels that the agent gives to what it says.
func (c *conversation) label(metadata map[string]any) {
	said, err := json.Marshal(metadata[act.LabelsKey])
	if doc, wrong := rawjson.Parse(said); err == nil && wrong == nil {
		c.labels = content.AppendLabels(c.labels, doc.Root())
	}
}

func (c *conversation) labelMessage(m *a2a.Message) {
	if m != nil {
		c.label(m.Metadata)
	}
}

func (c *conversation) labelArtifact(made *a2a.Artifact) {
	if made != nil {
		c.label(made.Metadata)
	}
}

func (c *conversation) about(info a2a.TaskInfo) {
	if c.task == nil {
		c.task = &a2a.Task{ID: info.TaskID, ContextID: info.ContextID}
	}
}

// artifact adds an artifact, or more of one.
func (c *conversation) artifact(e *a2a.TaskArtifactUpdateEvent) {
	if e.Artifact == nil {
		return
	}
	for i, have := range c.task.Artifacts {
		if have != nil && have.ID == e.Artifact.ID {
			if e.Append {
				have.Parts = append(have.Parts, e.Artifact.Parts...)
			} else {
				c.task.Artifacts[i] = e.Artifact
			}
			return
		}
	}
	c.task.Artifacts = append(c.task.Artifacts, e.Artifact)
}

// over is whether the agent does no more by itself.
func (c *conversation) over() bool {
	if c.task == nil {
		return false
	}
	s := c.task.Status.State
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// poll asks after the task, less and less often, until it is over. A few
// failures in a row are let pass.
func (c *conversation) poll(ctx context.Context) error {
	pause := c.pause
	for failures := 0; !c.over(); {
		if err := wait(ctx, pause); err != nil {
			return err
		}
		pause = min(pause*3/2, 10*c.pause)
		task, err := c.client.GetTask(ctx, &a2a.GetTaskRequest{ID: c.task.ID})
		if err == nil && task.ID != c.task.ID {
			err = errors.New("the agent answered with another task")
		}
		if err != nil {
			if failures++; failures == 5 || ctx.Err() != nil {
				return c.failed(ctx, err)
			}
			continue
		}
		failures = 0
		c.take(task)
	}
	return nil
}

// cancel tells the agent that nobody waits any more. It is called at the end,
// whatever the end was.
func (c *conversation) cancel() {
	if c.client == nil {
		return
	}
	if c.task != nil && c.task.ID != "" && !c.over() {
		ctx, done := context.WithTimeout(context.Background(), goodbye)
		defer done()
		c.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: c.task.ID})
	}
	c.client.Destroy()
}

func (c *conversation) failed(ctx context.Context, err error) error {
	lasting := errors.Is(err, a2a.ErrInvalidParams) || errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, a2a.ErrUnsupportedOperation) ||
		errors.Is(err, a2a.ErrMethodNotFound) || errors.Is(err, a2a.ErrUnauthorized) || errors.Is(err, a2a.ErrUnauthenticated)
	err = failed(ctx, "the agent did not do it", err, c.secrets)
	if own := (*Error)(nil); errors.As(err, &own) {
		own.Final = own.Final || lasting
	}
	return err
}

// stateName is a state as people and A2A 0.3 write it: input-required.
func stateName(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// text is the text of a message.
func text(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var texts []string
	for _, p := range m.Parts {
		if p != nil && p.Text() != "" {
			texts = append(texts, p.Text())
		}
	}
	return cut(strings.Join(texts, "\n"), maxMessage)
}

// result is what the agent gave. A task that did not complete is an error, with
// what there is.
func (c *conversation) result() (jsontext.Value, error) {
	r := struct {
		Task      a2a.TaskID      `json:"task_id,omitzero"`
		Context   string          `json:"context_id"`
		State     string          `json:"state"`
		Artifacts []*a2a.Artifact `json:"artifacts"`
		Message   *a2a.Message    `json:"message,omitzero"`
		History   []*a2a.Message  `json:"history,omitempty"`
		Agent     string          `json:"agent"`
		Labels    []string        `json:"labels,omitempty"`
	}{State: "completed", Artifacts: []*a2a.Artifact{}, Agent: c.agent, Labels: c.labels}
	if c.reply != nil {
		r.Task, r.Context, r.Message = c.reply.TaskID, c.reply.ContextID, c.reply
		return c.secrets.result(r)
	}
	t := c.task
	r.Task, r.Context, r.State, r.Message, r.History = t.ID, t.ContextID, stateName(t.Status.State), t.Status.Message, t.History
	if t.Artifacts != nil {
		r.Artifacts = t.Artifacts
	}
	value, err := c.secrets.result(r)
	if err != nil || t.Status.State == a2a.TaskStateCompleted {
		return value, err
	}
	failure := &Error{Message: "the agent's task is " + r.State, Result: value}
	if said := text(t.Status.Message); said != "" {
		failure.Message += ": " + cut(c.secrets.mask(said), 500)
	}
	// Asking the same again gives the same.
	failure.Final = t.Status.State != a2a.TaskStateFailed && t.Status.State != a2a.TaskStateCanceled
	return nil, failure
}
