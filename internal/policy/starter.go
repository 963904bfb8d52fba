package policy

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// starterName is the starter policy's name in another policy's include.
const starterName = "starter"

// The starter policy is one text, which ends with the rules of its profile.
//
// In before lies the one of the version before, as it was.
//
//go:embed starter.yaml starter.test.yaml profiles before
var starterFiles embed.FS

// StarterFile is the file that the starter policy is written out into, and BuiltIn is what it is called
// where it is not: rules stand in a line of it, and nobody has such a file.
const (
	StarterFile = "starter.yaml"
	BuiltIn     = "built-in starter.yaml"
)

// StarterVersion is the version of the starter policy. A program carries the one before,
// too, so that who includes it by its version has the time to look at what the next one
// changes: scripts/starter-next makes the present text that one.
const StarterVersion = 2

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
	return []File{starterFile(text, profile, StarterVersion)}, nil
}

// starterFile is a text of the starter policy, with its profile and version in its name.
func starterFile(text, profile string, version int) File {
	name := fmt.Sprintf("\nname: %s/%s@%d\n", starterName, profile, version)
	return File{BuiltIn, []byte(strings.Replace(text, "\nname: "+starterName+"\n", name, 1))}
}

// starterBefore returns the starter policy of the version before this one.
func starterBefore(profile string) (File, error) {
	text, err := starterFiles.ReadFile("before/starter.yaml")
	if err != nil {
		return File{}, err
	}
	own, err := starterFiles.ReadFile("before/profiles/" + profile + ".yaml")
	if err != nil && profile != DefaultProfile { // there was one text for all at first
		return File{}, fmt.Errorf("version %d of the starter policy has no profile %s", StarterVersion-1, profile)
	}
	return starterFile(string(text)+string(own), profile, StarterVersion-1), nil
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

// included is what an include names: the starter, of a profile and a version.
type included struct {
	profile string
	version int
}

// readIncluded reads starter, starter/PROFILE, starter@VERSION or starter/PROFILE@VERSION.
func readIncluded(name string) (i included, err error) {
	name, version, versioned := strings.Cut(name, "@")
	i = included{DefaultProfile, StarterVersion}
	if name != starterName {
		profile, ok := strings.CutPrefix(name, starterName+"/")
		if i.profile = profile; !ok || !slices.Contains(Profiles, profile) {
			return i, fmt.Errorf("the built-in policy is called starter, or by its profile %s/%s", starterName, strings.Join(Profiles, ", "+starterName+"/"))
		}
	}
	if versioned {
		if i.version, err = strconv.Atoi(version); err != nil || i.version != StarterVersion && i.version != StarterVersion-1 || version != strconv.Itoa(i.version) {
			return i, fmt.Errorf("this reeve carries the versions %d and %d of the starter policy", StarterVersion-1, StarterVersion)
		}
	}
	if i.version != StarterVersion {
		_, err = starterBefore(i.profile)
	}
	return i, err
}

// file is the text that is included.
func (i included) file() File {
	if i.version != StarterVersion {
		f, err := starterBefore(i.profile)
		if err != nil {
			panic(err) // it was looked up
		}
		return f
	}
	files, err := StarterOf(i.profile)
	if err != nil {
		panic(err) // it was looked up
	}
	return files[0]
}

// withIncluded adds the built-in policy to the files of documents that include it. Such
// a policy has it as a file of its own: with its text in the hash, and its rules by their
// lines.
func withIncluded(files []File, docs []*document) []File {
	var wanted *included
	for _, d := range docs {
		if d.include == nil || d.errs != nil {
			continue
		}
		named, err := readIncluded(d.include.Text)
		if err != nil {
			continue // a fault that was told
		}
		for _, f := range files {
			if f.base() == StarterFile || f.base() == BuiltIn {
				d.at(d.include, "take the include away, or the file", "the starter policy is included, and %s lies beside", f.Name)
				return files
			}
		}
		if wanted != nil && *wanted != named {
			d.at(d.include, "include one of them", "the starter policy is included as %s/%s@%d, too", starterName, wanted.profile, wanted.version)
			return files
		}
		wanted = &named
	}
	if wanted == nil {
		return files
	}
	return append(files, wanted.file())
}

// olderStarter is the version of the starter policy that a document of this name is, if
// that is older than this program's; 0 if it is none, or not older.
func olderStarter(name string) int {
	name, version, versioned := strings.Cut(name, "@")
	if name != starterName && !strings.HasPrefix(name, starterName+"/") {
		return 0
	}
	if !versioned { // as the first was called
		return 1
	}
	if n, err := strconv.Atoi(version); err == nil && n > 0 && n < StarterVersion {
		return n
	}
	return 0
}
