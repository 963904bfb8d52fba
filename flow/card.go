package flow

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The agent card, as the text has it. input_schema and result_schema are ours.
type (
	card struct {
		Name         string       `json:"name"`
		Description  string       `json:"description"`
		URL          string       `json:"url"`
		Version      string       `json:"version"`
		Capabilities capabilities `json:"capabilities"`
		Skills       []skill      `json:"skills"`
	}
	capabilities struct {
		Streaming bool `json:"streaming"`
		Push      bool `json:"push_notifications"`
	}
	skill struct {
		ID          string         `json:"id"`
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Tags        []string       `json:"tags"`
		InputSchema jsontext.Value `json:"input_schema,omitzero"`
		// ResultSchema is of what an executor gives, which other tasks' inputs are made of.
		ResultSchema jsontext.Value `json:"result_schema,omitzero"`
	}
)

// AgentCard answers GET /.well-known/agent-card: what this node is, and what it can
// execute.
func (s *Server) AgentCard() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := card{
			Name: "reeve", Description: "Executes trees of tasks, each start and result of which is judged by a policy and recorded.",
			URL: s.cfg.URL, Version: s.cfg.Version, Capabilities: capabilities{Streaming: true, Push: true},
			Skills: []skill{{
				ID: MethodExecute, Name: "Execute Task Tree", Description: "Execute a complete task tree with multiple tasks",
				Tags: []string{"task", "orchestration", "workflow", "execution"},
			}},
		}
		if c.URL == "" {
			c.URL = "http://" + r.Host
			if r.TLS != nil {
				c.URL = "https://" + r.Host
			}
		}
		for _, d := range s.cfg.Executors.List() {
			c.Skills = append(c.Skills, skill{d.ID, d.Name, d.Description, d.Tags, d.InputSchema, d.ResultSchema})
		}
		body, err := json.Marshal(&c)
		if err != nil { // only with a schema that Register does not take
			s.cfg.Logger.Error("the agent card cannot be written", "error", err)
			refuse(w, http.StatusInternalServerError, "The agent card cannot be written.")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
}
