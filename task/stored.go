package task

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// definition is what a store keeps of a task as one text: what changes only when a
// client changes it.
type definition struct {
	ClientID     string         `json:"client_id,omitzero"`
	Inputs       jsontext.Value `json:"inputs,omitzero"`
	Params       jsontext.Value `json:"params,omitzero"`
	Schemas      jsontext.Value `json:"schemas,omitzero"`
	Dependencies []Dependency   `json:"dependencies,omitempty"`
	Origin       string         `json:"origin,omitzero"`
	Original     ID             `json:"original,omitzero"`
	Schedule     Schedule       `json:"schedule,omitzero"`
	Extra        jsontext.Value `json:"extra,omitzero"`
	Leave
}

// MarshalText writes an ID in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}

// Definition is what a store keeps of the task beside its row.
func (t *Task) Definition() ([]byte, error) {
	return json.Marshal(&definition{
		t.ClientID, t.Inputs, t.Params, t.Schemas, t.Dependencies, t.Origin, t.Original, t.Schedule, t.Extra, t.Leave,
	}, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // checked when it came
}

// SetDefinition reads what Definition wrote. The error is an ErrBroken.
func (t *Task) SetDefinition(data []byte) error {
	var d definition
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("%w: the definition of %s: %w", ErrBroken, t.ID, err)
	}
	if data[0] != '{' { // null is nothing that was written
		return fmt.Errorf("%w: the definition of %s is no object", ErrBroken, t.ID)
	}
	t.ClientID, t.Inputs, t.Params, t.Schemas, t.Dependencies = d.ClientID, d.Inputs, d.Params, d.Schemas, d.Dependencies
	t.Origin, t.Original, t.Schedule, t.Extra, t.Leave = d.Origin, d.Original, d.Schedule, d.Extra, d.Leave
	return nil
}

// Data is what a store keeps of a push beside its id, its tree and when it is due.
func (p *Push) Data() ([]byte, error) {
	return json.Marshal(&pushData{p.URL, p.Headers, p.Created, p.Sent, p.Failures, p.Tried, p.Error}, json.Deterministic(true))
}

// SetData reads what Data wrote.
func (p *Push) SetData(data []byte) error {
	var d pushData
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("the push %s in the database: %w", p.ID, err)
	}
	p.URL, p.Headers, p.Created, p.Sent, p.Failures, p.Tried, p.Error = d.URL, d.Headers, d.Created, d.Sent, d.Failures, d.Tried, d.Error
	return nil
}

type pushData struct {
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers,omitempty"`
	Created  time.Time         `json:"created"`
	Sent     uint64            `json:"sent"`
	Failures int               `json:"failures,omitzero"`
	Tried    time.Time         `json:"tried,omitzero"`
	Error    string            `json:"error,omitzero"`
}
