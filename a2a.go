package reeve

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"reeve.example/reeve/a2a"
	"reeve.example/reeve/internal/outbound"
	"reeve.example/reeve/internal/secret"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/workflow"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"
)

// openA2A makes the agent that speaks A2A.
func (n *Node) openA2A() error {
	callbacks := &outbound.Dialer{AllowPrivate: n.cfg.AllowPrivateCallbacks}
	_, shared := n.store.(*postgres.Store)
	cfg := a2a.Config{
		Guard: n.guard, Engine: n.engine.Load(), Executors: n.executors, Open: n.open,
		URL: n.cfg.A2A.URL, Version: Version(), Alone: !shared, Node: n.log.Node(), MaxBody: n.cfg.Limits.Body,
		CheckURL: n.checkCallback, Callback: callbacks.Client(outbound.Options{Timeout: 10 * time.Second, Redirects: 3}),
		Wait: n.cfg.A2A.Wait, Hold: server.Hold, Logger: n.logger,
	}
	var err error
	if cfg.Workflow, err = n.cfg.a2aWorkflow(); err != nil {
		return err
	}
	if cfg.Sign, err = n.cfg.a2aSigner(); err != nil {
		return err
	}
	n.a2a = a2a.NewServer(cfg)
	return nil
}

// a2aWorkflow is whose tasks messages are given to; nil for none.
func (c *Config) a2aWorkflow() (jsontext.Value, error) {
	switch {
	case c.A2AConformanceAgent:
		return a2a.ConformanceWorkflow, nil
	case c.A2A.Workflow == "":
		return nil, nil
	}
	w, err := readWorkflow(c.A2A.Workflow)
	if err != nil {
		return nil, fmt.Errorf("a2a.workflow: %w", err)
	}
	return w, nil
}

// a2aSigner signs the node's card; nil for none.
func (c *Config) a2aSigner() (*a2a.Signer, error) {
	if c.A2A.Key == "" {
		return nil, nil
	}
	key, err := secret.Read(c.A2A.Key)
	if err != nil {
		return nil, fmt.Errorf("a2a.key: %w", err)
	}
	sign, err := a2a.NewSigner(key, c.A2A.KeyID)
	if err != nil {
		return nil, fmt.Errorf("a2a.key: %w", err)
	}
	return sign, nil
}

// readWorkflow reads a workflow's file whose tasks messages are given to: the same file
// that reeve run executes, in which a message has its place.
func readWorkflow(name string) (jsontext.Value, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	w, err := workflow.Read(name, text, workflow.Options{Later: a2a.Placeholders()})
	if err != nil {
		return nil, err
	}
	return w.JSON(), a2a.CheckWorkflow(w.JSON())
}

// sameGRPC is the value of a2a.grpc that stands for the node's own address.
const sameGRPC = "same"

// remote adds A2A over gRPC to what a server serves. Close what it returns when the
// server has ended.
func (n *Node) remote(cfg *server.Config) (stop func()) {
	if n.cfg.A2A.GRPC == "" {
		return func() {}
	}
	// Who is calling, how much at once and for how long is the server's business.
	calls := grpc.NewServer(grpc.MaxRecvMsgSize(int(n.cfg.Limits.Body)))
	n.a2a.RegisterGRPC(calls)
	cfg.GRPC, cfg.GRPCMaxBody = calls, n.cfg.Limits.Body
	if n.cfg.A2A.GRPC == sameGRPC {
		n.a2a.SetGRPC(n.cfg.A2A.GRPCURL)
		return calls.Stop
	}
	cfg.GRPCListen = n.cfg.A2A.GRPC
	cfg.GRPCReady = func(address string) {
		n.a2a.SetGRPC(cmp.Or(n.cfg.A2A.GRPCURL, address))
		n.logger.Info("speaking A2A over gRPC", "address", address)
	}
	return calls.Stop
}
