package executor

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"reeve.example/reeve/internal/lazyregexp"
)

// ErrDuplicate is why a second executor of the same id is not taken.
var ErrDuplicate = errors.New("there is an executor of this id already")

// Registry holds the executors that a node has. The zero value holds none, and
// it may be used by many goroutines.
type Registry struct {
	mu  sync.RWMutex
	all map[string]registered
}

type registered struct {
	executor    Executor
	description Description // as it was at the start
}

var executorID = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.-]{0,127}$`)

// limits are the names that Description.Enforces may have: a manifest's, as written in JSON.
var limits = []string{"max_memory_mb", "max_cpu_percent", "timeout_seconds", "network_allowed", "filesystem_scope", "filesystem_read",
	"max_write_mb", "max_write_files", "allowed_domains", "blocked_domains", "blocked_patterns"}

// Register takes an executor. Its error wraps ErrNoDescription or ErrDuplicate,
// or says what is wrong with the description.
func (r *Registry) Register(e Executor) error {
	if e == nil {
		return ErrNoDescription
	}
	d := e.Describe()
	if err := d.check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.all[d.ID]; ok {
		return fmt.Errorf("%w: %s", ErrDuplicate, d.ID)
	}
	if r.all == nil {
		r.all = map[string]registered{}
	}
	r.all[d.ID] = registered{e, d}
	return nil
}

// Get returns the executor of an id with its description.
func (r *Registry) Get(id string) (Executor, Description, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.all[id]
	return e.executor, e.description, ok
}

// List returns the descriptions of all, by id.
func (r *Registry) List() []Description {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := make([]Description, 0, len(r.all))
	for _, e := range r.all {
		list = append(list, e.description)
	}
	slices.SortFunc(list, func(a, b Description) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// check says what is wrong with a description.
func (d Description) check() error {
	switch {
	case d.ID == "" || len(d.InputSchema) == 0:
		return ErrNoDescription
	case !executorID.MatchString(d.ID):
		return fmt.Errorf("the executor's id %q must begin with a letter and have letters, digits, dots, dashes and underscores only", d.ID)
	case d.Concurrent < 0:
		return fmt.Errorf("executor %s: Concurrent is %d; use 0 for the default", d.ID, d.Concurrent)
	}
	for _, name := range slices.Concat(d.Enforces, d.Manifest.Advisory) {
		if !slices.Contains(limits, name) {
			return fmt.Errorf("executor %s: %q is no limit of a manifest; those are %s", d.ID, name, strings.Join(limits, ", "))
		}
	}
	if kind := d.InputSchema.Kind(); !d.InputSchema.IsValid() || kind != '{' {
		return fmt.Errorf("executor %s: the schema of its inputs is no JSON object, or has a member twice", d.ID)
	}
	if kind := d.ResultSchema.Kind(); len(d.ResultSchema) > 0 && (!d.ResultSchema.IsValid() || kind != '{') {
		return fmt.Errorf("executor %s: the schema of its result is no JSON object, or has a member twice", d.ID)
	}
	if slices.ContainsFunc(ownSchemas, func(own jsontext.Value) bool { return bytes.Equal(own, d.InputSchema) }) {
		return nil
	}
	if err := compile(d.InputSchema); err != nil {
		return fmt.Errorf("executor %s: the schema of its inputs: %w", d.ID, err)
	}
	return nil
}

// ownSchemas are those of this package's executors. A test compiles them, and so not
// every start of a program has to, of which some judge one call and end.
var ownSchemas = []jsontext.Value{a2aSchema, aggregateSchema, commandSchema, llmSchema, mcpSchema, restSchema, systemSchema, wasmSchema}

// compile sees whether a schema is one. It loads nothing from elsewhere.
func compile(text jsontext.Value) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("inputs.json", schema); err != nil {
		return err
	}
	_, err = c.Compile("inputs.json")
	return err
}
