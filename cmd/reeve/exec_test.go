package main

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestExecHint: a command that failed is told when nothing of its folder was granted.
func TestExecHint(t *testing.T) {
	x := &execution{dir: "/home/ada/proj", tool: "execute_command"}
	for _, tt := range []struct {
		scope, read []string
		told        bool
	}{
		{nil, nil, true},
		{[]string{"/tmp/**"}, []string{"/home/ada/project/**"}, true},
		{[]string{"/home/ada/proj/**"}, nil, false},
		{nil, []string{"/home/**"}, false},
		{[]string{"/home/ada/proj/out.txt"}, nil, false},
		{[]string{"**"}, nil, false},
	} {
		var b strings.Builder
		x.hint(&act.Manifest{FilesystemScope: tt.scope, FilesystemRead: tt.read}, &b)
		if told := b.Len() > 0; told != tt.told {
			t.Errorf("%v %v: %q", tt.scope, tt.read, &b)
		}
	}
}
