package flow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/task"
)

// reader reads the members of an object. The first that is wrong is kept in err,
// and the reads that follow return what a missing member would: so all are read,
// and then asked whether they were right. Null is the same as missing.
type reader struct {
	v      rawjson.Value
	prefix string // stands before the names of members
	err    *task.Error
}

// fail keeps what is wrong, unless something was before.
func (r *reader) fail(name, reason, expected string) {
	if r.err == nil {
		r.err = invalid(r.prefix+name, reason, expected)
	}
}

// failed is what was wrong, nil for nothing.
func (r *reader) failed() error {
	if r.err == nil {
		return nil // and not an error that holds nil
	}
	return r.err
}

// get returns the first of some names that is there, and its name.
func (r *reader) get(names ...string) (rawjson.Value, string) {
	for _, name := range names {
		if v := r.v.Get(name); v.Exists() && v.Kind() != rawjson.Null {
			return v, name
		}
	}
	return rawjson.Value{}, names[0]
}

func (r *reader) has(names ...string) bool {
	v, _ := r.get(names...)
	return v.Exists()
}

// within reads the members of a member that is an object; it may be missing. What
// is wrong in it is kept here by join.
func (r *reader) within(name string) *reader {
	v, _ := r.get(name)
	if v.Exists() && v.Kind() != rawjson.Object {
		r.fail(name, "The value is "+v.Kind().Noun()+".", "an object")
		v = rawjson.Value{}
	}
	return &reader{v: v, prefix: r.prefix + name + "."}
}

func (r *reader) join(inner *reader) {
	if r.err == nil {
		r.err = inner.err
	}
}

const uuidExpected = "a UUID, such as 550e8400-e29b-41d4-a716-446655440000"

// id reads a task's id, which goes by any of some names and must be there.
func (r *reader) id(names ...string) task.ID {
	v, name := r.get(names...)
	if !v.Exists() {
		r.fail(name, "The id is missing.", uuidExpected)
		return task.ID{}
	}
	return r.uuid(v, name)
}

func (r *reader) uuid(v rawjson.Value, name string) task.ID {
	if v.Kind() != rawjson.String {
		r.fail(name, "The value is "+v.Kind().Noun()+".", uuidExpected)
		return task.ID{}
	}
	id, err := task.ParseID(v.Text())
	if err != nil {
		r.fail(name, "Invalid UUID format", uuidExpected)
	}
	return id
}

// maxIDs is how many tasks one call may name.
const maxIDs = 1000

// ids reads an array of ids.
func (r *reader) ids(names ...string) (list []task.ID) {
	v, name := r.get(names...)
	switch {
	case !v.Exists():
		r.fail(name, "The ids are missing.", "an array of UUIDs")
	case v.Kind() != rawjson.Array:
		r.fail(name, "The value is "+v.Kind().Noun()+".", "an array of UUIDs")
	case v.Len() == 0 || v.Len() > maxIDs:
		r.fail(name, fmt.Sprintf("There are %d ids.", v.Len()), fmt.Sprintf("1 to %d ids", maxIDs))
	default:
		for i, item := range v.Elems() {
			list = append(list, r.uuid(item, name+"["+strconv.Itoa(i)+"]"))
		}
	}
	return list
}

// text reads a string, empty when it is missing.
func (r *reader) text(name string, most int) string {
	v, _ := r.get(name)
	if !v.Exists() {
		return ""
	}
	expected := fmt.Sprintf("a string of 1 to %d characters", most)
	if v.Kind() != rawjson.String {
		r.fail(name, "The value is "+v.Kind().Noun()+".", expected)
		return ""
	}
	s := v.Text()
	if n := utf8.RuneCountInString(s); n == 0 || n > most {
		r.fail(name, fmt.Sprintf("The string has %d characters.", n), expected)
		return ""
	}
	if strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f }) { // some stores cannot look for them
		r.fail(name, "The string holds a control character.", expected)
		return ""
	}
	return s
}

// flag reads a truth value.
func (r *reader) flag(name string, missing bool) bool {
	v, _ := r.get(name)
	switch v.Kind() {
	case rawjson.Absent:
		return missing
	case rawjson.Bool:
		return v.Bool()
	}
	r.fail(name, "The value is "+v.Kind().Noun()+".", "true or false")
	return missing
}

// integer reads a number within bounds.
func (r *reader) integer(name string, missing, least, most int) int {
	v, _ := r.get(name)
	if !v.Exists() {
		return missing
	}
	expected := fmt.Sprintf("an integer from %d to %d", least, most)
	n, ok := v.Int()
	switch {
	case v.Kind() != rawjson.Number:
		r.fail(name, "The value is "+v.Kind().Noun()+".", expected)
	case !ok || n < int64(least) || n > int64(most):
		r.fail(name, "Value out of range", expected)
	default:
		return int(n)
	}
	return missing
}

// maxOffset bounds how far into a list a client can ask.
const maxOffset = 1 << 31

// page reads which part of a list is asked for.
func (r *reader) page(q *task.Query) {
	q.Limit = r.integer("limit", 100, 1, 1000)
	q.Offset = r.integer("offset", 0, 0, maxOffset)
}

const statusExpected = "pending, in_progress, completed, failed or cancelled"

// status reads a state, empty when it is missing.
func (r *reader) status(name string) task.Status {
	v, _ := r.get(name)
	return r.statusOf(v, name)
}

func (r *reader) statusOf(v rawjson.Value, name string) task.Status {
	status := task.Status(v.Text())
	switch {
	case !v.Exists():
	case v.Kind() != rawjson.String:
		r.fail(name, "The value is "+v.Kind().Noun()+".", statusExpected)
	case !slices.Contains(task.Statuses, status):
		r.fail(name, "There is no such status.", statusExpected)
	default:
		return status
	}
	return ""
}

// time reads a date and time, UTC when it has no offset.
func (r *reader) time(name string, missing time.Time) time.Time {
	v, _ := r.get(name)
	if !v.Exists() {
		return missing
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, v.Text()); err == nil && t.Year() >= 1970 && t.Year() < 2262 { // what a store can compare
			return t.UTC()
		}
	}
	r.fail(name, "The value is no date and time in ISO 8601, of the years 1970 to 2261.", "such as 2026-01-20T09:00:00Z")
	return missing
}
