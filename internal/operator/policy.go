package operator

import (
	"errors"
	"net/http"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/policy"

	"github.com/go-json-experiment/json"
)

// PolicyShown is the policy that is in force.
type PolicyShown struct {
	Hash    string `json:"hash"`
	Default string `json:"default"`
	// Files are its documents, as they were read.
	Files      []PolicyFile      `json:"files"`
	Rules      []PolicyRule      `json:"rules"`
	Exceptions []PolicyException `json:"exceptions,omitempty"`
	// Notes are what is worth knowing of it, and Warnings what is probably not meant.
	Notes    []string      `json:"notes,omitempty"`
	Warnings []PolicyFault `json:"warnings,omitempty"`
}

// PolicyRule is a rule, and where it stands.
type PolicyRule struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Effect  string `json:"effect"`
	Observe bool   `json:"observe,omitzero"`
	// Behind is the rule that always decides before it, so that it never does.
	Behind string `json:"behind,omitzero"`
}

// PolicyException is an exception, and until when it holds.
type PolicyException struct {
	Name   string    `json:"name"`
	File   string    `json:"file"`
	Line   int       `json:"line"`
	Reason string    `json:"reason,omitzero"`
	Until  time.Time `json:"until,omitzero"`
}

// PolicyFault is what is wrong with a document, and where.
type PolicyFault struct {
	File    string `json:"file,omitzero"`
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
}

// PolicyCandidate is a policy that is looked at before it is used.
type PolicyCandidate struct {
	Files []PolicyFile `json:"files"`
}

// PolicyChecked says what is wrong with a candidate; nothing is where it can be used.
type PolicyChecked struct {
	Faults []PolicyFault `json:"faults,omitempty"`
	PolicyShown
}

// showPolicy shows the policy in force, or the one of a hash that was in force before.
func (o *API) showPolicy(r *http.Request, _ act.Principal, _ Nothing) (PolicyShown, error) {
	set := o.Guard.Policy()
	if hash := r.URL.Query().Get("hash"); hash != "" {
		var err error
		if set, err = o.Replays.policyThen(r.Context(), hash); err != nil {
			return PolicyShown{}, o.failed("the policy was not read", err)
		}
		if set == nil {
			return PolicyShown{}, problem{http.StatusNotFound, errors.New("no policy of this hash can be read here")}
		}
	}
	shown, err := o.shown(set)
	if err != nil {
		err = o.failed("the policy was not read", err)
	}
	return shown, err
}

// checkPolicy compiles a candidate, and puts nothing in force.
func (o *API) checkPolicy(r *http.Request, _ act.Principal, q PolicyCandidate) (PolicyChecked, error) {
	var files []policy.File
	for _, f := range q.Files {
		files = append(files, policy.File{Name: f.Name, Data: []byte(f.Text)})
	}
	if len(files) == 0 {
		return PolicyChecked{}, badRequest("want {\"files\": [{\"name\": \"policy.yaml\", \"text\": …}]}")
	}
	set, err := policy.Load(files...)
	if list, ok := errors.AsType[policy.ErrorList](err); ok {
		return PolicyChecked{Faults: faults(list)}, nil
	}
	if err != nil {
		return PolicyChecked{}, badRequest("%v", err)
	}
	shown, err := o.shown(set)
	return PolicyChecked{PolicyShown: shown}, err
}

func (o *API) shown(set *policy.Set) (PolicyShown, error) {
	shown := PolicyShown{Hash: set.Hash(), Default: set.Default().String(), Notes: set.Notes(o.Retention.Now()), Warnings: faults(set.Warnings())}
	var documents struct {
		Files []PolicyFile `json:"files"`
	}
	if err := json.Unmarshal(set.Text(), &documents); err != nil {
		return shown, err
	}
	shown.Files = documents.Files
	for _, r := range set.Rules() {
		shown.Rules = append(shown.Rules, PolicyRule{r.Name, r.File, r.Line, r.Effect.String(), r.Observe, r.Behind})
	}
	for _, e := range set.Exceptions() {
		shown.Exceptions = append(shown.Exceptions, PolicyException{e.Name, e.File, e.Line, e.Reason, e.Until})
	}
	return shown, nil
}

func faults(list policy.ErrorList) (all []PolicyFault) {
	for _, e := range list {
		all = append(all, PolicyFault{e.File, e.Line, e.Column, e.Message, e.Hint})
	}
	return all
}
