package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"reeve/internal/rawjson"
	"reeve/task"
)

// workflow is what a workflow's file says, in the protocol's form.
type workflow struct {
	file  string
	name  string
	tasks *node // an array, with the root that a workflow of several tasks gets
	count int   // of the tasks in the file
	// scheduled says that the whole has a schedule, and is executed by that.
	scheduled bool
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

// readWorkflow reads a workflow's file. given are values for what the file lets be
// set. Its error is faults, each with its place.
func readWorkflow(file string, source []byte, given map[string]string) (*workflow, error) {
	r := &workflowReader{file: file, source: string(source)}
	w := r.workflow(given)
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

type workflowReader struct {
	file, source string
	faults       faults
	added        int // bytes that what is set has added
}

func (r *workflowReader) fault(n *node, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, fmt.Sprintf("%s:%d:%d: %s", r.file, n.line, n.column, fmt.Sprintf(format, args...)))
	}
}

func (r *workflowReader) workflow(given map[string]string) *workflow {
	root := r.read()
	if root == nil {
		return nil
	}
	if root.kind != rawjson.Object {
		r.fault(root, "a workflow is a mapping with tasks, not %s", root.is())
		return nil
	}
	r.known(root, "a workflow", workflowMembers, scheduleMembers)
	w := &workflow{file: r.file, name: strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file))}
	if r.file == "-" {
		w.name = "workflow"
	}
	if n := root.get("name"); n != nil {
		if n.kind != rawjson.String || n.text == "" {
			r.fault(n, "name is a text")
		}
		w.name = n.text
	}
	list := root.get("tasks")
	if list == nil || list.kind != rawjson.Array || len(list.items) == 0 {
		r.fault(cmp.Or(list, root), "a workflow has tasks: a list of at least one")
		return nil
	}
	if values := r.values(root.get("set"), given); len(r.faults) == 0 {
		r.expand(list, values)
	}
	for _, t := range list.items {
		r.task(t)
	}
	if len(r.faults) > 0 {
		return nil
	}
	w.count = len(list.items)
	r.needs(list)
	r.root(w, root, list)
	if len(r.faults) == 0 {
		r.check(list)
	}
	w.tasks = list
	return w
}

// known refuses members that stand in none of the lists: most are misspelt.
func (r *workflowReader) known(n *node, what string, lists ...[]string) {
	all := slices.Concat(lists...)
	for _, m := range n.members {
		if !slices.Contains(all, m.name) {
			r.fault(m.at, "%s has no member %q%s", what, m.name, meant(m.name, all))
		}
	}
}

// meant guesses what was meant by a name, as the end of a sentence.
func meant(name string, all []string) string {
	best, least := "", len(name)/2+1
	for _, candidate := range all {
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// distance is how many characters must be changed, added or taken away to make
// one name of another. Both are short, or the answer is far.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// values are those that the file lets be set: what it says itself, or what was
// given. A given value is of the kind that the file's own is.
func (r *workflowReader) values(set *node, given map[string]string) map[string]*node {
	values := map[string]*node{}
	if set != nil && set.kind != rawjson.Object && set.kind != rawjson.Null {
		r.fault(set, "set is a mapping of names to values, not %s", set.is())
		return values
	}
	if set != nil {
		for _, m := range set.members {
			if !setName.MatchString(m.name) {
				r.fault(m.at, "%q cannot be set: a name begins with a letter and has letters, digits, - and _", m.name)
			}
			values[m.name] = m.value
		}
	}
	for name, text := range given {
		own, ok := values[name]
		if !ok {
			r.fault(cmp.Or(set, &node{line: 1, column: 1}), "there is nothing to set that is called %q (--set)", name)
			continue
		}
		value := &node{line: own.line, column: own.column, kind: rawjson.String, text: text}
		if own.kind != rawjson.String && own.kind != rawjson.Null {
			doc, err := rawjson.Parse([]byte(text))
			if err != nil || doc.Root().Kind() != own.kind {
				r.fault(own, "%s is set to %q, and must be %s, in JSON", name, text, own.is())
				continue
			}
			value = fromJSON(doc.Root(), func(int) (int, int) { return own.line, own.column })
		}
		values[name] = value
	}
	for name, value := range values {
		if value.kind == rawjson.Null {
			r.fault(value, "%s has no value: give one with --set %s=…", name, name)
		}
	}
	slices.Sort(r.faults) // they came from maps
	return values
}

var (
	setName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	// setting is a reference to what can be set, or what looks like one. A dollar
	// before it stands for the characters themselves, as in every reference.
	setting = regexp.MustCompile(`(\$?)\$\{\{[ \t]*set(?:\.([A-Za-z][A-Za-z0-9_-]*))?[ \t]*\}\}`)
)

// expand puts what is set in place of ${{ set.NAME }}, in every text under n.
func (r *workflowReader) expand(n *node, values map[string]*node) {
	for _, m := range n.members {
		r.expand(m.value, values)
	}
	for _, item := range n.items {
		r.expand(item, values)
	}
	if r.added > maxWorkflow {
		return
	}
	if n.kind != rawjson.String || !strings.Contains(n.text, "${{") {
		return
	}
	for _, found := range setting.FindAllStringSubmatch(n.text, -1) {
		value, ok := values[found[2]]
		if found[1] == "" && !ok {
			r.fault(n, "%s: there is nothing to set that is called %q%s", found[0], found[2], meant(found[2], names(values)))
			return
		}
		if ok && !r.add(n, value) {
			return
		}
		if found[0] == n.text && ok { // just the reference: the value itself
			line, column := n.line, n.column
			*n = *value.clone()
			n.line, n.column = line, column
			return
		}
	}
	n.text = setting.ReplaceAllStringFunc(n.text, func(found string) string {
		value := values[setting.FindStringSubmatch(found)[2]]
		switch {
		case strings.HasPrefix(found, "$$"):
			return found
		case value.kind == rawjson.String:
			return value.text
		}
		return string(value.appendJSON(nil))
	})
}

// add counts what a value adds to the file, and refuses what makes it too large.
func (r *workflowReader) add(n, value *node) bool {
	before := r.added
	r.added += len(value.appendJSON(nil))
	if r.added > maxWorkflow && before <= maxWorkflow {
		r.fault(n, "the file has more than %d MiB with what is set in it", maxWorkflow>>20)
	}
	return r.added <= maxWorkflow
}

func names[V any](m map[string]V) (list []string) {
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// task writes what is short in a task in the protocol's form.
func (r *workflowReader) task(t *node) {
	if t.kind != rawjson.Object {
		r.fault(t, "a task is a mapping, not %s", t.is())
		return
	}
	r.known(t, "a task", taskMembers, shortMembers, scheduleMembers)
	if t.get("name") == nil {
		id := t.get("id")
		if id == nil {
			r.fault(t, "a task has an id or a name")
			return
		}
		t.set("name", id)
	}
	if executor := t.take("executor"); executor != nil {
		schemas := r.within(t, "schemas")
		if schemas.get("method") != nil {
			r.fault(executor, "the executor is also named by schemas.method")
		}
		schemas.set("method", executor)
	}
	if needs := t.take("needs"); needs != nil {
		if t.get("dependencies") != nil {
			r.fault(needs, "needs is short for dependencies: write one of the two")
		}
		if needs.kind == rawjson.String { // just one
			needs = &node{line: needs.line, column: needs.column, kind: rawjson.Array, items: []*node{needs}}
		}
		t.set("dependencies", needs)
	}
	if timeout := t.take("timeout"); timeout != nil {
		r.within(t, "params").set("timeout", r.seconds(timeout))
	}
	retry := t.take("retry")
	if retry == nil {
		return
	}
	if retry.kind == rawjson.Number { // just how often
		retry = &node{line: retry.line, column: retry.column, kind: rawjson.Object, members: []member{{"max_attempts", retry, retry}}}
	}
	r.known(retry, "retry", []string{"max_attempts", "backoff", "initial_delay", "max_delay"})
	for i, m := range retry.members {
		if m.name == "initial_delay" || m.name == "max_delay" {
			retry.members[i].value = r.seconds(m.value)
		}
	}
	r.within(t, "params").set("retry", retry)
}

// within returns a member that is a mapping, made if it is not there.
func (r *workflowReader) within(t *node, name string) *node {
	n := t.get(name)
	if n == nil {
		n = &node{line: t.line, column: t.column, kind: rawjson.Object}
		t.set(name, n)
	}
	if n.kind != rawjson.Object {
		r.fault(n, "%s is a mapping, not %s", name, n.is())
		return &node{kind: rawjson.Object}
	}
	return n
}

// seconds reads a time: 1m30s, or a number of seconds.
func (r *workflowReader) seconds(n *node) *node {
	if n.kind != rawjson.String {
		return n // a number, or the protocol says what is wrong
	}
	d, err := time.ParseDuration(n.text)
	if err != nil || d < 0 {
		r.fault(n, "%q is no time: write 30s, 5m, 1h30m, or a number of seconds", n.text)
	}
	return &node{line: n.line, column: n.column, kind: rawjson.Number, text: strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}
}

// needs checks that tasks need tasks that there are.
func (r *workflowReader) needs(list *node) {
	ids := map[string]*node{}
	for _, t := range list.items {
		id := t.get("id")
		switch {
		case id == nil && len(list.items) > 1:
			r.fault(t, "a task of several has an id")
		case id == nil:
		case id.kind != rawjson.String || id.text == "":
			r.fault(id, "an id is a text")
		case id.text == "set":
			r.fault(id, "set is what can be set: a task needs another id")
		case ids[id.text] != nil:
			r.fault(id, "the id %q is that of another task, on line %d", id.text, ids[id.text].line)
		default:
			ids[id.text] = id
		}
	}
	for _, t := range list.items {
		needed := map[string]bool{}
		for _, need := range t.get("dependencies").list() {
			if id := need.id(); id != nil {
				needed[id.text] = true
				if _, err := task.ParseID(id.text); ids[id.text] == nil && err != nil {
					r.fault(id, "there is no task %q%s", id.text, meant(id.text, names(ids)))
				}
			}
		}
		inputs := t.get("inputs")
		if inputs == nil || inputs.kind != rawjson.Object {
			continue
		}
		for s := range inputs.strings() {
			for _, id := range task.References(rawjson.Quote(s.text)) {
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
func (r *workflowReader) root(w *workflow, file, list *node) {
	if len(r.faults) > 0 {
		return
	}
	var tops []*node
	needed, ids := map[string]bool{}, map[string]bool{}
	for _, t := range list.items {
		if t.get("parent_id") == nil {
			tops = append(tops, t)
		}
		if id := t.get("id"); id != nil {
			ids[id.text] = true
		}
		for _, need := range t.get("dependencies").list() {
			if id := need.id(); id != nil {
				needed[id.text] = true
			}
		}
	}
	if len(tops) == 0 {
		return // the decoder says what is wrong
	}
	top := tops[0]
	if len(tops) > 1 {
		made := func(kind rawjson.Kind, text string) *node {
			return &node{line: file.line, column: file.column, kind: kind, text: text}
		}
		name := "workflow"
		for n := 2; ids[name]; n++ {
			name = "workflow " + strconv.Itoa(n)
		}
		ends := made(rawjson.Array, "")
		for _, t := range list.items {
			if id := t.get("id").text; !needed[id] {
				ends.items = append(ends.items, made(rawjson.String, id))
			}
		}
		if len(ends.items) > maxEnds {
			r.fault(list, "%d tasks are needed by no other, and a workflow ends with at most %d: have a task need them", len(ends.items), maxEnds)
		}
		for _, t := range tops {
			t.set("parent_id", made(rawjson.String, name))
		}
		top = made(rawjson.Object, "")
		top.set("id", made(rawjson.String, name))
		top.set("name", made(rawjson.String, w.name))
		top.set("dependencies", ends)
		list.items = append(list.items, top)
	}
	for _, m := range file.members {
		if !slices.Contains(scheduleMembers, m.name) {
			continue
		}
		if top.get(m.name) != nil {
			r.fault(m.at, "%s stands here and in the root: write it in one place", m.name)
			continue
		}
		top.set(m.name, m.value)
	}
	enabled := top.get("schedule_enabled")
	w.scheduled = enabled != nil && enabled.text == "true"
}

// check has the protocol's own decoder look at the tasks: what it says of a member
// is told with its place in the file.
func (r *workflowReader) check(list *node) {
	_, _, err := task.DecodeTasks(list.appendJSON(nil), task.Reading{Now: time.Now()})
	if err != nil {
		r.faults = append(r.faults, r.placed(list, err))
	}
}

// placed is an error about tasks as a fault with its place.
func (r *workflowReader) placed(list *node, err error) string {
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
		for _, t := range list.items {
			if name := t.get("id"); name != nil && id != "" && name.text == id {
				at = t
			}
		}
		if at != list {
			break
		}
	}
	if i, rest, ok := arrayIndex(strings.TrimPrefix(field, "tasks")); ok && i < len(list.items) {
		at, field = list.items[i], strings.TrimPrefix(rest, ".")
	}
	if at != list {
		at = at.find(field)
	}
	text := fmt.Sprintf("%d:%d: ", at.line, at.column)
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

// node is a value of a file, with its place.
type node struct {
	line, column int
	kind         rawjson.Kind
	text         string // a text, or a number or truth value as written
	items        []*node
	members      []member
}

type member struct {
	name  string
	at    *node // where the name stands
	value *node
}

func (n *node) is() string {
	return map[rawjson.Kind]string{
		rawjson.Null: "nothing", rawjson.Bool: "true or false", rawjson.Number: "a number", rawjson.String: "a text",
		rawjson.Array: "a list", rawjson.Object: "a mapping",
	}[n.kind]
}

// get returns a member, nil for none.
func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// clone copies a value: what stands in several places is changed in each by itself.
func (n *node) clone() *node {
	c := *n
	c.items, c.members = nil, nil
	for _, item := range n.items {
		c.items = append(c.items, item.clone())
	}
	for _, m := range n.members {
		c.members = append(c.members, member{m.name, m.at, m.value.clone()})
	}
	return &c
}

func (n *node) set(name string, value *node) {
	n.members = append(n.members, member{name, value, value})
}

// take removes a member, and returns it.
func (n *node) take(name string) *node {
	for i, m := range n.members {
		if m.name == name {
			n.members = slices.Delete(n.members, i, i+1)
			return m.value
		}
	}
	return nil
}

// list are the items of a list, none for anything else.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// id is the text that names a task which another needs, nil for none.
func (n *node) id() *node {
	if n.kind == rawjson.Object {
		n = n.get("id")
	}
	if n == nil || n.kind != rawjson.String {
		return nil
	}
	return n
}

// strings ranges over the texts in a value.
func (n *node) strings() func(func(*node) bool) {
	return func(yield func(*node) bool) { n.eachString(yield) }
}

func (n *node) eachString(yield func(*node) bool) bool {
	if n.kind == rawjson.String {
		return yield(n)
	}
	for _, item := range n.items {
		if !item.eachString(yield) {
			return false
		}
	}
	for _, m := range n.members {
		if !m.value.eachString(yield) {
			return false
		}
	}
	return true
}

// find follows a name in dots as far as it leads.
func (n *node) find(field string) *node {
	for field != "" {
		if i, rest, ok := arrayIndex(field); ok {
			if i >= len(n.items) {
				return n
			}
			n, field = n.items[i], strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			end = len(field)
		}
		value := n.get(field[:end])
		if i, err := strconv.Atoi(field[:end]); err == nil && i >= 0 && i < len(n.items) {
			value = n.items[i]
		}
		if value == nil {
			return n
		}
		n, field = value, strings.TrimPrefix(field[end:], ".")
	}
	return n
}

func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case rawjson.String:
		return rawjson.AppendString(b, n.text)
	case rawjson.Array:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case rawjson.Object:
		b = append(b, '{')
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(rawjson.AppendString(b, m.name), ':')
			b = m.value.appendJSON(b)
		}
		return append(b, '}')
	case rawjson.Null:
		return append(b, "null"...)
	}
	return append(b, n.text...)
}

// Bounds of a file. The YAML parser's time grows with the square of a mapping's
// members, and its stack with the nesting: both are counted before it runs.
const (
	maxWorkflow = 4 << 20 // bytes
	maxParts    = 600_000
	maxNesting  = 32
	maxMembers  = 500
)

// read reads the file as one document, nil when it is none.
func (r *workflowReader) read() (root *node) {
	start := &node{line: 1, column: 1}
	defer func() {
		if p := recover(); p != nil { // the parser must not take the program with it
			root = nil
			r.fault(start, "the file cannot be read as YAML")
		}
	}()
	switch text := strings.TrimSpace(r.source); {
	case len(r.source) > maxWorkflow:
		r.fault(start, "the file has more than %d MiB", maxWorkflow>>20)
		return nil
	case !utf8.ValidString(r.source):
		r.fault(start, "the file is not UTF-8")
		return nil
	case text == "":
		r.fault(start, "the file is empty")
		return nil
	case strings.HasSuffix(strings.ToLower(r.file), ".json"), r.file == "-" && text[0] == '{':
		return r.readJSON()
	}
	if i := strings.IndexFunc(r.source, func(c rune) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f }); i >= 0 {
		line, column := lineOf(r.source, i)
		r.fault(&node{line: line, column: column}, "the file holds a control character")
		return nil
	}
	if strings.Count(r.source, "\n")+strings.Count(r.source, ",")+strings.Count(r.source, "[")+strings.Count(r.source, "{")+strings.Count(r.source, "- ") > maxParts {
		r.fault(start, "the file has too many parts")
		return nil
	}
	tokens := lexer.Tokenize(r.source)
	if !r.acceptable(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // they are found below, with both places
	if err != nil {
		r.syntax(err)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && body != nil {
			at := doc.Body.GetToken().Position
			r.fault(&node{line: at.Line, column: at.Column}, "the file holds more than one document")
			return nil
		}
		body = cmp.Or(doc.Body, body)
	}
	if body == nil {
		r.fault(start, "the file is empty")
		return nil
	}
	return r.convert(body)
}

// lineOf is the place of a byte.
func lineOf(source string, offset int) (line, column int) {
	before := source[:min(offset, len(source))]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

func (r *workflowReader) readJSON() *node {
	doc, err := rawjson.Parse([]byte(r.source))
	if err != nil {
		at, wrong := &node{line: 1, column: 1}, (*rawjson.SyntaxError)(nil)
		if errors.As(err, &wrong) {
			at.line, at.column = lineOf(r.source, wrong.Offset)
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
	n := &node{kind: v.Kind()}
	n.line, n.column = place(start)
	switch n.kind {
	case rawjson.String:
		n.text = v.Text()
	case rawjson.Array:
		for _, item := range v.Elems() {
			n.items = append(n.items, fromJSON(item, place))
		}
	case rawjson.Object:
		for name, value := range v.Members() {
			inner := fromJSON(value, place)
			n.members = append(n.members, member{name, inner, inner})
		}
	default:
		n.text = string(v.Raw())
	}
	return n
}

// syntax tells the parser's error, which names its place.
func (r *workflowReader) syntax(err error) {
	at, message := &node{line: 1, column: 1}, err.Error()
	if e, ok := err.(interface {
		GetToken() *token.Token
		GetMessage() string
	}); ok {
		message = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			at.line, at.column = t.Position.Line, t.Position.Column
		}
	}
	if strings.Contains(message, "mapping value is not allowed") {
		message += ` (a text that contains ": " must be quoted)`
	}
	r.fault(at, "this is not valid YAML: %s", message)
}

// acceptable refuses what no workflow needs and a parser can choke on.
func (r *workflowReader) acceptable(tokens token.Tokens) bool {
	type level struct{ column, members int }
	var block []level // open collections, by column
	flow := 0
	enter := func(column int) *level {
		for len(block) > 0 && block[len(block)-1].column > column {
			block = block[:len(block)-1]
		}
		if len(block) == 0 || block[len(block)-1].column < column {
			block = append(block, level{column: column})
		}
		return &block[len(block)-1]
	}
	for _, t := range tokens {
		refused := ""
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			refused = "anchors and aliases are not supported"
		case token.TagType:
			refused = "tags are not supported"
		case token.DirectiveType:
			refused = "directives are not supported"
		case token.MappingKeyType:
			refused = "complex keys are not supported"
		case token.InvalidType:
			refused = "this is not valid YAML: " + t.Error
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType:
			enter(t.Position.Column) // what an entry holds stands deeper, and is new each time
		case token.MappingValueType:
			if flow == 0 && t.Prev != nil {
				if l := enter(t.Prev.Position.Column); l.members > maxMembers {
					refused = fmt.Sprintf("a mapping has more than %d members", maxMembers)
				} else {
					l.members++
				}
			}
		}
		if flow+len(block) > maxNesting {
			refused = fmt.Sprintf("the nesting is deeper than %d", maxNesting)
		}
		if refused != "" {
			r.fault(&node{line: t.Position.Line, column: t.Position.Column}, "%s", refused)
			return false
		}
	}
	return true
}

func (r *workflowReader) convert(n ast.Node) *node {
	out := &node{line: 1, column: 1}
	if t := n.GetToken(); t != nil && t.Position != nil {
		out.line, out.column = t.Position.Line, t.Position.Column
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		r.convertMembers(out, n.Values)
	case *ast.MappingValueNode:
		r.convertMembers(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.kind = rawjson.Array
		for _, v := range n.Values {
			if v == nil {
				out.items = append(out.items, &node{line: out.line, column: out.column, kind: rawjson.Null})
				continue
			}
			out.items = append(out.items, r.convert(v))
		}
	case *ast.LiteralNode:
		out.kind, out.text = rawjson.String, n.Value.Value
	case *ast.NullNode:
		out.kind = rawjson.Null
	default:
		r.scalar(out, n)
	}
	return out
}

func (r *workflowReader) convertMembers(out *node, values []*ast.MappingValueNode) {
	out.kind = rawjson.Object
	seen := make(map[string]int, len(values))
	for i, v := range values {
		key := v.Key.GetToken()
		at := &node{line: key.Position.Line, column: key.Position.Column}
		if i == 0 { // a mapping stands where its first member does
			out.line, out.column = at.line, at.column
		}
		if line, ok := seen[key.Value]; ok {
			r.fault(at, "%q stands here a second time; the first is on line %d", key.Value, line)
			continue
		}
		seen[key.Value] = at.line
		value := &node{line: at.line, column: at.column, kind: rawjson.Null}
		if v.Value != nil {
			value = r.convert(v.Value)
		}
		out.members = append(out.members, member{key.Value, at, value})
	}
}

// scalar reads a scalar by JSON's idea of numbers.
func (r *workflowReader) scalar(out *node, n ast.Node) {
	t := n.GetToken()
	out.kind, out.text = rawjson.String, t.Value
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		return
	case token.BoolType:
		out.kind, out.text = rawjson.Bool, strings.ToLower(t.Value)
		return
	}
	if doc, err := rawjson.Parse([]byte(t.Value)); err == nil && doc.Root().Kind() == rawjson.Number {
		out.kind, out.text = rawjson.Number, strings.TrimSpace(t.Value)
		return
	}
	switch t.Type {
	case token.IntegerType, token.FloatType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.InfinityType, token.NanType:
		r.fault(out, "%s is no number that JSON knows: write it in decimal, or quote it if it is a text", t.Value)
	}
}
