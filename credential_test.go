package reeve

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/task"
)

// TestCredentials: a task calls a service as the node, whose credential is then in no
// answer, record or file; and without the setting the service is not told it.
func TestCredentials(t *testing.T) {
	const secret = "the-node-t0ken"
	t.Setenv("REEVE_TEST_TOKEN", secret)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Back", r.Header.Get("Authorization"))
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusForbidden)
		}
		fmt.Fprintf(w, `{"you are":%q}`, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	dir := t.TempDir()
	k := keep(t, "data", dir, "tasks-allow-private", "true", "credentials", server.URL+"=env:REEVE_TEST_TOKEN")
	done := k.run("ann", "rest_executor", `{"url":"`+server.URL+`/"}`, task.Completed)
	failed := k.run("ann", "rest_executor", `{"url":"`+server.URL+`/refused"}`, task.Failed)
	said := ""
	for _, root := range []string{done, failed} {
		said += k.call(k.flow, "ann", "tasks.tree", `{"task_id":"`+root+`"}`)
		status, events := ask(k.Admin(), identity.Operator, identity.Admin, "GET", "/tasks/"+root+"/events", "")
		said += fmt.Sprint(status) + events
	}
	if !strings.Contains(said, `"you are":"***"`) || !strings.Contains(said, "403") {
		t.Errorf("the service was not told who is calling: %s", said)
	}
	if err := k.Node.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(secret)) || strings.Contains(said, secret) {
			t.Errorf("the credential stands in an answer, or in %s", name)
		}
	}
}

func TestCredentialsWrong(t *testing.T) {
	t.Setenv("REEVE_TEST_TOKEN", "the-node-t0ken")
	for text, want := range map[string]string{
		"http://api.example.com=env:REEVE_TEST_TOKEN":                                          "over https only",
		"api.example.com=env:REEVE_TEST_NONE":                                                  "is not set",
		"api.example.com=the-node-t0ken":                                                       "name where it is",
		"api.example.com=env:REEVE_TEST_TOKEN,https://api.example.com=env:REEVE_TEST_TOKEN":    "there are two",
		"api.example.com=X-A: env:REEVE_TEST_TOKEN,api.example.com/=X-A: env:REEVE_TEST_TOKEN": "there are two",
	} {
		cfg, err := Load("", func(string) string { return "" }, map[string]string{"data": t.TempDir(), "credentials": text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cfg.Executors(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "the-node-t0ken") && !strings.Contains(text, "the-node") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
