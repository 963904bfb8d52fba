package guardian

import "testing"

// BenchmarkTampering looks at what agents do all day, which reaches for nothing.
func BenchmarkTampering(b *testing.B) {
	g, home := aGuarded(b)
	project := home + "/src/proj"
	for name, a := range map[string]struct{ tool, arg, text string }{
		"command":  {"Bash", "command", "go test ./... && git status --short | head -20"},
		"write":    {"Write", "file_path", project + "/main.go"},
		"in ours":  {"Bash", "command", "cat ~/.config/reeve/policy/mine.yaml"}, // is looked at closely
		"long one": {"Bash", "command", "for f in $(find . -name '*.go' -newer go.mod); do gofmt -l \"$f\"; done; make -C build all 2>&1 | tee build.log"},
	} {
		b.Run(name, func(b *testing.B) {
			one := call(project, a.tool, a.arg, a.text)
			b.ReportAllocs()
			for b.Loop() {
				g.Tampering(one, nil)
			}
		})
	}
}
