package console

import (
	"cmp"
	"fmt"
	"slices"

	"reeve.example/reeve/task"
)

// graph is tasks in layers, drawn: each right of what it depends on.
type graph struct {
	Width, Height int
	Boxes         []box
	Edges         []edge
	Left          int // tasks that are not drawn
}

type box struct {
	X, Y int
	Row  *rowView
}

type edge struct {
	Path string
	Slow bool // both its ends are on the critical path
}

// Sizes of a drawing, in pixels, and how many tasks one has: a page of more shows the rows.
const (
	boxWide, boxHigh = 168, 34
	gapWide, gapHigh = 56, 14
	maxBoxes         = 400
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
	g := &graph{}
	var drawn []int
	for i := range rows {
		if linked[rows[i].ID] {
			if len(drawn) == maxBoxes {
				g.Left++
				continue
			}
			drawn = append(drawn, i)
		}
	}
	// A task's layer is one behind the last of what it depends on.
	layer := map[task.ID]int{}
	var depth func(id task.ID, deep int) int
	depth = func(id task.ID, deep int) int {
		if d, ok := layer[id]; ok || deep > len(rows) {
			return d
		}
		layer[id] = 0
		d := 0
		for _, need := range rows[at[id]].Dependencies {
			if _, ok := at[need.ID]; ok {
				d = max(d, depth(need.ID, deep+1)+1)
			}
		}
		layer[id] = d
		return d
	}
	layers := [][]int{}
	for _, i := range drawn {
		d := depth(rows[i].ID, 0)
		for len(layers) <= d {
			layers = append(layers, nil)
		}
		layers[d] = append(layers[d], i)
	}
	// Within a layer tasks stand near those that they are linked with.
	place := map[task.ID]float64{}
	number := func() {
		for _, l := range layers {
			for n, i := range l {
				place[rows[i].ID] = float64(n) - float64(len(l))/2
			}
		}
	}
	number()
	for range sweeps {
		for _, l := range layers {
			middle := map[int]float64{}
			for _, i := range l {
				sum, n := 0.0, 0
				for _, need := range rows[i].Dependencies {
					if p, ok := place[need.ID]; ok {
						sum, n = sum+p, n+1
					}
				}
				if middle[i] = place[rows[i].ID]; n > 0 {
					middle[i] = sum / float64(n)
				}
			}
			slices.SortStableFunc(l, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
		}
		number()
	}
	most := 0
	for _, l := range layers {
		most = max(most, len(l))
	}
	g.Width = 2*margin + len(layers)*boxWide + (len(layers)-1)*gapWide
	g.Height = 2*margin + most*boxHigh + (most-1)*gapHigh
	where := map[task.ID]box{}
	for d, l := range layers {
		top := margin + (most-len(l))*(boxHigh+gapHigh)/2
		for n, i := range l {
			b := box{margin + d*(boxWide+gapWide), top + n*(boxHigh+gapHigh), &rows[i]}
			where[rows[i].ID] = b
			g.Boxes = append(g.Boxes, b)
		}
	}
	for _, b := range g.Boxes {
		for _, need := range b.Row.Dependencies {
			from, ok := where[need.ID]
			if !ok {
				continue
			}
			x1, y1, x2, y2 := from.X+boxWide, from.Y+boxHigh/2, b.X, b.Y+boxHigh/2
			g.Edges = append(g.Edges, edge{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+gapWide/2, y1, x2-gapWide/2, y2, x2, y2), from.Row.Slow && b.Row.Slow})
		}
	}
	return g
}
