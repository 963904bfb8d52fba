package main

import (
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
)

// buildInfo is what a program says of itself.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	Date    string `json:"date,omitzero"`    // of the commit
	Changed bool   `json:"changed,omitzero"` // files differ from the commit
	Go      string `json:"go"`
	System  string `json:"system"`
}

func thisBuild() buildInfo {
	b := buildInfo{Version: reeve.Version(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

// version is the program's version, and the commit that it was built from.
func version() string {
	b := thisBuild()
	if len(b.Commit) <= 12 {
		return b.Version
	}
	if b.Changed {
		return b.Version + " (" + b.Commit[:12] + ", changed)"
	}
	return b.Version + " (" + b.Commit[:12] + ")"
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the program's version",
		Long: `Prints the version, the commit that the program was built from, and what it was
built with and for. A program that was not built from a tag has the next
version, with "-dev".`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, out := thisBuild(), cmd.OutOrStdout()
			if asJSON {
				if err := json.MarshalWrite(out, b, jsontext.WithIndent("  ")); err != nil {
					return err
				}
				_, err := fmt.Fprintln(out)
				return err
			}
			_, err := fmt.Fprintf(out, "reeve %s\n%s, %s\n", version(), b.Go, b.System)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// licenses is the licences of everything that is built into the program. TestLicenses
// writes it.
//
//go:embed licenses.txt
var licenses string

func licensesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "licenses",
		Short: "Print the licences of what the program is made of",
		Long: `Prints the modules that are built into the program, with their licences: first a
table, then the texts. As JSON it is the table alone.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), licensed())
			}
			_, err := io.WriteString(cmd.OutOrStdout(), licenses)
			return err
		},
	}
	return jsonFlag(c)
}

// licensedModule is a module that is built in.
type licensedModule struct {
	Module   string   `json:"module"`
	Version  string   `json:"version,omitzero"`
	Licenses []string `json:"licenses"` // by their names in SPDX
}

// licensed reads the table of the modules that are built in, which stands between the first two empty lines.
func licensed() (list []licensedModule) {
	_, table, _ := strings.Cut(licenses, "\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		m, names := licensedModule{Module: fields[0]}, fields[1:]
		if len(names) > 1 && !strings.HasSuffix(names[0], ",") {
			m.Version, names = names[0], names[1:]
		}
		for _, name := range names {
			m.Licenses = append(m.Licenses, strings.TrimSuffix(name, ","))
		}
		list = append(list, m)
	}
	return list
}
