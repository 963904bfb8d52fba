package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leaves are the commands that do something, by their paths without the program's name.
func leaves(t testing.TB) map[string]*cobra.Command {
	t.Helper()
	all := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if !c.HasSubCommands() || strings.Contains(c.Use, " ") { // mcp and hook do something, too
			all[strings.TrimPrefix(c.CommandPath(), "reeve ")] = c
		}
	}
	root := rootCommand()
	root.InitDefaultCompletionCmd()
	showExamples(root)
	walk(root)
	delete(all, "reeve")
	return all
}

// printsNoData are the commands whose output is not for programs, and why.
var printsNoData = map[string]string{
	"a2g": "speaks the protocol", "hook": "speaks with the agent", "mcp": "speaks with client and server", "serve": "runs", "demo": "is to be looked at",
	"init": "writes files", "hook install": "writes a file",
	"console": "opens a browser", "hook uninstall": "writes a file", "mcp install": "writes a file", "ledger export": "is JSON always",
	"ledger receipt": "has a form of its own", "completion bash": "is a script", "completion zsh": "is a script", "completion fish": "is a script",
	"completion powershell": "is a script",
}

// hereAlone are the commands that work with what is on this machine alone, and why none of
// another machine can be asked.
var hereAlone = map[string]string{
	"a2g": "it has --url", "hook": "it has --url", "hook install": "it has --url", "mcp": "it has --url", "mcp install": "it has --url",
	"serve": "is the node", "restore": "makes a data folder", "executors list": "of these settings", "executors show": "of these settings", "mcp status": "looks at this machine", "doctor": "looks at this machine",
	"hook status": "looks at this machine", "try": "by this machine's policy",
	"why":           "reads the records and writes the policy",
	"ledger export": "reads the records",
	"console":       "by the socket alone",
	"ledger verify": "reads every record", "evidence": "reads every record", "ledger key": "from the seed", "ledger verify-receipt": "offline",
}

// Each command says what it does and how it is called, prints JSON where it prints data, and
// asks a node elsewhere where a node is asked.
func TestEveryCommand(t *testing.T) {
	all := leaves(t)
	for path, c := range all {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its line is %q", path, c.Short)
		}
		if c.Example == "" && !strings.HasPrefix(path, "completion ") {
			t.Errorf("%s: it has no example", path)
		}
		_, no := printsNoData[path]
		if has := c.Flags().Lookup("json") != nil; has == no {
			t.Errorf("%s: --json: %v", path, has)
		}
		_, here := hereAlone[path]
		server := c.Flags().Lookup("server") != nil && c.Flags().Lookup("key") != nil
		if asks := c.Flags().Lookup("data") != nil; asks && !server && !here {
			t.Errorf("%s: a node elsewhere cannot be asked", path)
		}
	}
	for _, list := range []map[string]string{printsNoData, hereAlone} {
		for path := range list {
			if all[path] == nil {
				t.Errorf("there is no command %q", path)
			}
		}
	}
}

// Each example is a call that the program takes.
func TestExamples(t *testing.T) {
	root := rootCommand()
	root.InitDefaultCompletionCmd()
	for path := range examples {
		if c, rest, err := root.Find(strings.Fields(path)); err != nil || len(rest) > 0 || c == root {
			t.Errorf("there is no command %q", path)
		}
	}
	for path, c := range leaves(t) {
		for line := range strings.Lines(c.Example) {
			words := shellWords(line)
			for i, w := range words {
				if strings.ContainsAny(w, "<>|") {
					words = words[:i]
					break
				}
			}
			if at := strings.Index(line, "reeve "); len(words) == 0 || at < 0 {
				t.Errorf("%s: an example is %q", path, line)
				continue
			}
			for len(words) > 0 && words[0] != "reeve" { // variables, and the shell's own
				words = words[1:]
			}
			if len(words) == 0 {
				continue
			}
			c, rest, err := rootCommand().Find(words[1:])
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err == nil && c.Args != nil {
				err = c.Args(c, c.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: the example %q: %v", path, strings.TrimSpace(line), err)
			}
		}
	}
}

// shellWords splits a line of an example as a shell would, as far as they need it.
func shellWords(line string) (words []string) {
	word, open, quote := "", false, rune(0)
	for _, r := range strings.TrimSpace(line) {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && r == ' ':
			if open {
				words = append(words, word)
			}
			word, open = "", false
		default:
			word, open = word+string(r), true
		}
	}
	if open {
		words = append(words, word)
	}
	return words
}

// goSpeak is what no message may say: names and forms of the language that the program is
// written in.
var goSpeak = regexp.MustCompile(`%!|\*[a-z]+\.[A-Z]|\b(strconv|reflect|jsontext|json|yaml|runtime|pflag|cobra|sql|sqlite|hex|url|errors|fmt|os|act|ledger|operator|reeve|task|policy)\.[A-Z]\w+|` +
	`(^|[^-.\w])(json|jsontext|strconv|yaml|parse|encoding/hex|toml): |[Uu]nmarshal|struct field|Go (type|value|struct)|interface ?\{|invalid syntax|<nil>|panic|goroutine|0x[0-9a-f]{6,}|\[\]byte|map\[string|\bint64\b|\bfloat64\b|accepts \d+ arg`)

// badWords are what somebody may give by mistake, as an argument or for a flag.
func badWords(t *testing.T, dir string) []string {
	t.Helper()
	files := map[string]string{
		"empty": "", "binary": "\x00\x01\xff\xfe", "text.json": "{", "list.json": "[1]", "number.json": `{"jsonrpc":2,"method":{},"params":[]}`,
		"wrong.json": `{"jsonrpc":"2.0","id":1,"method":"steps/toolCallRequest","params":{"context":7}}`, "rules.yaml": "rules:\n  - name: [x]\n    when: 7\n",
		"list.yaml": "- a\n", "tabs.yaml": "a:\n\t- b\n", "workflow.yaml": "name: 1\ntasks: {a: b}\n", "config.yaml": "listen: [1]\nretention: 7\n",
	}
	words := []string{"", "nonsense", "-", "0-99999999", "99-1", "1e400", "\x1b[2J", "a=b", "http://127.0.0.1:1", "env:REEVE_NO_SUCH", "file:/no/such"}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		words = append(words, file)
	}
	slices.Sort(words)
	return append(words, dir)
}

// calls runs the program within this process, and returns what it says.
func calls(t *testing.T, a ...string) (said string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetIn(strings.NewReader("nonsense"))
	root.SetArgs(a)
	_, err = root.ExecuteContextC(ctx)
	if err != nil {
		fmt.Fprintf(&out, "\n%v\n", err)
	}
	return out.String(), err
}

// Whatever is wrong with a call, its message speaks of that, and not of the program's
// insides; and a call that makes no sense is told from one that failed.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, dir)
	}
	t.Chdir(t.TempDir())
	if said, err := calls(t, "keys", "create", "ann", "--yes"); err != nil { // or no command gets as far as a database
		t.Fatalf("%v\n%s", err, said)
	}
	words := badWords(t, dir)
	if testing.Short() {
		words = []string{"", "nonsense", filepath.Join(dir, "text.json"), filepath.Join(dir, "rules.yaml"), dir}
	}
	// They go on until they are stopped, change what is not this process's, or read what the
	// agent says: only their flags are tried.
	runs := []string{"serve", "demo", "mcp", "hook", "a2g", "exec", "hook test", "ledger tail", "completion bash", "completion zsh", "completion fish", "completion powershell"}
	try := func(a ...string) {
		said, err := calls(t, a...)
		if found := goSpeak.FindString(said); found != "" {
			t.Errorf("reeve %q says %q:\n%s", a, found, said)
		}
		var code exitCode
		if err != nil && !errors.As(err, &code) && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("reeve %q fails and says nothing", a)
		}
	}
	for path, c := range leaves(t) {
		at := strings.Fields(path)
		if said, err := calls(t, append(at, "--no-such-flag")...); err == nil || !errors.As(err, new(usageError)) {
			t.Errorf("%s: a flag that there is not: %v\n%s", path, err, said)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind == "string" || strings.HasPrefix(kind, "string") {
				return
			}
			for _, word := range []string{"nonsense", "-1x", "99999999999999999999999"} {
				said, err := calls(t, append(at, "--"+f.Name+"="+word)...)
				if found := goSpeak.FindString(said); err == nil || found != "" {
					t.Errorf("%s --%s=%s: %q %v", path, f.Name, word, found, err)
				}
			}
		})
		if slices.Contains(runs, path) {
			continue
		}
		for _, word := range words {
			try(append(at, "--", word)...)
			try(append(at, "--", word, word)...)
			if c.Flags().Lookup("config") != nil {
				try(append(at, "--config", word)...)
			}
			if c.Flags().Lookup("policy") != nil {
				try(append(at, "--policy", word)...)
			}
			if c.Flags().Lookup("server") != nil {
				try(append(at, "--server", word, "--", "0-1")...)
				try(append(at, "--server", "http://127.0.0.1:1", "--key", word, "--", "0-1")...)
			}
		}
	}
}
