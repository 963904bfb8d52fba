package executor

import (
	"context"
	stdjson "encoding/json" // what the SDK takes arguments as that it does not look at
	"errors"
	"io"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/sandbox"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MCPConfig is for NewMCP.
type MCPConfig struct {
	// AllowPrivate lets servers be at addresses that are not public.
	AllowPrivate bool
	// AllowCommands lets tasks start servers that speak over their standard
	// streams. They run inside package sandbox, held to the whole manifest.
	AllowCommands bool
	// Scratch and ScratchBytes are as in CommandConfig, for servers that are started.
	Scratch      string
	ScratchBytes int64
	// Credentials are sent to their servers by requests that have none of their own.
	Credentials Credentials
}

// NewMCP returns mcp_executor, which uses a tool, a resource or a prompt of an
// MCP server.
func NewMCP(c MCPConfig) Executor { return &mcpExecutor{c} }

type mcpExecutor struct{ config MCPConfig }

func (e *mcpExecutor) Describe() Description {
	d := Description{
		ID:           "mcp_executor",
		Name:         "MCP",
		Description:  "Calls a tool of an MCP server, reads one of its resources, or gets one of its prompts.",
		Tags:         []string{"mcp", "tool", "network"},
		InputSchema:  mcpSchema,
		ResultSchema: mcpResultSchema,
		Manifest:     act.Manifest{TimeoutSeconds: 300, NetworkAllowed: true},
		Enforces:     networkLimits, // for a server over HTTP; one that is started is held to all limits
	}
	if e.config.AllowCommands {
		d.Manifest.MaxMemoryMB, d.Manifest.MaxCPUPercent = 1024, 200
	}
	return d
}

var mcpSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "url": {"type": "string", "description": "The server's Streamable HTTP endpoint. Either this or command."},
    "command": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "The server's program and its arguments, if this node lets servers be started; it speaks over its standard streams."},
    "tool": {"type": "string", "description": "The tool to call. One of tool, resource and prompt."},
    "resource": {"type": "string", "description": "The URI of the resource to read."},
    "prompt": {"type": "string", "description": "The prompt to get."},
    "arguments": {"type": "object", "description": "Of the tool; or of the prompt, and then strings."},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Headers of the requests. They are sent to no other host than the URL's, and shown in no result."},
    "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables of the environment of a server that is started. They are shown in no result."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may take; never more than the manifest allows."}
  },
  "additionalProperties": true
}`)

type mcpInputs struct {
	URL       string            `json:"url"`
	Command   []string          `json:"command"`
	Tool      string            `json:"tool"`
	Resource  string            `json:"resource"`
	Prompt    string            `json:"prompt"`
	Arguments jsontext.Value    `json:"arguments"`
	Headers   map[string]string `json:"headers"`
	Env       map[string]string `json:"env"`
	Timeout   *float64          `json:"timeout"`
}

func (in *mcpInputs) check() error {
	asked := 0
	for _, s := range []string{in.Tool, in.Resource, in.Prompt} {
		if s != "" {
			asked++
		}
	}
	if asked != 1 {
		return final("one of the inputs \"tool\", \"resource\" and \"prompt\" is needed, and only one")
	}
	if (in.URL == "") == (len(in.Command) == 0) {
		return final("one of the inputs \"url\" and \"command\" is needed, and not both")
	}
	if len(in.Arguments) == 0 {
		in.Arguments = jsontext.Value("{}")
	}
	if in.Arguments.Kind() != '{' {
		return final("the input \"arguments\" must be an object, not %s", kindName(in.Arguments.Kind()))
	}
	return nil
}

func (e *mcpExecutor) Execute(ctx context.Context, job *Job) (jsontext.Value, error) {
	var in mcpInputs
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	ctx, cancel, err := limited(ctx, job.Manifest, in.Timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if in.URL != "" {
		return e.remote(ctx, job, in)
	}
	return e.started(ctx, job, in)
}

// remote uses a server over HTTP.
func (e *mcpExecutor) remote(ctx context.Context, job *Job, in mcpInputs) (jsontext.Value, error) {
	to, err := webURL("url", in.URL)
	if err != nil {
		return nil, err
	}
	var s secrets
	header, err := headers(in.Headers, &s)
	if err != nil {
		return nil, err
	}
	d, _ := allowedTime(job.Manifest, in.Timeout)
	// No redirect is followed: what a server is sent is meant for it.
	options := peer(to, header, d, 0)
	e.config.Credentials.arm(&options, &s)
	client, err := newSession(job.Manifest, e.config.AllowPrivate, options)
	if err != nil {
		return nil, err
	}
	progress := report(job)
	defer progress.close()
	transport := &mcp.StreamableClientTransport{Endpoint: to.String(), HTTPClient: client.Client, MaxRetries: 2, DisableStandaloneSSE: true, MaxEventSize: 8 << 20}
	connection, err := connect(ctx, transport, progress, s)
	if err != nil {
		client.close()
		return nil, failed(ctx, "the MCP server was not reached", err, s)
	}
	defer client.close(func() {
		if ctx.Err() != nil {
			// The SDK tells the server in the background that nobody waits; closing
			// at once would stop that.
			time.Sleep(200 * time.Millisecond)
		}
		connection.Close()
	})
	return in.use(ctx, connection, s)
}

// started starts a server in the sandbox, and uses it over its standard streams.
func (e *mcpExecutor) started(ctx context.Context, job *Job, in mcpInputs) (jsontext.Value, error) {
	if !e.config.AllowCommands {
		return nil, final("this node starts no MCP servers; use \"url\"")
	}
	var s secrets
	for _, value := range in.Env {
		s.add(value)
	}
	p, err := newProgram(ctx, job, scratch{parent: e.config.Scratch, bytes: e.config.ScratchBytes}, 64<<10, in.Timeout, in.Env)
	if err != nil {
		return nil, err
	}
	defer p.close()

	fromUs, toServer := io.Pipe()
	toUs, fromServer := io.Pipe()
	run, kill := context.WithCancel(ctx)
	defer kill()
	var outcome sandbox.Outcome
	var runErr error
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		outcome, runErr = sandbox.Run(run, p.manifest, sandbox.Command{Args: in.Command, Dir: p.scratch, Env: p.env, Stdin: fromUs, Stdout: fromServer, Stderr: p.stderr, Disk: p.disk})
		fromUs.Close()
		fromServer.Close()
	}()
	value, err := func() (jsontext.Value, error) {
		connection, err := connect(ctx, &mcp.IOTransport{Reader: toUs, Writer: toServer, MaxLineLength: 8 << 20}, p.report, s)
		if err != nil {
			return nil, failed(ctx, "the MCP server did not answer", err, s)
		}
		defer connection.Close()
		return in.use(ctx, connection, s)
	}()
	// A server ends when its input does; one that does not is killed.
	toServer.Close()
	toUs.Close()
	select {
	case <-gone:
	case <-time.After(goodbye / 3):
		kill()
	case <-ctx.Done():
	}
	<-gone
	if errors.Is(runErr, sandbox.ErrRefused) {
		return nil, Final(runErr)
	}
	if outcome.OverDisk != "" || outcome.OverQuota != "" {
		return nil, &Error{Message: overDisk(outcome)}
	}
	if own := (*Error)(nil); errors.As(err, &own) && own.Result == nil && !own.Final {
		stderr, _ := p.stderr.text()
		if v, encoding := encode(struct {
			Stderr   string `json:"stderr"`
			ExitCode int    `json:"exit_code"`
			Signal   string `json:"signal,omitzero"`
		}{s.mask(stderr), outcome.ExitCode, outcome.Signal}); encoding == nil {
			own.Result = v
		}
	}
	return value, err
}

func connect(ctx context.Context, t mcp.Transport, progress *reporter, s secrets) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "reeve", Version: "1"}, &mcp.ClientOptions{
		// A server may ask for nothing: no files, no model, and no person is here.
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			fraction := -1.0
			if r.Params.Total > 0 && r.Params.Progress >= 0 {
				fraction = r.Params.Progress / r.Params.Total
			}
			progress.say(fraction, s.mask(r.Params.Message))
		},
	})
	return client.Connect(ctx, t, nil)
}

// use does what the inputs ask for.
func (in *mcpInputs) use(ctx context.Context, c *mcp.ClientSession, s secrets) (jsontext.Value, error) {
	switch {
	case in.Tool != "":
		return in.call(ctx, c, s)
	case in.Resource != "":
		r, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: in.Resource})
		if err != nil {
			return nil, mcpFailed(ctx, "the resource was not read", err, s)
		}
		if r.NeedsInput() {
			return nil, errNeedsInput
		}
		return s.result(struct {
			Contents []*mcp.ResourceContents `json:"contents"`
		}{r.Contents})
	default:
		var arguments map[string]string
		if err := json.Unmarshal(in.Arguments, &arguments); err != nil {
			return nil, final("a prompt's arguments must be strings")
		}
		r, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: in.Prompt, Arguments: arguments})
		if err != nil {
			return nil, mcpFailed(ctx, "the prompt was not given", err, s)
		}
		if r.NeedsInput() {
			return nil, errNeedsInput
		}
		return s.result(struct {
			Description string               `json:"description,omitzero"`
			Messages    []*mcp.PromptMessage `json:"messages"`
		}{r.Description, r.Messages})
	}
}

var errNeedsInput = final("the MCP server asks for something before it answers (an input, a model, files), and there is nobody here to give it")

func (in *mcpInputs) call(ctx context.Context, c *mcp.ClientSession, s secrets) (jsontext.Value, error) {
	params := func() *mcp.CallToolParams {
		p := &mcp.CallToolParams{Name: in.Tool, Arguments: stdjson.RawMessage(in.Arguments)}
		p.SetProgressToken("1")
		return p
	}
	r, err := c.CallTool(ctx, params())
	if wire := (*jsonrpc.Error)(nil); errors.As(err, &wire) && wire.Code == mcp.CodeHeaderMismatch {
		// The tool wants some of its arguments as headers too. Which ones is in the
		// list of tools, from which the SDK takes it.
		for cursor, pages := "", 0; pages < 20; pages++ {
			list, listed := c.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			if listed != nil || list.NextCursor == "" {
				break
			}
			cursor = list.NextCursor
		}
		r, err = c.CallTool(ctx, params())
	}
	if err != nil {
		return nil, mcpFailed(ctx, "the tool was not called", err, s)
	}
	if r.NeedsInput() {
		return nil, errNeedsInput
	}
	if r.Content == nil {
		r.Content = []mcp.Content{}
	}
	value, err := s.result(struct {
		Content    []mcp.Content `json:"content"`
		Structured any           `json:"structuredContent,omitzero"`
		IsError    bool          `json:"is_error"`
	}{r.Content, r.StructuredContent, r.IsError})
	if err != nil || !r.IsError {
		return value, err
	}
	message := "the tool failed"
	if text, ok := r.Content, len(r.Content) > 0; ok {
		if t, ok := text[0].(*mcp.TextContent); ok {
			message += ": " + cut(s.mask(t.Text), 500)
		}
	}
	return nil, &Error{Message: message, Result: value}
}

// result encodes and masks.
func (s secrets) result(v any) (jsontext.Value, error) {
	value, err := encode(v)
	if err == nil {
		value, err = s.maskJSON(value)
	}
	if err != nil {
		return nil, final("%v", err)
	}
	return value, nil
}

// mcpFailed is failed, and knows which of the protocol's errors are lasting.
func mcpFailed(ctx context.Context, what string, err error, s secrets) error {
	lasting := false
	if wire := (*jsonrpc.Error)(nil); errors.As(err, &wire) {
		lasting = wire.Code == jsonrpc.CodeInvalidParams || wire.Code == jsonrpc.CodeMethodNotFound
	}
	err = failed(ctx, what, err, s)
	if own := (*Error)(nil); errors.As(err, &own) {
		own.Final = own.Final || lasting
	}
	return err
}
