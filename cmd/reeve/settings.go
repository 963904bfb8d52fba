package main

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/internal/words"
)

func settingsCommand() *cobra.Command {
	return jsonFlag(&cobra.Command{
		Use:   "settings [SUBJECT]...",
		Short: "Print everything that can be set, with its flag, variable and default",
		Long: `Prints the reference of all settings; of one subject, such as a2a, or of one setting,
such as retention.age, in plain text.`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return subjects(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, about []string) error {
			list := settings()
			if len(about) > 0 {
				for _, a := range about {
					if !slices.ContainsFunc(list, func(s reeve.Setting) bool { return isAbout(s, a) }) {
						return usageError{fmt.Errorf("no setting is called %s%s", printable(a), didYouMean(words.Nearest(a, subjects(), 3)))}
					}
				}
				list = slices.DeleteFunc(slices.Clone(list), func(s reeve.Setting) bool {
					return !slices.ContainsFunc(about, func(a string) bool { return isAbout(s, a) })
				})
			}
			switch {
			case wantsJSON(cmd):
				return settingsJSON(cmd.OutOrStdout(), list)
			case len(about) > 0:
				describe(cmd.OutOrStdout(), list)
			default:
				printSettings(cmd.OutOrStdout())
			}
			return nil
		},
	})
}

// subjects are the settings that stand alone, and the first words of those that stand together.
func subjects() (list []string) {
	for _, s := range settings() {
		if subject, _, _ := strings.Cut(s.Key, "."); !slices.Contains(list, subject) {
			list = append(list, subject)
		}
	}
	return list
}

// isAbout reports whether a setting is of a subject, or is what is asked for by its key or flag.
func isAbout(s reeve.Setting, asked string) bool {
	asked = strings.TrimPrefix(asked, "--")
	return s.Key == asked || s.Flag == asked || s.Env == asked || strings.HasPrefix(s.Key, asked+".")
}

func settingsJSON(w io.Writer, of []reeve.Setting) error {
	type setting struct {
		Key      string `json:"key"`
		Flag     string `json:"flag"`
		Variable string `json:"variable,omitzero"`
		Command  string `json:"command,omitzero"` // whose flag it is, where not the node's
		Default  string `json:"default,omitzero"`
		Doc      string `json:"doc"`
	}
	var list []setting
	for _, s := range of {
		list = append(list, setting{s.Key, s.Flag, s.Env, s.Of, s.Default, s.Doc})
	}
	return printJSON(w, list)
}

// describe writes settings for a terminal.
func describe(w io.Writer, list []reeve.Setting) {
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		says := s.Key + "   --" + s.Flag + "   " + s.Env
		if s.Of != "" {
			says = s.Key + "   reeve " + s.Of + " --" + strings.TrimPrefix(s.Flag, s.Of+"-")
		}
		if s.Default != "" {
			says += "   default " + s.Default
		}
		fmt.Fprintln(w, says)
		for line := range wrapped(s.Doc, 92) {
			fmt.Fprintln(w, "    "+line)
		}
	}
}

// everyday are the settings that most nodes are started with, as the help of reeve serve has them: under
// what they are about.
var everyday = []struct {
	about string
	flags []string
}{
	{"What decides", []string{"config", "policy", "approvals-wait", "allow-commands"}},
	{"Where it listens, and who may ask", []string{"listen", "hosts", "tls-cert", "tls-key", "anonymous", "keys"}},
	{"What is kept, and where", []string{"data", "database", "keep", "retention-age", "ledger-file"}},
	{"What it says", []string{"log-format", "log-denials"}},
}

// serveUsage is how reeve serve is called: its everyday flags, and the names of the others.
// All of them with their texts would be two pages, in which nobody finds the policy.
func serveUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	var said []string
	for _, group := range everyday {
		fmt.Fprintf(w, "\n%s:\n", group.about)
		for _, name := range group.flags {
			said = append(said, name)
			head := "  --" + name
			for line := range wrapped(cmd.Flags().Lookup(name).Usage, 76) {
				fmt.Fprintf(w, "%-20s%s\n", head, line)
				head = ""
			}
		}
	}
	fmt.Fprint(w, "\nFurther flags, by subject; \"reeve settings a2a\" says what those of one are for:\n")
	var alone []string
	names := map[string][]string{}
	for _, s := range settings() {
		if s.Of != "" || slices.Contains(said, s.Flag) {
			continue
		}
		if subject, _, grouped := strings.Cut(s.Key, "."); grouped {
			names[subject] = append(names[subject], strings.TrimPrefix(s.Flag, subject+"-"))
		} else {
			alone = append(alone, "--"+s.Flag)
		}
	}
	for _, subject := range subjects() {
		head := "  --" + subject + "-"
		for line := range wrapped(strings.Join(names[subject], ", "), 76) {
			fmt.Fprintf(w, "%-20s%s\n", head, line)
			head = ""
		}
	}
	for line := range wrapped(strings.Join(alone, ", "), 94) {
		fmt.Fprintln(w, "  "+line)
	}
	return nil
}

// wrapped are the lines of a text, none wider than width unless a word is.
func wrapped(text string, width int) iter.Seq[string] {
	return func(yield func(string) bool) {
		line := ""
		for word := range strings.FieldsSeq(text) {
			if line != "" && len(line)+1+len(word) > width {
				if !yield(line) {
					return
				}
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		if line != "" {
			yield(line)
		}
	}
}

// printSettings writes the reference that docs/configuration.md holds.
func printSettings(w io.Writer) {
	fmt.Fprint(w, `# Configuration

A node needs none. Each setting can be given as a flag of `+"`reeve serve`"+`, as an environment
variable, or as a key of the configuration file (`+"`--config FILE`, `REEVE_CONFIG`"+`, else
`+"`./reeve.yaml`"+` if it is there and you have said to trust it, by `+"`reeve trust`"+`). A flag wins over the environment, and that over the file.
Relative paths are those of the folder that the program is started in; `+"`reeve hook` and `reeve mcp`"+`
take `+"`data` and `policy`"+` of a file as those of the file's own folder.
Lists are separated by commas in flags and variables. Times are written as `+"`90d`, `12h`, `30m`, `10s`"+`, or several such as `+"`1d12h`"+`. Secrets are never written here: they
are named by a reference, `+"`env:NAME` or `file:PATH`"+`. This page is what `+"`reeve settings`"+` prints.

| key | flag | variable | default | |
|---|---|---|---|---|
`)
	for _, s := range new(reeve.Config).Settings() {
		def := s.Default
		if def != "" {
			def = "`" + def + "`"
		}
		flag, variable := "`--"+s.Flag+"`", "`"+s.Env+"`"
		if s.Of != "" {
			flag, variable = "`reeve "+s.Of+" --"+strings.TrimPrefix(s.Flag, s.Of+"-")+"`", ""
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s |\n", s.Key, flag, variable, def, strings.ReplaceAll(s.Doc, "|", `\|`))
	}
}
