package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonbody"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/mcp/pins"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Paths of what a node serves to proxies and to who looks after tools.
const (
	judgePath   = "/mcp/judge"
	awaitPath   = "/mcp/await"
	toolsPath   = "/mcp/tools"
	touchedPath = "/mcp/touched"
	serversPath = "/mcp/servers"
	answerPath  = "/mcp/answer"
	forgetPath  = "/mcp/forget"
)

// awaitFor is how long one request waits for people at most.
const awaitFor = 20 * time.Second

// Remote is the guardian of a running node: each question is a request to it.
type Remote struct {
	// Client reaches the node; nil means http.DefaultClient.
	Client *http.Client
	// URL is where the node is, such as http://127.0.0.1:8080.
	URL string
	// Key is an API key of the role agent; empty for none.
	Key string
}

type awaitQuestion struct {
	Approval string `json:"approval"`
}

type awaitAnswer struct {
	Answered bool `json:"answered"`
}

type toolsQuestion struct {
	Server      string         `json:"server"`
	Pin         pins.Mode      `json:"pin"`
	Definitions jsontext.Value `json:"definitions"`
}

type toolsAnswer struct {
	Denied map[string]act.Reason `json:"denied"`
}

type touchedAnswer struct {
	Methods map[string]bool `json:"methods"`
}

// Servers are the MCP servers of which tools are known.
type Servers struct {
	Servers []*pins.Server `json:"servers"`
	// Damaged are those of which what is stored cannot be read: none of their tools is called.
	Damaged []*guard.DamagedError `json:"damaged,omitempty"`
}

// ToolAnswer is a person's answer about a definition of a tool that is held.
type ToolAnswer struct {
	Server string `json:"server"` // its id
	Tool   string `json:"tool"`
	// Hash is that of the definition that was looked at, or its beginning.
	Hash  string `json:"hash,omitzero"`
	Agree bool   `json:"agree"`
}

// ServerName names an MCP server by its id.
type ServerName struct {
	Server string `json:"server"`
}

// Judge implements Guardian.
func (r *Remote) Judge(ctx context.Context, q *Question) (*Answer, error) {
	a := new(Answer)
	return a, r.ask(ctx, http.MethodPost, judgePath, q, a)
}

// Await implements Guardian.
func (r *Remote) Await(ctx context.Context, id string) error {
	for {
		var a awaitAnswer
		if err := r.ask(ctx, http.MethodPost, awaitPath, awaitQuestion{id}, &a); err != nil || a.Answered {
			return err
		}
	}
}

// Tools implements Guardian.
func (r *Remote) Tools(ctx context.Context, server string, pin pins.Mode, definitions jsontext.Value) (map[string]act.Reason, error) {
	var a toolsAnswer
	err := r.ask(ctx, http.MethodPost, toolsPath, toolsQuestion{server, pin, definitions}, &a)
	return a.Denied, err
}

// Touched implements Guardian.
func (r *Remote) Touched(ctx context.Context) (map[string]bool, error) {
	var a touchedAnswer
	err := r.ask(ctx, http.MethodGet, touchedPath, nil, &a)
	return a.Methods, err
}

// Servers lists the MCP servers of which tools are known.
func (r *Remote) Servers(ctx context.Context) (a Servers, err error) {
	err = r.ask(ctx, http.MethodGet, serversPath, nil, &a)
	return a, err
}

// Answer answers about a definition of a tool that is held.
func (r *Remote) Answer(ctx context.Context, q ToolAnswer) (*pins.Tool, error) {
	t := new(pins.Tool)
	return t, r.ask(ctx, http.MethodPost, answerPath, q, t)
}

// Forget forgets the tools of a server.
func (r *Remote) Forget(ctx context.Context, q ServerName) error {
	return r.ask(ctx, http.MethodPost, forgetPath, q, new(ServerName))
}

// ErrUnreachable: the node did not answer.
var ErrUnreachable = errors.New("the node could not be reached")

func (r *Remote) ask(ctx context.Context, method, path string, q, a any) error {
	var body []byte
	if q != nil {
		var err error
		if body, err = json.Marshal(q); err != nil {
			return err
		}
	}
	request, err := jsonrpc.NewRequest(ctx, method, r.URL+path, r.Key, body)
	if err != nil {
		return err
	}
	answer, err := jsonrpc.Fetch(cmp.Or(r.Client, http.DefaultClient), request, maxAnswer)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if answer.Code == http.StatusNotFound && !bytes.HasPrefix(answer.Body, []byte{'{'}) {
		return errors.New("the node that runs there serves no MCP proxies")
	}
	return answer.Read(a)
}

// maxAnswer bounds what a node answers, and MaxQuestion what it is asked: a
// message and what stands around it.
const (
	maxAnswer   = 64 << 20
	MaxQuestion = 40 << 20
)

// Serve returns what a node serves below /mcp/: to proxies that ask it (agents and
// admins), and to people who look after tools (/mcp/servers, /mcp/answer,
// /mcp/forget: approvers and admins). It wants the caller in the context: see identity.NewContext.
func Serve(g *guard.Guard, p *pins.Pins) http.Handler {
	mux := http.NewServeMux()
	local := func(ctx context.Context) *Local { return &Local{Guard: g, Pins: p, Principal: askerIn(ctx)} }
	serve(mux, "POST "+judgePath, func(ctx context.Context, q *Question) (*Answer, error) {
		if err := mayAsk(ctx); err != nil {
			return nil, err
		}
		return local(ctx).Judge(ctx, q)
	})
	serve(mux, "POST "+awaitPath, func(ctx context.Context, q *awaitQuestion) (awaitAnswer, error) {
		if err := mayAsk(ctx); err != nil {
			return awaitAnswer{}, err
		}
		waiting, cancel := context.WithTimeout(ctx, awaitFor)
		defer cancel()
		err := g.Await(waiting, q.Approval)
		if errors.Is(err, context.DeadlineExceeded) {
			return awaitAnswer{}, nil
		}
		return awaitAnswer{Answered: err == nil}, err
	})
	serve(mux, "POST "+toolsPath, func(ctx context.Context, q *toolsQuestion) (toolsAnswer, error) {
		if err := mayAsk(ctx); err != nil {
			return toolsAnswer{}, err
		}
		denied, err := local(ctx).Tools(ctx, q.Server, q.Pin, q.Definitions)
		return toolsAnswer{denied}, err
	})
	serve(mux, "GET "+touchedPath, func(ctx context.Context, _ *struct{}) (touchedAnswer, error) {
		methods, err := local(ctx).Touched(ctx)
		return touchedAnswer{methods}, err
	})
	serve(mux, "GET "+serversPath, func(ctx context.Context, _ *struct{}) (Servers, error) {
		if err := mayAnswer(ctx); err != nil {
			return Servers{}, err
		}
		list, bad, err := p.Servers(ctx)
		return Servers{list, bad}, err
	})
	serve(mux, "POST "+answerPath, func(ctx context.Context, q *ToolAnswer) (*pins.Tool, error) {
		if err := mayAnswer(ctx); err != nil {
			return nil, err
		}
		by, _ := identity.FromContext(ctx)
		return p.Answer(ctx, q.Server, q.Tool, q.Hash, q.Agree, by)
	})
	serve(mux, "POST "+forgetPath, func(ctx context.Context, q *ServerName) (*ServerName, error) {
		if err := mayAnswer(ctx); err != nil {
			return nil, err
		}
		by, _ := identity.FromContext(ctx)
		return q, p.Forget(ctx, q.Server, by)
	})
	return mux
}

// Here is the principal of a proxy of this machine's operator. It is not the
// operator, who may answer what the proxy asks.
var Here = act.Principal{Name: "mcp", Method: "local"}

func askerIn(ctx context.Context) act.Principal {
	p, _ := identity.FromContext(ctx)
	if p.Method == identity.Operator.Method {
		return Here
	}
	return p
}

// refused is an error with its HTTP status.
type refused struct {
	status int
	error
}

func badQuestion(format string, args ...any) error {
	return refused{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// mayAsk: approvers look after what proxies ask, and ask nothing themselves.
func mayAsk(ctx context.Context) error {
	if _, role := identity.FromContext(ctx); !role.Acts() {
		return refused{http.StatusForbidden, errors.New("only the roles agent and admin ask")}
	}
	return nil
}

func mayAnswer(ctx context.Context) error {
	if _, role := identity.FromContext(ctx); role != identity.Approver && role != identity.Admin {
		return refused{http.StatusForbidden, errors.New("only the roles approver and admin look after tools")}
	}
	return nil
}

// serve routes a pattern to a function from a JSON request to a JSON answer.
func serve[Q, A any](mux *http.ServeMux, pattern string, f func(context.Context, *Q) (A, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		q, status := new(Q), http.StatusOK
		var a A
		var err error
		if r.Method == http.MethodPost {
			var text []byte
			if text, err = io.ReadAll(http.MaxBytesReader(w, r.Body, MaxQuestion)); err == nil {
				err = jsonbody.Read(text, q)
			} else {
				err = jsonbody.InWords(err)
			}
			if err != nil {
				err = refused{http.StatusBadRequest, err}
			}
		}
		if err == nil {
			a, err = f(r.Context(), q)
		}
		var answer any = a
		if err != nil {
			text := err.Error()
			p, ok := errors.AsType[refused](err)
			switch {
			case ok:
				status = p.status
			case errors.Is(err, pins.ErrNoTool), errors.Is(err, pins.ErrNoServer):
				status = http.StatusNotFound
			case errors.Is(err, guard.ErrChanged):
				status = http.StatusConflict
			default: // whose cause is for the node's operator
				status = http.StatusInternalServerError
				if r.Context().Err() == nil {
					slog.Error("a proxy was not answered", "path", r.URL.Path, "error", err)
				}
				text = "the node could not decide and record this; nothing was allowed"
			}
			answer = map[string]string{"error": text}
		}
		w.Header().Set("Content-Type", "application/json")
		text, err := json.Marshal(answer, json.Deterministic(true))
		if err != nil {
			status, text = http.StatusInternalServerError, []byte(`{"error":"the answer could not be written"}`)
		}
		w.WriteHeader(status)
		w.Write(text)
	})
}
