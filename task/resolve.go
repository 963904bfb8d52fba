package task

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Result is what a dependency came to.
type Result struct {
	ID       string // the task's UUID
	ClientID string // the id that the client gave it, if that was another
	Status   Status
	Value    jsontext.Value // nil for none
}

// maxResolved bounds the inputs that results are put into, in bytes.
const maxResolved = 8 << 20

// Resolve puts the results of a task's dependencies into its inputs.
//
// First, wherever a string of the inputs holds a reference, the result takes its
// place. A reference is an id and the way from there, in dots:
//
//	${{ fetch }}              the whole result of the task whose id is fetch
//	${{ fetch.items.0.url }}  in it the member items, its first element, and so on
//	${{ "my.task"."a b" }}    a name with any other character stands in quotes,
//	                          as a JSON string
//
// A string that is just a reference becomes the value. Within a longer string a
// reference becomes text: a string as it is, anything else as JSON. $${{ stands for
// ${{ itself. What came from a result is not looked at again. A reference to a
// result that is not there is an error.
//
// Then each result becomes a member of the inputs, named by the id that the client
// gave the task, unless the inputs have such a member.
func Resolve(inputs jsontext.Value, results []Result) (jsontext.Value, error) {
	if len(inputs) == 0 {
		inputs = jsontext.Value("{}")
	}
	doc, err := rawjson.Parse(inputs)
	if err != nil {
		return nil, fmt.Errorf("the inputs are not acceptable JSON: %w", err)
	}
	if doc.Root().Kind() != rawjson.Object {
		return nil, errors.New("the inputs are not an object")
	}
	r := newResolver(results, maxResolved-len(inputs))
	var with []rawjson.Replacement
	for v := range doc.Root().Strings() {
		text := v.Text()
		if !strings.Contains(text, opening) {
			continue
		}
		value, err := r.expand(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dotted("inputs", v.Pointer()), err)
		}
		with = append(with, rawjson.Replacement{At: v, With: value})
	}
	merged, err := r.merge(doc.Root())
	if err != nil {
		return nil, err
	}
	out := inputs
	if len(with) > 0 {
		if out, err = doc.Splice(with); err != nil {
			return nil, err
		}
	}
	if len(merged) > 0 {
		out = append(slices.Clip(out[:bytes.LastIndexByte(out, '}')]), merged...)
		out = append(out, '}')
	}
	if len(with) > 0 || len(merged) > 0 { // together they may nest too deep, or be too many
		if _, err := rawjson.Parse(out); err != nil {
			return nil, fmt.Errorf("the inputs with the results in them are not acceptable JSON: %w", err)
		}
	}
	return out, nil
}

// References are the ids that inputs refer to, each once, as they are written.
func References(inputs jsontext.Value) (ids []string) {
	seen := map[string]bool{}
	for _, found := range references(root(inputs)) {
		if found.err == nil && !seen[found.id] {
			seen[found.id] = true
			ids = append(ids, found.id)
		}
	}
	return ids
}

// Rename gives the references of inputs other ids: when a tree is copied, its
// tasks have new ones. An id that rename leaves as it is stays as it is written.
func Rename(inputs jsontext.Value, rename func(id string) string) (jsontext.Value, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	doc, err := rawjson.Parse(inputs)
	if err != nil {
		return nil, err
	}
	var with []rawjson.Replacement
	for v := range doc.Root().Strings() {
		text := v.Text()
		var out strings.Builder
		changed := false
		for p := range pieces(text) {
			if p.err != nil {
				return nil, p.err
			}
			if p.id == "" || rename(p.id) == p.id {
				out.WriteString(p.source)
				continue
			}
			changed = true
			out.WriteString(opening)
			for i, name := range append([]string{rename(p.id)}, p.way...) {
				out.WriteByte(" ."[min(i, 1)])
				out.WriteString(written(name))
			}
			out.WriteString(" " + closing)
		}
		if changed {
			with = append(with, rawjson.Replacement{At: v, With: rawjson.AppendString(nil, out.String())})
		}
	}
	return doc.Splice(with)
}

const (
	opening          = "${{"
	closing          = "}}"
	templateExpected = "${{ id.member }}, or $${{ for ${{ itself"
)

// piece is a part of a string: a reference, when id is not empty, or text.
type piece struct {
	source string // as it is written
	text   string // what it stands for
	id     string
	way    []string
	err    error // of an opening with no reference after it
}

// pieces takes a string apart. It ends at the first error.
func pieces(s string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for s != "" {
			i := strings.Index(s, opening)
			switch {
			case i < 0:
				yield(piece{source: s, text: s})
				return
			case i > 0 && s[i-1] == '$':
				end := i + len(opening)
				if !yield(piece{source: s[:end], text: s[:i-1] + opening}) {
					return
				}
				s = s[end:]
			case i > 0:
				if !yield(piece{source: s[:i], text: s[:i]}) {
					return
				}
				s = s[i:]
			default:
				p := reference(s)
				if !yield(p) || p.err != nil {
					return
				}
				s = s[len(p.source):]
			}
		}
	}
}

// reference reads the reference that s begins with.
func reference(s string) (p piece) {
	rest := strings.TrimLeft(s[len(opening):], " \t")
	var names []string
	for {
		name, after, ok := readName(rest)
		if !ok {
			return piece{err: fmt.Errorf("%s is no reference", quoted(s))}
		}
		names = append(names, name)
		if rest, ok = strings.CutPrefix(after, "."); ok {
			continue
		}
		rest, ok = strings.CutPrefix(strings.TrimLeft(after, " \t"), closing)
		if !ok || names[0] == "" {
			return piece{err: fmt.Errorf("%s is no reference", quoted(s))}
		}
		return piece{source: s[:len(s)-len(rest)], id: names[0], way: names[1:]}
	}
}

// readName reads a name, bare or in quotes.
func readName(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ". \t\r\n\"{}")
		if end <= 0 {
			return "", "", false
		}
		return s[:end], s[end:], true
	}
	for end := 1; end < len(s); end++ {
		switch s[end] {
		case '\\':
			end++
		case '"':
			name, err := jsontext.AppendUnquote(nil, s[:end+1])
			return string(name), s[end+1:], err == nil
		}
	}
	return "", "", false
}

// written is a name as readName reads it.
func written(name string) string {
	if name != "" && !strings.ContainsAny(name, ". \t\r\n\"{}") {
		return name
	}
	return string(rawjson.AppendString(nil, name))
}

// references ranges over the references within a value, with the string that each
// stands in. What is none has an error.
func references(v rawjson.Value) iter.Seq2[rawjson.Value, piece] {
	return func(yield func(rawjson.Value, piece) bool) {
		for s := range v.Strings() {
			text := s.Text()
			if !strings.Contains(text, opening) {
				continue
			}
			for p := range pieces(text) {
				if (p.id != "" || p.err != nil) && !yield(s, p) {
					return
				}
			}
		}
	}
}

// resolver finds what references stand for.
type resolver struct {
	results []Result
	ids     map[string]int                             // the numbers of the results, by UUID and by client's id
	docs    []*rawjson.Doc                             // of each result, when it was needed
	large   map[rawjson.Value]map[string]rawjson.Value // the members of large values, by name or number
	room    int                                        // bytes that may still be added
}

func newResolver(results []Result, room int) *resolver {
	r := &resolver{results: results, ids: make(map[string]int, 2*len(results)), docs: make([]*rawjson.Doc, len(results)),
		large: map[rawjson.Value]map[string]rawjson.Value{}, room: room}
	for i, result := range results {
		if result.ClientID == "" {
			continue
		}
		if _, twice := r.ids[result.ClientID]; twice { // they came in two calls
			i = -1
		}
		r.ids[result.ClientID] = i
	}
	for i, result := range results {
		r.ids[result.ID] = i
	}
	return r
}

// find returns the number of the result with an id, or -1.
func (r *resolver) find(id string) int {
	if uuid, err := ParseID(id); err == nil {
		id = uuid.String()
	}
	if i, ok := r.ids[id]; ok {
		return i
	}
	return -1
}

// value finds what a reference stands for.
func (r *resolver) value(p piece) (v rawjson.Value, err error) {
	i := r.find(p.id)
	if i < 0 {
		return v, fmt.Errorf("there is no one dependency %s", quoted(p.id))
	}
	if len(r.results[i].Value) == 0 {
		return v, fmt.Errorf("the task %s has no result; it is %s", quoted(p.id), r.results[i].Status)
	}
	if r.docs[i] == nil {
		if r.docs[i], err = rawjson.Parse(r.results[i].Value); err != nil {
			return v, fmt.Errorf("the result of %s is not acceptable JSON: %w", quoted(p.id), err)
		}
	}
	v = r.docs[i].Root()
	for n, name := range p.way {
		v = r.member(v, name)
		if !v.Exists() {
			return v, fmt.Errorf("the result of %s has no %s", quoted(p.id), quoted(strings.Join(p.way[:n+1], ".")))
		}
	}
	return v, nil
}

// member finds an object's member, or an array's element. Large values are indexed,
// since inputs may refer to each of a hundred thousand.
func (r *resolver) member(v rawjson.Value, name string) rawjson.Value {
	const large = 32
	if v.Len() <= large && v.Kind() == rawjson.Object {
		return v.Get(name)
	}
	index, ok := r.large[v]
	if !ok {
		index = make(map[string]rawjson.Value, v.Len())
		for name, m := range v.Members() {
			index[name] = m
		}
		for i, e := range v.Elems() {
			index[strconv.Itoa(i)] = e
		}
		r.large[v] = index
	}
	return index[name]
}

// expand returns what stands in place of a string, as JSON.
func (r *resolver) expand(s string) ([]byte, error) {
	var out strings.Builder
	for p := range pieces(s) {
		if p.err != nil {
			return nil, p.err
		}
		text := p.text
		if p.id != "" {
			v, err := r.value(p)
			if err != nil {
				return nil, err
			}
			if len(p.source) == len(s) {
				return v.Raw(), r.take(len(v.Raw()))
			}
			if text = v.Text(); v.Kind() != rawjson.String {
				text = string(v.Raw())
			}
		}
		if err := r.take(len(text)); err != nil {
			return nil, err
		}
		out.WriteString(text)
	}
	return rawjson.AppendString(nil, out.String()), nil
}

func (r *resolver) take(n int) error {
	if r.room -= n; r.room < 0 {
		return fmt.Errorf("the inputs with the results in them have more than %d bytes", maxResolved)
	}
	return nil
}

// merge returns the results as members to be added to the inputs.
func (r *resolver) merge(inputs rawjson.Value) ([]byte, error) {
	var out []byte
	taken := make(map[string]bool, inputs.Len())
	for name := range inputs.Members() {
		taken[name] = true
	}
	empty := len(taken) == 0
	for _, result := range r.results {
		name := result.ClientID
		if name == "" || r.find(name) < 0 { // two have it
			name = result.ID
		}
		if len(result.Value) == 0 || taken[name] {
			continue
		}
		taken[name] = true
		if err := r.take(len(name) + len(result.Value)); err != nil {
			return nil, err
		}
		if !empty {
			out = append(out, ',')
		}
		empty = false
		out = rawjson.AppendString(out, name)
		out = append(out, ':')
		out = append(out, result.Value...)
	}
	return out, nil
}
