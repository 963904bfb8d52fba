package policy

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/habits"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/session"
)

// Case is one test of a policy: a request, and what is expected of it.
type Case struct {
	Name    string
	File    string
	Line    int
	Class   string // for figures; empty for none
	Request []byte // the request as JSON
	Expect  Expect

	session    *node
	violations []string
}

// Expect is what a case expects. Empty parts are not compared.
type Expect struct {
	Effect act.Effect
	Codes  []string          // each must be among the reasons' codes
	Rules  []string          // each must be among the reasons' rules
	Edits  map[string][]byte // exactly these, by pointer; an empty map means none
}

// Result is the outcome of one case. Problem is empty when it passed.
type Result struct {
	Case    Case
	Verdict Verdict
	Problem string
}

// Report is the outcome of all cases of a policy.
type Report struct {
	Results []Result
	// Unused lists the rules that no case made match.
	Unused []RuleInfo
	// Rules is the number of rules.
	Rules int
}

// Failed counts the cases that did not pass.
func (r *Report) Failed() int {
	n := 0
	for _, res := range r.Results {
		if res.Problem != "" {
			n++
		}
	}
	return n
}

var (
	caseFileKeys = []string{"version", "description", "cases"}
	caseKeys     = []string{"name", "description", "class", "request", "request_file", "command", "call", "mcp", "result", "session", "violations", "expect"}
	callKeys     = []string{"tool", "args"}
	expectKeys   = []string{"effect", "codes", "rules", "edits"}
	sessionKeys  = []string{"steps", "calls", "tainted", "autonomous", "local", "known", "said", "own", "foreign", "labels", "planned", "usual", "new", "outside", "did", "approved", "folder", "hints"}
)

const maxCases = 10_000

// LoadCases reads the cases that lie beside a policy: for a directory all its
// *.test.yaml files, for a policy file such as mine.yaml the file
// mine.test.yaml, and for a *.test.yaml file itself. The error is an
// ErrorList.
func LoadCases(name string) ([]Case, error) {
	files, err := CaseFiles(name)
	if err != nil {
		return nil, err
	}
	var cases []Case
	var errs ErrorList
	for _, f := range files {
		more, err := ParseCases(f, filepath.Dir(f.Name))
		if list, ok := err.(ErrorList); ok {
			errs = append(errs, list...)
		}
		cases = append(cases, more...)
	}
	if errs != nil {
		return nil, errs
	}
	return cases, nil
}

// CaseFiles are the files that LoadCases reads. The error is an ErrorList.
func CaseFiles(name string) ([]File, error) {
	var files []string
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, ErrorList{{File: name, Message: plainPathError(err).Error()}}
	case info.IsDir():
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, ErrorList{{File: name, Message: plainPathError(err).Error()}}
		}
		for _, e := range entries {
			if !e.IsDir() && isTestFile(e.Name()) {
				files = append(files, filepath.Join(name, e.Name()))
			}
		}
	case isTestFile(name):
		files = []string{name}
	default:
		files = []string{strings.TrimSuffix(name, filepath.Ext(name)) + ".test" + filepath.Ext(name)}
	}
	if len(files) == 0 {
		return nil, ErrorList{{File: name, Message: "there are no test cases here", Hint: "put them into a file named *.test.yaml"}}
	}
	var list []File
	var errs ErrorList
	for _, file := range files {
		f, err := readFile(file)
		if err != nil {
			errs = append(errs, &Error{File: file, Message: err.Error()})
		}
		list = append(list, f)
	}
	if errs != nil {
		return nil, errs
	}
	return list, nil
}

// ParseCases reads a file of cases. Files that its cases name with request_file are read
// from a directory, and none where that is empty: who wrote the cases may not be who may
// read files. The error is an ErrorList.
func ParseCases(f File, dir string) ([]Case, error) {
	d := &document{yamlReader: &yamlReader{file: f.Name, source: strings.TrimPrefix(string(f.Data), "\ufeff")}}
	root := d.read()
	if root == nil {
		return nil, d.errs
	}
	list := root
	if root.Kind == rawjson.Object {
		d.known(root, caseFileKeys, "a file of cases")
		list = root.Get("cases")
	}
	var cases []Case
	if list == nil || list.Kind != rawjson.Array {
		d.at(root, "start with cases: and write each as - name: …", "the file has no list of cases")
	} else {
		if len(list.Items) > maxCases {
			d.at(list, "", "there are more than %d cases", maxCases)
			list.Items = nil
		}
		for _, item := range list.Items {
			cases = append(cases, d.readCase(item, dir))
		}
	}
	if d.errs != nil {
		return nil, d.errs
	}
	return cases, nil
}

func (d *document) readCase(n *node, dir string) Case {
	c := Case{File: d.file, Line: n.Line}
	if n.Kind != rawjson.Object {
		d.at(n, "write each case as - name: …", "a case is a mapping, not %s", n.Is())
		return c
	}
	d.known(n, caseKeys, "a case")
	c.Name, c.Class = d.textOf(n.Get("name"), "name"), d.textOf(n.Get("class"), "class")
	d.textOf(n.Get("description"), "description")
	request, file := n.Get("request"), n.Get("request_file")
	var short []string
	for _, key := range shortKeys {
		if n.Get(key) != nil {
			short = append(short, key)
		}
	}
	switch {
	case len(short) == 1 && request == nil && file == nil:
		d.readShort(&c, n.Get(short[0]), short[0])
	case len(short) > 0 || (request == nil) == (file == nil):
		d.at(n, "add request: with the request, request_file: with a file's name, or one of "+strings.Join(shortKeys, ", "), "a case needs exactly one request")
	case request != nil && request.Kind == rawjson.String:
		c.Request = []byte(request.Text)
	case request != nil:
		c.Request = request.AppendJSON(nil)
	default:
		name := d.textOf(file, "request_file")
		if dir == "" {
			d.at(file, "write the request itself, as request:", "no file is read here")
			break
		}
		if !filepath.IsLocal(name) {
			d.at(file, "name a file beside this one", "%q is not a file in this directory", name)
			break
		}
		f, err := readFile(filepath.Join(dir, name))
		if err != nil {
			d.at(file, "", "%s cannot be read: %v", name, err)
		}
		c.Request = bytes.TrimSpace(f.Data)
	}
	if c.Request != nil {
		if _, err := rawjson.Parse(c.Request); err != nil {
			d.at(n, "", "the request is not valid JSON: %v", err)
		}
	}
	if c.Name == "" {
		d.at(n, "add name: …", "the case has no name")
	}
	for _, w := range d.words(n.Get("violations"), "violations") {
		if !slices.Contains(checkNames, w.Text) {
			d.at(w, didYouMean(w.Text, checkNames), "there is no check %q", w.Text)
		}
		c.violations = append(c.violations, w.Text)
	}
	if c.session = n.Get("session"); c.session != nil {
		d.known(c.session, sessionKeys, "session")
		for _, m := range c.session.Members {
			want := rawjson.Bool
			switch m.Name {
			case "steps", "calls", "outside":
				want = rawjson.Number
			case "said", "own", "foreign", "labels", "planned", "usual", "new", "did", "approved":
				if m.Value.Kind != rawjson.Array || len(m.Value.Items) > 0 { // an empty one says that there was nothing
					d.words(m.Value, "session."+m.Name)
				}
				continue
			case "hints":
				for _, w := range d.words(m.Value, "session.hints") {
					if _, ok := act.ParseHint(w.Text); !ok {
						d.at(w, "", "there is no hint %q", w.Text)
					}
				}
				continue
			case "folder":
				want = rawjson.String
			}
			if m.Value.Kind != want {
				d.at(m.Value, "", "session.%s is %s", m.Name, (&node{Kind: want}).Is())
			}
		}
	}
	d.readExpect(&c.Expect, n)
	return c
}

// shortKeys are the short forms of a request: a command, a call of a tool, one of a tool of
// an MCP server, and what a tool gave.
var shortKeys = []string{"command", "call", "mcp", "result"}

// readShort makes the request that a short form stands for, and a name of it.
func (d *document) readShort(c *Case, n *node, key string) {
	const longest = 60
	name, tool, args := "", "shell", []byte("[]")
	switch {
	case n.Kind == rawjson.String && (key == "command" || key == "result"):
		name = key + " " + strings.Join(strings.Fields(n.Text), " ")
		args = append(rawjson.AppendString([]byte(`[{"name":"command","value":`), n.Text), "}]"...)
	case n.Kind == rawjson.Object && key != "command" && key != "result":
		d.known(n, callKeys, key)
		if tool = d.textOf(n.Get("tool"), "tool"); tool == "" {
			d.at(n, "add tool: …", "the call names no tool")
		}
		name = key + " " + tool
		if v := n.Get("args"); v != nil && v.Kind == rawjson.Object {
			args = args[:1]
			for i, m := range v.Members {
				if i > 0 {
					args = append(args, ',')
				}
				args = append(rawjson.AppendString(append(args, `{"name":`...), m.Name), `,"value":`...)
				args = append(m.Value.AppendJSON(args), '}')
				if m.Value.Kind == rawjson.String {
					name += " " + strings.Join(strings.Fields(m.Value.Text), " ")
				}
			}
			args = append(args, ']')
			if key == "mcp" {
				args = v.AppendJSON(nil)
			}
		} else if v != nil {
			d.at(v, "write args: {name: value}", "args is a mapping, not %s", v.Is())
		} else if key == "mcp" {
			args = []byte("{}")
		}
	default:
		d.at(n, "command and result are texts; call and mcp are {tool: NAME, args: {…}}", "%s cannot be %s", key, n.Is())
		return
	}
	if c.Name == "" {
		c.Name = strings.ToValidUTF8(name[:min(len(name), longest)], "")
	}
	const context = `"context":{"agent":{"id":"a","name":"a","version":"1","instructions":"","provider":{"name":"a","url":"https://a.example"}},"session":{"id":"s"},"turnId":"t","stepId":"st","timestamp":"2026-04-02T08:15:00Z"}`
	request := []byte(`{"jsonrpc":"2.0","id":1,"method":`)
	switch key {
	case "mcp":
		request = append(request, `"protocols/MCP","params":{`+context+`,"message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`...)
		request = append(append(append(rawjson.AppendString(request, tool), `,"arguments":`...), args...), "}}}}"...)
	case "result":
		request = append(request, `"steps/toolCallResult","params":{`+context+`,"executionId":"x","result":{"isError":false,"outputs":[{"kind":"text","text":`...)
		request = append(rawjson.AppendString(request, n.Text), "}]}}}"...)
	default:
		request = append(request, `"steps/toolCallRequest","params":{`+context+`,"toolCallRequest":{"executionId":"x","toolId":`...)
		request = append(append(append(rawjson.AppendString(request, tool), `,"inputs":`...), args...), "}}}"...)
	}
	c.Request = request
}

func (d *document) readExpect(x *Expect, n *node) {
	e := n.Get("expect")
	if e == nil {
		d.at(n, "add expect: { effect: … }", "the case does not say what it expects")
		return
	}
	if e.Kind == rawjson.String { // expect: deny
		x.Effect, _ = d.effectOf(e, "expect")
		return
	}
	d.known(e, expectKeys, "expect")
	if v := e.Get("effect"); v == nil {
		d.at(e, "add effect: …", "the case does not say which effect it expects")
	} else {
		x.Effect, _ = d.effectOf(v, "effect")
	}
	for _, w := range d.words(e.Get("codes"), "codes") {
		x.Codes = append(x.Codes, w.Text)
	}
	for _, w := range d.words(e.Get("rules"), "rules") {
		x.Rules = append(x.Rules, w.Text)
	}
	if v := e.Get("edits"); v != nil {
		x.Edits = map[string][]byte{}
		for _, m := range v.Members {
			x.Edits[m.Name] = m.Value.AppendJSON(nil)
		}
	}
}

// Test runs cases against the policy. decode turns a request into what the
// policy judges; a case's session and violations are added to that.
func (s *Set) Test(cases []Case, decode func(request []byte) (*Input, error)) Report {
	report := Report{Rules: len(s.rules)}
	used := map[string]bool{}
	for _, c := range cases {
		result := Result{Case: c}
		in, err := decode(c.Request)
		if err != nil {
			result.Problem = fmt.Sprintf("the request is not acceptable: %v", err)
			report.Results = append(report.Results, result)
			continue
		}
		c.prepare(s, in)
		result.Verdict = s.Evaluate(in)
		for _, r := range result.Verdict.Reasons {
			used[r.Rule] = true
		}
		result.Problem = c.Expect.compare(&result.Verdict)
		report.Results = append(report.Results, result)
	}
	for _, r := range s.Rules() {
		if !used[r.Name] {
			report.Unused = append(report.Unused, r)
		}
	}
	return report
}

// prepare gives an input the session and the violations that the case speaks of.
func (c *Case) prepare(set *Set, in *Input) {
	for _, check := range c.violations {
		in.Violations = append(in.Violations, act.Violation{Check: check, Message: checkThreat[check] + "."})
	}
	in.Session.Past = NewPast
	if c.session == nil {
		return
	}
	past := map[uint64]session.Done{}
	did := func(names []string, approved bool) {
		for _, k := range set.counted {
			if n := countOf(names, k.name); n > 0 {
				d := past[k.key]
				d.Count += n
				if approved {
					d.Approved += n
				}
				for range min(n, session.MaxTimes) {
					d.Times = append(d.Times, in.Action.At.UnixMilli())
				}
				past[k.key] = d
			}
		}
	}
	values := &provenance.Memory{}
	forgotten := false
	var known then
	texts := func(n *node) (list []string) {
		for _, item := range append([]*node{n}, n.Items...) {
			if item.Kind == rawjson.String {
				list = append(list, item.Text)
			}
		}
		return list
	}
	// What the agent read, in the order of trust: the case says no other.
	for i, name := range []string{"said", "own", "foreign"} {
		for _, m := range c.session.Members {
			if m.Name != name {
				continue
			}
			in.Session.Values = values
			for _, text := range texts(m.Value) {
				values.Apply(values.Read(provenance.Text{Said: text, By: provenance.User - provenance.Origin(i)}), 0)
			}
		}
	}
	for _, m := range c.session.Members {
		count := int64(0)
		fmt.Sscan(m.Value.Text, &count)
		switch m.Name {
		case "steps":
			in.Session.Steps = count
		case "calls":
			in.Session.Calls = count
		case "tainted":
			in.Session.Tainted = m.Value.Text == "true"
		case "local":
			in.Session.Local = m.Value.Text == "true"
		case "autonomous":
			in.Session.Autonomous = m.Value.Text == "true"
		case "known":
			in.Session.Known = m.Value.Text == "true"
			forgotten = !in.Session.Known
		case "folder":
			in.Action.Folder = m.Value.Text
		case "hints":
			for _, name := range texts(m.Value) {
				hint, _ := act.ParseHint(name)
				in.Action.Hints |= hint
			}
		case "did", "approved":
			did(texts(m.Value), m.Name == "approved")
		case "labels":
			in.Session.Values, values.Tags = values, texts(m.Value)
		case "planned":
			in.Session.Values, values.Planned = values, texts(m.Value)
		case "usual":
			known.usual = texts(m.Value)
		case "new":
			known.note.New = texts(m.Value)
		case "outside":
			known.note.Outside, _ = strconv.ParseFloat(m.Value.Text, 64)
		}
	}
	// What a case says nothing of was not done, whatever else it says of the session.
	in.Session.Past = func(key uint64) (session.Done, bool) { return past[key], !forgotten }
	if known.usual != nil || known.note.New != nil || known.note.Outside != 0 {
		in.Session.Habits = &habits.View{Then: &known.note}
		set.remember(in, &known)
	}
}

func countOf(names []string, name string) (n int64) {
	for _, one := range names {
		if one == name {
			n++
		}
	}
	return n
}

// compare says how a verdict differs from what is expected, or nothing.
func (x *Expect) compare(v *Verdict) string {
	var codes, rules, problems []string
	for _, r := range v.Reasons {
		codes, rules = append(codes, r.Code), append(rules, r.Rule)
	}
	if v.Effect != x.Effect {
		problems = append(problems, fmt.Sprintf("the effect is %s, not %s", v.Effect, x.Effect))
	}
	missing := func(what string, want, got []string) {
		for _, w := range want {
			if !slices.Contains(got, w) {
				problems = append(problems, fmt.Sprintf("no reason has the %s %s (there are %s)", what, w, strings.Join(got, ", ")))
			}
		}
	}
	missing("code", x.Codes, codes)
	missing("rule", x.Rules, rules)
	if x.Edits == nil {
		return strings.Join(problems, "; ")
	}
	seen := map[string]bool{}
	for _, e := range v.Edits {
		seen[e.Pointer] = true
		if want, ok := x.Edits[e.Pointer]; !ok {
			problems = append(problems, fmt.Sprintf("%s is changed to %s", e.Pointer, e.Value))
		} else if !sameJSON(want, e.Value) {
			problems = append(problems, fmt.Sprintf("%s becomes %s, not %s", e.Pointer, e.Value, want))
		}
	}
	for _, pointer := range slices.Sorted(maps.Keys(x.Edits)) {
		if !seen[pointer] {
			problems = append(problems, pointer+" is not changed")
		}
	}
	return strings.Join(problems, "; ")
}

func sameJSON(a, b []byte) bool {
	x, err := rawjson.Parse(a)
	if err != nil {
		return false
	}
	y, err := rawjson.Parse(b)
	return err == nil && rawjson.Equal(x.Root(), y.Root())
}
