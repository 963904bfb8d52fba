package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write licenses.txt")

// TestLicenses: licenses.txt has the licence of every module that is built into the
// programs, on each system that they are released for, in the version that is built.
// After a change of go.mod: go test ./cmd/reeve -run TestLicenses -update
func TestLicenses(t *testing.T) {
	if testing.Short() && !*update {
		t.Skip("asks the go command on three systems")
	}
	want := licensesText(t)
	if *update {
		if err := os.WriteFile("licenses.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != licenses {
		t.Error("licenses.txt is not what is built in: go test ./cmd/reeve -run TestLicenses -update")
	}
}

// part is a module, or the Go distribution.
type part struct {
	name, version string
	texts         map[string]string // by the file's name within the module
}

// readVendored adds what the console has of others: see internal/console/vendored.txt.
func readVendored(t *testing.T, parts map[string]*part) {
	const room = "../../internal/console/"
	list, err := os.ReadFile(room + "vendored.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		name, _, _ := strings.Cut(f[0], ".")
		text, err := os.ReadFile(room + name + ".LICENSE")
		if err != nil {
			t.Fatal(err)
		}
		parts[f[0]] = &part{name: f[0], version: f[1], texts: map[string]string{"LICENSE": string(text)}}
	}
}

func licensesText(t *testing.T) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]*part{"Go": {name: "Go", texts: map[string]string{}}}
	readLicenses(t, parts["Go"], strings.TrimSpace(string(root)), ".")
	readVendored(t, parts)
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", ".", "../reeve-hook")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v\n%s", system, err, &stderr)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 4 {
				continue
			}
			p := parts[f[0]]
			if p == nil {
				p = &part{name: f[0], version: f[1], texts: map[string]string{}}
				parts[f[0]] = p
			}
			within, err := filepath.Rel(f[2], f[3])
			if err != nil {
				t.Fatal(err)
			}
			readLicenses(t, p, f[2], within) // a folder can have a licence of its own
		}
	}

	var all []*part
	for _, p := range parts {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *part) int { return cmp.Compare(a.name, b.name) })

	var table, texts strings.Builder
	at := map[string]string{} // where a text stands already
	for _, p := range all {
		var kinds []string
		for _, file := range sorted(p.texts) {
			text := p.texts[file]
			of := kindsOf(text)
			if len(of) == 0 && licence.MatchString(filepath.Base(file)) {
				t.Errorf("%s: what licence is %s? Look at it, and have kindsOf know it if it may be built in", p.name, file)
			}
			for _, kind := range of {
				if !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
			}
			fmt.Fprintf(&texts, "\n%s\n%s: %s\n\n", strings.Repeat("=", 80), p.name, file)
			key := strings.Join(strings.Fields(text), " ")
			if where, ok := at[key]; ok {
				fmt.Fprintf(&texts, "The same as %s.\n", where)
				continue
			}
			at[key] = p.name + ": " + file
			texts.WriteString(text)
		}
		if len(kinds) == 0 {
			t.Errorf("%s has no licence", p.name)
		}
		fmt.Fprintf(&table, "%-58s %-36s %s\n", p.name, p.version, strings.Join(kinds, ", "))
	}
	return "reeve is made of these, beside its own code (Apache-2.0). Their texts follow.\n\n" + table.String() + texts.String()
}

var (
	licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)`)
	beside  = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense|notice|patents)[^.]*(\.(txt|md))?$`)
)

// readLicenses takes the texts in a folder of a module and in those above it.
func readLicenses(t *testing.T, p *part, root, within string) {
	for ; ; within = filepath.Dir(within) {
		names, err := os.ReadDir(filepath.Join(root, within))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			file := filepath.ToSlash(filepath.Join(within, name.Name()))
			if name.IsDir() || !beside.MatchString(name.Name()) || name.Name() == "LICENSE-LOGO" || p.texts[file] != "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, within, name.Name()))
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\ufeff")))) {
				lines = append(lines, strings.TrimRight(line, " \t\r\n\f"))
			}
			p.texts[file] = strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
		}
		if within == "." {
			return
		}
	}
}

// kindsOf is the SPDX names of the licences in a text, by words that they have; none for
// one that nobody has looked at, so that no other kind gets in unseen.
func kindsOf(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	var kinds []string
	for _, k := range []struct{ words, kind string }{
		{"apache license version 2.0", "Apache-2.0"}, {"apache license, version 2.0", "Apache-2.0"},
		{"mozilla public license version 2.0", "MPL-2.0"}, {"mozilla public license, version 2.0", "MPL-2.0"},
		{"permission is hereby granted, free of charge", "MIT"},
		{"this is free and unencumbered software released into the public domain", "Unlicense"},
		{"permission to use, copy, modify, and/or distribute this software", "ISC"},
		{"permission to use, copy, modify, and distribute this software", "ISC"},
		{"the author disclaims copyright to this source code", "blessing"}, {"dedicated to the public domain", "blessing"}, // SQLite
		{"may be used to endorse or promote products", "BSD-3-Clause"},
		{"redistribution and use in source and binary forms", "BSD-2-Clause"},
	} {
		if !strings.Contains(text, k.words) || slices.Contains(kinds, k.kind) || k.kind == "BSD-2-Clause" && slices.Contains(kinds, "BSD-3-Clause") {
			continue
		}
		kinds = append(kinds, k.kind)
	}
	return kinds
}

func sorted(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestLicensed: as JSON the table says of each module what the text does.
func TestLicensed(t *testing.T) {
	list := licensed()
	rows := map[string]licensedModule{}
	for _, m := range list {
		if len(m.Licenses) == 0 || m.Version == "" && m.Module != "Go" && !strings.Contains(licenses, "\n"+m.Module+" ") {
			t.Errorf("%+v", m)
		}
		rows[m.Module] = m
	}
	if got := rows["cel.dev/cel-go"]; len(list) < 50 || !strings.HasPrefix(got.Version, "v") || !slices.Equal(got.Licenses, []string{"Apache-2.0", "BSD-3-Clause"}) {
		t.Errorf("%d modules; %+v", len(list), got)
	}
	if got := rows["Go"]; got.Version != "" || !slices.Equal(got.Licenses, []string{"BSD-3-Clause"}) {
		t.Errorf("%+v", got)
	}
}
