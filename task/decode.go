package task

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a task's members, in bytes.
const (
	maxInputs  = MaxResult
	maxParams  = 256 << 10
	maxSchemas = 128 << 10
	maxExtra   = 64 << 10
)

// Reading says how DecodeTasks reads.
type Reading struct {
	Now time.Time // when the tasks come to be
	// Beside names members of params that belong to the method, not to a task:
	// they are passed over where params is itself a task.
	Beside []string
}

// DecodeTasks reads the tasks of tasks.create and tasks.execute. params is a task,
// an array of tasks, or an object whose member tasks is such an array; children
// may stand in their parent, as its member children or in a {task, children}.
//
// Tasks come in the order sent, a parent before the children that stand in it. top
// is the one whose parent is not among them. When that one has no parent at all, it
// is the root, and Root is set in each; else its parent is a task of another call,
// and Root is zero in each. Likewise a dependency may name a task of another call:
// whether such a task exists is not known here.
//
// The error is an *Error.
func DecodeTasks(params jsontext.Value, r Reading) (tasks []*Task, top *Task, err error) {
	doc, err := rawjson.Parse(params)
	if err != nil {
		return nil, nil, &Error{Code: CodeInvalid, Reason: "It is not acceptable JSON: " + err.Error() + "."}
	}
	d := decoder{now: r.Now.UTC().Truncate(time.Microsecond), beside: r.Beside, names: map[string]ID{}}
	if err := d.gather(doc.Root()); err != nil {
		return nil, nil, err
	}
	for i := range d.sent {
		if err := d.identify(&d.sent[i]); err != nil {
			return nil, nil, err
		}
	}
	for i := range d.sent {
		if err := d.read(&d.sent[i]); err != nil {
			return nil, nil, err
		}
		tasks = append(tasks, d.sent[i].task)
	}
	order, err := walk(tasks)
	if err != nil {
		return nil, nil, err
	}
	for i := range d.sent {
		s := &d.sent[i]
		if err := s.task.check(s.field, d.lookup); err != nil {
			return nil, nil, err
		}
	}
	d.inherit(order)
	return tasks, order[0], nil
}

// decoder reads the tasks of one call.
type decoder struct {
	now    time.Time
	beside []string
	sent   []sent
	names  map[string]ID // the ids of the call: as written, and UUIDs as we write them
	made   []ID          // for those tasks that bring none
}

// sent is one task as it was sent.
type sent struct {
	value rawjson.Value
	field string // its name with a dot after it, such as "tasks[1]."; empty for params
	in    *Task  // the task that it stands in, or nil
	task  *Task
	only  bool // it is params itself
}

// gather finds the tasks in params.
func (d *decoder) gather(params rawjson.Value) error {
	if params.Kind() == rawjson.Array {
		return d.gatherAll(params, "tasks", nil)
	}
	if list := params.Get("tasks"); list.Exists() {
		if params.Get("name").Exists() {
			return invalid("tasks", "The params hold a task and also a list of tasks.", "one of the two")
		}
		return d.gatherAll(list, "tasks", nil)
	}
	if params.Kind() != rawjson.Object {
		return invalid("", "The params are "+params.Kind().Noun()+".", "a task, or an array of tasks")
	}
	return d.gatherOne(sent{value: params, only: true})
}

func (d *decoder) gatherAll(list rawjson.Value, field string, in *Task) error {
	if list.Kind() != rawjson.Array {
		return invalid(field, "The value is "+list.Kind().Noun()+".", "an array of tasks")
	}
	if list.Len() == 0 && in == nil {
		return invalid(field, "There is no task.", "at least one task")
	}
	for i, v := range list.Elems() {
		if err := d.gatherOne(sent{value: v, field: field + "[" + strconv.Itoa(i) + "].", in: in}); err != nil {
			return err
		}
	}
	return nil
}

// gatherOne takes a task, and what stands in it. JSON's depth, which is bounded,
// bounds the recursion.
func (d *decoder) gatherOne(s sent) error {
	if s.value.Kind() != rawjson.Object {
		return invalid(strings.TrimSuffix(s.field, "."), "The value is "+s.value.Kind().Noun()+".", "a task, which is an object")
	}
	if len(d.sent) == MaxTree {
		return &Error{Code: CodeTree, Reason: fmt.Sprintf("There are more than %d tasks in one tree.", MaxTree)}
	}
	node := s
	if task := s.value.Get("task"); task.Kind() == rawjson.Object && !s.value.Get("name").Exists() {
		s.value, s.field, s.only = task, s.field+"task.", false
	}
	s.task = &Task{}
	d.sent = append(d.sent, s)
	if err := d.gatherChildren(node, s.task); err != nil {
		return err
	}
	if s.value == node.value {
		return nil
	}
	return d.gatherChildren(s, s.task)
}

func (d *decoder) gatherChildren(s sent, in *Task) error {
	children := s.value.Get("children")
	if isNull(children) {
		return nil
	}
	return d.gatherAll(children, s.field+"children", in)
}

// identify gives the task its id.
func (d *decoder) identify(s *sent) error {
	t, v, field := s.task, s.value.Get("id"), s.field+"id"
	if isNull(v) {
		t.ID = d.newID()
		return nil
	}
	name, err := text(v, field, MaxName)
	if err != nil {
		return err
	}
	id, err := ParseID(name)
	if err != nil {
		t.ClientID, id = name, d.newID()
	} else {
		name = id.String()
	}
	if _, twice := d.names[name]; twice {
		return invalid(field, "Two tasks have the id "+quoted(name)+".", "an id that no other task of the call has")
	}
	t.ID, d.names[name] = id, id
	return nil
}

// newID is the next of the call's new ids.
func (d *decoder) newID() (id ID) {
	if d.made == nil {
		d.made = NewIDs(d.now, len(d.sent))
	}
	id, d.made = d.made[0], d.made[1:]
	return id
}

// lookup finds what an id in the call means. A UUID that is not in the call is a
// task of another call.
func (d *decoder) lookup(name string) (ID, bool) {
	if id, ok := d.names[name]; ok {
		return id, true
	}
	id, err := ParseID(name)
	return id, err == nil
}

// read reads a task's members.
func (d *decoder) read(s *sent) error {
	t := s.task
	t.Priority, t.Inputs, t.Origin = defaultPriority, jsontext.Value("{}"), OriginCreate
	t.Created, t.Updated = d.now, d.now
	if !s.value.Get("name").Exists() {
		return invalid(s.field+"name", "The name is missing.", nameExpected)
	}
	skip := []string{"id", "children"}
	if s.only {
		skip = append(skip, d.beside...)
	}
	r := reader{task: t, field: s.field, lookup: d.lookup, skip: skip}
	if err := r.members(s.value); err != nil {
		return err
	}
	if err := r.origin(s.value); err != nil {
		return err
	}
	if s.in == nil {
		return nil
	}
	if !isNull(s.value.Get("parent_id")) && t.Parent != s.in.ID {
		return &Error{Code: CodeParent, Field: s.field + "parent_id", Reason: "The task stands in another task than the parent that it names."}
	}
	t.Parent = s.in.ID
	return nil
}

// inherit sets what a tree's tasks have of each other: the root, and the user
// where a task names none. order has parents before their children.
func (d *decoder) inherit(order []*Task) {
	users := make(map[ID]string, len(order))
	for _, t := range order {
		if order[0].Parent == (ID{}) {
			t.Root = order[0].ID
		}
		if t.User == "" {
			t.User = users[t.Parent]
		}
		users[t.ID] = t.User
	}
}

// DecodeUpdates returns a copy of a task with the updates of tasks.update applied.
// null gives a member its default, and takes away one that the protocol does not
// know. What only the node sets is refused; whether the rest may be changed now
// (the parent or user of a task that executes) is not asked here. Nor is whether
// the parent and the dependencies exist, or a client's own id in a reference
// (see References) is that of a dependency.
//
// The error is an *Error.
func DecodeUpdates(t *Task, updates jsontext.Value) (changed *Task, err error) {
	doc, err := rawjson.Parse(updates)
	if err != nil {
		return nil, invalid("updates", "It is not acceptable JSON: "+err.Error()+".", "an object")
	}
	v := doc.Root()
	if v.Kind() != rawjson.Object {
		return nil, invalid("updates", "The value is "+v.Kind().Noun()+".", "an object")
	}
	for _, name := range []string{"id", "children", "origin_type", "original_task_id", "has_references"} {
		if !isNull(v.Get(name)) {
			return nil, invalid("updates."+name, "It is set when the task is made, and never changes.", "")
		}
	}
	c := *t
	lookup := func(name string) (ID, bool) {
		id, err := ParseID(name)
		return id, err == nil
	}
	skip := []string{"id", "children", "origin_type", "original_task_id", "has_references"}
	r := reader{task: &c, field: "updates.", lookup: lookup, skip: skip, update: true}
	if err := r.members(v); err != nil {
		return nil, err
	}
	if c.Parent == c.ID {
		return nil, &Error{Code: CodeTree, Field: "updates.parent_id", Task: c.known(), Reason: "The task is its own parent."}
	}
	for _, need := range c.Dependencies {
		if need.ID == c.ID {
			return nil, &Error{Code: CodeCircular, Cycle: []string{c.known(), c.known()}}
		}
	}
	if err := c.check("updates.", lookup); err != nil {
		return nil, err
	}
	return &c, nil
}

// known is the id by which the client knows the task.
func (t *Task) known() string {
	if t.ClientID != "" {
		return t.ClientID
	}
	return t.ID.String()
}

const (
	defaultPriority = 2
	nameExpected    = "a string of 1 to 255 characters"
)

// nodeSets are the members that only the node sets, each with the values that a
// client may send all the same, since they are what a new task has.
var nodeSets = map[string][]string{
	"status": {`"pending"`}, "progress": {"0", "0.0"}, "run_count": {"0"}, "has_references": {"false"},
	"result": nil, "error": nil, "created_at": nil, "started_at": nil, "updated_at": nil, "completed_at": nil,
	"next_run_at": nil, "last_run_at": nil, "client_id": nil, "root_task_id": nil, "attempt": nil,
	"awaiting": nil, "approval_id": nil, "judged_inputs": nil, "decision_id": nil, "outcome_id": nil,
}

// reader applies members to a task.
type reader struct {
	task   *Task
	field  string                       // what stands before the members' names
	lookup func(name string) (ID, bool) // what an id means
	skip   []string
	update bool // null takes an unknown member away
}

func (r *reader) members(v rawjson.Value) error {
	extra := r.known()
	for name, m := range v.Members() {
		if slices.Contains(r.skip, name) {
			continue
		}
		known, err := r.member(name, m)
		if err != nil {
			return err
		}
		if !known {
			extra.set(name, m, r.update)
		}
	}
	r.task.Extra = extra.object()
	if len(r.task.Extra) > maxExtra {
		return invalid(strings.TrimSuffix(r.field, "."), fmt.Sprintf("The members that the protocol does not know have %d bytes.", len(r.task.Extra)),
			fmt.Sprintf("at most %d bytes", maxExtra))
	}
	return r.schedule(v)
}

// member applies one member, and reports whether the protocol knows it.
func (r *reader) member(name string, v rawjson.Value) (known bool, err error) {
	t, field := r.task, r.field+name
	if usual, ok := nodeSets[name]; ok {
		if isNull(v) || !r.update && slices.Contains(usual, string(v.Raw())) {
			return true, nil
		}
		return true, invalid(field, "It is set by the node.", "")
	}
	switch name {
	case "name":
		t.Name, err = text(v, field, MaxName)
	case "user_id":
		t.User, err = optional(v, field)
	case "parent_id":
		t.Parent, err = r.reference(v, field)
	case "priority":
		t.Priority = defaultPriority
		if !isNull(v) {
			n, ok := v.Int()
			if !ok || n < 0 || n > 3 {
				return true, invalid(field, "Value out of range", "0-3")
			}
			t.Priority = uint8(n)
		}
	case "inputs":
		if t.Inputs, err = object(v, field, maxInputs); t.Inputs == nil {
			t.Inputs = jsontext.Value("{}")
		}
	case "params":
		t.Params, err = object(v, field, maxParams)
	case "schemas":
		t.Schemas, err = object(v, field, maxSchemas)
	case "dependencies":
		t.Dependencies, err = r.dependencies(v, field)
	case "origin_type", "original_task_id", "schedule_type", "schedule_expression", "schedule_enabled",
		"schedule_start_at", "schedule_end_at", "schedule_timezone", "schedule_missed", "max_runs":
	default:
		return false, nil
	}
	return true, err
}

// reference reads an id of another task; null is the zero ID.
func (r *reader) reference(v rawjson.Value, field string) (ID, error) {
	if isNull(v) {
		return ID{}, nil
	}
	name, err := text(v, field, MaxName)
	if err != nil {
		return ID{}, err
	}
	id, ok := r.lookup(name)
	if !ok {
		expected := "the id of a task of this call, or a UUID"
		if r.update {
			expected = "a UUID"
		}
		return ID{}, invalid(field, "Invalid UUID format", expected)
	}
	return id, nil
}

func (r *reader) dependencies(v rawjson.Value, field string) (needs []Dependency, err error) {
	if isNull(v) {
		return nil, nil
	}
	if v.Kind() != rawjson.Array {
		return nil, invalid(field, "The value is "+v.Kind().Noun()+".", "an array")
	}
	if v.Len() > MaxNeeds {
		return nil, invalid(field, fmt.Sprintf("There are %d dependencies.", v.Len()), fmt.Sprintf("at most %d", MaxNeeds))
	}
	seen := make(map[ID]bool, v.Len())
	for i, m := range v.Elems() {
		field := field + "[" + strconv.Itoa(i) + "]"
		need, named := Dependency{Required: true}, m
		switch m.Kind() {
		case rawjson.String:
		case rawjson.Object:
			named = m.Get("id")
			if isNull(named) {
				return nil, invalid(field+".id", "The id is missing.", "the id of a task")
			}
			if required := m.Get("required"); !isNull(required) {
				if required.Kind() != rawjson.Bool {
					return nil, invalid(field+".required", "The value is "+required.Kind().Noun()+".", "true or false")
				}
				need.Required = required.Bool()
			}
			field += ".id"
		default:
			return nil, invalid(field, "The value is "+m.Kind().Noun()+".", "an object with an id")
		}
		if need.ID, err = r.reference(named, field); err != nil {
			return nil, err
		}
		if seen[need.ID] {
			return nil, invalid(field, "The task is a dependency twice.", "each dependency once")
		}
		seen[need.ID] = true
		needs = append(needs, need)
	}
	return needs, nil
}

// origin reads how the task came to be.
func (r *reader) origin(v rawjson.Value) error {
	t, kind, source := r.task, v.Get("origin_type"), v.Get("original_task_id")
	wrong := func(name, reason, expected string) error {
		return &Error{Code: CodeSchema, Field: r.field + name, Reason: reason, Expected: expected}
	}
	if !isNull(kind) {
		t.Origin = kind.Text()
		if !slices.Contains([]string{OriginCreate, OriginCopy, OriginLink, OriginArchive}, t.Origin) {
			return wrong("origin_type", "The value is no origin.", "create, link, copy or archive")
		}
	}
	if !isNull(source) {
		id, err := ParseID(source.Text())
		if err != nil {
			return wrong("original_task_id", err.Error(), "a UUID")
		}
		t.Original = id
	}
	switch {
	case t.Origin == OriginCreate && t.Original != ID{}:
		return wrong("origin_type", "A task that was made from another is no new one.", "link, copy or archive")
	case t.Origin != OriginCreate && t.Original == ID{}:
		return wrong("original_task_id", "It is missing: the origin is "+t.Origin+".", "the id of the task that this one comes from")
	}
	return nil
}

// schedule reads the members of the schedule. A date without an offset is in the
// schedule's zone, so that is read first.
func (r *reader) schedule(v rawjson.Value) (err error) {
	s := &r.task.Schedule
	strs := []struct {
		name string
		to   *string
	}{
		{"schedule_timezone", &s.Zone}, {"schedule_type", &s.Type},
		{"schedule_expression", &s.Expression}, {"schedule_missed", &s.Missed},
	}
	for _, m := range strs {
		if given := v.Get(m.name); given.Exists() {
			if *m.to, err = optional(given, r.field+m.name); err != nil {
				return err
			}
		}
	}
	zone, err := loadZone(s.Zone)
	if err != nil {
		return invalid(r.field+"schedule_timezone", "There is no such zone.", "the IANA name of a zone, such as Europe/Berlin")
	}
	times := []struct {
		name string
		to   *time.Time
	}{{"schedule_start_at", &s.Start}, {"schedule_end_at", &s.End}}
	for _, m := range times {
		given := v.Get(m.name)
		switch {
		case !given.Exists():
		case isNull(given):
			*m.to = time.Time{}
		default:
			if *m.to, err = parseTime(given.Text(), zone); err != nil {
				return invalid(r.field+m.name, sentence(err), timeExpected)
			}
		}
	}
	if given := v.Get("schedule_enabled"); given.Exists() {
		if !isNull(given) && given.Kind() != rawjson.Bool {
			return invalid(r.field+"schedule_enabled", "The value is "+given.Kind().Noun()+".", "true or false")
		}
		s.Enabled = given.Bool()
	}
	if given := v.Get("max_runs"); given.Exists() {
		s.MaxRuns, s.Bounded = 0, !isNull(given)
		if s.Bounded {
			n, ok := given.Int()
			if !ok || n < 0 || n > math.MaxInt32 {
				return invalid(r.field+"max_runs", "The value is no count of runs.", "an integer from 0, or null for no bound")
			}
			s.MaxRuns = int(n)
		}
	}
	return nil
}

// check checks what several members say together. field stands before their names.
func (t *Task) check(field string, lookup func(string) (ID, bool)) error {
	executor, schema, err := t.executor(field)
	if err != nil {
		return err
	}
	t.Executor = executor
	if _, _, err := t.work(field); err != nil {
		return err
	}
	if err := t.Schedule.check(field); err != nil {
		return err
	}
	if err := t.checkReferences(field, lookup); err != nil {
		return err
	}
	if schema == nil {
		return nil
	}
	if err := checkSchema(schema, field+"schemas.input_schema"); err != nil {
		return err
	}
	if len(t.Dependencies) > 0 { // what they result in is not there yet
		return nil
	}
	if err := CheckInputs(schema, t.Inputs); err != nil {
		err.Field = field + err.Field
		return err
	}
	return nil
}

// InputSchema is schemas.input_schema, or nil.
func (t *Task) InputSchema() jsontext.Value {
	if _, schema, err := t.executor(""); err == nil {
		return schema
	}
	return nil
}

// executor reads who executes the task, and the schema of the inputs. An older form
// of the protocol names the executor in params.executor_id.
func (t *Task) executor(field string) (name string, schema jsontext.Value, err error) {
	schemas, params := root(t.Schemas), root(t.Params)
	if kind := schemas.Get("type"); !isNull(kind) && !slices.Contains([]string{"local", "remote", "external"}, kind.Text()) {
		return "", nil, invalid(field+"schemas.type", "The value is no type of executor.", "local, remote or external")
	}
	if v := schemas.Get("input_schema"); !isNull(v) {
		schema = v.Raw()
	}
	if v := schemas.Get("method"); !isNull(v) {
		name, err = text(v, field+"schemas.method", MaxName)
		return name, schema, err
	}
	if v := params.Get("executor_id"); !isNull(v) {
		name, err = text(v, field+"params.executor_id", MaxName)
		return name, schema, err
	}
	if schemas.Len() > 0 {
		return "", nil, invalid(field+"schemas.method", "The executor is missing.", "the id of an executor")
	}
	return "", nil, nil
}

// checkReferences checks that the inputs refer to dependencies only.
func (t *Task) checkReferences(field string, lookup func(string) (ID, bool)) error {
	needs := make(map[ID]bool, len(t.Dependencies))
	for _, need := range t.Dependencies {
		needs[need.ID] = true
	}
	for at, found := range references(root(t.Inputs)) {
		if found.err != nil {
			return invalid(field+dotted("inputs", at.Pointer()), sentence(found.err), templateExpected)
		}
		id, ok := lookup(found.id)
		if !ok && strings.HasPrefix(field, "updates.") {
			continue // a client's own id: who resolves it knows the dependencies
		}
		if !ok || !needs[id] {
			return invalid(field+dotted("inputs", at.Pointer()), "It refers to "+quoted(found.id)+", which is not among the task's dependencies.", "the id of a dependency")
		}
	}
	return nil
}

// members are an object's, in their order, to be changed.
type members struct {
	names  []string
	values map[string][]byte // nil for one that was taken away
}

// known are the members that the task has beside the protocol's.
func (r *reader) known() *members {
	m := &members{values: map[string][]byte{}}
	for name, v := range root(r.task.Extra).Members() {
		m.set(name, v, false)
	}
	return m
}

func (m *members) set(name string, v rawjson.Value, nullRemoves bool) {
	_, there := m.values[name]
	if nullRemoves && isNull(v) {
		if there {
			m.values[name] = nil
		}
		return
	}
	if !there {
		m.names = append(m.names, name)
	}
	m.values[name] = keep(v)
}

// object is nil when there are no members.
func (m *members) object() jsontext.Value {
	var out []byte
	for _, name := range m.names {
		value := m.values[name]
		if value == nil {
			continue
		}
		out = append(out, ',')
		out = rawjson.AppendString(out, name)
		out = append(out, ':')
		out = append(out, value...)
	}
	if out == nil {
		return nil
	}
	out[0] = '{'
	return append(out, '}')
}

// invalid is an error of the params.
func invalid(field, reason, expected string) *Error {
	return &Error{Code: CodeInvalid, Field: field, Reason: reason, Expected: expected}
}

// isNull reports whether a member is absent or null, which mean the same.
func isNull(v rawjson.Value) bool { return !v.Exists() || v.Kind() == rawjson.Null }

// text reads a string that must not be empty. Control characters have no place in
// a name or an id, and some stores cannot keep them.
func text(v rawjson.Value, field string, most int) (string, error) {
	expected := fmt.Sprintf("a string of 1 to %d characters", most)
	if v.Kind() != rawjson.String {
		return "", invalid(field, "The value is "+v.Kind().Noun()+".", expected)
	}
	s := v.Text()
	if n := utf8.RuneCountInString(s); n == 0 || n > most {
		return "", invalid(field, fmt.Sprintf("The string has %d characters.", n), expected)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return "", invalid(field, "The string holds a control character.", expected)
	}
	return s, nil
}

// optional reads a string that may be null, which is the empty one.
func optional(v rawjson.Value, field string) (string, error) {
	if isNull(v) {
		return "", nil
	}
	return text(v, field, MaxName)
}

// object reads an object that may be null, which is nil.
func object(v rawjson.Value, field string, most int) (jsontext.Value, error) {
	if isNull(v) {
		return nil, nil
	}
	if v.Kind() != rawjson.Object {
		return nil, invalid(field, "The value is "+v.Kind().Noun()+".", "an object")
	}
	if n := len(v.Raw()); n > most {
		return nil, invalid(field, fmt.Sprintf("The object has %d bytes.", n), fmt.Sprintf("at most %d bytes", most))
	}
	return keep(v), nil
}

// keep copies a value, without the space between its tokens: the call's bytes are
// not held by the task.
func keep(v rawjson.Value) jsontext.Value {
	kept := jsontext.Value(bytes.Clone(v.Raw()))
	if err := kept.Compact(); err != nil {
		return bytes.Clone(v.Raw()) // as sent, which is just as good
	}
	return kept
}

// root is the value of JSON that we have checked before; absent for none.
func root(v jsontext.Value) rawjson.Value {
	if len(v) == 0 {
		return rawjson.Value{}
	}
	doc, err := rawjson.Parse(v)
	if err != nil {
		return rawjson.Value{}
	}
	return doc.Root()
}

// sentence is an error as the reason that a client is told.
func sentence(err error) string {
	s := strings.TrimSuffix(err.Error(), ".")
	if s == "" {
		return ""
	}
	return words.Cut(strings.ToUpper(s[:1])+s[1:], 300) + "."
}

// quoted quotes what a client wrote, cut to a length for a sentence.
func quoted(s string) string { return strconv.Quote(words.Cut(s, 80)) }

// dotted is the name in dots of what a JSON Pointer leads to.
func dotted(name, pointer string) string {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if token != "" {
			name += "." + rawjson.UnescapePointer(token)
		}
	}
	return words.Cut(name, 200)
}

var errTime = errors.New("the value is no date and time in ISO 8601")

const timeExpected = "a date and time in ISO 8601, such as 2026-01-20T09:00:00Z"

// parseTime reads a date and time in ISO 8601. Without an offset it is in zone.
func parseTime(s string, zone *time.Location) (time.Time, error) {
	if len(s) < 16 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || len(s) > 64 {
		return time.Time{}, errTime
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			// A year that has four digits nowhere but there would have more in UTC.
			if t = t.UTC().Truncate(time.Microsecond); t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
				return time.Time{}, errTime
			}
			return t, nil
		}
	}
	return time.Time{}, errTime
}
