package executor

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// Bounds of what is told while a task works.
const (
	maxReports = 10_000
	maxMessage = 4 << 10
)

// reporter passes on how far a job is: not too much, and nothing after the end.
type reporter struct {
	mu   sync.Mutex
	to   func(float64, string) // nil after close
	left int
}

func report(job *Job) *reporter { return &reporter{to: job.Progress, left: maxReports} }

func (r *reporter) say(fraction float64, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil || r.left == 0 {
		return
	}
	r.left--
	r.to(min(fraction, 1), cut(message, maxMessage))
}

// close waits until nothing is being told, and lets nothing more through.
func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = nil
}

// defaultOutput is how much is kept of what a program writes to one stream.
const defaultOutput = 1 << 20

// output keeps the head and the tail of a stream, and reports its lines. One
// goroutine writes; the result is read when it is done.
type output struct {
	limit   int
	head    []byte
	tail    []byte // the last bytes, at most twice as many as are kept
	written int64
	report  *reporter // nil for none
	line    []byte
}

func newOutput(limit int, r *reporter) *output {
	if limit <= 0 {
		limit = defaultOutput
	}
	return &output{limit: limit, report: r}
}

func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	o.written += int64(n)
	if o.report != nil {
		o.lines(p)
	}
	if room := o.limit - o.limit/2 - len(o.head); room > 0 {
		k := min(room, len(p))
		o.head, p = append(o.head, p[:k]...), p[k:]
	}
	keep := o.limit / 2
	if len(p) > keep {
		p = p[len(p)-keep:]
	}
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*keep {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-keep:]...)
	}
	return n, nil
}

// lines reports whole lines, each cut to what a message may be.
func (o *output) lines(p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if room := maxMessage + 1 - len(o.line); room > 0 {
			o.line = append(o.line, line[:min(room, len(line))]...)
		}
		if whole {
			o.flush()
		}
		p = rest
	}
}

func (o *output) flush() {
	if line := strings.TrimRight(string(o.line), "\r"); line != "" {
		o.report.say(-1, line)
	}
	o.line = o.line[:0]
}

// text is what was kept, and whether something is missing.
func (o *output) text() (text string, truncated bool) {
	if o.report != nil && len(o.line) > 0 {
		o.flush()
	}
	tail := o.tail
	if keep := o.limit / 2; len(tail) > keep {
		tail = tail[len(tail)-keep:]
	}
	head := string(o.head)
	if missing := o.written - int64(len(head)+len(tail)); missing > 0 {
		return cut(head+fmt.Sprintf("\n… %d bytes left out …\n", missing)+string(tail), o.limit+100), true
	}
	return strings.ToValidUTF8(head+string(tail), "\uFFFD"), false
}
