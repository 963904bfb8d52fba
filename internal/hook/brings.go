package hook

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	maxLooked      = 5000      // names in folders
	maxBroughtRead = 64 << 20  // bytes that are read for hashes
	maxBroughtText = 16 << 10  // bytes of a text that is told
	maxBroughtAll  = 256 << 10 // of all texts
)

// lookBrought gathers the files that an agent goes by in a folder, those above it up to the
// repository's, and the user's own.
func lookBrought(folder string) []act.File {
	b := &brought{seen: map[string]bool{}, left: maxLooked, bytes: maxBroughtRead}
	home, _ := os.UserHomeDir()
	if filepath.IsAbs(folder) {
		for range maxAbove {
			if folder == home {
				break
			}
			b.folder(folder, func(string) bool { return true })
			if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil || folder == filepath.Dir(folder) {
				break
			}
			folder = filepath.Dir(folder)
		}
	}
	if home != "" {
		b.folder(home, func(name string) bool {
			return slices.Contains(ownFiles, name) || strings.HasPrefix(name, ".claude/") && broughtFiles[name] == ""
		})
	}
	return b.told()
}

type brought struct {
	files []act.File
	seen  map[string]bool
	left  int
	bytes int64
}

// folder gathers the files below one folder whose names count.
func (b *brought) folder(folder string, counts func(name string) bool) {
	for name, kind := range broughtFiles {
		if !counts(name) {
			continue
		}
		for _, file := range foldedFiles(folder, name) {
			b.file(file, kind)
		}
	}
	for name, kind := range broughtFolders {
		if counts(name) {
			b.below(filepath.Join(folder, filepath.FromSlash(name)), kind, 0)
		}
	}
}

// foldedFiles are the files of a name below a folder, whatever its upper and lower case.
func foldedFiles(folder, name string) (files []string) {
	dir := filepath.Join(folder, filepath.FromSlash(path.Dir(name)))
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxLooked)
	for _, one := range names {
		if strings.EqualFold(one, path.Base(name)) {
			files = append(files, filepath.Join(dir, one))
		}
	}
	return files
}

// below gathers all files of a folder, also behind links: agents follow them.
func (b *brought) below(folder, kind string, depth int) {
	entries, err := os.ReadDir(folder)
	if err != nil || depth > 8 {
		return
	}
	for _, entry := range entries {
		if b.left--; b.left < 0 {
			return
		}
		name := filepath.Join(folder, entry.Name())
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			b.below(name, kind, depth+1)
		} else if err == nil {
			b.file(name, kind)
		}
	}
}

// file adds one file.
func (b *brought) file(name, kind string) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || b.seen[name] {
		return
	}
	b.seen[name] = true
	one := act.File{Path: strings.ToValidUTF8(filepath.ToSlash(name), "\uFFFD"), Kind: kind}
	f, err := os.Open(name)
	if err != nil {
		return // nor can the agent, which is the same user
	}
	defer f.Close()
	h := sha256.New()
	if b.bytes -= info.Size(); b.bytes < 0 { // so much is no instruction: its size and time tell that it changed
		fmt.Fprintf(h, "%d %d", info.Size(), info.ModTime().UnixNano())
	} else {
		var text strings.Builder
		n, err := io.Copy(io.MultiWriter(h, &limited{&text, maxBroughtText + 1}), f)
		if err != nil {
			return
		}
		// Settings hold secrets: what stands in them is not told.
		if kind != "settings" && n <= maxBroughtText && utf8.ValidString(text.String()) {
			one.Text = text.String()
		}
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
	if b.left < 0 {
		files = append(files, act.File{Path: "(more files than are looked at)", Kind: "skill", Hash: hashOfText("more")})
	}
	if len(files) > maxBrought {
		h := sha256.New()
		for _, f := range files[maxBrought:] {
			fmt.Fprintf(h, "%q %s\n", f.Path, f.Hash)
		}
		files = append(files[:maxBrought:maxBrought], act.File{Path: "(the other files)", Kind: "skill", Hash: hex.EncodeToString(h.Sum(nil))})
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
