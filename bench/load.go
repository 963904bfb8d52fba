package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// template is a request body with places for a number that makes each one new.
type template struct {
	bytes  []byte
	places []int
}

const numberWidth = 10

func newTemplate(text string) *template {
	const mark = "##########"
	t := &template{bytes: []byte(text)}
	for at := 0; ; at += numberWidth {
		i := strings.Index(text[at:], mark)
		if i < 0 {
			return t
		}
		at += i
		t.places = append(t.places, at)
	}
}

// client is one connection that writes requests as bytes: the load must not
// cost more than the servers.
type client struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	offset  int // of the body
	places  []int
	socket  bool
}

var sequence atomic.Uint64

func dial(s *server) (*client, error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return nil, err
	}
	if s.socket {
		return upgrade(s, conn)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", s.path, s.addr, len(s.body.bytes))
	return &client{
		conn: conn, in: bufio.NewReaderSize(conn, 8<<10),
		request: append([]byte(head), s.body.bytes...), offset: len(head), places: s.body.places,
	}, nil
}

// call makes one request and reads the answer.
func (c *client) call() error {
	number := strconv.AppendUint(make([]byte, 0, numberWidth), 1_000_000_000+sequence.Add(1), 10)
	for _, p := range c.places {
		copy(c.request[c.offset+p:], number)
	}
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	if c.socket {
		return c.frame()
	}
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("answered %s", status)
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	if length < 0 {
		return errors.New("answered without Content-Length")
	}
	body, err := c.in.Peek(min(length, 256))
	if err != nil {
		return err
	}
	if bytes.Contains(body, []byte(`"error"`)) {
		return fmt.Errorf("answered %s", body)
	}
	_, err = c.in.Discard(length)
	return err
}

// upgrade opens a WebSocket. Every request on it is one text frame, with a mask of
// zeros, which leaves the text as it is (RFC 6455, section 5.3).
func upgrade(s *server, conn net.Conn) (*client, error) {
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", s.path, s.addr)
	in := bufio.NewReaderSize(conn, 8<<10)
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if first && !strings.HasPrefix(line, "HTTP/1.1 101") {
			return nil, fmt.Errorf("answered %s", line)
		}
		if len(line) <= 2 {
			break
		}
	}
	head := []byte{0x81, 0x80 | 126, byte(len(s.body.bytes) >> 8), byte(len(s.body.bytes)), 0, 0, 0, 0}
	return &client{conn: conn, in: in, request: append(head, s.body.bytes...), offset: len(head), places: s.body.places, socket: true}, nil
}

// frame reads an answer's frame; pings are passed over.
func (c *client) frame() error {
	for {
		head, err := c.in.Peek(4)
		if err != nil {
			return err
		}
		kind, length, size := head[0]&15, int(head[1]), 2
		if length == 126 {
			length, size = int(head[2])<<8|int(head[3]), 4
		}
		c.in.Discard(size)
		body, err := c.in.Peek(min(length, 256))
		if err != nil {
			return err
		}
		if bytes.Contains(body, []byte(`"error"`)) {
			return fmt.Errorf("answered %s", body)
		}
		if _, err := c.in.Discard(length); err != nil || kind == 1 {
			return err
		}
	}
}

// closedLoop keeps n connections busy, and returns the requests a second and
// the server's CPU time for each, in microseconds.
func closedLoop(s *server, n int, length time.Duration) (rate, cpu float64, err error) {
	clients := make([]*client, n)
	for i := range clients {
		if clients[i], err = dial(s); err != nil {
			return 0, 0, err
		}
		defer clients[i].conn.Close()
	}
	var count atomic.Int64
	var failure atomic.Value
	var wg sync.WaitGroup
	begin := time.Now()
	used := cpuTime(s.process.Process.Pid)
	for _, c := range clients {
		wg.Go(func() {
			for time.Since(begin) < length {
				if err := c.call(); err != nil {
					failure.Store(err)
					return
				}
				count.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	used = cpuTime(s.process.Process.Pid) - used
	if err, _ := failure.Load().(error); err != nil {
		return 0, 0, err
	}
	return float64(count.Load()) / took.Seconds(), used.Seconds() * 1e6 / float64(count.Load()), nil
}

// openLoop sends requests at a fixed rate whether or not earlier ones were
// answered, and returns the sorted latencies, each from the moment at which
// the request was due.
func openLoop(s *server, rate float64, length time.Duration) ([]time.Duration, error) {
	const workers = 256
	due := make(chan time.Time, 1<<16)
	var mu sync.Mutex
	var all []time.Duration
	var failure error
	var wg sync.WaitGroup
	for range workers {
		c, err := dial(s)
		if err != nil {
			return nil, err
		}
		defer c.conn.Close()
		wg.Go(func() {
			for at := range due {
				err := c.call()
				mu.Lock()
				if err != nil {
					failure = err
				}
				all = append(all, time.Since(at))
				mu.Unlock()
			}
		})
	}
	begin := time.Now()
	for i := 0; ; i++ {
		at := begin.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		if at.Sub(begin) > length {
			break
		}
		if wait := time.Until(at); wait > 50*time.Microsecond {
			time.Sleep(wait)
		}
		due <- at
	}
	close(due)
	wg.Wait()
	slices.Sort(all)
	return all, failure
}

// cpuTime is the user and system time that a process has used (Linux).
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		log.Fatal("CPU times are read from /proc: ", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	return time.Duration(user+system) * tick
}

func residentMB(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")))
			return kb >> 10
		}
	}
	return 0
}

func parseInts(text string) (list []int) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			log.Fatalf("-conns: %v", err)
		}
		list = append(list, n)
	}
	return list
}
