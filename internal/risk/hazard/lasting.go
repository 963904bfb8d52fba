package hazard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
)

// A shell may stay open from one call to the next: terminals, a shell tool that keeps one, windows
// that commands are typed into. What an earlier call set then counts for a later one: a variable, a
// function, an alias, a descriptor, the folder, the beginning of a line. Which tools keep a shell is
// seldom known, so a later call that uses what it does not set is read with it and without.

// A Definition is what a command leaves behind in the shell that it ran in.
type Definition struct {
	Name string // what it sets: see the names below
	Text string // the command that sets it
}

// Sets reports whether it sets a variable, a function or an alias, for whatever is started later.
func (d Definition) Sets() bool {
	return d.Name != folderName && !strings.HasPrefix(d.Name, descriptorName) && !strings.HasPrefix(d.Name, typedName)
}

// Names of definitions that set no variable, and no function or alias.
const (
	descriptorName = "&"  // and its number
	folderName     = "/"  // the folder that the shell is in
	typedName      = "> " // and the program that types
	maxDefinition  = 4096 // bytes of one
	maxDefinitions = 64 << 10
)

// Defines are the definitions of a call, in their order.
func (r *Reading) Defines() (defs []Definition) {
	if r.defined {
		return r.definitions
	}
	r.defined = true
	c := r.sorted()
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.role != roleCommand || l.words != nil || len(l.Text) > maxDefinitions || !mayDefine.MatchString(l.Text) {
			continue
		}
		if file, err := parse(l.Text); file != nil && err == nil {
			d := definer{text: l.Text}
			d.statements(file.Stmts)
			defs = append(defs, d.defs...)
		}
	}
	r.definitions = defs
	return defs
}

// mayDefine is a quick look for what defines something.
var mayDefine = lazyregexp.New(`=|\(\)|\b(?:function|alias|exec|cd|pushd|chdir|read|mapfile|readarray|printf|send-keys|send|stuff|type|write-chars|send-text|paste-buffer|set-buffer)\b`)

// definer gathers the definitions of a script.
type definer struct {
	text string
	defs []Definition
}

func (d *definer) statements(all []*syntax.Stmt) {
	for _, st := range all {
		d.statement(st)
	}
}

func (d *definer) statement(st *syntax.Stmt) {
	if st == nil || st.Cmd == nil || st.Background {
		return
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		d.call(st, c)
	case *syntax.DeclClause:
		for _, as := range c.Args {
			if as.Name != nil && as.Value != nil {
				d.add(as.Name.Value, st)
			}
		}
	case *syntax.FuncDecl:
		if c.Name != nil {
			d.add(c.Name.Value, st)
		}
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			d.statement(c.X)
			d.statement(c.Y)
		}
	case *syntax.Block:
		d.statements(c.Stmts)
	case *syntax.IfClause:
		for c := c; c != nil; c = c.Else {
			d.statements(c.Then)
		}
	}
}

// call adds what a simple command sets.
func (d *definer) call(st *syntax.Stmt, c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, as := range c.Assigns {
			if as.Name != nil {
				d.add(as.Name.Value, st)
			}
		}
		return
	}
	name := c.Args[0].Lit()
	switch {
	case name == "alias" || name == "read" || name == "mapfile" || name == "readarray" || name == "printf":
		for _, w := range c.Args[1:] {
			word, _, _ := strings.Cut(strings.TrimLeft(d.text[w.Pos().Offset():w.End().Offset()], `'"`), "=")
			if isName(word) && (name != "printf" || c.Args[1].Lit() == "-v") {
				d.add(word, st)
			}
		}
	case name == "exec" && len(c.Args) == 1:
		for _, r := range st.Redirs {
			d.add(descriptorName+numberOf(r), st)
		}
	case name == "cd" || name == "pushd" || name == "chdir":
		d.add(folderName, st)
	case typers[name].texts != "" || typers[name].keys != "":
		d.add(typedName+name, st)
	}
}

func (d *definer) add(name string, st *syntax.Stmt) {
	from, to := int(st.Pos().Offset()), min(int(st.End().Offset()), len(d.text))
	if from < to && to-from <= maxDefinition {
		d.defs = append(d.defs, Definition{name, strings.TrimSpace(d.text[from:to])})
	}
}

// Lasting are the definitions of a shell after further ones: the newest of each name, as many as
// there is room for. What is typed goes on from what was typed before.
func Lasting(had, more []Definition) (all []Definition) {
	if len(more) == 0 {
		return had
	}
	left := maxDefinitions
	newest := map[string]bool{}
	joined := slices.Concat(had, more)
	for i := len(joined) - 1; i >= 0; i-- {
		d := joined[i]
		typed := strings.HasPrefix(d.Name, typedName)
		key := d.Name
		if typed || d.Name == folderName { // cd a; cd b
			key += "\x00" + d.Text
		}
		if left -= len(d.Text) + len(d.Name); left < 0 {
			break
		}
		if !newest[key] {
			newest[key] = true
			all = append(all, d)
		}
	}
	slices.Reverse(all)
	return all
}

// Behind is the call as one of a shell in which these definitions were made before; nil where it
// uses none of them.
func (r *Reading) Behind(defs []Definition) *Reading {
	if len(defs) == 0 {
		return nil
	}
	c := r.sorted()
	at := slices.IndexFunc(c.leaves, func(l leaf) bool { return l.role == roleCommand && l.words == nil && r.uses(l.Text, defs) })
	if at < 0 {
		return nil
	}
	var before strings.Builder
	last := ""
	for _, d := range defs {
		if d.Text != last && (d.Name != folderName || r.of.Folder == "") { // else the folder is known
			before.WriteString(d.Text + "\n")
		}
		last = d.Text
	}
	of := *r.of
	of.Content = slices.Clone(r.of.Content)
	for i := range of.Content {
		if of.Content[i].Pointer == c.leaves[at].Pointer {
			of.Content[i].Text = before.String() + of.Content[i].Text
		}
	}
	behind := Read(&of)
	behind.before = before.String()
	return behind
}

// Of is the act that is read.
func (r *Reading) Of() *act.Action { return r.of }

// uses reports whether a command uses something that was defined, and that it does not set itself.
func (r *Reading) uses(text string, defs []Definition) bool {
	own := r.Defines()
	for _, d := range defs {
		if slices.ContainsFunc(own, func(o Definition) bool { return o.Name == d.Name && !strings.HasPrefix(d.Name, typedName) }) {
			continue
		}
		switch number, isDescriptor := strings.CutPrefix(d.Name, descriptorName); {
		case d.Name == folderName:
			if r.of.Folder == "" {
				return true
			}
		case isDescriptor:
			if number != "" && (strings.Contains(text, "&"+number) || strings.Contains(text, "fd/"+number)) {
				return true
			}
		case strings.HasPrefix(d.Name, typedName):
			if standsIn(text, strings.TrimPrefix(d.Name, typedName)) {
				return true
			}
		case standsIn(text, d.Name):
			return true
		}
	}
	return false
}

// standsIn reports whether a name stands in a text, and no longer name does there.
func standsIn(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 || name == "" {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !isNameByte(text[i-1])) && (end == len(text) || !isNameByte(text[end])) {
			return true
		}
		from = end
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Beyond tells what a call does behind definitions and does not do alone. What these do was judged
// when they were made.
func (r *Reading) Beyond(alone *Reading) (does []Finding) {
	had := alone.Assess(Default()).Findings
	a := newAssessor(Default())
	a.runs = true
	a.size = len(r.before)
	a.begins(r.of.Folder, r.Folders()[0])
	a.command(r.before, nil)
	had = append(slices.Clip(had), a.findings...)
	for _, f := range withoutNotes(slices.Clone(r.Assess(Default()).Findings)) {
		if f.Weight >= asksFrom && !slices.ContainsFunc(had, func(h Finding) bool { return h.Code == f.Code && h.Weight >= f.Weight }) {
			does = append(does, f)
		}
	}
	return does
}
