package effects

import (
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// parseJavaScript reads a program. ok is false where it is none, or not all was read, which
// cut says.
func parseJavaScript(source string) (body []*statement, ok, cut bool) {
	defer func() {
		if recover() != nil { // the parser is not ours, and its input hostile
			body, ok, cut = nil, false, true
		}
	}()
	tree, err := js.Parse(parse.NewInputString(source), js.Options{})
	if err != nil || tree == nil {
		return nil, false, err != nil && strings.Contains(err.Error(), "too many nested")
	}
	r := &javaScript{}
	body = r.block(tree.List, 0)
	return body, r.nodes <= maxNodes, r.nodes > maxNodes
}

// javaScript makes the tree of the parser's.
type javaScript struct{ nodes int }

func (r *javaScript) block(list []js.IStmt, depth int) (body []*statement) {
	for _, s := range list {
		body = append(body, r.statement(s, depth)...)
	}
	return body
}

func (r *javaScript) inner(s js.IStmt, depth int) []*statement {
	if b, ok := s.(*js.BlockStmt); ok {
		if b == nil {
			return nil
		}
		return r.block(b.List, depth+1)
	}
	if s == nil {
		return nil
	}
	return r.statement(s, depth+1)
}

func (r *javaScript) statement(s js.IStmt, depth int) []*statement {
	if r.nodes++; r.nodes > maxNodes || depth > maxNesting {
		r.nodes = maxNodes + 1
		return nil
	}
	within := func(value js.IExpr, bodies ...js.IStmt) []*statement {
		out := &statement{kind: within, value: r.expression(value, depth)}
		for _, b := range bodies {
			out.body = append(out.body, r.inner(b, depth)...)
		}
		return []*statement{out}
	}
	switch s := s.(type) {
	case *js.BlockStmt:
		return within(nil, s)
	case *js.ExprStmt:
		return r.assignment(s.Value, depth)
	case *js.DirectivePrologueStmt:
		return nil
	case *js.VarDecl:
		return r.declared(s, depth)
	case *js.IfStmt:
		return within(s.Cond, s.Body, s.Else)
	case *js.DoWhileStmt:
		return repeats(within(s.Cond, s.Body))
	case *js.WhileStmt:
		return repeats(within(s.Cond, s.Body))
	case *js.WithStmt:
		return within(s.Cond, s.Body)
	case *js.LabelledStmt:
		return r.statement(s.Value, depth+1)
	case *js.ForStmt:
		return append(r.assignment(s.Init, depth), append(repeats(within(s.Cond, s.Body)), r.assignment(s.Post, depth)...)...)
	case *js.ForInStmt:
		return r.loop(s.Init, s.Value, s.Body, depth)
	case *js.ForOfStmt:
		return r.loop(s.Init, s.Value, s.Body, depth)
	case *js.SwitchStmt:
		out := within(s.Init)
		for _, c := range s.List {
			out = append(out, within(c.Cond)...)
			out = append(out, r.block(c.List, depth+1)...)
		}
		return out
	case *js.ReturnStmt:
		return []*statement{{kind: returned, value: r.expression(s.Value, depth)}}
	case *js.ThrowStmt:
		return within(s.Value)
	case *js.TryStmt:
		var out []*statement
		for _, b := range []*js.BlockStmt{s.Body, s.Catch, s.Finally} {
			if b != nil {
				out = append(out, within(nil, b)...)
			}
		}
		return out
	case *js.FuncDecl:
		f := r.function(s.Params, s.Body, depth)
		if s.Name == nil {
			return []*statement{{value: f}}
		}
		return []*statement{{kind: assign, targets: []*node{one(name, string(s.Name.Name()))}, value: f}}
	case *js.ClassDecl:
		return r.class(s, depth)
	case *js.ImportStmt:
		from := strings.Trim(string(s.Module), "\"'`")
		out := &statement{kind: imports}
		if s.Default != nil {
			out.names = append(out.names, string(s.Default), module(from))
		}
		for _, a := range s.List {
			bound := string(a.Binding)
			switch what := strings.Trim(string(a.Name), `"'`); what {
			case "*", "default":
				out.names = append(out.names, bound, module(from))
			case "":
				out.names = append(out.names, bound, module(from+"."+bound))
			default:
				out.names = append(out.names, bound, module(from+"."+what))
			}
		}
		return []*statement{out}
	case *js.ExportStmt:
		if s.Decl != nil {
			return r.assignment(s.Decl, depth)
		}
	}
	return nil
}

// repeats says of a statement that its body may run more than once.
func repeats(list []*statement) []*statement {
	list[0].again = true
	return list
}

// assignment is an expression, or what it binds.
func (r *javaScript) assignment(e js.IExpr, depth int) []*statement {
	switch e := e.(type) {
	case nil:
		return nil
	case *js.VarDecl:
		return r.declared(e, depth)
	case *js.FuncDecl:
		return r.statement(e, depth)
	case *js.ClassDecl:
		return r.class(e, depth)
	case *js.CommaExpr:
		var out []*statement
		for _, one := range e.List {
			out = append(out, r.assignment(one, depth+1)...)
		}
		return out
	case *js.BinaryExpr:
		switch e.Op {
		case js.EqToken, js.OrEqToken, js.NullishEqToken, js.AndEqToken:
			return []*statement{{kind: assign, targets: []*node{r.expression(e.X, depth)}, value: r.expression(e.Y, depth)}}
		case js.AddEqToken:
			return []*statement{{kind: extend, targets: []*node{r.expression(e.X, depth)}, value: r.expression(e.Y, depth)}}
		}
	}
	return []*statement{{value: r.expression(e, depth)}}
}

func (r *javaScript) declared(d *js.VarDecl, depth int) (out []*statement) {
	for _, b := range d.List {
		if b.Binding != nil {
			out = append(out, &statement{kind: assign, targets: []*node{r.binding(b.Binding, depth)}, value: r.expression(b.Default, depth)})
		}
	}
	return out
}

// loop is for … in and for … of.
func (r *javaScript) loop(init, of js.IExpr, body *js.BlockStmt, depth int) []*statement {
	s := &statement{kind: repeated, value: r.expression(of, depth)}
	if d, ok := init.(*js.VarDecl); ok {
		for _, b := range d.List {
			s.targets = append(s.targets, r.binding(b.Binding, depth))
		}
	} else {
		s.targets = []*node{r.expression(init, depth)}
	}
	if body != nil {
		s.body = r.block(body.List, depth+1)
	}
	return []*statement{s}
}

// class is its methods, as functions, and what its constructor makes known.
func (r *javaScript) class(c *js.ClassDecl, depth int) []*statement {
	s := &statement{kind: within}
	begins := ""
	for _, e := range c.List {
		switch {
		case e.StaticBlock != nil:
			s.body = append(s.body, r.block(e.StaticBlock.List, depth+1)...)
		case e.Method != nil:
			called := nameOf(&e.Method.Name.PropertyName)
			if called == "constructor" {
				begins = called
			}
			s.body = append(s.body, &statement{kind: assign, targets: []*node{one(name, called)}, value: r.function(e.Method.Params, e.Method.Body, depth)})
		case e.Init != nil:
			s.body = append(s.body, &statement{kind: assign, targets: []*node{one(attribute, nameOf(&e.Name.PropertyName), one(anything, ""))}, value: r.expression(e.Init, depth)})
		}
	}
	if begins != "" {
		s.body = append(s.body, &statement{value: one(call, "", one(name, begins))})
	}
	return []*statement{s}
}

func nameOf(p *js.PropertyName) string {
	if p == nil || p.Computed != nil {
		return ""
	}
	return plain([]byte(strings.Trim(string(p.Literal.Data), "\"'")))
}

func (r *javaScript) function(params js.Params, body js.BlockStmt, depth int) *node {
	f := &node{kind: function}
	for _, p := range params.List {
		called := ""
		if v, ok := p.Binding.(*js.Var); ok {
			called = plain(v.Name())
		} else if p.Binding != nil { // ({a, b}) => …
			f.body = append(f.body, &statement{kind: assign, targets: []*node{r.binding(p.Binding, depth)}, value: one(anything, "")})
		}
		f.names = append(f.names, called)
	}
	f.body = append(f.body, r.block(body.List, depth+1)...)
	return f
}

// binding is what a declaration binds.
func (r *javaScript) binding(b js.IBinding, depth int) *node {
	if r.nodes++; r.nodes > maxNodes || depth > maxNesting {
		r.nodes = maxNodes + 1
		return one(anything, "")
	}
	switch b := b.(type) {
	case *js.Var:
		return one(name, plain(b.Name()))
	case *js.BindingArray:
		all := one(list, "")
		for _, e := range b.List {
			all.kids = append(all.kids, r.binding(e.Binding, depth+1))
		}
		return all
	case *js.BindingObject:
		all := one(object, "")
		for _, i := range b.List {
			to := r.binding(i.Value.Binding, depth+1)
			key := nameOf(i.Key)
			if i.Key == nil {
				key = to.text
			}
			all.names, all.kids = append(all.names, key), append(all.kids, to)
		}
		return all
	}
	return one(anything, "")
}

func (r *javaScript) expression(e js.IExpr, depth int) *node {
	if e == nil {
		return nil
	}
	if r.nodes++; r.nodes > maxNodes || depth > maxNesting {
		r.nodes = maxNodes + 1
		return one(anything, "")
	}
	depth++
	switch e := e.(type) {
	case *js.Var:
		return one(name, plain(e.Name()))
	case js.LiteralExpr:
		return r.expression(&e, depth)
	case *js.LiteralExpr:
		switch e.TokenType {
		case js.StringToken:
			if len(e.Data) < 2 {
				return one(anything, "")
			}
			return one(literal, Unescape(braced(string(e.Data[1:len(e.Data)-1]))))
		case js.DecimalToken, js.IntegerToken, js.HexadecimalToken, js.OctalToken, js.BinaryToken:
			return one(number, string(e.Data))
		case js.TrueToken, js.FalseToken:
			return one(name, string(e.Data))
		}
		return one(name, plain(e.Data)) // a property, as it is called
	case *js.GroupExpr:
		return r.expression(e.X, depth)
	case *js.ArrayExpr:
		all := one(list, "")
		for _, i := range e.List {
			switch kid := r.expression(i.Value, depth); {
			case kid == nil:
			case i.Spread:
				all.kids = append(all.kids, one(spread, "*", kid))
			default:
				all.kids = append(all.kids, kid)
			}
		}
		return all
	case *js.ObjectExpr:
		all := one(object, "")
		for _, p := range e.List {
			var v *node
			if m, ok := p.Value.(*js.MethodDecl); ok {
				v = r.function(m.Params, m.Body, depth)
			} else if v = r.expression(p.Value, depth); v == nil {
				continue
			}
			key := nameOf(p.Name)
			if key == "" && p.Name == nil && !p.Spread {
				key = v.text
			}
			all.names, all.kids = append(all.names, key), append(all.kids, v)
		}
		return all
	case *js.TemplateExpr:
		all := one(joined, "")
		for _, p := range e.List {
			all.kids = append(all.kids, one(literal, Unescape(braced(strings.TrimSuffix(strings.TrimLeft(string(p.Value), "`}"), "${")))), r.expression(p.Expr, depth))
		}
		all.kids = append(all.kids, one(literal, Unescape(braced(strings.TrimSuffix(strings.TrimLeft(string(e.Tail), "`}"), "`")))))
		if e.Tag != nil { // $`…` of zx
			return one(call, "", r.expression(e.Tag, depth), all)
		}
		return all
	case *js.DotExpr:
		at := r.expression(e.Y, depth)
		return one(attribute, at.text, r.expression(e.X, depth))
	case *js.IndexExpr:
		of, at := r.expression(e.X, depth), r.expression(e.Y, depth)
		if at != nil && at.kind == literal {
			return one(attribute, at.text, of)
		}
		return one(index, "", of, at)
	case *js.CallExpr:
		return r.called(e.X, &e.Args, depth)
	case *js.NewExpr:
		return r.called(e.X, e.Args, depth)
	case *js.UnaryExpr:
		of := r.expression(e.X, depth)
		if e.Op == js.NegToken && of != nil && of.kind == number {
			of.text = "-" + of.text
		}
		return of
	case *js.BinaryExpr:
		switch e.Op {
		case js.EqToken, js.AddEqToken:
			f := &node{kind: function} // it binds, and is what it binds
			f.body = append(r.assignment(e, depth), &statement{kind: returned, value: r.expression(e.X, depth)})
			return one(anything, "or", r.expression(e.Y, depth), one(call, "", f))
		}
		return one(binary, e.Op.String(), r.expression(e.X, depth), r.expression(e.Y, depth))
	case *js.CondExpr:
		return one(anything, "or", r.expression(e.X, depth), r.expression(e.Y, depth), r.expression(e.Cond, depth))
	case *js.YieldExpr:
		return r.expression(e.X, depth)
	case *js.ArrowFunc:
		return r.function(e.Params, e.Body, depth)
	case *js.FuncDecl:
		return r.function(e.Params, e.Body, depth)
	case *js.CommaExpr:
		all := one(anything, "")
		for i := range e.List { // it is the last one
			all.kids = append(all.kids, r.expression(e.List[len(e.List)-1-i], depth))
		}
		return one(anything, "or", all.kids...)
	}
	return one(anything, "")
}

// braced writes \u{2f} as it is written without braces.
func braced(s string) string {
	for i := 0; i < 256; i++ {
		before, rest, ok := strings.Cut(s, `\u{`)
		digits, after, closed := strings.Cut(rest, "}")
		if !ok || !closed || len(digits) > 8 {
			return s
		}
		s = before + `\U` + strings.Repeat("0", 8-len(digits)) + digits + after
	}
	return s
}

// plain is a name without the escapes that it may be written with.
func plain(name []byte) string {
	if s := string(name); strings.Contains(s, `\`) {
		return Unescape(braced(s))
	}
	return string(name)
}

func (r *javaScript) called(f js.IExpr, args *js.Args, depth int) *node {
	callee := r.expression(f, depth)
	if callee == nil {
		callee = one(name, "import")
	}
	n := one(call, "", callee)
	if args == nil {
		return n
	}
	for _, a := range args.List {
		kid := r.expression(a.Value, depth)
		if a.Rest {
			kid = one(spread, "*", kid)
		}
		n.names, n.kids = append(n.names, ""), append(n.kids, kid)
	}
	return n
}
