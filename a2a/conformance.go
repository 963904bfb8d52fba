package a2a

import (
	"context"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// ConformanceWorkflow gives each message to the executor NewConformance.
var ConformanceWorkflow = jsontext.Value(`{"tasks":[{"id":"conformance","name":"conformance","schemas":{"method":"a2a_conformance"},"inputs":{"message":"${{ message }}"}}]}`)

// NewConformance returns an executor that does what the protocol's conformance
// kits ask an agent for, by the beginning of a message's id. It is for tests only.
func NewConformance() executor.Executor { return conformance{} }

type conformance struct{}

func (conformance) Describe() executor.Description {
	return executor.Description{
		ID: "a2a_conformance", Name: "A2A conformance", Description: "Does what the conformance kits of A2A ask for. For tests only.",
		Tags: []string{"test"}, InputSchema: jsontext.Value(`{"type":"object","required":["message"],"properties":{"message":{"type":"object"}}}`),
		Manifest: act.Manifest{TimeoutSeconds: 60}, Concurrent: 256, Idempotent: true,
	}
}

// behaviors are what is answered to a message whose id begins so: the member a2a of
// the result. A longer beginning counts before a shorter one.
var behaviors = map[string]string{
	"tck-complete-task":           `{"message":"Hello from TCK"}`,
	"tck-artifact-text":           `{"artifacts":[{"name":"text","parts":[{"text":"Generated text content"}]}]}`,
	"tck-artifact-file":           `{"artifacts":[{"name":"file","parts":[{"raw":"ZmlsZQ==","filename":"output.txt","mediaType":"text/plain"}]}]}`,
	"tck-artifact-file-url":       `{"artifacts":[{"name":"file","parts":[{"url":"https://example.com/output.txt","filename":"output.txt","mediaType":"text/plain"}]}]}`,
	"tck-artifact-data":           `{"artifacts":[{"name":"data","parts":[{"data":{"key":"value","count":42}}]}]}`,
	"tck-message-response":        `{"reply":"Direct message response","artifacts":[]}`,
	"tck-input-required":          `{"state":"TASK_STATE_INPUT_REQUIRED","message":"More input is needed."}`,
	"tck-reject-task":             `{"state":"TASK_STATE_REJECTED","message":"rejected"}`,
	"tck-stream-001":              `{"artifacts":[{"parts":[{"text":"Stream hello from TCK"}]}]}`,
	"tck-stream-002":              `{"artifacts":[]}`,
	"tck-stream-003":              `{"artifacts":[{"parts":[{"text":"Stream task lifecycle"}]}]}`,
	"tck-stream-ordering-001":     `{"artifacts":[{"parts":[{"text":"Ordered output"}]}]}`,
	"tck-stream-artifact-text":    `{"artifacts":[{"parts":[{"text":"Streamed text content"}]}]}`,
	"tck-stream-artifact-file":    `{"artifacts":[{"parts":[{"raw":"ZmlsZQ==","filename":"output.txt","mediaType":"text/plain"}]}]}`,
	"tck-stream-artifact-chunked": `{"artifacts":[{"chunked":true,"parts":[{"text":"chunk-1 "},{"text":"chunk-2"}]}]}`,
	"test-resubscribe-message-id": `{"artifacts":[]}`,
	"test-state-message-id":       `{"state":"TASK_STATE_INPUT_REQUIRED","message":"More input is needed."}`,
}

// lastsFor is how long the tasks of some messages last: twice as long as the kits
// wait for a stream.
const lastsFor = 5 * time.Second

// lasts are the beginnings of those messages' ids.
var lasts = map[string]bool{"test-resubscribe-message-id": true, "test-state-message-id": true}

func (conformance) Execute(ctx context.Context, job *executor.Job) (jsontext.Value, error) {
	doc, err := rawjson.Parse(job.Inputs)
	if err != nil {
		return nil, err
	}
	m := doc.Root().Get("message")
	id := m.Get("id").Text()
	best, does := "", `{"message":"Done.","artifacts":[]}`
	if m.Get("version").Text() == "0.3" {
		does = behaviors["tck-input-required"] // the kit of 0.3 goes on with each task, or cancels it
	}
	for beginning, what := range behaviors {
		if strings.HasPrefix(id, beginning) && len(beginning) > len(best) {
			best, does = beginning, what
		}
	}
	if lasts[best] {
		select {
		case <-time.After(lastsFor):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	o := begin(nil)
	o.raw("a2a", []byte(does))
	return o.end(), nil
}
