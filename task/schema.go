package task

import (
	"container/list"
	"encoding/json" // for json.Number alone, which the validator takes; nothing is read with it
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Bounds of an input schema and of the work that it makes. A schema is a program
// that a client wrote: a few lines of allOf, each naming the next twice, take
// longer than the world will last.
const (
	maxSchema      = 64 << 10 // bytes
	maxSchemaDepth = 32
	maxSchemaNodes = 2_000     // objects within it
	maxPattern     = 1_024     // bytes of a regular expression
	maxProgram     = 10_000    // instructions of all of them
	maxSteps       = 1_000_000 // of a validation, beside stepsPerValue for each value of the inputs
	stepsPerValue  = 32
	maxDigits      = 400 // of a number, written out
	cacheBytes     = 32 << 20
)

var (
	errSteps  = errors.New("checking them against the schema takes too long")
	errNumber = errors.New("a number is too long to be compared")
)

// CheckInputs checks inputs against a JSON Schema, draft 7 if it does not say which.
// Nothing that a schema refers to is ever loaded, and patterns are RE2's, which take
// linear time. The result is nil when the inputs conform.
func CheckInputs(schema, inputs jsontext.Value) *Error {
	s, err := schemas.get(schema)
	if err != nil {
		return invalid("schemas.input_schema", sentence(err), schemaExpected)
	}
	if len(inputs) == 0 {
		inputs = jsontext.Value("{}")
	}
	doc, err := rawjson.Parse(inputs)
	if err != nil {
		return invalid("inputs", "It is not acceptable JSON: "+err.Error()+".", "an object")
	}
	value, err := plain(doc.Root())
	if err != nil {
		return invalid("inputs", sentence(err), fmt.Sprintf("numbers of at most %d digits", maxDigits))
	}
	err = s.validate(value)
	var fault *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault):
		where, reason := explain(fault)
		return invalid(words.Cut(strings.Join(append([]string{"inputs"}, where...), "."), 200), words.Cut(reason, 300), "")
	default:
		return invalid("inputs", sentence(err), "")
	}
}

const schemaExpected = "a JSON Schema that refers to nothing outside itself"

// checkSchema checks that a schema is one. field is its name.
func checkSchema(schema jsontext.Value, field string) error {
	if _, err := schemas.get(schema); err != nil {
		return invalid(field, sentence(err), schemaExpected)
	}
	return nil
}

// schemas are the compiled schemas that were used last, by their text. It is shared
// by all: a schema means the same to everybody.
var schemas = cache{entries: map[string]*list.Element{}, order: list.New()}

type cache struct {
	mu      sync.Mutex
	entries map[string]*list.Element // of *compiled
	order   *list.List               // the last used first
	bytes   int
}

func (c *cache) get(schema jsontext.Value) (*compiled, error) {
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("the schema has %d bytes, and may have %d", len(schema), maxSchema)
	}
	c.mu.Lock()
	if e, ok := c.entries[string(schema)]; ok {
		c.order.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*compiled), nil
	}
	c.mu.Unlock()

	s, err := compile(schema)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[s.text]; ok { // another was faster
		return e.Value.(*compiled), nil
	}
	c.entries[s.text] = c.order.PushFront(s)
	for c.bytes += s.bytes; c.bytes > cacheBytes; {
		last := c.order.Remove(c.order.Back()).(*compiled)
		delete(c.entries, last.text)
		c.bytes -= last.bytes
	}
	return s, nil
}

// compiled is a schema ready for use, by one goroutine at a time, since it counts.
type compiled struct {
	text  string
	bytes int // an estimate of what it holds in memory

	mu     sync.Mutex
	schema *jsonschema.Schema
	meter  *meter
}

// meter counts the steps of a validation. The validator has no means to stop, so
// the last step panics, and validate recovers.
type meter struct{ left int }

func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		panic(errSteps)
	}
}

func (s *compiled) validate(value any) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer stop(&err)
	s.meter.left = maxSteps + stepsPerValue*size(value)
	return s.schema.Validate(value)
}

// stop ends a panic of the meter; and one of the validator itself, which must not
// take the node with it: what it cannot check does not conform.
func stop(err *error) {
	switch r := recover(); r {
	case nil:
	case errSteps:
		*err = errSteps
	default:
		*err = fmt.Errorf("the schema cannot be used: %v", r)
	}
}

// compile checks a schema's own bounds, compiles it, and puts the meter in.
func compile(schema jsontext.Value) (s *compiled, err error) {
	defer stop(&err)
	doc, err := rawjson.Parse(schema)
	if err != nil {
		return nil, err
	}
	if k := doc.Root().Kind(); k != rawjson.Object && k != rawjson.Bool {
		return nil, fmt.Errorf("the schema is %s", doc.Root().Kind().Noun())
	}
	nodes := 0
	if err := bounded(doc.Root(), 1, &nodes); err != nil {
		return nil, err
	}
	value, err := plain(doc.Root())
	if err != nil {
		return nil, err
	}
	s = &compiled{text: string(schema), meter: &meter{left: math.MaxInt}}
	patterns := patterns{meter: s.meter, known: map[string]*pattern{}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.UseLoader(closed{})
	c.UseRegexpEngine(patterns.compile)
	const here = "reeve:input_schema"
	if err := c.AddResource(here, value); err != nil {
		return nil, summary(err)
	}
	if s.schema, err = c.Compile(here); err != nil {
		return nil, summary(err)
	}
	s.meter.into(s.schema)
	s.bytes = 32*len(schema) + 64*patterns.program + 4<<10
	return s, nil
}

// bounded checks depth and number of objects, and that references stay within.
func bounded(v rawjson.Value, depth int, nodes *int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("the schema has more than %d levels", maxSchemaDepth)
	}
	switch v.Kind() {
	case rawjson.Object, rawjson.Bool:
		if *nodes++; *nodes > maxSchemaNodes {
			return fmt.Errorf("the schema has more than %d parts", maxSchemaNodes)
		}
	}
	for name, m := range v.Members() {
		switch {
		case m.Kind() != rawjson.String:
		case name == "$ref" && !strings.HasPrefix(m.Text(), "#"), name == "$dynamicRef", name == "$recursiveRef":
			return fmt.Errorf("the schema refers to %s", quoted(m.Text()))
		}
		if err := bounded(m, depth+1, nodes); err != nil {
			return err
		}
	}
	for _, e := range v.Elems() {
		if err := bounded(e, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// closed loads nothing.
type closed struct{}

func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema", quoted(url))
}

// pattern is a regular expression whose matching is counted.
type pattern struct {
	*regexp.Regexp
	meter *meter
	steps int // for each 64 bytes
}

// patterns are those of one schema. The compiler asks for each more than once.
type patterns struct {
	meter   *meter
	known   map[string]*pattern
	program int // instructions of all
}

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if re, ok := p.known[text]; ok {
		return re, nil
	}
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, and may have %d", len(text), maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if p.program += len(prog.Inst); p.program > maxProgram {
		return nil, errors.New("the patterns are too large")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p.known[text] = &pattern{re, p.meter, 1 + len(prog.Inst)/8}
	return p.known[text], nil
}

func (p *pattern) MatchString(s string) bool {
	p.meter.spend(p.steps * (1 + len(s)/64))
	return p.Regexp.MatchString(s)
}

// into makes every part of a schema count what it does. A format is what the
// validator looks at before it goes on to other parts, so the count stands there.
func (m *meter) into(top *jsonschema.Schema) {
	seen := map[*jsonschema.Schema]bool{top: true}
	all := []*jsonschema.Schema{top}
	constants := 0 // the most that a part compares a value with, before it is counted
	for i := 0; i < len(all); i++ {
		s := all[i]
		if s.Enum != nil {
			constants = max(constants, size(s.Enum.Values))
		}
		if s.Const != nil {
			constants = max(constants, size(*s.Const))
		}
		for _, part := range parts(s) {
			if part != nil && !seen[part] {
				seen[part] = true
				all = append(all, part)
			}
		}
	}
	for _, s := range all {
		if s.Bool != nil {
			continue
		}
		format := jsonschema.Format{}
		if s.Format != nil {
			format = *s.Format
		}
		inner, unique := format.Validate, s.UniqueItems
		own := 1 + len(parts(s)) + len(s.Required) + len(s.PatternProperties)
		own += (len(s.AllOf) + len(s.AnyOf) + len(s.OneOf)) * constants / 16
		each := 1 + constants/16
		format.Validate = func(v any) error {
			steps := own
			switch v := v.(type) {
			case map[string]any:
				steps += each * len(v)
			case []any:
				steps += each * len(v)
				if unique {
					steps += size(v)
				}
			case string:
				steps += len(v) / 64
			}
			m.spend(steps)
			if inner == nil {
				return nil
			}
			return inner(v)
		}
		s.Format = &format
	}
}

// parts are the schemas that a schema applies.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	all = slices.Concat(all, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	for _, p := range s.Properties {
		all = append(all, p)
	}
	for _, p := range s.PatternProperties {
		all = append(all, p)
	}
	for _, p := range s.DependentSchemas {
		all = append(all, p)
	}
	for _, p := range s.Dependencies {
		all = appendPart(all, p)
	}
	for _, p := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		all = appendPart(all, p)
	}
	return all
}

func appendPart(all []*jsonschema.Schema, part any) []*jsonschema.Schema {
	switch part := part.(type) {
	case *jsonschema.Schema:
		return append(all, part)
	case []*jsonschema.Schema:
		return append(all, part...)
	}
	return all
}

// size counts the values in a value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, m := range v {
			n += size(m)
		}
	case []any:
		for _, e := range v {
			n += size(e)
		}
	case string:
		n += len(v) / 64
	}
	return n
}

// plain turns a value into what the validator reads. It computes with numbers
// exactly, so their length is bounded: 1e1000000 is short to write.
func plain(v rawjson.Value) (any, error) {
	switch v.Kind() {
	case rawjson.Bool:
		return v.Bool(), nil
	case rawjson.String:
		return v.Text(), nil
	case rawjson.Number:
		number := string(v.Raw())
		digits, exponent := number, 0
		if i := strings.IndexAny(number, "eE"); i >= 0 {
			n, err := strconv.Atoi(number[i+1:])
			if err != nil {
				return nil, errNumber
			}
			digits, exponent = number[:i], n
		}
		if len(digits) > maxDigits || exponent > maxDigits || exponent < -maxDigits {
			return nil, errNumber
		}
		return json.Number(number), nil
	case rawjson.Array:
		all := make([]any, 0, v.Len())
		for _, e := range v.Elems() {
			p, err := plain(e)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		return all, nil
	case rawjson.Object:
		all := make(map[string]any, v.Len())
		for name, m := range v.Members() {
			p, err := plain(m)
			if err != nil {
				return nil, err
			}
			all[name] = p
		}
		return all, nil
	}
	return nil, nil
}

var english = message.NewPrinter(language.English)

// explain finds the first thing that is wrong, by the place where it is: the
// validator visits members in no order.
func explain(fault *jsonschema.ValidationError) (where []string, reason string) {
	first := ""
	for left := []*jsonschema.ValidationError{fault}; len(left) > 0; {
		e := left[len(left)-1]
		left = left[:len(left)-1]
		switch e.ErrorKind.(type) {
		case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
			if len(e.Causes) > 0 {
				left = append(left, e.Causes...)
				continue
			}
		}
		at, said := e.InstanceLocation, ""
		if missing, ok := e.ErrorKind.(*kind.Required); ok && len(missing.Missing) > 0 {
			at, said = append(slices.Clone(at), slices.Min(missing.Missing)), "The value is missing."
		} else {
			said = "The schema says: " + e.ErrorKind.LocalizedString(english) + "."
		}
		if key := strings.Join(at, "\x00") + "\x00" + said; reason == "" || key < first {
			first, where, reason = key, at, said
		}
	}
	return where, reason
}

// summary is what a schema's author needs of the compiler's error, which has many lines.
func summary(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var fault *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &fault) {
		where, reason := explain(fault)
		return fmt.Errorf("it is no schema at %q: %s", strings.Join(where, "."), reason)
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("it cannot be used: %s", strings.TrimSuffix(line, "."))
}
