//go:build !windows

package realagents

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentsDir is where scripts/test-agents has installed agents: beside those of
// internal/needs the proprietary ones, or the newest versions of all.
var agentsDir = flag.String("agents", "", "`folder` with a node_modules that has the agents to run")

// onlyAgent is the one agent whose tests are run; empty for all.
var onlyAgent = flag.String("agent", "", "`name` of the one agent to run")

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probeServer {
		probe()
		return
	}
	flag.Parse()
	if done, code := alone(); done {
		os.Exit(code)
	}
	if testing.Short() || runtime.GOOS != "linux" {
		os.Exit(m.Run()) // nothing but skips
	}
	dir, err := os.MkdirTemp("", "reeve-agents-")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// programs is the folder of reeve and reeve-hook.
var programs string

func build(dir string) error {
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "reeve.example/reeve/cmd/reeve", "reeve.example/reeve/cmd/reeve-hook")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// probeServer is the argument with which this program is an MCP server.
const probeServer = "probe-server"

// probe is the MCP server that the agents have: it pays and deploys, and notes that it did in
// the file that its second argument names.
func probe() {
	type payment struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	type deployment struct {
		Environment string `json:"environment"`
	}
	note := func(format string, args ...any) error {
		f, err := os.OpenFile(os.Args[2], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = fmt.Fprintf(f, format+"\n", args...)
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "probe", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay", Description: "Pays an amount."}, func(_ context.Context, _ *mcp.CallToolRequest, p payment) (*mcp.CallToolResult, any, error) {
		if err := note("%d to %s", p.Amount, p.To); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("paid %d to %s, receipt 4711", p.Amount, p.To)}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "deploy", Description: "Deploys."}, func(_ context.Context, _ *mcp.CallToolRequest, d deployment) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, note("deployed to %s", d.Environment)
	})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

func skipElsewhere(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the agents are run in a network of their own, which only Linux can make")
	}
	if testing.Short() {
		t.Skip("the agents' programs take seconds each")
	}
}
