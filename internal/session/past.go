package session

import (
	"encoding/binary"
	"slices"
	"time"

	"reeve.example/reeve/act"
)

// Bounds of what a session remembers of the acts that rules over time ask for.
const (
	MaxPast  = 64  // kinds of act
	MaxTimes = 64  // the newest times of each
	pastEach = 200 // after so many steps all of it is written again; less than MaxReplay
)

// Done is what a session has done of one kind of act: how often it was let through, how often
// after people agreed to it, and when last. It is of one size, however long the session is.
type Done struct {
	Key             uint64 // names the act as the policy defines it
	Count, Approved int64
	Times           []int64 // Unix milliseconds of the newest, oldest first
	// Unsure says that the session had begun before the policy asked for this act.
	Unsure bool
}

// Within is how often it was done since a time; MaxTimes for that many or more.
func (d *Done) Within(since time.Time) (n int64) {
	for _, t := range d.Times {
		if t > since.UnixMilli() {
			n++
		}
	}
	return n
}

// Past is what the session has done of the act with a key. sure is false where it could have
// done more than that, since nobody counted then or it is forgotten.
func (s *State) Past(key uint64) (d Done, sure bool) {
	if i := slices.IndexFunc(s.past, func(d Done) bool { return d.Key == key }); i >= 0 {
		return s.past[i], !s.past[i].Unsure
	}
	return Done{Key: key}, s.Known && s.Steps == 0
}

// PastOf is the past that an act is judged by: of a call that was asked about before, as a
// step of the agent, and is on its way now, what was done before that.
func (s *State) PastOf(a *act.Action) func(key uint64) (Done, bool) {
	if !a.CallsMCP() {
		return s.Past
	}
	asked := s.underway(short(a.Digest), s.hashesOf(a).turn)
	if asked == nil {
		return s.Past
	}
	made := asked.made
	return func(key uint64) (Done, bool) {
		d, sure := s.Past(key)
		if i := slices.Index(d.Times, made); i >= 0 {
			d.Count, d.Times = d.Count-1, slices.Delete(slices.Clone(d.Times), i, i+1)
		}
		return d, sure
	}
}

// Counts adds to a step what of the acts with these keys, which are all that the policy asks
// for, its act is. It must be the state's next step. agreed says that people have agreed to it.
func (s *State) Counts(st *Step, a *act.Action, keys []uint64, is func(key uint64) bool, agreed bool) {
	keys = keys[:min(len(keys), MaxPast)]
	st.counted = true
	st.pastWhole = len(keys) != len(s.past) || st.steps%pastEach == 0 ||
		slices.ContainsFunc(keys, func(k uint64) bool {
			return !slices.ContainsFunc(s.past, func(d Done) bool { return d.Key == k })
		})
	passed := st.effect != act.Deny && st.effect != act.Escalate
	if a.IsCall() && passed {
		passed = st.flags&flagCall != 0 // a call that was asked about as a step counts once
	}
	for _, key := range keys {
		d, sure := s.Past(key)
		did := passed && is(key)
		if !did && !st.pastWhole {
			continue
		}
		d.Unsure = !sure
		if did {
			d.Count++
			if agreed {
				d.Approved++
			}
			d.Times = append(slices.Clone(d.Times[max(0, len(d.Times)+1-MaxTimes):]), st.at)
		}
		st.past = append(st.past, d)
	}
}

// applyPast remembers what a step says of acts. What nobody counted is unknown from then on.
func (s *State) applyPast(st *Step) {
	switch {
	case !st.counted:
		s.past = nil
	case st.pastWhole:
		s.past = slices.Clone(st.past)
	default:
		for _, d := range st.past {
			if i := slices.IndexFunc(s.past, func(o Done) bool { return o.Key == d.Key }); i >= 0 {
				s.past[i] = d
			} else if len(s.past) < MaxPast {
				s.past = append(s.past, d)
			}
		}
	}
}

// appendPast writes what a step says of acts.
func (st *Step) appendPast(b []byte) []byte {
	whole := byte(0)
	if st.pastWhole {
		whole = 1
	}
	b = append(b, whole, byte(len(st.past)))
	for _, d := range st.past {
		b = binary.LittleEndian.AppendUint64(b, d.Key)
		unsure := byte(0)
		if d.Unsure {
			unsure = 1
		}
		b = append(b, unsure)
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(d.Count)), uint64(d.Approved))
		b = append(b, byte(len(d.Times)))
		last := int64(0)
		for _, t := range d.Times {
			b = binary.AppendVarint(b, t-last)
			last = t
		}
	}
	return b
}

// parsePast reads what appendPast wrote, and returns the rest.
func (st *Step) parsePast(b []byte) ([]byte, error) {
	if len(b) < 2 || b[0] > 1 || b[1] > MaxPast {
		return nil, errStep
	}
	st.counted, st.pastWhole = true, b[0] == 1
	n := int(b[1])
	b = b[2:]
	number := func(read func([]byte) (int64, int)) int64 {
		v, size := read(b)
		if size <= 0 {
			b = nil
			return 0
		}
		b = b[size:]
		return v
	}
	unsigned := func(b []byte) (int64, int) {
		v, size := binary.Uvarint(b)
		if v > 1<<62 {
			return 0, -1
		}
		return int64(v), size
	}
	for range n {
		if len(b) < 9 || b[8] > 1 {
			return nil, errStep
		}
		d := Done{Key: binary.LittleEndian.Uint64(b), Unsure: b[8] == 1}
		b = b[9:]
		d.Count, d.Approved = number(unsigned), number(unsigned)
		if len(b) < 1 || b[0] > MaxTimes {
			return nil, errStep
		}
		times := int(b[0])
		b = b[1:]
		last := int64(0)
		for range times {
			if b == nil {
				return nil, errStep
			}
			last += number(binary.Varint)
			d.Times = append(d.Times, last)
		}
		if b == nil {
			return nil, errStep
		}
		st.past = append(st.past, d)
	}
	return b, nil
}
