package simulation

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/words"
)

// Life plays sessions as the life of one agent, whose guardian learns what is usual: one
// after another, some each day, with a person who agrees to what is honest and refuses
// what is an attacker's.
type Life struct {
	Guard *guard.Guard
	// Now is the guardian's clock, which Life moves on.
	Now *time.Time
	// Pause is the time between two sessions that do not say when they were.
	Pause time.Duration
	// Freeze is after how many sessions nothing more is learned; 0 for never.
	Freeze int
	age    int
}

// Shuffled is sessions in an order that a seed gives.
func Shuffled(list []*Session, seed uint64) []*Session {
	list = slices.Clone(list)
	r := rand.New(rand.NewPCG(seed, seed))
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// Play plays the next session of the agent's life.
func (l *Life) Play(ctx context.Context, s *Session) (*Outcome, error) {
	if l.Freeze > 0 && l.age == l.Freeze {
		if err := l.Guard.FreezeHabits(ctx, act.Anonymous.Name, agentID, true, person); err != nil {
			return nil, fmt.Errorf("freeze what was learned: %w", err)
		}
	}
	if s.At.After(*l.Now) {
		*l.Now = s.At
		if _, err := l.Guard.Learn(ctx, *l.Now); err != nil { // what the pause has ended
			return nil, err
		}
	}
	p := player{guard: l.Guard, session: fmt.Sprintf("%d %s", l.age, s.ID), refuses: true, now: l.Now,
		out: &Outcome{ID: s.ID, Class: s.Class, Kind: s.Kind, Age: l.age}, left: map[string]bool{}}
	o, err := p.play(ctx, s)
	if err != nil {
		return nil, err
	}
	l.age++
	if s.At.IsZero() {
		*l.Now = l.Now.Add(l.Pause)
	}
	_, err = l.Guard.Learn(ctx, *l.Now)
	return o, err
}

// Ages counts outcomes by how many sessions the agent had had before, and what was noted
// as unusual by dimension.
type Ages struct {
	of [4]struct {
		Count
		noted, notedAttacked int // sessions in which something unusual was noted
	}
	noted map[string]*[2]int // honest and attacked ones, by dimension
}

var ages = [...]int{25, 100, 300}

// Add counts one outcome.
func (a *Ages) Add(o *Outcome) {
	i := 0
	for i < len(ages) && o.Age >= ages[i] {
		i++
	}
	one, attacked := &a.of[i], 0
	one.add(o)
	switch {
	case len(o.Noted) == 0:
		return
	case o.Kind == Honest:
		one.noted++
	case o.Goal:
		one.notedAttacked++
		attacked = 1
	default:
		return
	}
	if a.noted == nil {
		a.noted = map[string]*[2]int{}
	}
	for _, dimension := range o.Noted {
		if a.noted[dimension] == nil {
			a.noted[dimension] = new([2]int)
		}
		a.noted[dimension][attacked]++
	}
}

// Print writes a table with a line for each age, and one with a line for each dimension in
// which something was unusual: how many honest sessions had a false alarm in it, and in how
// many attacked ones it was right. Intervals are of 95 %.
func (a *Ages) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSIONS BEFORE\tHONEST\tASKED\tDENIED\tNOTED\tATTACKED\tGOAL REACHED\tNOTED")
	from := 0
	honest, reached := 0, 0
	for i := range a.of {
		name := fmt.Sprintf("%d and more", from)
		if i < len(ages) {
			name, from = fmt.Sprintf("%d to %d", from, ages[i]-1), ages[i]
		}
		c := &a.of[i]
		honest, reached = honest+c.Honest, reached+c.Attacked
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s\n", name, c.Honest, words.Share(c.Asked, c.Honest), words.Share(c.Denied, c.Honest), words.Share(c.noted, c.Honest),
			c.Attacked, words.Share(c.Reached, c.Attacked), words.Share(c.notedAttacked, c.Attacked))
	}
	if len(a.noted) > 0 {
		fmt.Fprintln(w, "\nUNUSUAL IN\tFALSE, OF HONEST SESSIONS\tRIGHT, OF ATTACKED ONES")
	}
	for _, dimension := range slices.Sorted(maps.Keys(a.noted)) {
		n := a.noted[dimension]
		fmt.Fprintf(w, "%s\t%s\t%s\n", dimension, words.Share(n[0], honest), words.Share(n[1], reached))
	}
	return w.Flush()
}
