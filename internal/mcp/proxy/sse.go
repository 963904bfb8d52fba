package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"
)

// event is one event of a stream, as it came and as what it says.
type event struct {
	raw  []byte // with the empty line at its end
	data []byte // nil where there is none
	// rest are the lines beside the data: the id, the kind, comments.
	rest []byte
	id   string
}

var errEventLong = errors.New("an event of the server's stream is larger than the proxy takes")

// events reads a stream of server-sent events. Of what it reads only that is left
// which every client reads alike: a line that some take for data, or for two lines,
// would be a message that nobody judged.
type events struct {
	r     *bufio.Reader
	limit int
	begun bool
}

func newEvents(r io.Reader, limit int) *events {
	return &events{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// next returns the next event. io.EOF: the stream has ended; an event that it
// broke off in is none.
func (s *events) next() (e event, err error) {
	some := false
	for {
		start := len(e.raw)
		line, err := s.line(&e)
		if err != nil {
			return event{}, err
		}
		if bom := []byte("\ufeff"); !s.begun && bytes.HasPrefix(line, bom) { // which says nothing
			line = line[len(bom):]
			e.raw = append(e.raw[:start], e.raw[start+len(bom):]...)
			line = e.raw[start : start+len(line)]
		}
		s.begun = true
		if len(line) == 0 {
			if !some || e.data == nil && len(e.rest) == 0 { // an empty line between events, or nothing is left
				e.raw, some = e.raw[:0], false
				continue
			}
			return e, nil
		}
		some = true
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "id", "event", "retry":
			if !token(value) { // else a server could write sentences there that nobody judges
				e.raw = e.raw[:start]
				continue
			}
		case "data":
		default: // a comment, or nothing that is known
			e.raw = e.raw[:start]
			if len(name) == 0 { // which keeps the connection open
				e.raw, e.rest = append(e.raw, ":\n"...), append(e.rest, ":\n"...)
			}
			continue
		}
		switch string(name) {
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			} else {
				e.data = []byte{}
			}
			e.data = append(e.data, value...)
			continue
		case "id":
			e.id = string(value)
		}
		e.rest = append(append(e.rest, line...), '\n')
	}
}

// maxToken is how long an id or a name of an event may be.
const maxToken = 1 << 10

// token reports whether a field's value is one: no spaces, no line ends, nothing
// that is not seen.
func token(value []byte) bool {
	return len(value) <= maxToken && utf8.Valid(value) && bytes.IndexFunc(value, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }) < 0
}

// line reads one line, keeps it as it came, and returns it without its end.
func (s *events) line(e *event) ([]byte, error) {
	start := len(e.raw)
	for {
		part, err := s.r.ReadSlice('\n')
		e.raw = append(e.raw, part...)
		if len(e.raw) > s.limit+s.limit/4+1024 {
			return nil, errEventLong
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return nil, err
		}
		// A lone CR ends a line, too. Who takes it for one would read another event.
		line := bytes.TrimSuffix(e.raw[start:], []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if bytes.IndexByte(line, '\r') >= 0 {
			return nil, errors.New("a line of the server's stream holds a carriage return")
		}
		return line, nil
	}
}

// with is the event with other data; nil for none, so that what is left is its id.
func (e *event) with(data []byte) []byte {
	if data == nil && len(e.rest) == 0 {
		return nil
	}
	b := append([]byte(nil), e.rest...)
	if data != nil {
		b = append(b, "data: "...)
		b = append(append(b, oneLine(data)...), '\n')
	}
	return append(b, '\n')
}

// plainEvent is an event that is only a message.
func plainEvent(data []byte) []byte {
	b := append([]byte("event: message\ndata: "), oneLine(data)...)
	return append(b, '\n', '\n')
}
