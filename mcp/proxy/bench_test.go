package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// BenchmarkCall is one call of a tool, or one ping, over lines to a program that
// answers at once: direct, through a proxy that only carries lines, and judged:
// with a guardian that costs nothing, and with a ledger. decision is what each
// direction of a judged call cannot do without: one decision, recorded in a ledger.
//
// What it prints beside times: how often the direct exchange fits into one
// (÷direct), or one that is only carried (÷carried), and what a judged call takes
// beyond the direct one and its two decisions (µs-added).
func BenchmarkCall(b *testing.B) {
	const (
		call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello","n":1.50}}}` + "\n"
		ping = `{"jsonrpc":"2.0","id":%d,"method":"ping"}` + "\n"
	)
	took := map[string]float64{} // by name, in ns
	measured := func(b *testing.B, name string) (kind string, ns float64) {
		ns = float64(b.Elapsed().Nanoseconds()) / float64(b.N)
		took[name] = ns
		kind, _, _ = strings.Cut(name, "/")
		for _, yardstick := range []string{"direct", "carried"} {
			if of := took[kind+"/"+yardstick]; of > 0 && kind+"/"+yardstick != name {
				b.ReportMetric(ns/of, "÷"+yardstick)
			}
		}
		return kind, ns
	}
	b.Run("decision", func(b *testing.B) {
		l := &Local{Guard: testGuard(b, testRules), Principal: Here}
		for id := 0; b.Loop(); id++ {
			q := &Question{Message: fmt.Appendf(nil, call[:len(call)-1], id), Server: "bench", Session: "bench", ID: itoa(id)}
			if a, err := l.Judge(b.Context(), q); err != nil || a.Effect != "allow" {
				b.Fatal(a, err)
			}
		}
		measured(b, "decision")
	})
	judged := func(b *testing.B) (io.Reader, io.Writer) {
		return through(b, &Local{Guard: testGuard(b, testRules), Principal: Here})
	}
	free := func(b *testing.B) (io.Reader, io.Writer) { return through(b, yes{}) }
	for _, bb := range []struct {
		name, line string
		connect    func(b *testing.B) (io.Reader, io.Writer)
	}{
		{"call/direct", call, direct},
		{"call/carried", call, carried},
		{"call/allowed", call, free},
		{"call/judged", call, judged},
		{"ping/direct", ping, direct},
		{"ping/carried", ping, carried},
		{"ping/judged", ping, judged},
	} {
		b.Run(bb.name, func(b *testing.B) {
			out, in := bb.connect(b)
			r := bufio.NewReaderSize(out, 64<<10)
			exchange := func(id int) {
				if _, err := fmt.Fprintf(in, bb.line, id); err != nil {
					b.Fatal(err)
				}
				if _, err := r.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			exchange(0) // the list of tools is asked for with the first call
			id := 0
			for b.Loop() {
				id++
				exchange(id)
			}
			kind, ns := measured(b, bb.name)
			if d, ok := took["decision"]; ok && bb.name == "call/judged" {
				b.ReportMetric((ns-took[kind+"/direct"]-2*d)/1e3, "µs-added")
			}
		})
	}
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
		readLines(from, 1<<20, func(line []byte, _ bool) bool { return w.write(line) == nil })
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
