package policy

import (
	_ "embed"
	"slices"
)

// starterName is the starter policy's name in another policy's include.
const starterName = "starter"

//go:embed starter.yaml
var starter []byte

// Starter returns the built-in policy: it lets ordinary work pass and stops
// what is plainly dangerous.
func Starter() []File { return []File{{"starter.yaml", slices.Clone(starter)}} }

//go:embed starter.test.yaml
var starterTests []byte

// StarterTests is the text of the starter policy's test cases: an example of
// how to write one's own.
func StarterTests() []byte { return slices.Clone(starterTests) }

// withIncluded adds the built-in policy to the files of documents that include it. Such
// a policy has it as a file of its own: with its text in the hash, and its rules by their
// lines.
func withIncluded(files []File, docs []*document) []File {
	for _, d := range docs {
		if d.include == nil || d.errs != nil {
			continue
		}
		for _, f := range files {
			if f.base() == Starter()[0].base() {
				d.at(d.include, "take the include away, or the file", "the starter policy is included, and %s lies beside", f.Name)
				return files
			}
		}
		return append(files, Starter()...)
	}
	return files
}
