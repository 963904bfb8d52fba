package reeve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"reeve/a2a"
	"reeve/identity"
	"reeve/internal/outbound"
	"reeve/internal/secret"
	"reeve/server"
	"reeve/store/postgres"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// openA2A makes the agent that speaks A2A.
func (n *Node) openA2A() error {
	callbacks := &outbound.Dialer{AllowPrivate: n.cfg.AllowPrivateCallbacks}
	_, shared := n.store.(*postgres.Store)
	cfg := a2a.Config{
		Guard: n.guard, Engine: n.engine.Load(), Executors: n.executors, Open: func() bool { return !n.auth.Configured() },
		URL: n.cfg.A2A.URL, Version: Version, Alone: !shared, Node: n.log.Node(), MaxBody: n.cfg.Limits.Body,
		Callback: callbacks.Client(outbound.Options{Timeout: 10 * time.Second, Redirects: 3}),
		Wait:     n.cfg.A2A.Wait, Hold: server.Hold, Logger: n.logger,
	}
	if !n.cfg.AllowPrivateCallbacks {
		cfg.CheckURL = a2a.PublicURL
	}
	var err error
	switch {
	case n.cfg.A2AConformanceAgent:
		cfg.Workflow = a2a.ConformanceWorkflow
	case n.cfg.A2A.Workflow != "":
		if cfg.Workflow, err = readWorkflow(n.cfg.A2A.Workflow); err != nil {
			return fmt.Errorf("a2a.workflow: %w", err)
		}
	}
	if n.cfg.A2A.Key != "" {
		key, err := secret.Read(n.cfg.A2A.Key)
		if err != nil {
			return fmt.Errorf("a2a.key: %w", err)
		}
		if cfg.Sign, err = a2a.NewSigner(key, n.cfg.A2A.KeyID); err != nil {
			return fmt.Errorf("a2a.key: %w", err)
		}
	}
	n.a2a = a2a.NewServer(cfg)
	return nil
}

// readWorkflow reads a tree of tasks, in YAML or JSON, that messages are given to.
func readWorkflow(name string) (jsontext.Value, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	b, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	return b, a2a.CheckWorkflow(b)
}

// serveGRPC speaks A2A over gRPC on a port of its own until ctx ends; it returns
// once it listens. wait returns when what has begun is finished.
func (n *Node) serveGRPC(ctx context.Context) (wait func(), err error) {
	if n.cfg.A2A.GRPC == "" {
		return func() {}, nil
	}
	if err := server.CheckListen(n.cfg.A2A.GRPC, n.auth.Configured(), n.cfg.InsecureAnonymous); err != nil {
		return nil, err
	}
	turns := make(chan struct{}, n.cfg.Limits.Concurrent)
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(int(n.cfg.Limits.Body)), grpc.MaxConcurrentStreams(uint32(n.cfg.Limits.Concurrent)), grpc.MaxHeaderListSize(64 << 10),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 5 * time.Minute, Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			ctx, err := n.remoteCaller(ctx)
			if err != nil {
				return nil, err
			}
			select {
			case turns <- struct{}{}:
				defer func() { <-turns }()
				return handle(ctx, in)
			default:
				return nil, status.Error(codes.ResourceExhausted, "There are too many calls at once. Try again later.")
			}
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			ctx, err := n.remoteCaller(stream.Context())
			if err != nil {
				return err
			}
			return handle(srv, &remoteStream{stream, ctx})
		}),
	}
	if n.cfg.TLS.Cert != "" {
		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { // read anew: it may have been renewed
				cert, err := tls.LoadX509KeyPair(n.cfg.TLS.Cert, n.cfg.TLS.Key)
				return &cert, err
			},
		})))
	}
	listener, err := net.Listen("tcp", n.cfg.A2A.GRPC)
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer(options...)
	n.a2a.RegisterGRPC(s)
	n.a2a.SetGRPC(cmp.Or(n.cfg.A2A.GRPCURL, listener.Addr().String()))
	n.logger.Info("speaking A2A over gRPC", "address", listener.Addr().String())
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := s.Serve(listener); err != nil && ctx.Err() == nil {
			n.logger.Error("gRPC is not served any more", "error", err)
		}
	}()
	return func() {
		over := time.AfterFunc(5*time.Second, s.Stop)
		defer over.Stop()
		s.GracefulStop()
		<-served
	}, nil
}

// remoteCaller is a call's context with who is calling, by the same credentials as
// over HTTP.
func (n *Node) remoteCaller(ctx context.Context) (context.Context, error) {
	r := &http.Request{Header: http.Header{}}
	if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) > 0 {
		r.Header["Authorization"] = values
	}
	principal, role, err := n.auth.Authenticate(r.WithContext(ctx))
	if e, ok := errors.AsType[*identity.Error](err); ok {
		return nil, status.Error(codes.Unauthenticated, e.Reason)
	}
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, "The credential could not be checked.")
	}
	return identity.NewContext(ctx, principal, role), nil
}

// remoteStream is a stream whose context says who is calling.
type remoteStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *remoteStream) Context() context.Context { return s.ctx }
