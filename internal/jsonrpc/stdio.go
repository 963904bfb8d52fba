package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
)

// ServeStdio serves a pair of streams, such as a program's standard input and
// output, until the input ends, ctx does, or the connection is closed: one JSON
// message a line, in both directions. Empty lines are skipped. opened, if not
// nil, gets the connection before anything is carried out.
//
// The end of the input is no hurry: the calls that have come are answered. It
// returns nil then, and else why it ended. A line over MaxBody is answered with
// -32600 and skipped.
//
// A Read or Write that waits for the other side cannot be ended from here, and
// may be left waiting when ServeStdio has returned.
func (h *Handler) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, opened func(*Conn)) error {
	ended, end := context.WithCancel(context.Background())
	defer end()
	s := &stdio{
		h: h, ended: ended, stop: end,
		lines: make(chan line), texts: make(chan []byte), results: make(chan error),
	}
	go s.readLines(in)
	go s.writeLines(out)
	h.converse(ctx, newConn(h, s), nil, opened)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return ctx.Err()
	}
	if s.err == io.EOF {
		return nil
	}
	return s.err
}

// stdio is the wire of a pair of streams. Reading and writing have goroutines of
// their own, since nothing can end them.
type stdio struct {
	h       *Handler
	ended   context.Context
	stop    context.CancelFunc
	lines   chan line
	texts   chan []byte
	results chan error

	mu  sync.Mutex
	err error // why it ended
}

// line is one that was read: data, or that it was too long, or the end.
type line struct {
	data []byte
	long bool
	err  error
}

func (s *stdio) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *stdio) next() ([]byte, func(), *fault) {
	var l line
	select {
	case l = <-s.lines:
	case <-s.ended.Done():
		return nil, nil, &fault{last: true}
	}
	switch {
	case l.err != nil:
		s.fail(l.err)
		return nil, nil, &fault{last: true, left: true}
	case l.long:
		s.h.count("size")
		return nil, nil, &fault{reason: "The message is larger than " + strconv.FormatInt(s.h.maxBody(), 10) + " bytes, the limit of this server."}
	}
	return l.data, noop, nil
}

// readLines reads lines until the input ends or nobody wants one.
func (s *stdio) readLines(in io.Reader) {
	r := bufio.NewReaderSize(in, firstRead)
	for {
		l := readLine(r, s.h.maxBody())
		if l.err == nil && !l.long && len(bytes.TrimSpace(l.data)) == 0 {
			continue
		}
		select {
		case s.lines <- l:
		case <-s.ended.Done():
			return
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads one line without its end. Of one that is too long nothing is kept.
func readLine(r *bufio.Reader, limit int64) (l line) {
	for {
		part, err := r.ReadSlice('\n')
		if n := len(part); n > 0 && part[n-1] == '\n' {
			part = part[:n-1]
		}
		if l.long = l.long || int64(len(l.data)+len(part)) > limit; l.long {
			l.data = nil
		} else {
			l.data = append(l.data, part...)
		}
		switch {
		case err == nil:
			return l
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && (l.long || len(l.data) > 0):
			return l // a last line without an end; the next is the end
		default:
			return line{err: err}
		}
	}
}

// write writes a message as one line. A line break in JSON is white space between
// its tokens, and a space does as well.
func (s *stdio) write(message []byte) error {
	text := make([]byte, len(message)+1)
	copy(text, message)
	text[len(message)] = '\n'
	for i, c := range text[:len(message)] {
		if c == '\n' || c == '\r' {
			text[i] = ' '
		}
	}
	select {
	case s.texts <- text:
	case <-s.ended.Done():
		return ErrClosed
	}
	select {
	case err := <-s.results:
		if err != nil {
			s.fail(err)
		}
		return err
	case <-s.ended.Done():
		return ErrClosed
	}
}

func (s *stdio) writeLines(out io.Writer) {
	for {
		var text []byte
		select {
		case text = <-s.texts:
		case <-s.ended.Done():
			return
		}
		_, err := out.Write(text)
		select {
		case s.results <- err:
		case <-s.ended.Done():
			return
		}
	}
}

func (s *stdio) end(closeFrame) { s.stop() }

func (s *stdio) kill() {
	s.fail(ErrSlow)
	s.stop()
}
