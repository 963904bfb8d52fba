// Build makes a corpus of tool calls from local clones of public collections,
// to measure the heuristics on. What it writes stays out of the repository:
// some sources are under copyleft or name no licence, and none of them is ours.
//
//	go run ./risk/hazard/corpus/build -clones DIR -out DIR
//
// DIR holds one directory a source, named as the repository is. A source that
// is not there is left out, and said so. Two files come out: tuned.jsonl, which
// one may look at, and heldout.jsonl, of which only the figures may be read.
// Which half a text falls in depends on the hash of the text alone.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

// row is one line of a corpus.
type row struct {
	Label     string         `json:"label"`
	Category  string         `json:"category"`
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Source    string         `json:"source"`
}

// source is one collection: the directory it is expected in, and how to read it.
type source struct {
	name string
	read func(root string, add func(row)) error
}

var sources = []source{
	{"atomic-red-team", readAtomics},
	{"QuasarNix", readQuasarNix},
	{"reverse-shell-generator", readShellGenerator},
	{"GTFOBins.github.io", readGTFOBins},
	{"LOLBAS", readLOLBAS},
	{"InternalAllTheThings", readInternal},
	{"PayloadsAllTheThings", readPayloads},
	{"nl2bash", readNL2Bash},
	{"tldr", readTLDR},
	{"text2sql-data", readText2SQL},
	{"mvdan-sh", readFiles},
	{"files", readFiles},
}

func main() {
	clones := flag.String("clones", "", "directory with one clone a source")
	out := flag.String("out", "", "directory to write tuned.jsonl and heldout.jsonl to")
	flag.Parse()
	if *clones == "" || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := build(*clones, *out); err != nil {
		log.Fatal(err)
	}
}

func build(clones, out string) error {
	var files [2]*bufio.Writer
	for i, name := range []string{"tuned.jsonl", "heldout.jsonl"} {
		f, err := os.Create(filepath.Join(out, name))
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = bufio.NewWriter(f)
		defer files[i].Flush()
	}
	for _, s := range sources {
		root := filepath.Join(clones, s.name)
		if _, err := os.Stat(root); err != nil {
			log.Printf("%s: not there, left out", s.name)
			continue
		}
		seen := map[[32]byte]bool{}
		var fault error
		err := s.read(root, func(r row) {
			r.Source = s.name
			args, err := json.Marshal(r.Arguments)
			if err != nil {
				fault = err
				return
			}
			sum := sha256.Sum256(args)
			if seen[sum] {
				return
			}
			seen[sum] = true
			line, err := json.Marshal(r)
			if err != nil {
				fault = err
				return
			}
			files[sum[0]&1].Write(append(line, '\n'))
		})
		if err == nil {
			err = fault
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		log.Printf("%s: %d", s.name, len(seen))
	}
	return nil
}

func command(label, category, text string) row {
	return row{Label: label, Category: category, Tool: "execute_command", Arguments: map[string]any{"command": text}}
}

func readPath(label, category, path string) row {
	return row{Label: label, Category: category, Tool: "read_file", Arguments: map[string]any{"path": path}}
}

// ambiguous are the techniques of which the samples are what administrators do
// too: to look around, to pack, to fetch a file. They are a category of their own.
var ambiguous = strings.Fields(`T1007 T1010 T1016 T1018 T1033 T1040 T1046 T1049 T1057 T1069 T1082 T1083 T1087 T1124
	T1135 T1201 T1217 T1497 T1518 T1614 T1615 T1580 T1619 T1526 T1613 T1482 T1622 T1560 T1074 T1030 T1027 T1036
	T1132 T1090 T1105 T1113 T1115 T1005 T1039 T1119 T1123 T1125 T1529 T1571 T1572 T1071 T1095 T1021 T1072 T1129`)

func readAtomics(root string, add func(row)) error {
	parameter := regexp.MustCompile(`#\{([A-Za-z0-9_.-]+)\}`)
	return each(root, "*/T*.yaml", func(_ string, text []byte) error {
		var file struct {
			Technique string `yaml:"attack_technique"`
			Tests     []struct {
				Platforms []string `yaml:"supported_platforms"`
				Inputs    map[string]struct {
					Default any `yaml:"default"`
				} `yaml:"input_arguments"`
				Executor struct {
					Name    string `yaml:"name"`
					Command string `yaml:"command"`
				} `yaml:"executor"`
			} `yaml:"atomic_tests"`
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			return err
		}
		technique, _, _ := strings.Cut(file.Technique, ".")
		for _, t := range file.Tests {
			if strings.TrimSpace(t.Executor.Command) == "" {
				continue
			}
			filled := parameter.ReplaceAllStringFunc(t.Executor.Command, func(m string) string {
				if in, ok := t.Inputs[m[2:len(m)-1]]; ok && in.Default != nil {
					return fmt.Sprint(in.Default)
				}
				return m
			})
			filled = strings.ReplaceAll(filled, "PathToAtomicsFolder", "/opt/atomics")
			category := ""
			switch t.Executor.Name {
			case "bash", "sh":
				category = "macos"
				for _, p := range t.Platforms {
					if p == "linux" {
						category = "linux"
					}
				}
			case "powershell", "command_prompt":
				category = "windows"
			default:
				continue
			}
			for _, a := range ambiguous {
				if a == technique {
					category += "_dual"
				}
			}
			add(command("malicious", category, filled))
		}
		return nil
	})
}

var fillings = strings.NewReplacer("NIX_SHELL", "/bin/bash", "PROTOCOL_TYPE", "tcp", "FD_NUMBER", "3", "FILE_PATH", "/tmp/f",
	"VARIABLE_NAME_1", "h", "VARIABLE_NAME_2", "p", "VARIABLE_NAME", "s", "IP_ADDRESS", "10.11.12.13", "PORT_NUMBER", "9001", "PORT_NR", "9001")

func readQuasarNix(root string, add func(row)) error {
	return each(root, "nix_shell/templates_*.txt", func(_ string, text []byte) error {
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" {
				add(command("malicious", "reverse_shell", fillings.Replace(line)))
			}
		}
		return nil
	})
}

func readShellGenerator(root string, add func(row)) error {
	entry := regexp.MustCompile(`"command":\s*("(?:[^"\\]|\\.)*"),\s*"meta":\s*\[([^\]]*)\]`)
	fill := strings.NewReplacer("{shell}", "/bin/sh", "{ip}", "10.10.10.10", "{port}", "4444")
	return each(root, "js/data.js", func(_ string, text []byte) error {
		for _, m := range entry.FindAllSubmatch(text, -1) {
			var cmd string
			if json.Unmarshal(m[1], &cmd) != nil || strings.Contains(cmd, "msfvenom") {
				continue
			}
			// Programs to be compiled are no commands.
			if strings.Contains(cmd, "#include") || strings.HasPrefix(cmd, "package ") || strings.HasPrefix(cmd, "using System") || strings.Contains(cmd, "public class") {
				continue
			}
			category := "reverse_shell"
			if !strings.Contains(string(m[2]), "linux") {
				category = "windows"
			}
			add(command("malicious", category, fill.Replace(cmd)))
		}
		return nil
	})
}

func readGTFOBins(root string, add func(row)) error {
	return each(root, "_gtfobins/*", func(_ string, text []byte) error {
		text = []byte(strings.TrimSuffix(strings.TrimSpace(string(text)), "..."))
		var file struct {
			Functions map[string][]struct {
				Code string `yaml:"code"`
			} `yaml:"functions"`
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			return nil // aliases have no functions
		}
		for _, name := range []string{"reverse-shell", "bind-shell"} {
			for _, f := range file.Functions[name] {
				add(command("malicious", "reverse_shell_gtfo", strings.TrimSpace(f.Code)))
			}
		}
		return nil
	})
}

func readLOLBAS(root string, add func(row)) error {
	placeholder := regexp.MustCompile(`\{([A-Z_]+)(?::([^}]*))?\}`)
	return each(root, "OSBinaries/*.yml", func(_ string, text []byte) error {
		var file struct {
			Commands []struct {
				Command  string `yaml:"Command"`
				Category string `yaml:"Category"`
			} `yaml:"Commands"`
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			return nil
		}
		for _, c := range file.Commands {
			text := placeholder.ReplaceAllStringFunc(c.Command, func(m string) string {
				p := placeholder.FindStringSubmatch(m)
				switch {
				case strings.HasPrefix(p[1], "REMOTEURL"):
					return "https://evil.example/payload" + p[2]
				case p[1] == "CMD":
					return "calc.exe"
				case strings.HasPrefix(p[1], "PATH_SMB"):
					return `\\10.0.0.9\share\payload` + p[2]
				}
				return `C:\Windows\Temp\file` + p[2]
			})
			add(command("malicious", "windows_lolbas", text))
		}
		return nil
	})
}

var fence = regexp.MustCompile("(?s)```([a-zA-Z]*)[^\n]*\n(.*?)```")

// fences calls f for each block of code of a Markdown text.
func fences(text string, f func(language, code string)) {
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		// A fence inside a list is indented, and so are its lines.
		f(strings.ToLower(m[1]), strings.TrimSpace(m[2]))
	}
}

// continued is the end of a line that goes on in the next.
var continued = regexp.MustCompile(`\\[ \t\r]*\n[ \t]*`)

func readInternal(root string, add func(row)) error {
	return each(root, "*.md", func(path string, text []byte) error {
		base := filepath.Base(path)
		fences(string(text), func(language, code string) {
			shell := language == "bash" || language == "sh" || language == "powershell" || language == "python" || language == "php" ||
				language == "perl" || language == "ruby" || language == "lua"
			switch {
			case !shell || len(code) > 4000:
			case base == "shell-reverse-cheatsheet.md" || base == "shell-bind-cheatsheet.md":
				// A line that goes on belongs to the next.
				code = continued.ReplaceAllString(code, "")
				if strings.Count(code, "'")%2 == 0 && language == "python" || strings.Contains(code, "\"\"\"") {
					code = strings.ReplaceAll(code, "\n", "\x00")
				}
				for line := range strings.Lines(code) {
					line = strings.ReplaceAll(strings.TrimSpace(line), "\x00", "\n")
					if line != "" && !strings.HasPrefix(line, "#") && reverseLike(line) {
						if language == "powershell" || strings.Contains(line, "cmd.exe") {
							add(command("malicious", "windows", line))
						} else {
							add(command("malicious", "reverse_shell", line))
						}
					}
				}
			case base == "linux-persistence.md":
				add(command("malicious", "linux", code))
			case base == "windows-persistence.md":
				add(command("malicious", "windows", code))
			}
		})
		return nil
	})
}

// reverseLike leaves out the lines of a cheat sheet that are no shell
// themselves: what the attacker's side runs, how to upgrade a terminal.
func reverseLike(line string) bool {
	low := strings.ToLower(line)
	for _, part := range []string{"/dev/tcp", "/dev/udp", "-e /bin", "-e bash", "exec:", "socket", "telnet ", "/inet/", "s_client", "mkfifo", "-c bash", "-c /bin", "fsockopen"} {
		if strings.Contains(low, part) {
			return !strings.Contains(low, "file:`tty`") && len(line) > 25
		}
	}
	return false
}

func readPayloads(root string, add func(row)) error {
	lines := func(label, category string, limit int, make func(string) row) func(string, []byte) error {
		return func(_ string, text []byte) error {
			all := strings.Split(string(text), "\n")
			step := max(1, len(all)/limit)
			for i := 0; i < len(all); i += step {
				line := strings.ReplaceAll(strings.TrimRight(all[i], "\r"), "{FILE}", "etc/passwd")
				if strings.TrimSpace(line) != "" {
					r := make(line)
					r.Label, r.Category = label, category
					add(r)
				}
			}
			return nil
		}
	}
	asPath := func(s string) row { return readPath("", "", s) }
	asQuery := func(s string) row {
		return row{Tool: "lookup_customer", Arguments: map[string]any{"id": s}}
	}
	if err := each(root, "Directory Traversal/Intruder/*.txt", lines("malicious", "traversal", 900, asPath)); err != nil {
		return err
	}
	if err := each(root, "SQL Injection/Intruder/*", lines("malicious", "sql", 500, asQuery)); err != nil {
		return err
	}
	return each(root, "Server Side Request Forgery/*.md", func(_ string, text []byte) error {
		fences(string(text), func(_, code string) {
			for line := range strings.Lines(code) {
				line = strings.TrimSpace(line)
				if strings.Contains(line, "://") && !strings.ContainsAny(line, " <{") {
					add(row{Label: "malicious", Category: "url", Tool: "fetch_url", Arguments: map[string]any{"url": line}})
				}
			}
		})
		return nil
	})
}

func readNL2Bash(root string, add func(row)) error {
	return each(root, "bash/all.cm", func(_ string, text []byte) error {
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" {
				add(command("benign", "linux", line))
			}
		}
		return nil
	})
}

func readTLDR(root string, add func(row)) error {
	option := regexp.MustCompile(`\{\{\[([^|\]]+)\|([^\]]+)\]\}\}`)
	placeholder := regexp.MustCompile(`\{\{(.*?)\}\}`)
	link := regexp.MustCompile(`<(https?://[^>]+)>`)
	for _, dir := range []string{"common", "linux", "windows"} {
		category := map[string]string{"common": "linux", "linux": "linux", "windows": "windows"}[dir]
		err := each(root, dir+"/*.md", func(path string, text []byte) error {
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSpace(line)
				if m := link.FindStringSubmatch(line); m != nil && strings.HasPrefix(line, ">") {
					add(row{Label: "benign", Category: "url", Tool: "fetch_url", Arguments: map[string]any{"url": m[1]}})
				}
				if len(line) < 3 || line[0] != '`' || line[len(line)-1] != '`' {
					continue
				}
				cmd := option.ReplaceAllString(line[1:len(line)-1], "$2")
				cmd = placeholder.ReplaceAllString(cmd, "$1")
				add(command("benign", category+"_manual", cmd))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func readText2SQL(root string, add func(row)) error {
	return each(root, "data/*.json", func(_ string, text []byte) error {
		var all []struct {
			SQL []string `json:"sql"`
		}
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
		for _, q := range all {
			if len(q.SQL) > 0 {
				add(row{Label: "benign", Category: "sql", Tool: "query_database", Arguments: map[string]any{"sql": q.SQL[0]}})
			}
		}
		return nil
	})
}

// readFiles takes the files of any clone as what an agent reads and writes.
func readFiles(root string, add func(row)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/.git/") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		add(readPath("benign", "read_write", rel))
		text, err := os.ReadFile(path)
		if err != nil || len(text) > 16<<10 || strings.ContainsRune(string(text), 0) {
			return nil
		}
		add(row{Label: "benign", Category: "read_write", Tool: "write_file", Arguments: map[string]any{"path": rel, "content": string(text)}})
		return nil
	})
}

// each calls f for the files below root whose path ends in what pattern matches, in order.
func each(root, pattern string, f func(path string, text []byte) error) error {
	depth := strings.Count(pattern, "/") + 1
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		parts := strings.Split(filepath.ToSlash(path), "/")
		if len(parts) >= depth {
			tail := strings.Join(parts[len(parts)-depth:], "/")
			if ok, err := filepath.Match(pattern, tail); err != nil {
				return err
			} else if ok {
				paths = append(paths, path)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	sort.Strings(paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := f(path, text); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}
