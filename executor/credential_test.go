package executor

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reading is where a credential's reference leads to in tests.
func reading(ref string) ([]byte, error) {
	switch ref {
	case "env:TOKEN", "file:/a=b":
		return []byte("node-t0ken-value"), nil
	case "env:DIGITS":
		return []byte("4815162342"), nil
	case "env:BASIC":
		return []byte("Basic " + base64.StdEncoding.EncodeToString([]byte("node:p4ss-w0rd"))), nil
	case "env:SHORT":
		return []byte("s3cret!"), nil
	case "env:LINES":
		return []byte("node-t0ken\r\nX-Admin: 1"), nil
	}
	return nil, errors.New("there is no such secret")
}

func credential(t *testing.T, text string) Credentials {
	t.Helper()
	c, err := ParseCredential(text, reading)
	if err != nil {
		t.Fatal(err)
	}
	return Credentials{c}
}

func TestParseCredential(t *testing.T) {
	for text, want := range map[string]string{
		"api.example.com=env:TOKEN":                        "https://api.example.com:443 Authorization: Bearer node-t0ken-value",
		"API.Example.com:8443=env:TOKEN":                   "https://api.example.com:8443 Authorization: Bearer node-t0ken-value",
		"https://api.example.com/v1/=file:/a=b":            "https://api.example.com:443/v1 Authorization: Bearer node-t0ken-value",
		"https://api.example.com/v1=x-api-key: env:TOKEN":  "https://api.example.com:443/v1 X-Api-Key: no" + "de-t0ken-value",
		"https://api.example.com=Authorization: env:BASIC": "https://api.example.com:443 Authorization: Basic bm9kZTpwNHNzLXcwcmQ=",
		"http://127.0.0.1:8080=env:TOKEN":                  "http://127.0.0.1:8080 Authorization: Bearer node-t0ken-value",
		"http://[::1]:8080/a=env:TOKEN":                    "http://[::1]:8080/a Authorization: Bearer node-t0ken-value",
		"http://localhost=env:TOKEN":                       "http://localhost:80 Authorization: Bearer node-t0ken-value",
	} {
		c, err := ParseCredential(text, reading)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := c.To.String() + " " + c.Header + ": " + c.Value; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                                           "not of the form",
		"api.example.com":                            "not of the form",
		"=env:TOKEN":                                 "not of the form",
		"api.example.com=":                           "not of the form",
		"api.example.com=node-t0ken-value":           "no such secret",
		"http://api.example.com=env:TOKEN":           "over https only",
		"http://127.0.0.1.evil.net=env:TOKEN":        "over https only",
		"http://10.0.0.1=env:TOKEN":                  "over https only",
		"ftp://api.example.com=env:TOKEN":            "not the origin",
		"https://u@api.example.com=env:TOKEN":        "not the origin",
		"https://api.example.com?a=env:TOKEN":        "not the origin",
		"https://api.example.com#a=env:TOKEN":        "not the origin",
		"*.example.com=env:TOKEN":                    "one host's name",
		"api.example.com.=env:TOKEN":                 "one host's name",
		"äpi.example.com=env:TOKEN":                  "one host's name",
		"https://api.example.com/v1/../v2=env:TOKEN": "path must have no",
		"https://api.example.com/v1%2fv2=env:TOKEN":  "path must have no",
		"api.example.com=Host: env:TOKEN":            "no header that can hold",
		"api.example.com=Accept: env:TOKEN":          "no header that can hold",
		"api.example.com=X Key: env:TOKEN":           "no header that can hold",
		"api.example.com=env:SHORT":                  "shorter than 8",
		"api.example.com=env:LINES":                  "no header can have",
	} {
		_, err := ParseCredential(text, reading)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "t0ken-value") && !strings.Contains(text, "t0ken") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

// watching notes what a server was sent by way of credentials.
type watching struct {
	mu   sync.Mutex
	sent []string
}

func (w *watching) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.sent = append(w.sent, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		w.mu.Unlock()
		h.ServeHTTP(rw, r)
	})
}

func (w *watching) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.sent, "\n")
}

// silent makes sure that neither a result, nor an error, nor progress has a secret.
func silent(t *testing.T, what string, tr *trial, value []byte, err error) {
	t.Helper()
	said := string(value) + tr.progress()
	if err != nil {
		said += err.Error()
		if own := (*Error)(nil); errors.As(err, &own) {
			said += string(own.Result)
		}
	}
	for _, secret := range []string{"node-t0ken", "4815162342", "p4ss-w0rd", "bm9kZTpwNHNzLXcwcmQ"} {
		if strings.Contains(said, secret) {
			t.Errorf("%s tells the credential: %s", what, said)
		}
	}
}

func TestCredentialsREST(t *testing.T) {
	w := &watching{}
	server := httptest.NewServer(w.wrap(restServer(t).Config.Handler))
	defer server.Close()
	other := restServer(t)
	for _, tt := range []struct{ credential, inputs, want string }{
		{"=env:TOKEN", `"url":"URL/tell?as=application/json"`, "/tell Bearer node-t0ken-value"},
		{"=env:TOKEN", `"url":"URL/tell?as=text/plain"`, "/tell Bearer node-t0ken-value"},
		{"=x-api-key: env:TOKEN", `"url":"URL/tell?as=text/html"`, "/tell node-t0ken-value"},
		{"=env:DIGITS", `"url":"URL/number"`, "/number Bearer 4815162342"},
		{"=Authorization: env:BASIC", `"url":"URL/tell"`, "/tell Basic bm9kZTpwNHNzLXcwcmQ="},
		{"/tell=env:TOKEN", `"url":"URL/echo"`, "/echo "},
		{"=env:TOKEN", `"url":"URL/echo","method":"POST","json":{"a":1}`, "/echo Bearer node-t0ken-value"},
		{"=env:TOKEN", `"url":"URL/break","retries":0`, "/break Bearer node-t0ken-value"},
		// What a task brings itself is what is sent.
		{"=env:TOKEN", `"url":"URL/tell","auth":{"type":"bearer","token":"own-token-value"}`, "/tell Bearer own-token-value"},
		{"=env:TOKEN", `"url":"URL/tell","headers":{"authorization":"own-token-value"}`, "/tell own-token-value"},
		{"=x-api-key: env:TOKEN", `"url":"URL/tell","auth":{"type":"apikey","value":"own-token-value"}`, "/tell own-token-value"},
		// A redirect within the origin, and one from elsewhere.
		{"=env:TOKEN", `"url":"URL/to?where=/tell"`, "/to Bearer node-t0ken-value\n/tell Bearer node-t0ken-value"},
		{"=env:TOKEN", `"url":"OTHER/to?where=URL/tell"`, "/tell "},
	} {
		w.sent = nil
		e := NewREST(RESTConfig{AllowPrivate: true, Credentials: credential(t, server.URL+tt.credential)})
		tr := try(t, e, "{"+strings.NewReplacer("URL", server.URL, "OTHER", other.URL).Replace(tt.inputs)+"}")
		value, err := tr.run(t.Context(), e)
		silent(t, tt.inputs, tr, value, err)
		if got := w.all(); got != tt.want {
			t.Errorf("%s: sent %q, want %q", tt.inputs, got, tt.want)
		}
	}
	// To another port of the same machine, directly and by a redirect, none is sent.
	away := &watching{}
	elsewhere := httptest.NewServer(away.wrap(other.Config.Handler))
	defer elsewhere.Close()
	e := NewREST(RESTConfig{AllowPrivate: true, Credentials: credential(t, server.URL+"=env:TOKEN")})
	for _, url := range []string{elsewhere.URL + "/echo", server.URL + "/to?where=" + elsewhere.URL + "/echo"} {
		if _, err := try(t, e, `{"url":"`+url+`"}`).run(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	if got := away.all(); got != "/echo \n/echo " {
		t.Errorf("another origin was sent %q", got)
	}
}

func TestCredentialsLLM(t *testing.T) {
	// The model says the credential, in pieces.
	m := newModel(t, []string{"It is node-t", "0ken", "-value, and no", "de", "-t0ken-valu", "x"}, stop, usage, done)
	e := NewLLM(LLMConfig{BaseURL: m.URL + "/v1", Model: "tiny", AllowPrivate: true, Credentials: credential(t, m.URL+"/v1=env:TOKEN")})
	tr := try(t, e, `{"prompt":"Who are you?"}`)
	value, err := tr.run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.header.Get("Authorization"); got != "Bearer node-t0ken-value" {
		t.Errorf("sent %q", got)
	}
	said := strings.Join(tr.told, "")
	if want := "It is ***, and node-t0ken-valux"; said != want || !strings.Contains(string(value), want) {
		t.Errorf("told %q, and gave %s", said, value)
	}
	own := NewLLM(LLMConfig{BaseURL: m.URL + "/v1", Key: "own-key-value", Model: "tiny", AllowPrivate: true, Credentials: credential(t, m.URL+"=env:TOKEN")})
	if _, err := try(t, own, `{"prompt":"x"}`).run(t.Context(), own); err != nil || m.header.Get("Authorization") != "Bearer own-key-value" {
		t.Errorf("with a key of its own: %v, sent %q", err, m.header.Get("Authorization"))
	}
}

func TestCredentialsMCP(t *testing.T) {
	w := &watching{}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "tell"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		key := r.Extra.Header.Get("X-Api-Key")
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "you sent " + key})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you sent " + key}}}, nil, nil
	})
	server := httptest.NewServer(w.wrap(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)))
	defer server.Close()
	e := NewMCP(MCPConfig{AllowPrivate: true, Credentials: credential(t, server.URL+"=X-Api-Key: env:TOKEN")})
	tr := tryMCP(t, e, `{"url":"`+server.URL+`","tool":"tell"}`)
	value, err := tr.run(t.Context(), e)
	silent(t, "the tool", tr, value, err)
	if err != nil || !strings.Contains(string(value), "you sent ***") {
		t.Errorf("%s, %v", value, err)
	}
	for line := range strings.SplitSeq(w.all(), "\n") {
		if !strings.HasSuffix(line, " node-t0ken-value") {
			t.Errorf("sent %q", line)
		}
	}
}

// TestCredentialsA2A: an agent that names another's address in its card does not have
// the other called with the node's credential for it.
func TestCredentialsA2A(t *testing.T) {
	server, _ := a2aServer(t, "JSON-RPC", true)
	e := NewA2A(A2AConfig{AllowPrivate: true, Credentials: Credentials{{To: credential(t, server.URL+"=env:TOKEN")[0].To, Header: "X-Agent-Key", Value: "s3cret-value"}}})
	value, err := try(t, e, `{"url":"`+server.URL+`","message":"hello"}`).run(t.Context(), e)
	if err != nil || !strings.Contains(string(value), "completed") {
		t.Errorf("%s, %v", value, err)
	}
	card, err := http.NewRequest("GET", server.URL+"/.well-known/agent-card.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	card.Header.Set("X-Agent-Key", "s3cret-value")
	response, err := http.DefaultClient.Do(card)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), server.URL+"/rpc") {
		t.Fatalf("%s, %v", text, err)
	}
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s", text) }))
	defer liar.Close()
	if value, err := try(t, e, `{"url":"`+liar.URL+`","message":"hello"}`).run(t.Context(), e); err == nil {
		t.Errorf("another agent had it called with the node's credential: %s", value)
	}
}
