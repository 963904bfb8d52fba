package clients_test

import (
	"context"
	"net/http"
	"strings"

	"reeve.example/reeve/aos"
	"reeve.example/reeve/aos/guarded"
	"reeve.example/reeve/aos/guarded/mcpguard"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What stands here is in docs/frameworks/go.md, and run by the tests.

func newAgent(url string) *guarded.Agent {
	return &guarded.Agent{
		Client: &aos.Client{URL: url},
		Self:   aos.Agent{ID: "helper", Name: "Helper"},
		User:   &aos.User{ID: "ada"},
	}
}

func shout(ctx context.Context, turn *guarded.Turn, text string) (string, error) {
	out, err := turn.Call(ctx, "shout", guarded.Arguments{"text": text}, func(_ context.Context, args guarded.Arguments) (guarded.Output, error) {
		return guarded.Output{Texts: []string{strings.ToUpper(args["text"].(string))}}, nil
	})
	return strings.Join(out.Texts, ""), err
}

func guardServer(server *mcp.Server, agent *guarded.Agent) {
	server.AddReceivingMiddleware(mcpguard.Server(agent))
	server.AddSendingMiddleware(mcpguard.ServerInputs(agent))
}

func guardClient(client *mcp.Client, agent *guarded.Agent) {
	client.AddSendingMiddleware(mcpguard.Client(agent))
}

func answeringClient(agent *guarded.Agent, answer func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.Client {
	options := mcpguard.ClientInputs(agent, &mcp.ClientOptions{ElicitationHandler: answer})
	return mcp.NewClient(&mcp.Implementation{Name: "helper", Version: "1"}, options)
}

func guardHandler(agent *guarded.Agent, tool http.Handler) http.Handler {
	return guarded.Handler(agent, func(r *http.Request) string { return r.Header.Get("Session") }, tool)
}

func guardedClient(agent *guarded.Agent) *http.Client {
	return &http.Client{Transport: &guarded.Transport{Agent: agent, Name: "http"}}
}
