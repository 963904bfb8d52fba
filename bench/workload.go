package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stepBody is an ordinary AOS step of 3 KB: a tool call by an agent that
// describes itself and four tools. The timestamp is that of the run.
func stepBody() *template {
	tool := func(id, about string) string {
		return fmt.Sprintf(`{"name":"%s","id":"%s","description":"%s","type":"function_call",`+
			`"arguments":[{"name":"path","type":"string","required":true,"description":"Path below the workspace."},{"name":"limit","type":"number","required":false}],`+
			`"outputs":[{"name":"text","type":"string","mimeType":"text/plain"}]}`, id, id, about)
	}
	return newTemplate(`{"jsonrpc":"2.0","id":"##########","method":"steps/toolCallRequest","params":{"context":{"agent":{` +
		`"name":"Lending desk","id":"lend-1","description":"Front desk of a town library","version":"0.8.0",` +
		`"instructions":"` + strings.Repeat("Help readers find and borrow books, answer from the catalogue, and never promise what the house rules do not allow. ", 5) + `",` +
		`"provider":{"name":"Birch Library","url":"https://birch.example/it"},` +
		`"model":{"name":"Heron small","id":"heron-s-1","provider":{"name":"Heron Models"},"maxTokens":1024,"contextWindow":16000},` +
		`"tools":[` + tool("read_file", "Reads a text file of the workspace") + `,` + tool("list_files", "Lists the files of a folder of the workspace") + `,` +
		tool("search_catalogue", "Searches titles, authors and subjects") + `,` + tool("opening_hours", "Tells when a branch is open") + `],` +
		`"mcpServers":[{"name":"catalogue-mcp","version":"2.1.0"}],"organization":{"id":"birch","name":"Birch Library"}},` +
		`"session":{"id":"s-##########"},"turnId":"t-1","stepId":"st-##########","timestamp":"` + time.Now().UTC().Format(time.RFC3339) + `",` +
		`"user":{"id":"reader-9","name":"Oda Lind","organization":{"id":"birch"}}},` +
		`"toolCallRequest":{"executionId":"x-##########","toolId":"read_file","inputs":[{"name":"path","value":"notes/loans/2026/april.txt"},{"name":"limit","value":200}]},` +
		`"reasoning":"The reader asked when the loans of April are due, and the notes of April should say so."}}`)
}

// intentBody is an A2G intent for the same call.
func intentBody() *template {
	return newTemplate(`{"jsonrpc":"2.0","id":"##########","method":"a2g/intent","params":{"agent_did":"did:aeon:lending-desk:0.8:birch",` +
		`"intent_id":"550e8400-e29b-41d4-a716-##########","tool":"read_file","arguments":{"path":"notes/loans/2026/april.txt","limit":200},` +
		`"context":{"session_id":"s-##########","parent_intent":null,"reasoning":"The reader asked when the loans of April are due, and the notes of April should say so."}}}`)
}

// taskBody makes the task that getBody reads, and createBody makes one like it.
const taskBody = `{"jsonrpc":"2.0","id":1,"method":"tasks.create","params":{"id":"550e8400-e29b-41d4-a716-446655440000","name":"Read the notes of April",` +
	`"schemas":{"method":"rest_executor"},"inputs":{"url":"https://birch.example/notes/2026/april","method":"GET"},"params":{"retry":{"max_attempts":3}}}}`

func createBody() *template {
	return newTemplate(strings.Replace(strings.Replace(taskBody, `"id":"550e8400-e29b-41d4-a716-446655440000",`, "", 1), `"id":1,`, `"id":"##########",`, 1))
}

func getBody() *template {
	return newTemplate(`{"jsonrpc":"2.0","id":"##########","method":"tasks.get","params":{"task_id":"550e8400-e29b-41d4-a716-446655440000"}}`)
}

// work is the task that a message to a node holds.
const work = `{"schemas":{"method":"aggregate_results_executor"},"id":"a","name":"Read the notes of April"}`

// sendBody is an A2A message: with a task, or for the sample server of text.
func sendBody(task string) *template {
	part := `{"text":""}`
	if task != "" {
		part = `{"data":{"tasks":[` + task + `]}}`
	}
	return newTemplate(`{"jsonrpc":"2.0","id":"##########","method":"SendMessage","params":{"message":{"messageId":"m-##########","role":"ROLE_USER","parts":[` + part + `]}}}`)
}

// streamBody is a message whose task ends when a URL is answered.
func streamBody(s *server, url string) string {
	part := `{"text":"` + url + `"}`
	if s.name != "sample" {
		part = `{"data":{"tasks":[{"id":"a","name":"A","schemas":{"method":"rest_executor"},"inputs":{"url":"` + url + `"}}]}}`
	}
	return `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"` + url + `","role":"ROLE_USER","parts":[` + part + `]}}}`
}

// hundredRules is a policy of a hundred rules, some of which concern the step.
func hundredRules() []byte {
	var b bytes.Buffer
	b.WriteString("version: 1\nname: bench\ndefault: allow\nrules:\n")
	for i := range 100 {
		tool := fmt.Sprintf("tool_%d", i)
		if i%33 == 0 {
			tool = "read_file"
		}
		fmt.Fprintf(&b, "  - name: rule-%d\n    on: tool.call\n    tools: [%s]\n    when: args.path.startsWith(\"/etc/secret-%d\")\n    effect: deny\n    reason: Rule %d forbids this path.\n", i, tool, i, i)
	}
	return b.Bytes()
}

// startOPA builds and starts Open Policy Agent with a like policy and its
// decision log on.
func startOPA(dir string) (*server, error) {
	install := exec.Command("go", "install", "github.com/open-policy-agent/opa@latest")
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod", "CGO_ENABLED=0")
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("install opa: %w\n%s", err, out)
	}
	var b bytes.Buffer
	b.WriteString("package agent\n\nimport rego.v1\n\ndefault allow := true\n\nargs[x.name] := x.value if some x in input.params.toolCallRequest.inputs\n\n")
	for i := range 100 {
		tool := fmt.Sprintf("tool_%d", i)
		if i%33 == 0 {
			tool = "read_file"
		}
		fmt.Fprintf(&b, "deny contains \"rule-%d\" if {\n\tinput.params.toolCallRequest.toolId == %q\n\tstartswith(args.path, \"/etc/secret-%d\")\n}\n\n", i, tool, i)
	}
	b.WriteString("allow := false if count(deny) > 0\n")
	rego := filepath.Join(dir, "agent.rego")
	if err := os.WriteFile(rego, b.Bytes(), 0o600); err != nil {
		return nil, err
	}
	addr := freeAddr()
	step := stepBody()
	return start("opa", addr, "/v1/data/agent/allow", newTemplate(`{"input":`+string(step.bytes)+`}`),
		filepath.Join(dir, "opa"), "run", "--server", "--addr", addr, "--set", "decision_logs.console=true", "--log-level", "info", "--disable-telemetry", rego)
}
