package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/task"
)

// graph is tasks in layers, drawn: each right of what it depends on. Where there are more than
// a person takes in, tasks of one layer and one group are one box.
type graph struct {
	Width, Height int
	Boxes         []*box
	Edges         []edge
	Tasks         int // that are drawn, alone or in a group
}

// box is one task, or several of one layer.
type box struct {
	X, Y   int
	ID     task.ID // of the task, or of what its tasks are in
	Name   string
	Status task.Status
	Slow   bool // it is, or has, a task of the critical path
	Count  int  // of its tasks; 1 for a task alone

	layer   int
	failed  int
	from    map[*box]bool // what it depends on, and whether that is on the critical path with it
	between float64       // where what it depends on stands
	place   float64
}

type edge struct {
	Path string
	Slow bool // both its ends are on the critical path
}

// Sizes of a drawing, in pixels, and how many boxes one has.
const (
	boxWide, boxHigh = 168, 34
	gapWide, gapHigh = 56, 14
	maxBoxes         = 240
	sweeps           = 4
	margin           = 8
)

// layout draws the tasks that depend on others, or others on them; nil where none does.
func layout(rows []rowView) *graph {
	at := map[task.ID]int{}
	linked := map[task.ID]bool{}
	for i := range rows {
		at[rows[i].ID] = i
	}
	for i := range rows {
		for _, need := range rows[i].Dependencies {
			if _, ok := at[need.ID]; ok {
				linked[rows[i].ID], linked[need.ID] = true, true
			}
		}
	}
	if len(linked) == 0 {
		return nil
	}
	layers := layersOf(rows, at)
	var drawn []int
	deepest := 0
	for i := range rows {
		if linked[rows[i].ID] {
			drawn = append(drawn, i)
			deepest = max(deepest, layers[rows[i].ID])
		}
	}
	g := &graph{Tasks: len(drawn)}
	in := map[task.ID]*box{} // the box that a task is in
	for _, one := range groupings(rows, drawn, layers, deepest) {
		g.Boxes = g.Boxes[:0]
		clear(in)
		boxes := map[string]*box{}
		for _, i := range drawn {
			key := one(i)
			b := boxes[key]
			if b == nil {
				b = &box{ID: rows[i].ID, Name: rows[i].Name, Status: rows[i].Status, layer: layers[rows[i].ID], from: map[*box]bool{}}
				boxes[key], g.Boxes = b, append(g.Boxes, b)
			}
			b.take(&rows[i], rows, at)
			in[rows[i].ID] = b
		}
		if len(g.Boxes) <= maxBoxes {
			break
		}
	}
	for _, i := range drawn {
		b := in[rows[i].ID]
		for _, need := range rows[i].Dependencies {
			if from := in[need.ID]; from != nil && from != b && from.layer <= b.layer {
				b.from[from] = b.from[from] || rows[i].Slow && rows[at[need.ID]].Slow
			}
		}
	}
	g.arrange()
	return g
}

// layersOf says how far right each task stands: one behind the last of what it depends on.
func layersOf(rows []rowView, at map[task.ID]int) map[task.ID]int {
	layer := map[task.ID]int{}
	var depth func(id task.ID) int
	depth = func(id task.ID) int {
		if d, ok := layer[id]; ok {
			return d
		}
		layer[id] = 0 // a circle, which there is none of, would end here
		d := 0
		for _, need := range rows[at[id]].Dependencies {
			if _, ok := at[need.ID]; ok {
				d = max(d, depth(need.ID)+1)
			}
		}
		layer[id] = d
		return d
	}
	for i := range rows {
		depth(rows[i].ID)
	}
	return layer
}

// groupings are the ways to put tasks into boxes, the finest first: alone; by layer and what
// they are in; by layer; by several layers together. Tasks of the critical path stay alone
// where they are few.
func groupings(rows []rowView, drawn []int, layers map[task.ID]int, deepest int) []func(i int) string {
	slow := 0
	for _, i := range drawn {
		if rows[i].Slow {
			slow++
		}
	}
	alone := func(i int) string { return rows[i].ID.String() }
	kept := func(by func(i int) string) func(i int) string {
		return func(i int) string {
			if rows[i].Slow && slow <= maxBoxes/4 {
				return alone(i)
			}
			return by(i)
		}
	}
	span := deepest/(maxBoxes/2) + 1
	return []func(i int) string{
		alone,
		kept(func(i int) string { return fmt.Sprint(layers[rows[i].ID], rows[i].Parent) }),
		kept(func(i int) string { return fmt.Sprint(layers[rows[i].ID]) }),
		func(i int) string { return fmt.Sprint(layers[rows[i].ID] / span) },
	}
}

// take puts a task into a box.
func (b *box) take(r *rowView, rows []rowView, at map[task.ID]int) {
	b.Count++
	b.Slow = b.Slow || r.Slow
	if r.Status == task.Failed {
		b.failed++
	}
	if b.Count == 1 {
		return
	}
	b.Status = graver(b.Status, r.Status)
	b.Name = words.Count(b.Count, "task")
	if b.failed > 0 {
		b.Name += fmt.Sprintf(", %d failed", b.failed)
	}
	if i, ok := at[r.Parent]; ok {
		b.ID = rows[i].ID
	}
}

// graver is of two states the one that somebody who looks must not miss.
func graver(a, b task.Status) task.Status {
	order := []task.Status{task.Failed, task.InProgress, task.Pending, task.Cancelled}
	rank := func(s task.Status) int {
		if i := slices.Index(order, s); i >= 0 {
			return i
		}
		return len(order)
	}
	if rank(a) <= rank(b) {
		return a
	}
	return b
}

// arrange gives boxes their places. Within a layer they stand near those that they are linked
// with.
func (g *graph) arrange() {
	slices.SortStableFunc(g.Boxes, func(a, b *box) int { return cmp.Compare(a.layer, b.layer) })
	var layers [][]*box
	last := -1
	for _, b := range g.Boxes {
		if b.layer != last {
			layers, last = append(layers, nil), b.layer
		}
		layers[len(layers)-1] = append(layers[len(layers)-1], b)
	}
	number := func() {
		for _, l := range layers {
			for n, b := range l {
				b.place = float64(n) - float64(len(l))/2
			}
		}
	}
	number()
	for range sweeps {
		for _, l := range layers {
			for _, b := range l {
				if b.between = b.place; len(b.from) > 0 {
					sum := 0.0
					for from := range b.from {
						sum += from.place
					}
					b.between = sum / float64(len(b.from))
				}
			}
			slices.SortStableFunc(l, func(a, b *box) int { return cmp.Compare(a.between, b.between) })
		}
		number()
	}
	most := 0
	for _, l := range layers {
		most = max(most, len(l))
	}
	g.Width = 2*margin + len(layers)*boxWide + (len(layers)-1)*gapWide
	g.Height = 2*margin + most*boxHigh + (most-1)*gapHigh
	for d, l := range layers {
		top := margin + (most-len(l))*(boxHigh+gapHigh)/2
		for n, b := range l {
			b.X, b.Y = margin+d*(boxWide+gapWide), top+n*(boxHigh+gapHigh)
		}
	}
	for _, b := range g.Boxes {
		for _, from := range slices.SortedFunc(maps.Keys(b.from), func(a, b *box) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) }) {
			x1, y1, x2, y2 := from.X+boxWide, from.Y+boxHigh/2, b.X, b.Y+boxHigh/2
			g.Edges = append(g.Edges, edge{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+gapWide/2, y1, x2-gapWide/2, y2, x2, y2), b.from[from]})
		}
	}
}
