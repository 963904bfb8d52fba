// Package install puts the MCP proxy in front of the servers in a client's
// configuration, and takes it away again.
//
//	f, err := install.Find("cursor", false, home, os.Getenv)
//	done, err := f.Install([]string{"/usr/local/bin/reeve", "mcp"})
//	…
//	undone, err := f.Undo()
//
// Of a configuration only the commands change: comments, order and white space
// stay as they are. The file as it was lies beside it, and is put back by Undo
// byte for byte if nobody has changed the configuration since.
package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"reeve.example/reeve/internal/rawjson"
)

// Clients are the clients whose configurations are known.
var Clients = []string{"claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "gemini", "codex"}

// File is the configuration of a client.
type File struct {
	Client, Path string
}

// Done is what became of a configuration.
type Done struct {
	Changed []string // servers
	Left    []string // servers that are no commands, and stay as they are
	Backup  string   // the file as it was
	// Exact says that an undone file is as it was before, byte for byte.
	Exact bool
}

// Find returns the configuration of a client: the user's, or that of the project
// in the present folder.
func Find(client string, project bool, home string, getenv func(string) string) (File, error) {
	data := filepath.Join(home, ".config")
	switch runtime.GOOS {
	case "darwin":
		data = filepath.Join(home, "Library", "Application Support")
	case "windows":
		if data = getenv("APPDATA"); data == "" {
			data = filepath.Join(home, "AppData", "Roaming")
		}
	default:
		if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
			data = dir
		}
	}
	user := map[string]string{
		"claude-desktop": filepath.Join(data, "Claude", "claude_desktop_config.json"),
		"claude-code":    filepath.Join(home, ".claude.json"),
		"cursor":         filepath.Join(home, ".cursor", "mcp.json"),
		"vscode":         filepath.Join(data, "Code", "User", "mcp.json"),
		"windsurf":       filepath.Join(home, ".codeium", "windsurf", "mcp_config.json"),
		"gemini":         filepath.Join(home, ".gemini", "settings.json"),
		"codex":          filepath.Join(home, ".codex", "config.toml"),
	}
	if dir := getenv("CODEX_HOME"); dir != "" {
		user["codex"] = filepath.Join(dir, "config.toml")
	}
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		user["claude-code"] = filepath.Join(dir, ".claude.json")
	}
	if user[client] == "" {
		return File{}, fmt.Errorf("%q is no client that is known: choose one of %s", client, strings.Join(Clients, ", "))
	}
	if !project {
		return File{client, user[client]}, nil
	}
	path := map[string]string{
		"claude-code": ".mcp.json",
		"cursor":      filepath.Join(".cursor", "mcp.json"),
		"vscode":      filepath.Join(".vscode", "mcp.json"),
		"gemini":      filepath.Join(".gemini", "settings.json"),
		"codex":       filepath.Join(".codex", "config.toml"),
	}[client]
	if path == "" {
		return File{}, fmt.Errorf("%s has no configuration of a project", client)
	}
	return File{client, path}, nil
}

// maxFile bounds a configuration, in bytes.
const maxFile = 16 << 20

func (f *File) read() (text []byte, mode fs.FileMode, err error) {
	if f.Path, err = filepath.EvalSymlinks(f.Path); err != nil {
		return nil, 0, fmt.Errorf("the configuration of %s: %w", f.Client, err)
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, 0, fmt.Errorf("%s is no file, or larger than %d bytes", f.Path, maxFile)
	}
	text, err = os.ReadFile(f.Path)
	return text, info.Mode().Perm(), err
}

// Install puts a command, which ends with what comes before "--server", in front
// of each server that is a command, and is not wrapped yet.
func (f *File) Install(proxy []string) (Done, error) {
	text, mode, err := f.read()
	if err != nil {
		return Done{}, err
	}
	wrapped, done, err := Wrap(f.Client, text, proxy)
	if err != nil || len(done.Changed) == 0 {
		return done, err
	}
	done.Backup = f.backup(wrapped)
	if err := write(done.Backup, text, mode); err != nil {
		return Done{}, fmt.Errorf("keep the configuration as it was: %w", err)
	}
	return done, f.replace(text, wrapped, mode)
}

// replace replaces the file while it holds what it held when it was read: the client
// may have written it meanwhile.
func (f *File) replace(before, after []byte, mode fs.FileMode) error {
	if now, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(now, before) {
		return errors.Join(err, fmt.Errorf("%s was changed meanwhile; nothing was written, so try again", f.Path))
	}
	return write(f.Path, after, mode)
}

// Undo takes the proxy away from all servers of the configuration.
func (f *File) Undo() (done Done, err error) {
	text, mode, err := f.read()
	if err != nil {
		return Done{}, err
	}
	result := text
	if result, done, err = Unwrap(f.Client, text); err != nil {
		return done, err
	}
	// The file as it was, where nobody has changed it since: each installation
	// that added servers left one.
	var used []string
	for was := text; ; {
		name := f.backup(was)
		before, err := os.ReadFile(name)
		if err != nil {
			break
		}
		used, was = append(used, name), before
		result, done.Exact = before, true
	}
	if done.Exact { // what is put back must be free of the proxy, too
		_, rest, err := Unwrap(f.Client, result)
		if err != nil || len(rest.Changed) > 0 {
			result, done.Exact, used = nil, false, nil
			if result, _, err = Unwrap(f.Client, text); err != nil {
				return done, err
			}
		}
	}
	if bytes.Equal(result, text) {
		return done, nil
	}
	if err := f.replace(text, result, mode); err != nil {
		return done, err
	}
	for _, name := range used {
		if err := os.Remove(name); err != nil {
			return done, err
		}
	}
	return done, nil
}

// backup names the file as it was before it became text.
func (f *File) backup(text []byte) string {
	sum := sha256.Sum256(text)
	return f.Path + ".before-reeve-" + hex.EncodeToString(sum[:6])
}

// write replaces a file at once: a client never finds half of it.
func write(name string, text []byte, mode fs.FileMode) error {
	t, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = t.Write(text)
	err = errors.Join(err, t.Chmod(mode), t.Sync(), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), name)
	}
	if err != nil {
		os.Remove(t.Name())
	}
	return err
}

// server is one server in a configuration: a command and its arguments.
type server struct {
	name    string
	command string
	args    []string
	other   bool // it is no command
}

// wrap returns the server behind the proxy; ok is false where it is already.
func (s *server) wrap(proxy []string) (w server, ok bool) {
	if s.isWrapped() {
		return w, false
	}
	args := slices.Concat(proxy[1:], []string{"--server", s.name, "--", s.command}, s.args)
	return server{name: s.name, command: proxy[0], args: args}, true
}

func (s *server) isWrapped() bool {
	program := strings.ToLower(filepath.Base(strings.ReplaceAll(s.command, `\`, "/")))
	return strings.TrimSuffix(program, ".exe") == "reeve" && len(s.args) > 0 && s.args[0] == "mcp" && slices.Contains(s.args, "--")
}

// unwrap returns the server without the proxy; ok is false where there is none.
func (s *server) unwrap() (u server, ok bool) {
	if !s.isWrapped() {
		return u, false
	}
	rest := s.args[slices.Index(s.args, "--")+1:]
	if len(rest) == 0 {
		return u, false
	}
	return server{name: s.name, command: rest[0], args: rest[1:]}, true
}

// Wrap returns a client's configuration with the proxy in front of its servers.
func Wrap(client string, text []byte, proxy []string) ([]byte, Done, error) {
	return edit(client, text, func(s *server) (server, bool) { return s.wrap(proxy) })
}

// Unwrap returns a client's configuration without the proxy.
func Unwrap(client string, text []byte) ([]byte, Done, error) {
	return edit(client, text, (*server).unwrap)
}

func edit(client string, text []byte, change func(*server) (server, bool)) ([]byte, Done, error) {
	if client == "codex" {
		return editTOML(text, change)
	}
	return editJSON(client, text, change)
}

// editJSON changes the servers of a configuration in JSON, with comments or not.
func editJSON(client string, text []byte, change func(*server) (server, bool)) ([]byte, Done, error) {
	var done Done
	if len(bytes.TrimSpace(text)) == 0 {
		return text, done, nil
	}
	plain := blank(text)
	doc, err := rawjson.Parse(plain)
	if err != nil {
		return nil, done, fmt.Errorf("the configuration is not JSON: %w", err)
	}
	type replacement struct {
		start, end int
		with       []byte
	}
	var changes []replacement
	place := func(v rawjson.Value, with []byte) {
		start, end := v.Span()
		changes = append(changes, replacement{start, end, with})
	}
	for _, group := range groups(client, doc.Root()) {
		for name, entry := range group.Members() {
			s, err := readServer(name, entry)
			if err != nil {
				return nil, done, err
			}
			if s.other {
				done.Left = append(done.Left, name)
				continue
			}
			w, ok := change(&s)
			if !ok {
				continue
			}
			done.Changed = append(done.Changed, name)
			if args := entry.Get("args"); args.Exists() {
				place(entry.Get("command"), rawjson.Quote(w.command))
				place(args, list(w.args))
			} else {
				place(entry.Get("command"), slices.Concat(rawjson.Quote(w.command), []byte(`, "args": `), list(w.args)))
			}
		}
	}
	slices.SortFunc(changes, func(a, b replacement) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, c := range changes {
		out = append(append(out, text[at:c.start]...), c.with...)
		at = c.end
	}
	return append(out, text[at:]...), done, nil
}

// groups are the objects that hold a client's servers by name.
func groups(client string, root rawjson.Value) (all []rawjson.Value) {
	key := "mcpServers"
	if client == "vscode" {
		key = "servers"
	}
	all = append(all, root.Get(key))
	if client == "claude-code" { // those that the user has for one project only
		for _, project := range root.Get("projects").Members() {
			all = append(all, project.Get(key))
		}
	}
	return all
}

func readServer(name string, entry rawjson.Value) (s server, err error) {
	s = server{name: name, command: entry.Get("command").Text()}
	if s.command == "" {
		s.other = true
		return s, nil
	}
	args := entry.Get("args")
	if args.Exists() && args.Kind() != rawjson.Array {
		return s, fmt.Errorf("the args of the server %q are no list", name)
	}
	for _, a := range args.Elems() {
		if a.Kind() != rawjson.String {
			return s, fmt.Errorf("an argument of the server %q is no text", name)
		}
		s.args = append(s.args, a.Text())
	}
	return s, nil
}

// list is a list of texts, in JSON and in TOML.
func list(texts []string) []byte {
	b := []byte{'['}
	for i, s := range texts {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, quote(s)...)
	}
	return append(b, ']')
}

// quote is a text in JSON and in TOML.
func quote(s string) []byte {
	return bytes.ReplaceAll(rawjson.Quote(s), []byte{0x7f}, []byte(`\u007f`))
}

// blank puts spaces in the place of comments, and of commas before the end of an
// object or list, as clients allow them: the rest stays where it is.
func blank(text []byte) []byte {
	out := bytes.Clone(text)
	if bytes.HasPrefix(out, []byte("\ufeff")) {
		copy(out, "   ")
	}
	comma := -1 // the last comma after which nothing came
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			i++
			comma = -1
		case bytes.HasPrefix(out[i:], []byte("//")):
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case bytes.HasPrefix(out[i:], []byte("/*")):
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end < 0 {
				return out // which is no JSON
			}
			for end += i + 4; i < end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
		case c == ',':
			comma = i
			i++
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out
}
