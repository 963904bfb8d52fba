// Command sbom writes what a program is made of, as the program itself says it: Go writes
// the modules into each that it builds. The form is CycloneDX 1.6, as JSON.
//
//	go run ./sbom PROGRAM LICENCES DOCUMENT
//
// LICENCES is what reeve licenses prints: its first lines have a module each, its version
// and its licences. A module without one there is an error, since then the list is not of
// this program.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "sbom: it is called so: sbom PROGRAM LICENCES DOCUMENT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(program, licences, document string) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(licences)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(binary)
	b, err := bill(filepath.Base(program), hex.EncodeToString(sum[:]), info, licencesOf(text))
	if err != nil {
		return err
	}
	out, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(document, append(out, '\n'), 0o644)
}

type document struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type component struct {
	Type     string     `json:"type"`
	Ref      string     `json:"bom-ref"`
	Name     string     `json:"name"`
	Version  string     `json:"version,omitempty"`
	PURL     string     `json:"purl,omitempty"`
	Hashes   []hash     `json:"hashes,omitempty"`
	Licences []licence  `json:"licenses,omitempty"`
	Facts    []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

func bill(name, sum string, info *debug.BuildInfo, licences map[string][]string) (*document, error) {
	d := &document{Format: "CycloneDX", Spec: "1.6", Version: 1}
	d.Metadata.Component = component{
		Type: "application", Ref: name, Name: name, Version: info.Main.Version, PURL: purl(&info.Main),
		Hashes: []hash{{"SHA-256", sum}}, Licences: listed([]string{"Apache-2.0"}),
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-trimpath", "vcs.revision", "vcs.time", "vcs.modified":
			d.Metadata.Component.Facts = append(d.Metadata.Component.Facts, property{"go:" + s.Key, s.Value})
		}
	}
	all := []component{{
		Type: "library", Ref: "go", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licences: listed(licences["Go"]),
	}}
	var missing []error
	for _, m := range info.Deps {
		used := m
		if m.Replace != nil {
			used = m.Replace
		}
		known := licences[m.Path]
		if known == nil {
			missing = append(missing, fmt.Errorf("the licences say nothing of %s", m.Path))
		}
		c := component{Type: "library", Ref: m.Path, Name: used.Path, Version: used.Version, PURL: purl(used), Licences: listed(known)}
		if used.Sum != "" {
			c.Facts = []property{{"go:sum", used.Sum}}
		}
		all = append(all, c)
	}
	d.Components = all
	on := dependency{Ref: name}
	for _, c := range all {
		on.On = append(on.On, c.Ref)
	}
	d.Dependencies = []dependency{on}
	return d, errors.Join(missing...)
}

func purl(m *debug.Module) string {
	if m.Version == "" {
		return "pkg:golang/" + m.Path
	}
	return "pkg:golang/" + m.Path + "@" + m.Version
}

func listed(ids []string) (list []licence) {
	for _, id := range ids {
		var l licence
		l.Licence.ID = id
		list = append(list, l)
	}
	return list
}

// line is a module in the list of licences: its path, a version where it has one, and the
// licences, in columns. A path that is longer than its column has one space behind it.
var line = regexp.MustCompile(`^(\S+)(?: +v?\d\S*)? {2,}(\S+(?:, \S+)*)$`)

func licencesOf(text []byte) map[string][]string {
	found := map[string][]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "---") || strings.HasPrefix(lines.Text(), "===") {
			break // their texts follow
		}
		if m := line.FindStringSubmatch(lines.Text()); m != nil {
			found[m[1]] = strings.Split(m[2], ", ")
		}
	}
	return found
}
