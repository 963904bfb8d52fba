package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
)

// policyView is the policy that is in force.
type policyView struct {
	operator.PolicyShown
	Hits     map[string]*ledger.Line // the newest decision of each rule; nil for one that never decided
	Counts   map[string]int          // of the newest decisions, by rule
	Of       int                     // how many those are
	Unused   int                     // rules that never decided
	Versions []versionView
	Against  *versionView // the version that is compared
	Changed  []changedFile
	Reloads  bool
	Said     string // how a reload went
	Problem  string
}

// versionView is a policy that was in force until another was.
type versionView struct {
	Hash  string
	Until time.Time
}

// changedFile is a document of two policies, and its difference.
type changedFile struct {
	Name  string
	Lines []line
}

// maxVersions is how many changes of the policy are listed.
const maxVersions = 20

// versions are the policies that ruled before, the last one first. The record of a change
// is made under the policy that it ends.
func (v *visit) versions(now string) (list []versionView, err error) {
	var found ledger.Answer
	if err := v.ask("GET", "/api/v1/decisions?"+url.Values{"kind": {"admin.policy"}, "limit": {strconv.Itoa(maxVersions)}}.Encode(), nil, &found); err != nil {
		return nil, err
	}
	for _, l := range found.Lines {
		if n := len(list); l.Policy != "" && l.Policy != now && (n == 0 || list[n-1].Hash != l.Policy) {
			list = append(list, versionView{l.Policy, l.Time})
		}
	}
	return list, nil
}

// against compares the policy in force with an earlier one, document by document.
func (v *visit) against(p *policyView, hash string) error {
	var then operator.PolicyShown
	if err := v.ask("GET", "/policy?"+url.Values{"hash": {hash}}.Encode(), nil, &then); err != nil {
		return err
	}
	p.Against = &versionView{Hash: hash}
	for _, one := range p.Versions {
		if one.Hash == hash {
			*p.Against = one
		}
	}
	before := map[string]string{}
	for _, f := range then.Files {
		before[f.Name] = f.Text
	}
	files := slices.Clone(p.Files)
	for _, f := range then.Files {
		if !slices.ContainsFunc(p.Files, func(now operator.PolicyFile) bool { return now.Name == f.Name }) {
			files = append(files, operator.PolicyFile{Name: f.Name})
		}
	}
	for _, f := range files {
		if before[f.Name] != f.Text {
			p.Changed = append(p.Changed, changedFile{f.Name, diff(before[f.Name], f.Text)})
		}
	}
	return nil
}

// maxHits bounds for how many rules it is looked up when they decided last.
const maxHits = 200

func (v *visit) policy() (view, error) { return v.showPolicy(0, "", "") }

func (v *visit) showPolicy(status int, said, problem string) (view, error) {
	p := policyView{Reloads: v.may(admins), Said: said, Problem: problem}
	if err := v.ask("GET", "/policy", nil, &p.PolicyShown); err != nil {
		return view{}, err
	}
	p.Hits = map[string]*ledger.Line{}
	for _, rule := range p.Rules[:min(len(p.Rules), maxHits)] {
		var newest ledger.Answer
		if err := v.ask("GET", "/api/v1/decisions?"+url.Values{"rule": {rule.Name}, "limit": {"1"}}.Encode(), nil, &newest); err != nil {
			return view{}, err
		}
		if p.Hits[rule.Name] = nil; len(newest.Lines) > 0 {
			p.Hits[rule.Name] = &newest.Lines[0]
		} else {
			p.Unused++
		}
	}
	var newest ledger.Answer
	if err := v.ask("GET", "/api/v1/decisions?limit="+strconv.Itoa(liveLines), nil, &newest); err != nil {
		return view{}, err
	}
	p.Counts = map[string]int{}
	for _, l := range newest.Lines {
		if l.Effect == "" {
			continue
		}
		p.Of++
		for _, name := range l.Rules {
			p.Counts[name]++
		}
	}
	var err error
	if p.Versions, err = v.versions(p.Hash); err != nil {
		return view{}, err
	}
	if hash := v.FormValue("version"); hash != "" {
		if err := v.against(&p, hash); err != nil {
			return view{}, err
		}
	}
	return view{template: "policy", title: "Policy", data: p, status: status}, nil
}

func (v *visit) toPolicy() (view, error) { return there(home + "policy") }

// reloadPolicy has the node read its policy again.
func (v *visit) reloadPolicy() (view, error) {
	var done operator.PolicyLoaded
	if err := v.ask("POST", "/admin/policy/reload", struct{}{}, &done); err != nil {
		if status := operator.StatusOf(err); status >= 400 && status < 500 {
			return v.showPolicy(status, "", err.Error())
		}
		return view{}, err
	}
	if done.Changed {
		return v.showPolicy(0, "Another policy is in force now.", "")
	}
	return v.showPolicy(0, "The policy was read again, and is the same.", "")
}

// editView is a document that somebody writes, with the test cases beside it.
type editView struct {
	Name, Text  string
	Tests       string // the file of the cases
	Cases       string // what stands in it
	Own         bool   // somebody has changed that here
	Checked     *operator.PolicyChecked
	Failed, Ran []operator.TestedCase
	Ruled       string // the hash of what is in force
}

// testsOf is the file of test cases that belongs to a document: what lies beside it by that
// name, or else the one that is there.
func testsOf(document string, there []operator.PolicyFile) operator.PolicyFile {
	name := strings.TrimSuffix(strings.TrimSuffix(cmp.Or(document, "policy.yaml"), ".yaml"), ".yml") + ".test.yaml"
	for _, f := range there {
		if f.Name == name || len(there) == 1 {
			return f
		}
	}
	return operator.PolicyFile{Name: name}
}

// edited is the document that was sent, or one of those that are in force; and these.
func (v *visit) edited() (e editView, files []operator.PolicyFile, err error) {
	var now operator.PolicyShown
	if err := v.ask("GET", "/policy", nil, &now); err != nil {
		return e, nil, err
	}
	e = editView{Name: v.FormValue("file"), Text: typed(v.PostFormValue("text")), Ruled: now.Hash}
	if v.Method != http.MethodPost {
		for _, f := range now.Files {
			if f.Name == cmp.Or(e.Name, f.Name) && e.Text == "" {
				e.Name, e.Text = f.Name, f.Text
			}
		}
	}
	tests := testsOf(e.Name, now.Cases)
	if e.Tests, e.Cases = tests.Name, tests.Text; v.PostForm.Has("cases") {
		e.Cases = typed(v.PostFormValue("cases"))
	}
	e.Own = e.Cases != tests.Text
	return e, now.Files, nil
}

// editPolicy says what is wrong with a document, in force or sent. Nothing is stored by it.
func (v *visit) editPolicy() (view, error) {
	e, files, err := v.edited()
	if err != nil {
		return view{}, err
	}
	e.Checked = new(operator.PolicyChecked)
	q := operator.PolicyCandidate{Files: candidate(e, files)}
	if e.Own { // else those that lie there, which can name other files
		q.Cases = []operator.PolicyFile{{Name: e.Tests, Text: e.Cases}}
	}
	if err := v.ask("POST", "/policy/check", q, e.Checked); err != nil {
		if operator.StatusOf(err) != http.StatusBadRequest {
			return view{}, err
		}
		e.Checked.Faults = []operator.PolicyFault{{Message: err.Error()}}
	}
	for _, c := range e.Checked.Tested.Cases {
		if c.Passes {
			e.Ran = append(e.Ran, c)
		} else {
			e.Failed = append(e.Failed, c)
		}
	}
	return view{template: "edit", title: "Edit — Policy", data: e}, nil
}

// typed is a text of a form with the ends of lines that files have.
func typed(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
