package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echoServer is a server of gRPC with a call that answers who is asking and how much
// came, and a stream of as many megabytes as are asked for. wait is called in between.
func echoServer(wait func(ctx context.Context)) *grpc.Server {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := &wrapperspb.StringValue{}
			if err := decode(in); err != nil {
				return nil, err
			}
			wait(ctx)
			principal, role := identity.FromContext(ctx)
			return wrapperspb.String(fmt.Sprintf("%s %s %d", principal.Name, role, len(in.Value))), nil
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Count", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			in := &wrapperspb.Int64Value{}
			if err := stream.RecvMsg(in); err != nil {
				return err
			}
			Hold(stream.Context(), time.Now())
			for range in.Value {
				if err := stream.SendMsg(wrapperspb.String(strings.Repeat("x", 1<<20))); err != nil {
					return err
				}
			}
			wait(stream.Context())
			return nil
		}}},
	}, nil)
	return s
}

func dial(t *testing.T, address string, secure bool) *grpc.ClientConn {
	t.Helper()
	how := insecure.NewCredentials()
	if secure {
		how = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(how))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func say(ctx context.Context, conn *grpc.ClientConn, text string) (string, error) {
	out := &wrapperspb.StringValue{}
	err := conn.Invoke(ctx, "/test.Echo/Say", wrapperspb.String(text), out)
	return out.Value, err
}

func count(ctx context.Context, t *testing.T, conn *grpc.ClientConn, n int64) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/test.Echo/Count")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.SendMsg(wrapperspb.Int64(n)), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	return stream
}

func received(t *testing.T, stream grpc.ClientStream, want int) {
	t.Helper()
	for n := 0; ; n++ {
		out := &wrapperspb.StringValue{}
		err := stream.RecvMsg(out)
		if errors.Is(err, io.EOF) && n == want {
			return
		}
		if err != nil {
			t.Fatalf("after %d messages of %d: %v", n, want, err)
		}
	}
}

// gRPC is served on the port of everything else, or on one of its own, with TLS or
// without, to who has a credential.
func TestGRPC(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCert(t, certFile, keyFile, 1)
	key, secret := newKey(t, "ann", identity.Agent)
	for _, c := range []struct{ same, secure bool }{{true, false}, {true, true}, {false, false}, {false, true}} {
		t.Run(fmt.Sprintf("same=%v,tls=%v", c.same, c.secure), func(t *testing.T) {
			address := ""
			s := local(t, func(cfg *Config) {
				cfg.Auth, cfg.GRPC, cfg.GRPCMaxBody = newAuth(t, false, key), echoServer(func(context.Context) {}), 2<<20
				if !c.same {
					cfg.GRPCListen, cfg.GRPCReady = "127.0.0.1:0", func(a string) { address = a }
				}
				if c.secure {
					cfg.TLSCert, cfg.TLSKey = certFile, keyFile
				}
			})
			url, stop := run(t, s)
			if c.same {
				_, address, _ = strings.Cut(url, "://")
			}
			conn := dial(t, address, c.secure)
			ann := metadata.AppendToOutgoingContext(t.Context(), "authorization", secret)
			const large = 1 << 20 // more than a connection's window
			if got, err := say(ann, conn, strings.Repeat("x", large)); got != fmt.Sprintf("key:ann agent %d", large) {
				t.Errorf("%q, %v", got, err)
			}
			for _, as := range []context.Context{t.Context(), metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer rv_wrong")} {
				if _, err := say(as, conn, ""); status.Code(err) != codes.Unauthenticated || status.Convert(err).Message() == "" {
					t.Error(err)
				}
			}
			if _, err := say(ann, conn, strings.Repeat("x", 2<<20)); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "2097152 are allowed") {
				t.Error(err)
			}
			if err := conn.Invoke(ann, "/test.Echo/Nothing", wrapperspb.String(""), &wrapperspb.StringValue{}); status.Code(err) != codes.Unimplemented {
				t.Error(err)
			}
			if err := conn.Invoke(ann, "/test.Echo/Say", wrapperspb.String(""), &wrapperspb.StringValue{}, grpc.CallAuthority("evil.example")); !c.secure && status.Code(err) != codes.PermissionDenied {
				t.Error(err)
			}
			received(t, count(ann, t, conn, 3), 3)
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // speaks HTTP/1
			scheme, _, _ := strings.Cut(url, "://")
			resp, err := client.Get(scheme + "://" + address + "/healthz")
			if err == nil {
				resp.Body.Close()
			}
			if c.same && (err != nil || resp.StatusCode != 200) {
				t.Errorf("the other protocols are not spoken there: %v", err)
			}
			if !c.same && err == nil && resp.StatusCode == 200 {
				t.Error("the port of gRPC speaks more")
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Calls take turns with all others of their caller; a stream, once it is one, does
// not, and one that nobody reads keeps no other waiting.
func TestGRPCTurns(t *testing.T) {
	gate := make(chan struct{})
	wait := func(ctx context.Context) {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	key, secret := newKey(t, "ann", identity.Agent)
	s := local(t, func(cfg *Config) {
		cfg.Auth, cfg.GRPC, cfg.Concurrent = newAuth(t, false, key), echoServer(wait), 2
	})
	url, _ := run(t, s)
	conn := dial(t, strings.TrimPrefix(url, "http://"), false)
	ann := metadata.AppendToOutgoingContext(t.Context(), "authorization", secret)
	lazy, ctx := count(ann, t, conn, 40), ann
	out := &wrapperspb.StringValue{}
	if err := lazy.RecvMsg(out); err != nil { // it has begun, and is not read any more
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			if got, err := say(ctx, conn, ""); got != "key:ann agent 0" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	for end := time.Now().Add(20 * time.Second); s.limits.waitingCalls() != 1; {
		if time.Now().After(end) {
			t.Fatalf("%d calls wait, want 1 of 3", s.limits.waitingCalls())
		}
		time.Sleep(time.Millisecond)
	}
	close(gate)
	calls.Wait()
	received(t, count(ann, t, conn, 5), 5)
	received(t, lazy, 39)
}

func TestGRPCRate(t *testing.T) {
	s := local(t, func(cfg *Config) { cfg.GRPC, cfg.Rate = echoServer(func(context.Context) {}), 0.1 })
	url, _ := run(t, s)
	conn := dial(t, strings.TrimPrefix(url, "http://"), false)
	if _, err := say(t.Context(), conn, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := say(t.Context(), conn, ""); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "more often") {
		t.Error(err)
	}
}

// A call that does not send its message holds no turn, and what is no gRPC is no panic.
func TestGRPCHostile(t *testing.T) {
	s := local(t, func(cfg *Config) { cfg.GRPC, cfg.Concurrent = echoServer(func(context.Context) {}), 1 })
	url, _ := run(t, s)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	ask := func(body io.Reader) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/test.Echo/Say", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/grpc")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	open, hold := io.Pipe()
	defer hold.Close()
	go func() {
		if resp, err := client.Post(url+"/test.Echo/Say", "application/grpc", open); err == nil {
			resp.Body.Close()
		}
	}()
	hold.Write([]byte{0, 0})
	for _, body := range []string{"", "\x00", "\x00\x00\x00\x00\x05ab", "\x01\x00\x00\x00\x01x", "\x07\xff\xff\xff\xff", "\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x01\xffmore that is not read"} {
		resp := ask(strings.NewReader(body))
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if status := resp.Header.Get("Grpc-Status") + resp.Trailer.Get("Grpc-Status"); resp.StatusCode != 200 || status == "" || status == "0" && body != "\x00\x00\x00\x00\x00" {
			t.Errorf("%q: %s, the status of gRPC is %q", body, resp.Status, status)
		}
	}
	if got, err := say(t.Context(), dial(t, strings.TrimPrefix(url, "http://"), false), "x"); got != "anonymous agent 1" {
		t.Errorf("%q, %v", got, err)
	}
}
