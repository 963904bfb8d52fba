package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMCPServerPace: a client that sends no more of a request, or takes no more of
// an answer, loses its connection; one that reads a slow stream does not.
func TestMCPServerPace(t *testing.T) {
	const wait = 300 * time.Millisecond
	ended := make(chan error, 1)
	tick := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/body", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		ended <- err
	})
	mux.HandleFunc("/flood", func(w http.ResponseWriter, r *http.Request) {
		part := bytes.Repeat([]byte("x"), 3*pacedPart/2)
		for {
			if _, err := w.Write(part); err != nil {
				ended <- err
				return
			}
		}
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for range tick {
			if r.Context().Err() != nil {
				ended <- r.Context().Err()
				return
			}
			fmt.Fprintln(w, "tick")
			if err := http.NewResponseController(w).Flush(); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := mcpServer(mux, wait, wait)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	dial := func(head string) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		return c
	}
	timedOut := func(what string) {
		t.Helper()
		var timeout net.Error
		select {
		case err := <-ended:
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it holds its connection", what)
		}
	}
	dial("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	timedOut("a slow body")
	dial("GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n")
	timedOut("a stream that is not read")
	c := dial("POST /hea") // not even that
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a slow head:", err)
	}

	c = dial("POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
	lines := bufio.NewReader(c)
	for n := range 3 { // each after all deadlines of before
		time.Sleep(2 * wait)
		select {
		case tick <- struct{}{}:
		case err := <-ended:
			t.Fatalf("tick %d: %v", n, err)
		}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("tick %d: %v", n, err)
			}
			if strings.HasPrefix(line, "tick") {
				break
			}
		}
	}
	close(tick)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
