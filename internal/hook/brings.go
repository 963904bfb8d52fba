package hook

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
)

// Agents go by files that nobody asks about: instructions, skills and commands, settings with
// hooks and servers. A repository brings its own, and what an agent writes there it goes by
// the next time. So when a session begins, and before each prompt, the guardian is told which
// there are, by their hashes, and compares them with those that somebody agreed to.

// The names of files, in lower case, and of folders whose files all count, below a folder that
// an agent works in and those above it. Each agent reads some of the others'.
var (
	broughtFiles = map[string]string{
		"agents.md": "instructions", "agents.override.md": "instructions", "agent.md": "instructions", "claude.md": "instructions", "claude.local.md": "instructions", "gemini.md": "instructions",
		".cursorrules": "instructions", ".windsurfrules": "instructions", ".clinerules": "instructions", ".github/copilot-instructions.md": "instructions", ".claude/claude.md": "instructions",
		".mcp.json": "settings", ".claude/settings.json": "settings", ".claude/settings.local.json": "settings", ".codex/config.toml": "settings", ".codex/hooks.json": "settings",
		".gemini/settings.json": "settings", ".cursor/hooks.json": "settings", ".cursor/mcp.json": "settings", ".cursor/cli.json": "settings", ".vscode/mcp.json": "settings",
		".github/copilot/settings.json": "settings", ".github/copilot/settings.local.json": "settings", "opencode.json": "settings", "opencode.jsonc": "settings",
	}
	broughtFolders = map[string]string{
		".cursor/rules": "instructions", ".claude/rules": "instructions", ".github/instructions": "instructions", ".windsurf/rules": "instructions", ".amazonq/rules": "instructions",
		".claude/skills": "skill", ".claude/commands": "skill", ".claude/agents": "skill", ".agents/skills": "skill", ".codex/skills": "skill", ".codex/prompts": "skill",
		".gemini/commands": "skill", ".gemini/skills": "skill", ".github/prompts": "skill", ".github/skills": "skill", ".github/agents": "skill", ".cursor/commands": "skill", ".cursor/skills": "skill",
		".opencode/agent": "skill", ".opencode/command": "skill", ".opencode/skills": "skill",
		".claude/hooks": "settings", ".github/hooks": "settings", ".opencode/plugins": "settings", ".opencode/plugin": "settings", ".amazonq/cli-agents": "settings",
	}
	// ownFiles are those of them that count in the user's home folder, too, where agents also
	// keep what changes all the time.
	ownFiles = []string{
		".claude/claude.md", ".claude/settings.json", ".codex/agents.md", ".codex/agents.override.md", ".codex/hooks.json", ".gemini/gemini.md", ".gemini/settings.json", ".cursor/hooks.json", ".cursor/mcp.json",
	}
)

// Bounds of what is looked at.
const (
	maxBrought     = 200       // files that are told each; the others together, as one
	maxLooked      = 20_000    // names in folders of which all files count
	maxNames       = 100_000   // names in a folder of which some files count
	maxDeep        = 64        // folders in each other
	maxBroughtRead = 64 << 20  // bytes that are read for hashes
	maxBroughtText = 16 << 10  // bytes of a text that is told
	maxBroughtAll  = 256 << 10 // of all texts
)

// lookBrought gathers the files that an agent goes by in a folder, those above it up to the
// repository's, and the user's own.
func lookBrought(folder string) []act.File {
	type place struct {
		folder string
		counts func(name string) bool
	}
	var places []place
	home, _ := os.UserHomeDir()
	if filepath.IsAbs(folder) {
		counts := func(string) bool { return true }
		for range maxAbove {
			if folder == home {
				break
			}
			places = append(places, place{folder, counts})
			if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
				counts = readAboveAll
			}
			if folder == filepath.Dir(folder) {
				break
			}
			folder = filepath.Dir(folder)
		}
	}
	if home != "" {
		places = append(places, place{home, func(name string) bool {
			return slices.Contains(ownFiles, name) || strings.HasPrefix(name, ".claude/") && broughtFiles[name] == ""
		}})
	}
	// Always in the same order, and the files that have names of their own first: no folder
	// that is full of others uses up what is read.
	b := &brought{seen: map[string]bool{}, within: map[string]bool{}, listed: map[string][]string{}, left: maxLooked, bytes: maxBroughtRead}
	for _, p := range places {
		for _, name := range slices.Sorted(maps.Keys(broughtFiles)) {
			if p.counts(name) {
				for _, file := range b.folded(p.folder, name) {
					b.file(file, broughtFiles[name])
				}
			}
		}
	}
	for _, p := range places {
		for _, name := range slices.Sorted(maps.Keys(broughtFolders)) {
			if p.counts(name) {
				b.below(filepath.Join(p.folder, filepath.FromSlash(name)), broughtFolders[name], 0)
			}
		}
	}
	return b.told()
}

// readAboveAll are the files that Claude Code reads in all folders above, also those above a
// repository: an agent that makes a repository of a folder does not hide them.
func readAboveAll(name string) bool { return name == "claude.md" || name == "claude.local.md" }

type brought struct {
	files  []act.File
	seen   map[string]bool
	within map[string]bool     // the folders that are being looked at, one in the other
	listed map[string][]string // names in folders
	left   int
	bytes  int64
	more   bool // there is more than was looked at
}

// folded are the files of a name below a folder, whatever its upper and lower case.
func (b *brought) folded(folder, name string) (files []string) {
	dir := filepath.Join(folder, filepath.FromSlash(path.Dir(name)))
	names, known := b.listed[dir]
	if !known {
		if f, err := os.Open(dir); err == nil {
			names, _ = f.Readdirnames(maxNames)
			f.Close()
		}
		b.more = b.more || len(names) == maxNames
		b.listed[dir] = names
	}
	for _, one := range names {
		if strings.EqualFold(one, path.Base(name)) {
			files = append(files, filepath.Join(dir, one))
		}
	}
	slices.Sort(files)
	return files
}

// below gathers all files of a folder, also behind links: agents follow them.
func (b *brought) below(folder, kind string, depth int) {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil || b.within[real] {
		return // or it is a link that leads back
	}
	b.within[real] = true
	defer delete(b.within, real)
	f, err := os.Open(folder)
	if err != nil {
		return
	}
	names, _ := f.Readdirnames(b.left + 1)
	f.Close()
	if b.left -= len(names); b.left < 0 || depth > maxDeep {
		b.more = true
		return
	}
	slices.Sort(names)
	for _, one := range names {
		name := filepath.Join(folder, one)
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			b.below(name, kind, depth+1)
		} else if err == nil {
			b.file(name, kind)
		}
	}
}

// file adds one file.
func (b *brought) file(name, kind string) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || b.seen[name] {
		return
	}
	b.seen[name] = true
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return // nor can the agent, which is the same user
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	one := act.File{Path: strings.ToValidUTF8(filepath.ToSlash(name), "\uFFFD"), Kind: kind}
	h := sha256.New()
	var text strings.Builder
	// What a file says of its size is not believed: those of /proc say 0, and do not end.
	n, err := io.Copy(io.MultiWriter(h, &limited{&text, maxBroughtText + 1}), io.LimitReader(f, b.bytes+1))
	if err != nil {
		b.more = true
		return
	}
	whole := n <= b.bytes
	if b.bytes = max(0, b.bytes-n); !whole { // so much is no instruction: that it was changed is seen by what nobody sets
		fmt.Fprintf(h, "%d %d %s", info.Size(), info.ModTime().UnixNano(), changed(f))
	}
	// Settings hold secrets: what stands in them is not told.
	if kind != "settings" && whole && n <= maxBroughtText && utf8.ValidString(text.String()) {
		one.Text = text.String()
	}
	one.Hash = hex.EncodeToString(h.Sum(nil))
	b.files = append(b.files, one)
}

// limited writes no more than so many bytes, and drops the rest.
type limited struct {
	to   *strings.Builder
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}

// told are the files in their order. Of very many the last are told as one: that one of them
// has changed is seen, and no flood of files hides another.
func (b *brought) told() []act.File {
	slices.SortFunc(b.files, func(x, y act.File) int { return cmp.Compare(x.Path, y.Path) })
	files := b.files
	if len(files) > maxBrought {
		h := sha256.New()
		for _, f := range files[maxBrought:] {
			fmt.Fprintf(h, "%q %s\n", f.Path, f.Hash)
		}
		files = append(files[:maxBrought:maxBrought], act.File{Path: "(the other files)", Kind: "skill", Hash: hex.EncodeToString(h.Sum(nil))})
	}
	if b.more { // which nobody can have agreed to: it is told as another one each time
		files = append(files, act.File{Path: "(more files than are looked at)", Kind: "skill", Hash: hashOfText(rand.Text())})
	}
	left := maxBroughtAll
	for i := range files {
		if left -= len(files[i].Text); left < 0 {
			files[i].Text = ""
		}
	}
	return files
}

func hashOfText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// digestOf is that of a set of files.
func digestOf(files []act.File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %s\n", f.Path, f.Hash)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// filesMember are the files as a step tells them.
func filesMember(files []act.File) jsontext.Value {
	b := []byte{'['}
	for i, f := range files {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(append(b, `{"path":`...), f.Path)
		b = rawjson.AppendString(append(b, `,"kind":`...), f.Kind)
		b = rawjson.AppendString(append(b, `,"sha256":`...), f.Hash)
		if f.Text != "" {
			b = rawjson.AppendString(append(b, `,"text":`...), f.Text)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
