package task

import (
	"fmt"
	"slices"
	"strings"
)

// CheckTree checks that tasks make a tree, or a part of one: no id twice, one task
// at the top, nobody their own ancestor, nor waiting for themselves by way of
// others. Parents and dependencies that are not among the tasks are left alone. The
// error is an *Error.
func CheckTree(tasks []*Task) error {
	_, err := walk(tasks)
	return err
}

// walk checks as CheckTree does, and returns the tasks with parents before children.
func walk(tasks []*Task) (order []*Task, err error) {
	if len(tasks) == 0 || len(tasks) > MaxTree {
		return nil, &Error{Code: CodeTree, Reason: fmt.Sprintf("There are %d tasks.", len(tasks)), Expected: fmt.Sprintf("1 to %d tasks", MaxTree)}
	}
	byID := make(map[ID]int, len(tasks))
	for i, t := range tasks {
		if _, twice := byID[t.ID]; twice {
			return nil, &Error{Code: CodeTree, Task: t.known(), Reason: "Two tasks have the id " + quoted(t.known()) + "."}
		}
		byID[t.ID] = i
	}
	if order, err = descend(tasks, byID); err != nil {
		return nil, err
	}
	if cycle := circle(tasks, byID); cycle != nil {
		return nil, &Error{Code: CodeCircular, Task: cycle[0], Cycle: cycle,
			Reason: fmt.Sprintf("%s waits for itself.", quoted(cycle[0]))}
	}
	return order, nil
}

// descend goes from the top down, level by level. Whoever it does not meet is
// under none but themselves.
func descend(tasks []*Task, byID map[ID]int) (order []*Task, err error) {
	children := make([][]*Task, len(tasks))
	var tops []*Task
	for _, t := range tasks {
		if parent, ok := byID[t.Parent]; ok {
			children[parent] = append(children[parent], t)
		} else {
			tops = append(tops, t)
		}
	}
	if len(tops) > 1 {
		return nil, &Error{Code: CodeTree, Reason: fmt.Sprintf("There are %d roots: %s. Tasks of one call are one tree: give all but one a parent_id.", len(tops), some(tops)), Expected: "exactly one root"}
	}
	order = make([]*Task, 0, len(tasks))
	for level, depth := tops, 1; len(level) > 0; depth++ {
		if depth > MaxDepth {
			return nil, &Error{Code: CodeTree, Task: level[0].known(), Reason: fmt.Sprintf("The tree has more than %d levels.", MaxDepth)}
		}
		var below []*Task
		for _, t := range level {
			order = append(order, t)
			below = append(below, children[byID[t.ID]]...)
		}
		level = below
	}
	if len(order) < len(tasks) {
		met := make(map[ID]bool, len(order))
		for _, t := range order {
			met[t.ID] = true
		}
		lost := slices.DeleteFunc(slices.Clone(tasks), func(t *Task) bool { return met[t.ID] })
		return nil, &Error{Code: CodeTree, Task: lost[0].known(), Reason: "Tasks are their own ancestors, or under such: " + some(lost) + "."}
	}
	return order, nil
}

// some names a few tasks.
func some(tasks []*Task) string {
	const few = 5
	var b strings.Builder
	for i, t := range tasks {
		if i == few {
			fmt.Fprintf(&b, " and %d more", len(tasks)-few)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted(t.known()))
	}
	return b.String()
}

// circle finds tasks that wait for each other in a circle: each for the next, the
// first again at the end. It is a search in depth with its own stack, since a chain
// may be as long as the tree is large.
func circle(tasks []*Task, byID map[ID]int) []string {
	type place struct{ task, next int } // next is the dependency to look at next
	const unseen, open, done = 0, 1, 2
	state := make([]uint8, len(tasks))
	var stack []place
	for i := range tasks {
		if state[i] != unseen {
			continue
		}
		state[i] = open
		stack = append(stack[:0], place{task: i})
		for len(stack) > 0 {
			here := &stack[len(stack)-1]
			needs := tasks[here.task].Dependencies
			if here.next == len(needs) {
				state[here.task] = done
				stack = stack[:len(stack)-1]
				continue
			}
			j, ok := byID[needs[here.next].ID]
			here.next++
			if !ok {
				continue
			}
			switch state[j] {
			case unseen:
				state[j] = open
				stack = append(stack, place{task: j})
			case open:
				first := slices.IndexFunc(stack, func(p place) bool { return p.task == j })
				var cycle []string
				for _, p := range stack[first:] {
					cycle = append(cycle, tasks[p.task].known())
				}
				return append(cycle, tasks[j].known())
			}
		}
	}
	return nil
}
