package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// serveSample is the yardstick for A2A: the SDK's own server with the least that an
// agent does. It keeps its tasks in memory, judges nothing and records nothing. A
// message's text is a URL that is asked for before the task ends, or empty.
func serveSample(addr string) {
	log.Fatal(http.ListenAndServe(addr, a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(sample{}))))
}

type sample struct{}

func (sample) Execute(ctx context.Context, c *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		task := sdk.NewSubmittedTask(c, c.Message)
		if !yield(task, nil) || !yield(sdk.NewStatusUpdateEvent(task, sdk.TaskStateWorking, nil), nil) {
			return
		}
		if url := c.Message.Parts[0].Text(); url != "" {
			r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
			if err == nil {
				var resp *http.Response
				if resp, err = http.DefaultClient.Do(r); err == nil {
					err = resp.Body.Close()
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if yield(sdk.NewArtifactEvent(task, sdk.NewDataPart(map[string]any{"n": 1})), nil) {
			yield(sdk.NewStatusUpdateEvent(task, sdk.TaskStateCompleted, nil), nil)
		}
	}
}

func (sample) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(func(sdk.Event, error) bool) {}
}

// The most of what a stream's reader waits for.
const longest = 30 * time.Second

// gates are URLs that are answered when they are opened.
type gates struct {
	address string
	mu      sync.Mutex
	all     map[string]chan struct{}
}

func newGates() (*gates, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gates{address: l.Addr().String(), all: map[string]chan struct{}{}}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-g.gate(r.URL.Path):
		case <-r.Context().Done():
		}
	}))
	return g, nil
}

func (g *gates) gate(path string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all[path] == nil {
		g.all[path] = make(chan struct{})
	}
	return g.all[path]
}

// runA2A compares a node as an A2A agent with the SDK's sample server.
func runA2A(rounds int, each time.Duration, conns []int) error {
	dir, err := os.MkdirTemp("", "reeve-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, reeve, err := programs(dir)
	if err != nil {
		return err
	}
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.process.Process.Signal(os.Interrupt)
			s.process.Wait()
		}
	}()
	begin := func(name, path string, body *template, program string, args ...string) error {
		addr := freeAddr()
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "ADDR", addr)
		}
		s, err := start(name, addr, path, body, program, args...)
		if err == nil {
			servers = append(servers, s)
		}
		return err
	}
	if err := begin("sample", "/", sendBody(""), self, "-sample", "ADDR"); err != nil {
		return err
	}
	if err := begin("reeve", "/a2a", sendBody(work), reeve, append([]string{"serve", "--listen", "ADDR", "--data", filepath.Join(dir, "data"), "--tasks-allow-private"}, unbounded...)...); err != nil {
		return err
	}

	fmt.Printf("A2A: SendMessage, answered when its task has ended; median of %d rounds of %s\n%-9s %6s %12s %12s %10s %12s\n", rounds, each, "server", "conns", "messages/s", "CPU µs", "÷ sample", "CPU ÷ sample")
	for _, n := range conns {
		rates, cpus := make([][]float64, len(servers)), make([][]float64, len(servers))
		for range rounds {
			for i, s := range servers {
				rate, cpu, err := closedLoop(s, n, each)
				if err != nil {
					return fmt.Errorf("%s at %d connections: %w", s.name, n, err)
				}
				rates[i], cpus[i] = append(rates[i], rate), append(cpus[i], cpu)
			}
		}
		for i, s := range servers {
			rate, cpu := median(rates[i]), median(cpus[i])
			fmt.Printf("%-9s %6d %12.0f %12.1f %10.2f %12.2f\n", s.name, n, rate, cpu, rate/median(rates[0]), cpu/median(cpus[0]))
		}
	}
	return benchStreams(servers)
}

// benchStreams measures how long it takes from when a task could end until its
// streams have told so, with one stream and with many, and what a stream costs.
func benchStreams(servers []*server) error {
	g, err := newGates()
	if err != nil {
		return err
	}
	fmt.Printf("\nA2A: from the end of a task's work to the streams' readers\n%-9s %8s %9s %9s %12s %12s\n", "server", "streams", "p50 ms", "p99 ms", "p50÷sample", "KB/stream")
	for _, n := range []int{1, 1000} {
		var first time.Duration
		for i, s := range servers {
			all, memory, err := streams(s, g, n)
			if err != nil {
				return fmt.Errorf("%s with %d streams: %w", s.name, n, err)
			}
			at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))] }
			if i == 0 {
				first = at(0.5)
			}
			each := "-"
			if n > 1 {
				each = fmt.Sprint(memory << 10 / n)
			}
			fmt.Printf("%-9s %8d %9.2f %9.2f %12.2f %12s\n", s.name, n, at(0.5).Seconds()*1e3, at(0.99).Seconds()*1e3, at(0.5).Seconds()/first.Seconds(), each)
		}
	}
	return nil
}

// streams opens n streams of one task and has the task end; of a single one a
// hundred times. memory is by how many megabytes the server has grown.
func streams(s *server, g *gates, n int) (all []time.Duration, memory int, err error) {
	times := 1
	if n == 1 {
		times = 100
	}
	for i := range times {
		path := fmt.Sprintf("/%s/%d/%d", s.name, n, i)
		began := make(chan string, 1)
		ends := make(chan time.Time, n)
		failed := make(chan error, n)
		before := residentMB(s.process.Process.Pid)
		go follow(s, streamBody(s, "http://"+g.address+path), began, ends, failed)
		id := ""
		select {
		case id = <-began:
		case err := <-failed:
			return nil, 0, err
		}
		more := make(chan string, n)
		for range n - 1 {
			go follow(s, `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"`+id+`"}}`, more, ends, failed)
			select {
			case <-more:
			case err := <-failed:
				return nil, 0, err
			}
		}
		memory = residentMB(s.process.Process.Pid) - before
		released := time.Now()
		close(g.gate(path))
		for range n {
			select {
			case at := <-ends:
				all = append(all, at.Sub(released))
			case err := <-failed:
				return nil, 0, err
			}
		}
	}
	slices.Sort(all)
	return all, memory, nil
}

// follow reads a stream. It tells the task's id when it is being worked on, and when
// its end came.
func follow(s *server, body string, began chan<- string, ends chan<- time.Time, failed chan<- error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.addr+s.path, strings.NewReader(body))
	if err != nil {
		failed <- err
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	resp, err := streaming.RoundTrip(r)
	if err != nil {
		failed <- err
		return
	}
	defer resp.Body.Close()
	in, id := bufio.NewReaderSize(resp.Body, 2<<10), ""
	for {
		line, err := in.ReadString('\n')
		switch {
		case err != nil || strings.Contains(line, `"error"`):
			failed <- fmt.Errorf("the stream was cut: %w %s", err, line)
			return
		case id == "" && strings.Contains(line, `"task":`):
			_, rest, _ := strings.Cut(line, `"task":`)
			_, rest, _ = strings.Cut(rest, `"id":"`)
			id, _, _ = strings.Cut(rest, `"`)
		}
		if strings.Contains(line, "TASK_STATE_WORKING") {
			began <- id
		}
		if strings.Contains(line, "TASK_STATE_COMPLETED") {
			ends <- time.Now()
			io.Copy(io.Discard, in)
			return
		}
	}
}

// streaming has a connection for each stream.
var streaming = &http.Transport{DisableKeepAlives: true}
