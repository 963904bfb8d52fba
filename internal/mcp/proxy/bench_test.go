package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"testing"
	"time"
)

// BenchmarkCall is a call of a tool, or a ping, over lines to a program that answers
// at once: direct, through a proxy that only carries lines (carried), and through the
// proxy, with a guardian that costs nothing (free) and with a ledger (judged). A
// judged call cannot do without two decisions, each recorded (decision). All take
// turns, so that what else the machine does is shared, and medians are printed:
//
//	call  judged-added-µs = judged − direct − 2 · decision; free-added-µs = free − direct
//	ping  judged/carried: no rule says anything of it
func BenchmarkCall(b *testing.B) {
	fresh := func() Guardian { return local(testGuard(b, testRules)) }
	b.Run("call", func(b *testing.B) {
		const line = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello","n":1.50}}}` + "\n"
		l, id := fresh(), 0
		took := inTurn(b, map[string]func(){
			"direct":  exchanges(b, line, direct),
			"carried": exchanges(b, line, carried),
			"free":    exchanges(b, line, func(b *testing.B) (io.Reader, io.Writer) { return through(b, yes{}) }),
			"judged":  exchanges(b, line, func(b *testing.B) (io.Reader, io.Writer) { return through(b, fresh()) }),
			"decision": func() {
				id++
				q := &Question{Message: fmt.Appendf(nil, line[:len(line)-1], id), Server: "bench", Session: "bench", ID: itoa(id)}
				if a, err := l.Judge(b.Context(), q); err != nil || a.Effect != "allow" {
					b.Fatal(a, err)
				}
			},
		})
		b.ReportMetric(took["free"]-took["direct"], "free-added-µs")
		b.ReportMetric(took["judged"]-took["direct"]-2*took["decision"], "judged-added-µs")
		b.ReportMetric(took["judged"]/took["decision"], "judged/decision")
	})
	b.Run("ping", func(b *testing.B) {
		const line = `{"jsonrpc":"2.0","id":%d,"method":"ping"}` + "\n"
		took := inTurn(b, map[string]func(){
			"direct":  exchanges(b, line, direct),
			"carried": exchanges(b, line, carried),
			"judged":  exchanges(b, line, func(b *testing.B) (io.Reader, io.Writer) { return through(b, fresh()) }),
		})
		b.ReportMetric(took["judged"]/took["carried"], "judged/carried")
		b.ReportMetric(took["judged"]-took["carried"], "judged-added-µs")
	})
}

// exchanges connects, and returns what sends a line and awaits the answer.
func exchanges(b *testing.B, line string, connect func(b *testing.B) (io.Reader, io.Writer)) func() {
	out, in := connect(b)
	r, id := bufio.NewReaderSize(out, 64<<10), 0
	exchange := func() {
		id++
		if _, err := fmt.Fprintf(in, line, id); err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	exchange() // the list of tools is asked for with the first call
	return exchange
}

// inTurn does some things in turn, and returns and reports how long each takes, in
// µs: the median.
func inTurn(b *testing.B, things map[string]func()) map[string]float64 {
	const atOnce = 8
	samples := map[string][]float64{}
	names := slices.Sorted(maps.Keys(things))
	for b.Loop() {
		for _, name := range names {
			things[name]() // which wakes whoever sleeps
			for range atOnce {
				began := time.Now()
				things[name]()
				samples[name] = append(samples[name], float64(time.Since(began).Nanoseconds())/1e3)
			}
		}
	}
	took := map[string]float64{}
	for name, s := range samples {
		slices.Sort(s)
		took[name] = s[len(s)/2]
		b.ReportMetric(took[name], name+"-µs")
	}
	b.ReportMetric(0, "ns/op")
	return took
}

// direct starts the program that answers at once.
func direct(b *testing.B) (io.Reader, io.Writer) {
	b.Setenv("REEVE_TEST_SERVER", "lines")
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	in, toServer := pipe(b)
	fromServer, out := pipe(b)
	p, err := os.StartProcess(program, []string{program}, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{in, out, os.Stderr}})
	if err != nil {
		b.Fatal(err)
	}
	in.Close()
	out.Close()
	b.Cleanup(func() { toServer.Close(); p.Wait() })
	return fromServer, toServer
}

func pipe(b *testing.B) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// carried carries lines in both directions, and does nothing else.
func carried(b *testing.B) (io.Reader, io.Writer) {
	fromServer, toServer := direct(b)
	in, client := pipe(b)
	answers, out := pipe(b)
	copyLines := func(to io.Writer, from io.Reader) {
		w := &lineWriter{w: to}
		readLines(from, 1<<20, func(line []byte, _ bool) bool { _, err := w.write(line); return err == nil })
	}
	go copyLines(toServer, in)
	go copyLines(out, fromServer)
	return answers, client
}

// through puts the proxy between.
func through(b *testing.B, g Guardian) (io.Reader, io.Writer) {
	b.Setenv("REEVE_TEST_SERVER", "lines")
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	in, client := pipe(b)
	answers, out := pipe(b)
	p := &Proxy{Guardian: g, Server: "bench", Logger: slog.New(slog.DiscardHandler)}
	done := make(chan error, 1)
	go func() { done <- p.ServeStdio(context.Background(), in, out, Command(program)) }()
	b.Cleanup(func() {
		client.Close()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return answers, client
}

// answerLines is a server that answers each line at once, and lists one tool.
func answerLines() {
	r := bufio.NewReader(os.Stdin)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := read(line)
		if err != nil || m.id == "" {
			continue
		}
		result := `{"content":[{"type":"text","text":"hello"}],"odd":1.50}`
		switch m.method {
		case "tools/list":
			result = `{"tools":[{"name":"echo","inputSchema":{}}]}`
		case "ping":
			result = `{}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.id, result)
	}
}
