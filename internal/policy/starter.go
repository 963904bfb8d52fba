package policy

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// starterName is the starter policy's name in another policy's include.
const starterName = "starter"

// The starter policy is one text, which ends with the rules of its profile.
//
//go:embed starter.yaml starter.test.yaml profiles
var starterFiles embed.FS

// Profiles are the strengths of the starter policy: for an agent beside a developer, for
// one that works for others, and for one that is not trusted yet.
var Profiles = []string{"coding", "service", "strict"}

// DefaultProfile is the profile where none is named.
const DefaultProfile = "coding"

// Starter returns the built-in policy: it lets ordinary work pass and stops
// what is plainly dangerous.
func Starter() []File {
	files, err := StarterOf(DefaultProfile)
	if err != nil {
		panic(err) // it is built in
	}
	return files
}

// StarterOf returns the starter policy of a profile.
func StarterOf(profile string) ([]File, error) {
	text, err := starterText(profile, ".yaml")
	if err != nil {
		return nil, err
	}
	text = strings.Replace(text, "\nname: "+starterName+"\n", "\nname: "+starterName+"/"+profile+"\n", 1)
	return []File{{"starter.yaml", []byte(text)}}, nil
}

// StarterTests is the text of the test cases of a profile's starter policy: an example
// of how to write one's own.
func StarterTests(profile string) ([]byte, error) {
	text, err := starterText(profile, ".test.yaml")
	return []byte(text), err
}

// starterText is what all profiles have, and then what one of them has.
func starterText(profile, ending string) (string, error) {
	if !slices.Contains(Profiles, profile) {
		return "", fmt.Errorf("there is no profile %q of the starter policy: there are %s", profile, strings.Join(Profiles, ", "))
	}
	text := ""
	for _, name := range []string{"starter" + ending, "profiles/" + profile + ending} {
		part, err := starterFiles.ReadFile(name)
		if err != nil {
			return "", err
		}
		text += string(part)
	}
	return text, nil
}

// includedProfile reads what an include names: starter, or starter/PROFILE.
func includedProfile(name string) (profile string, ok bool) {
	if name == starterName {
		return DefaultProfile, true
	}
	profile, ok = strings.CutPrefix(name, starterName+"/")
	return profile, ok && slices.Contains(Profiles, profile)
}

// withIncluded adds the built-in policy to the files of documents that include it. Such
// a policy has it as a file of its own: with its text in the hash, and its rules by their
// lines.
func withIncluded(files []File, docs []*document) []File {
	profile := ""
	for _, d := range docs {
		if d.include == nil || d.errs != nil {
			continue
		}
		named, ok := includedProfile(d.include.Text)
		if !ok {
			continue // a fault that was told
		}
		for _, f := range files {
			if f.base() == Starter()[0].base() {
				d.at(d.include, "take the include away, or the file", "the starter policy is included, and %s lies beside", f.Name)
				return files
			}
		}
		if profile != "" && profile != named {
			d.at(d.include, "include one of them", "the starter policy is included as %s, too", profile)
			return files
		}
		profile = named
	}
	if profile == "" {
		return files
	}
	included, err := StarterOf(profile)
	if err != nil {
		panic(err) // it was looked up
	}
	return append(files, included...)
}
