package lazyregexp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestAll compiles every expression that the project gives to New.
func TestAll(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "New" || !named(f.X, "lazyregexp") {
				return true
			}
			text, ok := literal(call.Args[0])
			if !ok {
				t.Errorf("%s: New is given something else than a text that stands there", path)
			} else if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			found++
			return true
		})
		return nil
	})
	if err != nil || found < 40 {
		t.Errorf("%d expressions were found; %v", found, err)
	}
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// literal is the value of a text in quotes, or of several put together.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, ok := literal(e.X)
		b, also := literal(e.Y)
		return a + b, ok && also && e.Op == token.ADD
	}
	return "", false
}

// One is compiled once, when it is used.
func TestLazy(t *testing.T) {
	wrong := New("(")
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression was used")
		}
	}()
	if !New("^a").MatchString("ab") {
		t.Error("it does not match")
	}
	wrong.MatchString("")
}
