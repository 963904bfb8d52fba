package a2a_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// sample is the least that an agent of the SDK does: it keeps its tasks in memory,
// judges nothing and records nothing.
type sample struct{}

func (sample) Execute(_ context.Context, c *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		task := sdk.NewSubmittedTask(c, c.Message)
		for _, e := range []sdk.Event{
			task, sdk.NewStatusUpdateEvent(task, sdk.TaskStateWorking, nil), sdk.NewArtifactEvent(task, sdk.NewDataPart(map[string]any{"n": 1})),
			sdk.NewStatusUpdateEvent(task, sdk.TaskStateCompleted, nil),
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (sample) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(func(sdk.Event, error) bool) {}
}

// BenchmarkSend sends messages, 64 at once, and waits for each task: of this agent,
// which judges and records the message, the start and the result on a disk, and of
// the SDK's own server.
func BenchmarkSend(b *testing.B) {
	post := func(b *testing.B, url string, body func() string) {
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				resp, err := http.Post(url, "application/json", strings.NewReader(body()))
				if err != nil {
					b.Error(err)
					return
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !strings.Contains(string(text), "TASK_STATE_COMPLETED") {
					b.Errorf("%v: %s", err, text)
					return
				}
			}
		})
	}
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + params + `}`
	}
	b.Run("reeve", func(b *testing.B) {
		n := begin(b, "")
		n.open.Store(true)
		b.ResetTimer()
		post(b, n.url+"/a2a", func() string { return call(sent(tasks(one("echo")), "")) })
	})
	b.Run("sdk", func(b *testing.B) {
		server := httptest.NewServer(a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(sample{})))
		defer server.Close()
		b.ResetTimer()
		post(b, server.URL, func() string { return call(sent(tasks(one("echo")), "")) })
	})
}
