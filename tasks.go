package reeve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/flow"
	"reeve.example/reeve/internal/deliver"
	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/outbound"
	"reeve.example/reeve/internal/quota"
	"reeve.example/reeve/internal/secret"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/task"
)

// executors are those that every node has, and those given to Open.
func (c *Config) executors(own []executor.Executor) (*executor.Registry, error) {
	llm, err := c.llm()
	if err != nil {
		return nil, err
	}
	credentials := llm.Credentials
	peers, err := c.peers()
	if err != nil {
		return nil, err
	}
	if c.Tasks.Scratch != "" {
		if err := os.MkdirAll(c.Tasks.Scratch, 0o700); err != nil {
			return nil, fmt.Errorf("tasks.scratch: %w", err)
		}
	}
	list := []executor.Executor{
		executor.NewSystemInfo(executor.SystemInfoConfig{}), executor.NewAggregate(),
		executor.NewREST(executor.RESTConfig{AllowPrivate: c.Tasks.AllowPrivate, Credentials: credentials}),
		executor.NewLLM(llm),
		executor.NewMCP(executor.MCPConfig{AllowPrivate: c.Tasks.AllowPrivate, AllowCommands: c.AllowCommands, Scratch: c.Tasks.Scratch, ScratchBytes: c.Tasks.ScratchBytes, Credentials: credentials}),
		executor.NewA2A(executor.A2AConfig{AllowPrivate: c.Tasks.AllowPrivate, Credentials: credentials, Peers: peers, Signed: c.A2A.Signed}),
		executor.NewWASM(executor.WASMConfig{Modules: c.Tasks.Modules, Scratch: c.Tasks.Scratch, ScratchBytes: c.Tasks.ScratchBytes}),
	}
	if c.AllowCommands {
		list = append(list, executor.NewCommand(executor.CommandConfig{Scratch: c.Tasks.Scratch, ScratchBytes: c.Tasks.ScratchBytes}))
	}
	if c.A2AConformanceAgent {
		list = append(list, a2a.NewConformance())
	}
	registry := &executor.Registry{}
	for _, e := range append(list, own...) {
		if err := registry.Register(e); err != nil {
			return nil, fmt.Errorf("executor: %w", err)
		}
	}
	return registry, nil
}

// llm is the model of llm_executor, with the credentials that all executors have.
func (c *Config) llm() (llm executor.LLMConfig, err error) {
	llm = executor.LLMConfig{
		BaseURL: c.LLM.URL, Model: c.LLM.Model, PromptPrice: c.LLM.PromptPrice, CompletionPrice: c.LLM.CompletionPrice,
		AllowPrivate: true, // the node's operator named it
	}
	if llm.Credentials, err = c.credentials(); err != nil {
		return llm, err
	}
	if c.LLM.Key != "" {
		key, err := secret.Read(c.LLM.Key)
		if err != nil {
			return llm, fmt.Errorf("llm.key: %w", err)
		}
		llm.Key = string(key)
	}
	return llm, nil
}

// peers are the agents whose cards must be signed.
func (c *Config) peers() (peers []executor.Peer, err error) {
	for _, text := range c.A2A.Peers {
		p, err := executor.ParsePeer(text, secret.Read)
		if err != nil {
			return nil, fmt.Errorf("a2a.peers: %w", err)
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// pushSecret signs push notifications; nil for none.
func (c *Config) pushSecret() ([]byte, error) {
	if c.Tasks.PushSecret == "" {
		return nil, nil
	}
	signing, err := secret.Read(c.Tasks.PushSecret)
	if err != nil {
		return nil, fmt.Errorf("tasks.push-secret: %w", err)
	}
	return signing, nil
}

// credentials reads what the node's tasks are known by to services.
func (c *Config) credentials() (list executor.Credentials, err error) {
	seen := map[string]bool{}
	for _, text := range c.Credentials {
		one, err := executor.ParseCredential(text, secret.Read)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		key := one.To.String() + " " + one.Header
		if seen[key] {
			return nil, fmt.Errorf("credentials: there are two for the %s of %s", one.Header, one.To)
		}
		seen[key] = true
		list = append(list, one)
	}
	return list, nil
}

// Executors lists what the node of a configuration can execute.
func (c *Config) Executors() ([]executor.Description, error) {
	registry, err := c.executors(nil)
	if err != nil {
		return nil, err
	}
	return registry.List(), nil
}

// openEngine makes what executes the node's tasks.
func (n *Node) openEngine(own []executor.Executor) (err error) {
	if n.executors, err = n.cfg.executors(own); err != nil {
		return err
	}
	signing, err := n.cfg.pushSecret()
	if err != nil {
		return err
	}
	callbacks := &outbound.Dialer{AllowPrivate: n.cfg.AllowPrivateCallbacks}
	n.engine.Store(engine.New(engine.Config{
		Guard: n.guard, Store: n.store, Executors: n.executors, Dispatcher: n.dispatcher(), Node: n.log.Node(),
		Quota:      quota.Most{N: n.cfg.Quotas.Tasks, Bytes: n.cfg.Quotas.TaskBytes},
		Shared:     n.shared(),
		Refused:    n.metrics.Quota,
		Revoked:    n.auth.Revoked,
		Concurrent: n.cfg.Tasks.Concurrent, Grace: n.cfg.Tasks.Grace,
		Push:  engine.NewPusher(callbacks.Client(outbound.Options{Timeout: 10 * time.Second, Redirects: 0}), signing),
		Ended: n.metrics.TaskEnded, Span: n.spanOf, Logger: n.logger,
	}))
	n.flow = flow.NewServer(flow.Config{
		Engine: n.engine.Load(), Executors: n.executors, Open: n.open, Version: Version(), Logger: n.logger,
		CheckURL: n.checkCallback, Wait: n.cfg.A2A.Wait, Hold: server.Hold,
	})
	return n.openA2A()
}

// checkCallback says why an address may not be told of tasks.
func (n *Node) checkCallback(address string) error {
	err := (&outbound.Dialer{AllowPrivate: n.cfg.AllowPrivateCallbacks}).CheckURL(address)
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), outbound.ErrRefused.Error()+": ")
	if !n.cfg.AllowPrivateCallbacks {
		text += " (a node that is started with --allow-private-callbacks calls such addresses)"
	}
	return errors.New(text)
}

// flowRPC answers the operator's calls of tasks.
func (n *Node) flowRPC() http.Handler {
	own := n.flow.Namespace()
	h := &jsonrpc.Handler{Own: &own, MaxBody: n.cfg.Limits.Body, MaxBatch: n.cfg.Limits.Batch, Logger: n.logger}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Serve(r.Context(), w, r) })
}

// dispatcher hands out ready tasks: between nodes, or in this one.
func (n *Node) dispatcher() engine.Dispatcher {
	if shared, ok := n.store.(*postgres.Store); ok {
		return shared.Dispatcher(n.logger)
	}
	return &engine.Memory{Ready: func(ctx context.Context, id string, limit int) ([]task.Row, error) {
		return n.store.TaskRows(ctx, task.RowQuery{Phase: task.Ready, Executor: id, Limit: limit})
	}}
}

// tasksChanged passes on what a commit made of tasks.
func (n *Node) tasksChanged(w *task.Writes) {
	if e := n.engine.Load(); e != nil {
		e.Changed(w)
	}
}

// runTasks executes tasks until ctx ends.
func (n *Node) runTasks(ctx context.Context) {
	if err := n.engine.Load().Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		n.logger.Error("tasks are not executed any more", "error", err)
	}
}

// Engine returns what executes the node's tasks.
func (n *Node) Engine() *engine.Engine { return n.engine.Load() }

// pushesShown is how many push notifications of each protocol are listed.
const pushesShown = 200

// pushes tells how far push notifications have come, of one task or of all. What is no id of a
// tree can be one of A2A's tasks.
func (n *Node) pushes(ctx context.Context, of string) (list []deliver.State, err error) {
	root, no := task.ParseID(of)
	if e := n.engine.Load(); e != nil && (of == "" || no == nil) {
		if list, err = e.Pushes(ctx, root, pushesShown); err != nil {
			return nil, err
		}
	}
	if n.a2a != nil {
		more, err := n.a2a.Pushes(ctx, of, pushesShown)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}
