package reeve_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/identity"

	newer "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// A node speaks A2A at /, at paths of its own and over gRPC, with the credentials
// that it knows.
func TestA2A(t *testing.T) {
	workflow := filepath.Join(t.TempDir(), "workflow.yaml")
	err := os.WriteFile(workflow, []byte("tasks:\n  - id: sum\n    name: sum\n    schemas: {method: system_info_executor}\n    inputs: {resource: cpu, asked: '${{ message.text }}'}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, map[string]string{"a2a-workflow": workflow, "a2a-grpc": "127.0.0.1:0"})
	ask := func(key, method, path, body string) string {
		t.Helper()
		req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status + " " + string(b)
	}
	agent := r.keys[identity.Agent]
	send := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"how are you?"}]}}}`
	old := `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m2","role":"user","parts":[{"kind":"text","text":"how are you?"}]}}}`
	rest := `{"message":{"messageId":"m3","role":"ROLE_USER","parts":[{"text":"how are you?"}]}}`
	rest03 := `{"message":{"messageId":"m4","role":"ROLE_USER","content":[{"text":"how are you?"}]},"configuration":{"blocking":true}}`
	for path, body := range map[string]string{
		"/": send, "/a2a": send, "/a2a/": send, "/ ": old, "/a2a ": old, "/rest/message:send": rest, "/v1/message:send": rest03,
	} {
		path = strings.TrimSpace(path)
		if got := ask(agent, "POST", path, body); !strings.HasPrefix(got, "200") || !strings.Contains(strings.ToLower(got), "completed") || !strings.Contains(got, "artifacts") {
			t.Errorf("POST %s: %s", path, got)
		}
		if got := ask("", "POST", path, body); !strings.HasPrefix(got, "401") {
			t.Errorf("POST %s without a credential: %s", path, got)
		}
	}
	var target string
	card := ask("", "GET", "/.well-known/agent-card.json", "")
	if _, after, ok := strings.Cut(card, `","protocolBinding":"GRPC"`); ok {
		before := strings.TrimSuffix(card, `","protocolBinding":"GRPC"`+after)
		target = before[strings.LastIndexByte(before, '"')+1:]
	}
	if target == "" || !strings.Contains(card, `"extendedAgentCard":true`) {
		t.Fatal(card)
	}
	if got := ask(agent, "POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`); !strings.Contains(got, `"url":"`+r.url+`/a2a"`) {
		t.Error(got)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := newer.NewA2AServiceClient(conn)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+agent)
	list, err := c.ListTasks(ctx, &newer.ListTasksRequest{})
	if err != nil || list.GetTotalSize() != 7 {
		t.Errorf("%v: %v", err, list.GetTotalSize())
	}
	if _, err := c.ListTasks(t.Context(), &newer.ListTasksRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Error(err)
	}
	stream, err := c.SubscribeToTask(t.Context(), &newer.SubscribeToTaskRequest{Id: "x"})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Error(err)
	}
}

// gRPC can be had on the node's own port, with its certificate, beside everything
// else; the card says so.
func TestA2AOverGRPCOnTheSamePort(t *testing.T) {
	cert, key := certificate(t)
	r := start(t, map[string]string{"a2a-grpc": "same", "tls-cert": cert, "tls-key": key})
	secure := &tls.Config{InsecureSkipVerify: true}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secure}}
	resp, err := client.Get(r.url + "/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	card, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	target := strings.TrimPrefix(r.url, "https://")
	if !strings.Contains(string(card), `{"url":"`+target+`","protocolBinding":"GRPC","protocolVersion":"1.0"}`) {
		t.Fatalf("%s", card)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(credentials.NewTLS(secure)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := newer.NewA2AServiceClient(conn)
	agent := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+r.keys[identity.Agent])
	data, err := structpb.NewValue(map[string]any{"tasks": []any{map[string]any{"id": "a", "name": "A", "schemas": map[string]any{"method": "system_info_executor"}}}})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.SendStreamingMessage(agent, &newer.SendMessageRequest{Message: &newer.Message{
		MessageId: "m", Role: newer.Role_ROLE_USER, Parts: []*newer.Part{{Content: &newer.Part_Data{Data: data}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var last *newer.StreamResponse
	id := ""
	for {
		e, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.GetTask() != nil {
			id = e.GetTask().GetId()
		}
		last = e
	}
	if last.GetStatusUpdate().GetStatus().GetState() != newer.TaskState_TASK_STATE_COMPLETED {
		t.Error(last)
	}
	if _, err := c.GetTask(t.Context(), &newer.GetTaskRequest{Id: id}); status.Code(err) != codes.Unauthenticated {
		t.Error(err)
	}
}

// certificate is a certificate for loopback and its key, as files.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestA2ASettings(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("tasks:\n  - {id: a, name: A, dependencies: [a]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, settings := range [][]string{{"a2a-grpc", "anything"}, {"a2a-workflow", filepath.Join(dir, "none")}, {"a2a-workflow", wrong}, {"a2a-key", "file:" + wrong}} {
		cfg, err := reeve.Load("", func(string) string { return "" }, map[string]string{"data": t.TempDir(), settings[0]: settings[1]})
		if err == nil {
			_, err = reeve.Open(t.Context(), cfg)
		}
		if err == nil || !strings.Contains(err.Error(), "a2a.") {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
