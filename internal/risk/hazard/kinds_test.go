package hazard

import (
	"fmt"
	"slices"
	"testing"

	"reeve.example/reeve/act"
)

// TestFoldersByKind: of a folder a program runs the files of its kinds, and what names processes, or says
// what a program does, is no file at all; a file that is named, or a pattern of a shell, is run whatever its kind.
func TestFoldersByKind(t *testing.T) {
	for command, want := range map[string]string{ // what of a folder it runs that the session may have written
		"go run .": "*.go", "go run ./cmd/api": "api/*.go", "pytest .": "*.py", "pytest tests/": "tests/*.py", "uv run pytest .": "*.py", "nodemon .": "*.js", "packer validate .": "*.hcl", "packer build -only=docker.base .": "*.hcl",
		"pip install -e .": "*.py", "npm install .": "*.json", "cargo run -- .": "*.rs", "cmake --build .": "*.cmake", "cmake -S . -B build": "*.cmake", "kubectl apply -f .": "*.yaml", "java -cp . Main": "*.class", "dotnet test .": "*.cs", "nix build .": "*.nix", "cue vet .": "*.cue", "strace -f pytest .": "*.py",
		"pgrep -fa 'node .*'": "", "pkill -f 'node .*vite'": "", "sudo pkill -f 'node .*vite'": "", "kill $(pgrep -f 'python .*train')": "", "strace ls .": "", "git config --global core.editor vim": "", "git config --global alias.st 'status -sb'": "",

		"bats *": AnyFile, "bats .": AnyFile, "bash ./*": AnyFile, "run-parts .": AnyFile, "bats x.sh": "x.sh", "nodemon x.sh": "x.sh", "git config core.editor ./x.sh": "x.sh", "git config alias.x '!sh x.sh'": "x.sh", "git config core.editor config": "config", "go run x.sh": "x.sh", "uv run ./x.sh": "x.sh", "strace ./x.sh": "x.sh", "strace sh x.sh": "x.sh",
		"pkill -f x; sh *": AnyFile, "pgrep x | xargs sh x.sh": "x.sh", "sudo sh x.sh": "x.sh", "pkill -f \"$(sh x.sh)\"": "x.sh", "env -S 'sh x.sh' pkill x": "x.sh", "find . -name y | xargs sh x.sh": "x.sh",
	} {
		does := Assess("shell", []act.Leaf{{Arg: "command", Pointer: "/command", Text: command}})
		named := slices.Concat(does.Fed, does.Ran)
		if any := slices.Contains(named, AnyFile); any != (want == AnyFile) || want != "" && !slices.Contains(named, want) {
			t.Errorf("%s runs %q, want %q", command, named, want)
		}
		if slices.Contains(named, "x.sh") != (want == "x.sh") || slices.Contains(named, "config") != (want == "config") {
			t.Errorf("%s runs %q, want %q", command, named, want)
		}
	}
	many := "cc"
	for i := range 60 {
		many += fmt.Sprintf(" src/f%d.c", i)
	}
	if does := Assess("shell", []act.Leaf{{Arg: "command", Pointer: "/command", Text: many + " -o x"}}); slices.Contains(does.Fed, AnyFile) {
		t.Errorf("sixty files run any: %q", does.Fed)
	}
}
