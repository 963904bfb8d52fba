package operator

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/policy"
	"reeve.example/reeve/internal/replay"

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
	// Cases are the files of test cases that lie beside the policy in force.
	Cases []PolicyFile `json:"cases,omitempty"`
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
	// Cases are files of test cases, in place of those of their names that lie beside the
	// policy in force. These read no other files.
	Cases []PolicyFile `json:"cases,omitempty"`
}

// PolicyChecked says what is wrong with a candidate; nothing is where it can be used. Tested
// is how the test cases went with it.
type PolicyChecked struct {
	Faults []PolicyFault `json:"faults,omitempty"`
	Tested PolicyTested  `json:"tested,omitzero"`
	PolicyShown
}

// PolicyTested is how test cases of a policy went.
type PolicyTested struct {
	Cases     []TestedCase  `json:"cases"`
	Failed    int           `json:"failed"`
	Rules     int           `json:"rules"`
	Uncovered []string      `json:"uncovered"`        // rules that no case makes match
	Faults    []PolicyFault `json:"faults,omitempty"` // of files of cases that cannot be read
	// Left is how many cases were not run, since there are more than one answer runs.
	Left int `json:"left,omitzero"`
}

// TestedCase is one case, and whether it passes.
type TestedCase struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Name    string `json:"name"`
	Passes  bool   `json:"passes"`
	Problem string `json:"problem,omitzero"`
}

// TestedOf is a run of cases as programs are told of it.
func TestedOf(report *policy.Report) PolicyTested {
	t := PolicyTested{Cases: []TestedCase{}, Failed: report.Failed(), Rules: report.Rules, Uncovered: []string{}}
	for _, r := range report.Results {
		t.Cases = append(t.Cases, TestedCase{r.Case.File, r.Case.Line, r.Case.Name, r.Problem == "", r.Problem})
	}
	for _, r := range report.Unused {
		t.Uncovered = append(t.Uncovered, r.Name)
	}
	return t
}

// maxCases is how many cases one answer runs: they are run again while somebody writes.
const maxCases = 2000

// tested runs the cases that lie beside the policy in force with a candidate; those that
// were sent go before those of their names.
func (o *API) tested(set *policy.Set, sent []PolicyFile) PolicyTested {
	var cases []policy.Case
	var wrong []PolicyFault
	read := func(f policy.File, dir string) {
		more, err := policy.ParseCases(f, dir)
		if list, ok := errors.AsType[policy.ErrorList](err); ok {
			wrong = append(wrong, faults(list)...)
		}
		cases = append(cases, more...)
	}
	for _, f := range sent {
		read(policy.File{Name: f.Name, Data: []byte(f.Text)}, "")
	}
	for _, f := range o.cases() {
		if name := filepath.Base(f.Name); !slices.ContainsFunc(sent, func(s PolicyFile) bool { return s.Name == name }) {
			read(policy.File{Name: name, Data: f.Data}, filepath.Dir(f.Name))
		}
	}
	run := cases[:min(len(cases), maxCases)]
	report := set.Test(run, replay.Case)
	t := TestedOf(&report)
	t.Faults, t.Left = wrong, len(cases)-len(run)
	return t
}

// cases are the files of test cases beside the policy in force; none where there are none,
// or they cannot be read.
func (o *API) cases() []policy.File {
	path := o.PolicyPath()
	if path == "" {
		text, err := policy.StarterTests(policy.DefaultProfile)
		if err != nil {
			return nil
		}
		return []policy.File{{Name: "starter.test.yaml", Data: text}}
	}
	files, _ := policy.CaseFiles(path)
	return files
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
		return shown, o.failed("the policy was not read", err)
	}
	if set == o.Guard.Policy() {
		for _, f := range o.cases() {
			shown.Cases = append(shown.Cases, PolicyFile{filepath.Base(f.Name), string(f.Data)})
		}
	}
	return shown, nil
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
	return PolicyChecked{PolicyShown: shown, Tested: o.tested(set, q.Cases)}, err
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
