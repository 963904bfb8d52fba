package a2a_test

import (
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A thousand streams of one task are open at once, each is told, and a reader that
// takes nothing keeps nobody waiting.
func TestManyStreams(t *testing.T) {
	n := begin(t, "")
	id := n.do("ann", "SendMessage", sent(tasks(one("wait")), `{"returnImmediately":true}`)).result("task", "id")
	n.wait("ann", id, "TASK_STATE_WORKING")
	body := `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"` + id + `"}}`
	lazy, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer lazy.Close()
	lazy.Write([]byte("POST /a2a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body))
	const count = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	streams := make([]<-chan answer, count)
	var opening sync.WaitGroup
	room := make(chan struct{}, 64)
	for i := range streams {
		opening.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			streams[i] = n.events(n.ask("ann", "POST", "/a2a", body))
			n.next(streams[i])
		})
	}
	opening.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	begun := time.Now()
	close(n.gate)
	for _, c := range streams {
		n.next(c)
		if last := n.next(c); !strings.Contains(last.text, "TASK_STATE_COMPLETED") {
			t.Fatal(last.text)
		}
		n.ended(c)
	}
	t.Logf("%d bytes for each stream, client and server together; all were told after %v", (after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/count, time.Since(begun))
}
