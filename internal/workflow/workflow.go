// Package workflow reads the files that people write workflows in: YAML or JSON, with
// short forms and values that can be set, as docs/workflows.md describes them. What a file
// says is written as the tasks that the protocol knows; what is wrong with it is told with
// its place.
//
//	w, err := workflow.Read("prices.yaml", source, workflow.Options{Set: map[string]string{"day": "today"}})
//	started, err := client.Execute(ctx, flow.Execution{Tasks: w.JSON()})
package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/internal/yamldoc"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json/jsontext"
)

// Workflow is what a workflow's file says, in the protocol's form.
type Workflow struct {
	File  string
	Name  string
	Named bool // the name stands in the file, and is not the file's own
	Count int  // of the tasks in the file
	// Scheduled says that the whole has a schedule, and is executed by that.
	Scheduled bool

	tasks *node // an array, with the root that a workflow of several tasks gets
}

// JSON is the workflow's tasks as params of tasks.execute.
func (w *Workflow) JSON() jsontext.Value { return w.tasks.AppendJSON(nil) }

// Task is a task of the workflow as a node is asked for it.
type Task struct {
	ID, Executor string // the executor is empty for a task that only stands for others
	Needs        []string
	Inputs       jsontext.Value // nil for none
	Later        bool           // the inputs hold results, and are whole when these are there
}

// Tasks are the tasks in the order of the file; the root that a workflow of several gets is
// not among them.
func (w *Workflow) Tasks() (list []Task) {
	for _, n := range w.tasks.Items[:w.Count] {
		t := Task{}
		for _, name := range []string{"name", "id"} {
			if id := n.Get(name); id != nil {
				t.ID = id.Text
			}
		}
		if schemas := n.Get("schemas"); schemas != nil {
			if method := schemas.Get("method"); method != nil {
				t.Executor = method.Text
			}
		}
		for _, need := range itemsOf(n.Get("dependencies")) {
			if id := neededID(need); id != nil {
				t.Needs = append(t.Needs, id.Text)
			}
		}
		if inputs := n.Get("inputs"); inputs != nil {
			t.Inputs = inputs.AppendJSON(nil)
		}
		t.Later = len(t.Needs) > 0 || len(task.References(t.Inputs)) > 0
		list = append(list, t)
	}
	return list
}

// Mark adds a member to the workflow's root, for who looks for it among a node's tasks.
func (w *Workflow) Mark(name, value string) {
	top := w.top()
	top.Set(name, &node{Line: top.Line, Column: top.Column, Kind: rawjson.String, Text: value})
}

// Pause has the workflow's schedule, if it is on, make no runs until it is continued.
func (w *Workflow) Pause() {
	if n := w.top().Get("schedule_enabled"); n != nil {
		n.Kind, n.Text = rawjson.Bool, "false"
	}
}

// top is the task that stands for the workflow.
func (w *Workflow) top() *node {
	top := w.tasks.Items[len(w.tasks.Items)-1] // the root that several got
	if len(w.tasks.Items) == w.Count {
		for _, t := range w.tasks.Items {
			if t.Get("parent_id") == nil {
				top = t
			}
		}
	}
	return top
}

// Has reports whether there is a task of an id.
func (w *Workflow) Has(id string) bool {
	return slices.ContainsFunc(w.tasks.Items, func(t *node) bool { n := t.Get("id"); return n != nil && n.Text == id })
}

// Place says what a node found wrong with a task, after the place in the file.
func (w *Workflow) Place(wrong task.Error) string {
	if wrong.Task == "" && !strings.HasPrefix(wrong.Field, "tasks[") && len(w.tasks.Items) == 1 {
		wrong.Field = "tasks[0]." + wrong.Field // of a single task fields are named alone
	}
	return placeOf(w.tasks, &wrong)
}

// Options are what a file is read with.
type Options struct {
	// Set are values for what the file lets be set.
	Set map[string]string
	// Later are texts that something else takes the place of before the tasks are made,
	// and so name no task.
	Later []string
}

// The members of a workflow's file, and of a task in it. What the file has of its
// own is written in terms of the protocol: see docs/workflows.md.
var (
	workflowMembers = []string{"name", "description", "set", "tasks"}
	scheduleMembers = []string{
		"schedule_type", "schedule_expression", "schedule_enabled", "schedule_start_at", "schedule_end_at",
		"schedule_timezone", "schedule_missed", "max_runs",
	}
	shortMembers = []string{"executor", "needs", "timeout", "retry"}
	taskMembers  = []string{
		"id", "name", "user_id", "parent_id", "priority", "inputs", "params", "schemas", "dependencies",
		"origin_type", "original_task_id",
	}
)

// Read reads a workflow's file. Its error is all that is wrong with it, each with its
// place.
func Read(file string, source []byte, o Options) (*Workflow, error) {
	r := &reader{file: file, source: string(source), later: o.Later}
	w := r.workflow(o.Set)
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	return w, nil
}

// faults are what is wrong with a file, each with its place.
type faults []string

func (f faults) Error() string {
	if len(f) == 1 {
		return f[0]
	}
	return "the workflow cannot be read:\n  " + strings.Join(f, "\n  ")
}

// maxFaults is how many faults are told at once.
const maxFaults = 20

type reader struct {
	file, source string
	later        []string // see Options
	faults       faults
	named        bool // the first task has a name of its own
	added        int  // bytes that what is set has added
}

func (r *reader) fault(n *node, format string, args ...any) {
	r.faultAt(n.Line, n.Column, format, args...)
}

func (r *reader) faultAt(line, column int, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, fmt.Sprintf("%s:%d:%d: %s", r.file, line, column, fmt.Sprintf(format, args...)))
	}
}

func (r *reader) workflow(given map[string]string) *Workflow {
	root := r.read()
	if root == nil {
		return nil
	}
	if root.Kind != rawjson.Object {
		r.fault(root, "a workflow is a mapping with tasks, not %s", root.Is())
		return nil
	}
	r.known(root, "a workflow", workflowMembers, scheduleMembers)
	w := &Workflow{File: r.file, Name: strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file))}
	if r.file == "-" {
		w.Name = "workflow"
	}
	if n := root.Get("name"); n != nil {
		if n.Kind != rawjson.String || n.Text == "" {
			r.fault(n, "name is a text")
		}
		w.Name, w.Named = n.Text, true
	}
	list := root.Get("tasks")
	if list == nil || list.Kind != rawjson.Array || len(list.Items) == 0 {
		r.fault(cmp.Or(list, root), "a workflow has tasks: a list of at least one")
		return nil
	}
	if values := r.values(root.Get("set"), given); len(r.faults) == 0 {
		r.expand(list, values)
	}
	r.named = list.Items[0].Get("name") != nil
	for _, t := range list.Items {
		r.task(t)
	}
	if len(r.faults) > 0 {
		return nil
	}
	w.Count = len(list.Items)
	r.needs(list)
	r.root(w, root, list)
	if len(r.faults) == 0 {
		r.check(list)
	}
	w.tasks = list
	return w
}

// known refuses members that stand in none of the lists: most are misspelt.
func (r *reader) known(n *node, what string, lists ...[]string) {
	all := slices.Concat(lists...)
	for _, m := range n.Members {
		if !slices.Contains(all, m.Name) {
			r.faultAt(m.Line, m.Column, "%s has no member %q%s", what, m.Name, meant(m.Name, all))
		}
	}
}

// meant guesses what was meant by a name, as the end of a sentence.
func meant(name string, all []string) string {
	if best := words.Nearest(name, all, len(name)/2+1); best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ""
}

// values are those that the file lets be set: what it says itself, or what was
// given. A given value is of the kind that the file's own is.
func (r *reader) values(set *node, given map[string]string) map[string]*node {
	values := map[string]*node{}
	if set != nil && set.Kind != rawjson.Object && set.Kind != rawjson.Null {
		r.fault(set, "set is a mapping of names to values, not %s", set.Is())
		return values
	}
	if set != nil {
		for _, m := range set.Members {
			if !setName.MatchString(m.Name) {
				r.faultAt(m.Line, m.Column, "%q cannot be set: a name begins with a letter and has letters, digits, - and _", m.Name)
			}
			values[m.Name] = m.Value
		}
	}
	for name, text := range given {
		own, ok := values[name]
		if !ok {
			r.fault(cmp.Or(set, &node{Line: 1, Column: 1}), "there is nothing to set that is called %q (--set)", name)
			continue
		}
		value := &node{Line: own.Line, Column: own.Column, Kind: rawjson.String, Text: text}
		if own.Kind != rawjson.String && own.Kind != rawjson.Null {
			doc, err := rawjson.Parse([]byte(text))
			if err != nil || doc.Root().Kind() != own.Kind {
				r.fault(own, "%s is set to %q, and must be %s, in JSON", name, text, own.Is())
				continue
			}
			value = fromJSON(doc.Root(), func(int) (int, int) { return own.Line, own.Column })
		}
		values[name] = value
	}
	for name, value := range values {
		if value.Kind == rawjson.Null {
			r.fault(value, "%s has no value: give one with --set %s=…", name, name)
		}
	}
	slices.Sort(r.faults) // they came from maps
	return values
}

var (
	setName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]*$`)
	// setting is a reference to what can be set, or what looks like one. A dollar
	// before it stands for the characters themselves, as in every reference.
	setting = lazyregexp.New(`(\$?)\$\{\{[ \t]*set(?:\.([A-Za-z][A-Za-z0-9_-]*))?[ \t]*\}\}`)
)

// expand puts what is set in place of ${{ set.NAME }}, in every text under n.
func (r *reader) expand(n *node, values map[string]*node) {
	for _, m := range n.Members {
		r.expand(m.Value, values)
	}
	for _, item := range n.Items {
		r.expand(item, values)
	}
	if r.added > MaxBytes {
		return
	}
	if n.Kind != rawjson.String || !strings.Contains(n.Text, "${{") {
		return
	}
	for _, found := range setting.FindAllStringSubmatch(n.Text, -1) {
		value, ok := values[found[2]]
		if found[1] == "" && !ok {
			r.fault(n, "%s: there is nothing to set that is called %q%s", found[0], found[2], meant(found[2], names(values)))
			return
		}
		if ok && !r.add(n, value) {
			return
		}
		if found[0] == n.Text && ok { // just the reference: the value itself
			line, column := n.Line, n.Column
			*n = *value.Clone()
			n.Line, n.Column = line, column
			return
		}
	}
	n.Text = setting.ReplaceAllStringFunc(n.Text, func(found string) string {
		value := values[setting.FindStringSubmatch(found)[2]]
		switch {
		case strings.HasPrefix(found, "$$"):
			return found
		case value.Kind == rawjson.String:
			return value.Text
		}
		return string(value.AppendJSON(nil))
	})
}

// add counts what a value adds to the file, and refuses what makes it too large.
func (r *reader) add(n, value *node) bool {
	before := r.added
	r.added += len(value.AppendJSON(nil))
	if r.added > MaxBytes && before <= MaxBytes {
		r.fault(n, "the file has more than %d MiB with what is set in it", MaxBytes>>20)
	}
	return r.added <= MaxBytes
}

func names[V any](m map[string]V) (list []string) {
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// task writes what is short in a task in the protocol's form.
func (r *reader) task(t *node) {
	if t.Kind != rawjson.Object {
		r.fault(t, "a task is a mapping, not %s", t.Is())
		return
	}
	r.known(t, "a task", taskMembers, shortMembers, scheduleMembers)
	if t.Get("name") == nil {
		id := t.Get("id")
		if id == nil {
			r.fault(t, "a task has an id or a name")
			return
		}
		t.Set("name", id)
	}
	if executor := t.Take("executor"); executor != nil {
		schemas := r.within(t, "schemas")
		if schemas.Get("method") != nil {
			r.fault(executor, "the executor is also named by schemas.method")
		}
		schemas.Set("method", executor)
	}
	if needs := t.Take("needs"); needs != nil {
		if t.Get("dependencies") != nil {
			r.fault(needs, "needs is short for dependencies: write one of the two")
		}
		if needs.Kind == rawjson.String { // just one
			needs = &node{Line: needs.Line, Column: needs.Column, Kind: rawjson.Array, Items: []*node{needs}}
		}
		t.Set("dependencies", needs)
	}
	if timeout := t.Take("timeout"); timeout != nil {
		r.within(t, "params").Set("timeout", r.seconds(timeout))
	}
	retry := t.Take("retry")
	if retry == nil {
		return
	}
	if retry.Kind == rawjson.Number { // just how often
		retry = &node{Line: retry.Line, Column: retry.Column, Kind: rawjson.Object, Members: []member{{Name: "max_attempts", Line: retry.Line, Column: retry.Column, Value: retry}}}
	}
	r.known(retry, "retry", []string{"max_attempts", "backoff", "initial_delay", "max_delay"})
	for i, m := range retry.Members {
		if m.Name == "initial_delay" || m.Name == "max_delay" {
			retry.Members[i].Value = r.seconds(m.Value)
		}
	}
	r.within(t, "params").Set("retry", retry)
}

// within returns a member that is a mapping, made if it is not there.
func (r *reader) within(t *node, name string) *node {
	n := t.Get(name)
	if n == nil {
		n = &node{Line: t.Line, Column: t.Column, Kind: rawjson.Object}
		t.Set(name, n)
	}
	if n.Kind != rawjson.Object {
		r.fault(n, "%s is a mapping, not %s", name, n.Is())
		return &node{Kind: rawjson.Object}
	}
	return n
}

// seconds reads a time: 1m30s, or a number of seconds.
func (r *reader) seconds(n *node) *node {
	if n.Kind != rawjson.String {
		return n // a number, or the protocol says what is wrong
	}
	d, err := words.Duration(n.Text)
	if err != nil || d < 0 {
		r.fault(n, "%q is no time: write 30s, 5m, 1h30m, or a number of seconds", n.Text)
	}
	return &node{Line: n.Line, Column: n.Column, Kind: rawjson.Number, Text: strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}
}

// needs checks that tasks need tasks that there are.
func (r *reader) needs(list *node) {
	ids := map[string]*node{}
	for _, t := range list.Items {
		id := t.Get("id")
		switch {
		case id == nil && len(list.Items) > 1:
			r.fault(t, "a task of several has an id")
		case id == nil:
		case id.Kind != rawjson.String || id.Text == "":
			r.fault(id, "an id is a text")
		case id.Text == "set":
			r.fault(id, "set is what can be set: a task needs another id")
		case ids[id.Text] != nil:
			r.fault(id, "the id %q is that of another task, on line %d", id.Text, ids[id.Text].Line)
		default:
			ids[id.Text] = id
		}
	}
	for _, t := range list.Items {
		needed := map[string]bool{}
		for _, need := range itemsOf(t.Get("dependencies")) {
			if id := neededID(need); id != nil {
				needed[id.Text] = true
				if _, err := task.ParseID(id.Text); ids[id.Text] == nil && err != nil {
					r.fault(id, "there is no task %q%s", id.Text, meant(id.Text, names(ids)))
				}
			}
		}
		inputs := t.Get("inputs")
		if inputs == nil || inputs.Kind != rawjson.Object {
			continue
		}
		for s := range inputs.Strings() {
			if slices.Contains(r.later, s.Text) {
				continue
			}
			for _, id := range task.References(rawjson.Quote(s.Text)) {
				if ids[id] != nil && !needed[id] {
					r.fault(s, "${{ %s }} is the result of a task that this one does not need: add %s to needs", id, id)
				} else if ids[id] == nil && !needed[id] {
					r.fault(s, "${{ %s }}: there is no task %q%s", id, id, meant(id, names(ids)))
				}
			}
		}
	}
}

// maxEnds is how many tasks a root can wait for.
const maxEnds = task.MaxNeeds

// root gives several tasks the root that stands for them all: it waits for those
// that no other needs, so that it ends as the workflow does.
func (r *reader) root(w *Workflow, file, list *node) {
	if len(r.faults) > 0 {
		return
	}
	var tops []*node
	needed, ids := map[string]bool{}, map[string]bool{}
	for _, t := range list.Items {
		if t.Get("parent_id") == nil {
			tops = append(tops, t)
		}
		if id := t.Get("id"); id != nil {
			ids[id.Text] = true
		}
		for _, need := range itemsOf(t.Get("dependencies")) {
			if id := neededID(need); id != nil {
				needed[id.Text] = true
			}
		}
	}
	if len(tops) == 0 {
		return // the decoder says what is wrong
	}
	top := tops[0]
	if len(tops) > 1 {
		made := func(kind rawjson.Kind, text string) *node {
			return &node{Line: file.Line, Column: file.Column, Kind: kind, Text: text}
		}
		name := "workflow"
		for n := 2; ids[name]; n++ {
			name = "workflow " + strconv.Itoa(n)
		}
		ends := made(rawjson.Array, "")
		for _, t := range list.Items {
			if id := t.Get("id").Text; !needed[id] {
				ends.Items = append(ends.Items, made(rawjson.String, id))
			}
		}
		if len(ends.Items) > maxEnds {
			r.fault(list, "%d tasks are needed by no other, and a workflow ends with at most %d: have a task need them", len(ends.Items), maxEnds)
		}
		for _, t := range tops {
			t.Set("parent_id", made(rawjson.String, name))
		}
		top = made(rawjson.Object, "")
		top.Set("id", made(rawjson.String, name))
		top.Set("name", made(rawjson.String, w.Name))
		top.Set("dependencies", ends)
		list.Items = append(list.Items, top)
	}
	if w.Named && len(list.Items) == 1 && !r.named { // the one task is the workflow
		top.Take("name")
		top.Set("name", &node{Line: file.Line, Column: file.Column, Kind: rawjson.String, Text: w.Name})
	}
	for _, m := range file.Members {
		if !slices.Contains(scheduleMembers, m.Name) {
			continue
		}
		if top.Get(m.Name) != nil {
			r.faultAt(m.Line, m.Column, "%s stands here and in the root: write it in one place", m.Name)
			continue
		}
		top.Set(m.Name, m.Value)
	}
	enabled := top.Get("schedule_enabled")
	w.Scheduled = enabled != nil && enabled.Text == "true"
}

// check has the protocol's own decoder look at the tasks: what it says of a member
// is told with its place in the file.
func (r *reader) check(list *node) {
	decoded := list.Clone()
	for s := range decoded.Strings() {
		if slices.Contains(r.later, s.Text) {
			s.Text = ""
		}
	}
	_, _, err := task.DecodeTasks(decoded.AppendJSON(nil), task.Reading{Now: time.Now()})
	if err != nil {
		r.faults = append(r.faults, r.placed(list, err))
	}
}

// placed is an error about tasks as a fault with its place.
func (r *reader) placed(list *node, err error) string {
	var wrong *task.Error
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	return fmt.Sprintf("%s:%s", r.file, placeOf(list, wrong))
}

// placeOf says what is wrong with a task, after the place in the file.
func placeOf(list *node, wrong *task.Error) string {
	at, field := list, wrong.Field
	for _, id := range append([]string{wrong.Task}, wrong.Cycle...) {
		for _, t := range list.Items {
			if name := t.Get("id"); name != nil && id != "" && name.Text == id {
				at = t
			}
		}
		if at != list {
			break
		}
	}
	if i, rest, ok := arrayIndex(strings.TrimPrefix(field, "tasks")); ok && i < len(list.Items) {
		at, field = list.Items[i], strings.TrimPrefix(rest, ".")
	}
	if at != list {
		at = find(at, field)
	}
	text := fmt.Sprintf("%d:%d: ", at.Line, at.Column)
	if field != "" {
		text += shortened(field) + ": "
	}
	switch {
	case len(wrong.Cycle) > 0:
		text += "tasks wait for each other in a circle: " + strings.Join(wrong.Cycle, " → ")
	case wrong.Reason != "":
		text += strings.TrimSuffix(wrong.Reason, ".")
	default:
		text += wrong.Message()
	}
	if wrong.Expected != "" {
		text += " (expected: " + wrong.Expected + ")"
	}
	return text
}

// shortened is a member's name as files write it.
func shortened(field string) string {
	for long, short := range map[string]string{
		"schemas.method": "executor", "dependencies": "needs", "params.timeout": "timeout", "params.retry": "retry",
	} {
		if rest, ok := strings.CutPrefix(field, long); ok {
			return short + rest
		}
	}
	return field
}

// arrayIndex reads "[3]" from the beginning of s.
func arrayIndex(s string) (i int, rest string, ok bool) {
	inner, ok := strings.CutPrefix(s, "[")
	number, rest, found := strings.Cut(inner, "]")
	i, err := strconv.Atoi(number)
	return i, rest, ok && found && err == nil && i >= 0
}

// ── the file as values with places ──

type (
	node   = yamldoc.Node
	member = yamldoc.Member
)

// itemsOf are the items of a list, none for anything else.
func itemsOf(n *node) []*node {
	if n == nil {
		return nil
	}
	return n.Items
}

// neededID is the text that names a task which another needs, nil for none.
func neededID(n *node) *node {
	if n.Kind == rawjson.Object {
		n = n.Get("id")
	}
	if n == nil || n.Kind != rawjson.String {
		return nil
	}
	return n
}

// find follows a name in dots as far as it leads.
func find(n *node, field string) *node {
	for field != "" {
		if i, rest, ok := arrayIndex(field); ok {
			if i >= len(n.Items) {
				return n
			}
			n, field = n.Items[i], strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			end = len(field)
		}
		value := n.Get(field[:end])
		if i, err := strconv.Atoi(field[:end]); err == nil && i >= 0 && i < len(n.Items) {
			value = n.Items[i]
		}
		if value == nil {
			return n
		}
		n, field = value, strings.TrimPrefix(field[end:], ".")
	}
	return n
}

// MaxBytes is the longest file that is read, in bytes, with what is set in it.
const MaxBytes = yamldoc.MaxBytes

// read reads the file, nil when it is not acceptable.
func (r *reader) read() *node {
	text := strings.TrimSpace(r.source)
	if strings.HasSuffix(strings.ToLower(r.file), ".json") || r.file == "-" && strings.HasPrefix(text, "{") {
		return r.readJSON()
	}
	return yamldoc.Read(r.source, func(f yamldoc.Fault) {
		if f.Hint != "" {
			f.Message += ": " + f.Hint
		}
		r.faultAt(f.Line, f.Column, "%s", f.Message)
	})
}

// lineOf is the place of a byte.
func lineOf(source string, offset int) (line, column int) {
	before := source[:min(offset, len(source))]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

func (r *reader) readJSON() *node {
	if len(r.source) > MaxBytes {
		r.faultAt(1, 1, "the document is larger than %d MiB", MaxBytes>>20)
		return nil
	}
	doc, err := rawjson.Parse([]byte(r.source))
	if err != nil {
		at, wrong := &node{Line: 1, Column: 1}, (*rawjson.SyntaxError)(nil)
		if errors.As(err, &wrong) {
			at.Line, at.Column = lineOf(r.source, wrong.Offset)
			err = errors.New(wrong.Reason)
		}
		r.fault(at, "this is not acceptable JSON: %v", err)
		return nil
	}
	// Places are asked for in the order of the file.
	line, begin, seen := 1, 0, 0
	return fromJSON(doc.Root(), func(offset int) (int, int) {
		if offset < seen {
			return lineOf(r.source, offset)
		}
		for i := seen; i < offset; i++ {
			if r.source[i] == '\n' {
				line, begin = line+1, i+1
			}
		}
		seen = offset
		return line, 1 + utf8.RuneCountInString(r.source[begin:offset])
	})
}

// fromJSON is a value of JSON as a node.
func fromJSON(v rawjson.Value, place func(offset int) (line, column int)) *node {
	start, _ := v.Span()
	n := &node{Kind: v.Kind()}
	n.Line, n.Column = place(start)
	switch n.Kind {
	case rawjson.String:
		n.Text = v.Text()
	case rawjson.Array:
		for _, item := range v.Elems() {
			n.Items = append(n.Items, fromJSON(item, place))
		}
	case rawjson.Object:
		for name, value := range v.Members() {
			inner := fromJSON(value, place)
			n.Members = append(n.Members, member{Name: name, Line: inner.Line, Column: inner.Column, Value: inner})
		}
	default:
		n.Text = string(v.Raw())
	}
	return n
}
