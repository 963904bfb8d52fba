package habits

import (
	"encoding/binary"
	"errors"
	"fmt"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
)

// A profile is stored as a byte of version, two names, what people said as JSON, and
// numbers, mostly as varints. docs/habits.md says what is in it.
const version = 1

// maxProfile bounds a stored profile, in bytes.
const maxProfile = 256 << 10

// errDamaged: a stored profile cannot be read.
var errDamaged = errors.New("this is no profile")

// Data is the profile as it is stored.
func (p *Profile) Data() ([]byte, error) {
	said, err := json.Marshal(p.Said)
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 1024+48*len(p.values)), version)
	u := func(n uint64) { b = binary.AppendUvarint(b, n) }
	text := func(s string) { u(uint64(len(s))); b = append(b, s...) }
	bitmap := func(w [window / 64]uint64) {
		for _, x := range w {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
	}
	text(p.Principal)
	text(p.Agent)
	text(string(said))
	u(uint64(p.sessions))
	u(uint64(p.last))
	bitmap(p.alarmed)
	u(uint64(len(p.subjects)))
	for i := range p.subjects {
		s := &p.subjects[i]
		text(s.name)
		u(uint64(s.seen))
		u(uint64(s.newest))
		bitmap(s.changes)
	}
	u(uint64(len(p.values)))
	for i := range p.values {
		v := &p.values[i]
		b = binary.LittleEndian.AppendUint64(b, uint64(v.hash))
		u(uint64(v.at.Log))
		u(v.at.Index)
		u(uint64(v.first))
		u(uint64(v.last))
		mine := uint64(0)
		if v.mine {
			mine = 1
		}
		u(uint64(v.subject)<<1 | mine)
		u(uint64(v.taught))
		for k := range v.taught {
			b = binary.LittleEndian.AppendUint32(b, v.by[k])
			u(uint64(v.on[k]))
		}
	}
	u(uint64(len(p.chapters)))
	for _, c := range p.chapters {
		for _, x := range c.print {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		u(uint64(c.since))
		u(uint64(c.sessions))
	}
	for i := range p.volumes {
		for _, c := range p.volumes[i] {
			u(uint64(c))
		}
	}
	u(uint64(len(p.hours)))
	for _, h := range p.hours {
		u(uint64(h.at))
		u(uint64(h.Calls))
		u(uint64(h.Denied))
		u(uint64(h.Bytes))
	}
	return b, nil
}

// Parse reads what Data wrote.
func Parse(data []byte) (p *Profile, err error) {
	if len(data) == 0 || len(data) > maxProfile || data[0] != version {
		return nil, errDamaged
	}
	r := reader{rest: data[1:]}
	p = &Profile{Principal: r.text(), Agent: r.text()}
	said := r.text()
	if r.bad {
		return nil, errDamaged
	}
	if err := json.Unmarshal([]byte(said), &p.Said); err != nil {
		return nil, fmt.Errorf("what was said of an agent's habits: %w", err)
	}
	p.sessions, p.last, p.alarmed = uint32(r.upTo(1<<32-1)), int64(r.upTo(1<<40)), r.bitmap()
	for range r.upTo(maxSubjects) {
		p.subjects = append(p.subjects, subject{r.text(), uint32(r.upTo(1<<32 - 1)), uint32(r.upTo(1<<32 - 1)), r.bitmap()})
	}
	for i := range r.upTo(maxValues) {
		v := value{hash: Hash(r.fixed(8)), at: act.Position{Log: uint32(r.upTo(1<<32 - 1)), Index: r.upTo(1<<63 - 1)}, first: uint16(r.upTo(1<<16 - 1)), last: uint16(r.upTo(1<<16 - 1))}
		s := r.upTo(2*maxSubjects - 1)
		v.subject, v.mine, v.taught = uint8(s>>1), s&1 != 0, uint8(r.upTo(MaxTaught))
		for k := range v.taught {
			v.by[k], v.on[k] = uint32(r.fixed(4)), uint16(r.upTo(1<<16-1))
		}
		if int(v.subject) >= len(p.subjects) || i > 0 && p.values[i-1].hash >= v.hash {
			return nil, errDamaged
		}
		p.values = append(p.values, v)
	}
	for range r.upTo(maxChapters) {
		var c chapter
		for k := range c.print {
			c.print[k] = uint32(r.fixed(4))
		}
		c.since, c.sessions = int64(r.upTo(1<<40)), uint32(r.upTo(1<<32-1))
		p.chapters = append(p.chapters, c)
	}
	for i := range p.volumes {
		for k := range p.volumes[i] {
			p.volumes[i][k] = uint16(r.upTo(1 << 15))
		}
	}
	for range r.upTo(maxDay) {
		p.hours = append(p.hours, hour{int64(r.upTo(1 << 40)), Count{uint32(r.upTo(1<<32 - 1)), uint32(r.upTo(1<<32 - 1)), uint32(r.upTo(1<<32 - 1))}})
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errDamaged
	}
	return p, nil
}

// reader reads numbers and texts until something is wrong.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) fail() { r.rest, r.bad = nil, true }

func (r *reader) upTo(most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) fixed(size int) (n uint64) {
	if len(r.rest) < size {
		r.fail()
		return 0
	}
	for i := range size {
		n |= uint64(r.rest[i]) << (8 * i)
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.upTo(uint64(len(r.rest)))
	if uint64(len(r.rest)) < n {
		r.fail()
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) bitmap() (w [window / 64]uint64) {
	for i := range w {
		w[i] = r.fixed(8)
	}
	return w
}
