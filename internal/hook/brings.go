package hook

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"

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
		"amazonq.md": "instructions", ".gemini/system.md": "instructions",
		".mcp.json": "settings", ".claude/settings.json": "settings", ".claude/settings.local.json": "settings", ".codex/config.toml": "settings", ".codex/hooks.json": "settings",
		".gemini/settings.json": "settings", ".gemini/.env": "settings", ".cursor/hooks.json": "settings", ".cursor/mcp.json": "settings", ".cursor/cli.json": "settings", ".vscode/mcp.json": "settings",
		".github/copilot/settings.json": "settings", ".github/copilot/settings.local.json": "settings", "opencode.json": "settings", "opencode.jsonc": "settings",
		".opencode/opencode.json": "settings", ".opencode/opencode.jsonc": "settings", ".amazonq/mcp.json": "settings",
	}
	broughtFolders = map[string]string{
		".cursor/rules": "instructions", ".claude/rules": "instructions", ".claude/output-styles": "instructions", ".github/instructions": "instructions", ".windsurf/rules": "instructions", ".amazonq/rules": "instructions",
		".codex/rules": "instructions", ".amazonq/prompts": "instructions",
		".claude/skills": "skill", ".claude/commands": "skill", ".claude/agents": "skill", ".agents/skills": "skill", ".codex/skills": "skill", ".codex/prompts": "skill", ".codex/agents": "skill",
		".gemini/commands": "skill", ".gemini/skills": "skill", ".gemini/agents": "skill", ".gemini/extensions": "skill",
		".github/prompts": "skill", ".github/skills": "skill", ".github/agents": "skill", ".cursor/commands": "skill", ".cursor/skills": "skill", ".cursor/agents": "skill",
		".opencode/agent": "skill", ".opencode/agents": "skill", ".opencode/command": "skill", ".opencode/commands": "skill", ".opencode/skill": "skill", ".opencode/skills": "skill", ".opencode/mode": "skill", ".opencode/modes": "skill",
		".claude/hooks": "settings", ".github/hooks": "settings", ".opencode/plugins": "settings", ".opencode/plugin": "settings", ".opencode/tool": "settings", ".opencode/tools": "settings", ".amazonq/cli-agents": "settings",
	}
	// Those of the user's home folder, where agents also keep what changes all the time.
	ownFiles = map[string]string{
		".claude/claude.md": "instructions", ".claude/settings.json": "settings", ".claude/plugins/installed_plugins.json": "settings", ".claude.json": "settings",
		".codex/agents.md": "instructions", ".codex/agents.override.md": "instructions", ".codex/hooks.json": "settings",
		".gemini/gemini.md": "instructions", ".gemini/system.md": "instructions", ".gemini/settings.json": "settings", ".gemini/.env": "settings",
		".cursor/hooks.json": "settings", ".cursor/mcp.json": "settings", ".cursor/cli-config.json": "settings",
		".config/opencode/agents.md": "instructions", ".config/opencode/opencode.json": "settings", ".config/opencode/opencode.jsonc": "settings",
		".copilot/copilot-instructions.md": "instructions", ".copilot/agents.md": "instructions", ".copilot/mcp-config.json": "settings", ".aws/amazonq/mcp.json": "settings", ".aws/amazonq/global_context.json": "settings",
	}
	ownFolders = map[string]string{
		".claude/rules": "instructions", ".claude/output-styles": "instructions", ".claude/skills": "skill", ".claude/commands": "skill", ".claude/agents": "skill", ".claude/hooks": "settings",
		".codex/rules": "instructions", ".codex/prompts": "skill", ".codex/skills": "skill", ".codex/agents": "skill", ".agents/skills": "skill",
		".gemini/commands": "skill", ".gemini/skills": "skill", ".gemini/agents": "skill", ".gemini/extensions": "skill",
		".cursor/rules": "instructions", ".cursor/commands": "skill", ".cursor/skills": "skill", ".cursor/agents": "skill",
		".config/opencode/agent": "skill", ".config/opencode/agents": "skill", ".config/opencode/command": "skill", ".config/opencode/commands": "skill", ".config/opencode/skill": "skill", ".config/opencode/skills": "skill", ".config/opencode/mode": "skill", ".config/opencode/modes": "skill",
		".config/opencode/plugin": "settings", ".config/opencode/plugins": "settings", ".config/opencode/tool": "settings", ".config/opencode/tools": "settings",
		".copilot/agents": "skill", ".copilot/skills": "skill", ".copilot/instructions": "instructions", ".copilot/hooks": "settings",
		".aws/amazonq/cli-agents": "settings", ".aws/amazonq/prompts": "instructions",
	}
	// elsewhere are the variables that put an agent's own folder somewhere else.
	elsewhere = map[string]string{"CLAUDE_CONFIG_DIR": ".claude/", "CODEX_HOME": ".codex/"}
	// aboveAll are the files that Claude Code reads in all folders above, also those above a
	// repository: an agent that makes a repository of a folder does not hide them.
	aboveAll = map[string]string{"claude.md": "instructions", "claude.local.md": "instructions"}
)

// Bounds of what is looked at.
const (
	maxBrought     = 200       // files of the project, and others, that are told each; the rest together, as one
	maxLooked      = 20_000    // names in folders of which all files count
	maxNames       = 100_000   // names in a folder of which some files count
	maxDeep        = 64        // folders in each other
	maxBroughtRead = 64 << 20  // bytes that are read for hashes
	maxBroughtText = 16 << 10  // bytes of a text that is told
	maxBroughtAll  = 256 << 10 // of all texts
	maxImports     = 5         // instructions that name others that do
	maxImporting   = 4 << 20   // bytes of instructions that are looked through for what they name
)

// lookBrought gathers the files that an agent goes by in a folder, those above it up to the
// repository's, and the user's own. Of repositories in each other the outermost counts: an
// agent makes a new one of a folder in no time.
func lookBrought(folder string) *act.GoesBy {
	type place struct {
		folder         string
		files, folders map[string]string
	}
	var places []place
	goesBy := &act.GoesBy{}
	home, _ := os.UserHomeDir()
	if real, err := filepath.EvalSymlinks(home); err == nil && home != "" {
		home = real
	}
	if filepath.IsAbs(folder) {
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			folder = real // by whatever way it was reached
		}
		files, folders := broughtFiles, broughtFolders
		for range maxAbove {
			if folder == home {
				break
			}
			places = append(places, place{folder, files, folders})
			if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
				files, folders = aboveAll, nil
				goesBy.Project, goesBy.Repository = slashed(folder), repositoryOf(folder)
			}
			if folder == filepath.Dir(folder) {
				break
			}
			folder = filepath.Dir(folder)
		}
	}
	if home != "" {
		places = append(places, place{home, ownFiles, ownFolders})
	}
	for _, variable := range slices.Sorted(maps.Keys(elsewhere)) {
		if own := os.Getenv(variable); filepath.IsAbs(own) {
			places = append(places, place{filepath.Clean(own), beneath(ownFiles, elsewhere[variable]), beneath(ownFolders, elsewhere[variable])})
		}
	}
	// Always in the same order, and the files that have names of their own first: no folder
	// that is full of others uses up what is read.
	b := &brought{home: home, seen: map[string]bool{}, within: map[string]bool{}, listed: map[string][]string{}, left: maxLooked, bytes: maxBroughtRead}
	for _, p := range places {
		b.place = slashed(p.folder)
		if !slices.Contains(goesBy.Places, b.place) {
			goesBy.Places = append(goesBy.Places, b.place)
		}
		for _, name := range slices.Sorted(maps.Keys(p.files)) {
			for _, file := range b.folded(p.folder, name) {
				b.file(file, p.files[name], maxImports)
			}
		}
	}
	for _, p := range places {
		b.place = slashed(p.folder)
		for _, name := range slices.Sorted(maps.Keys(p.folders)) {
			b.below(filepath.Join(p.folder, filepath.FromSlash(name)), p.folders[name], 0)
		}
	}
	goesBy.Files = b.told(goesBy)
	return goesBy
}

func slashed(path string) string { return strings.ToValidUTF8(filepath.ToSlash(path), "\uFFFD") }

// beneath are the names of a table that begin so, without that.
func beneath(table map[string]string, begin string) map[string]string {
	names := map[string]string{}
	for name, kind := range table {
		if rest, is := strings.CutPrefix(name, begin); is {
			names[rest] = kind
		}
	}
	return names
}

type brought struct {
	files  []act.File
	home   string
	place  string // that is looked at
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
		if f, err := regular.OpenFolder(dir); err == nil {
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
	f, err := regular.OpenFolder(folder)
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
			b.file(name, kind, maxImports)
		}
	}
}

// file adds one file, and where it is instructions those that it names, so deep.
func (b *brought) file(name, kind string, deep int) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || b.seen[name] {
		return
	}
	b.seen[name] = true
	f, err := regular.Open(name)
	if err != nil {
		return // nor can the agent, which is the same user
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	one := act.File{Path: slashed(name), Place: b.place, Kind: kind}
	h := sha256.New()
	var text strings.Builder
	// What a file says of its size is not believed: those of /proc say 0, and do not end.
	reads := maxBroughtText + 1
	if kind == "instructions" || filepath.Base(name) == serversFile {
		reads = maxImporting
	}
	n, err := io.Copy(io.MultiWriter(h, &limited{&text, reads}), io.LimitReader(f, b.bytes+1))
	if err != nil {
		b.more = true
		return
	}
	whole := n <= b.bytes
	if b.bytes = max(0, b.bytes-n); !whole { // so much is no instruction: that it was changed is seen by what nobody sets
		fmt.Fprintf(h, "%d %d %s", info.Size(), info.ModTime().UnixNano(), changed(f))
	}
	if kind == "settings" && filepath.Base(name) == serversFile && whole && n < maxImporting {
		h = sha256.New() // of what changes with each session there, the servers alone count
		h.Write(serversIn(text.String()))
	}
	// Settings hold secrets: what stands in them is not told.
	// Nor is what stands in what instructions name, such as a key, but for texts.
	told := kind != "settings" && (deep == maxImports || slices.Contains([]string{".md", ".mdc", ".markdown", ".txt"}, strings.ToLower(filepath.Ext(name))))
	if told && whole && n <= maxBroughtText && utf8.ValidString(text.String()) {
		one.Text = text.String()
	}
	one.Hash = hex.EncodeToString(h.Sum(nil))
	b.files = append(b.files, one)
	if kind == "instructions" && deep > 0 {
		for _, named := range imported.FindAllStringSubmatch(text.String(), -1) {
			if b.left--; b.left < 0 {
				b.more = true
				return
			}
			for _, to := range []string{named[1], strings.TrimRight(named[1], ".,;:!?\"'*_")} { // or a sentence ends there
				if to != "" {
					b.file(b.whereTo(to, filepath.Dir(name)), kind, deep-1)
				}
			}
		}
	}
}

// imported is what instructions of Claude Code and Gemini CLI name to be read with them.
var imported = lazyregexp.New(`(?m)(?:^|[\s(])@((?:\\ |[^\s\x60)])+)`)

// whereTo is the file that a name in instructions means.
func (b *brought) whereTo(name, folder string) string {
	name = strings.ReplaceAll(name, `\ `, " ")
	if rest, is := strings.CutPrefix(name, "~/"); is {
		return filepath.Join(b.home, rest)
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, name)
}

// serversFile is where Claude Code keeps the user's own MCP servers.
const serversFile = ".claude.json"

// serversIn are the MCP servers that Claude Code keeps among much else.
func serversIn(text string) []byte {
	doc, err := rawjson.Parse([]byte(text))
	if err != nil {
		return []byte(text)
	}
	servers := doc.Root().Get("mcpServers").AppendCanonical(nil)
	for folder, project := range doc.Root().Get("projects").Members() {
		if own := project.Get("mcpServers"); own.Len() > 0 {
			servers = own.AppendCanonical(fmt.Appendf(servers, "%q", folder))
		}
	}
	return servers
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

// told are the files in their order. Of very many, within the project or outside of it, the
// last are told as one: that one of them has changed is seen, and no flood of files hides
// another.
func (b *brought) told(goesBy *act.GoesBy) []act.File {
	slices.SortFunc(b.files, func(x, y act.File) int { return cmp.Compare(x.Path, y.Path) })
	files, others, count := []act.File{}, map[string]hash.Hash{}, map[string]int{}
	for _, f := range b.files {
		of := ""
		if goesBy.Project != "" && strings.HasPrefix(f.Path, strings.TrimSuffix(goesBy.Project, "/")+"/") {
			of = goesBy.Project
		}
		if count[of]++; count[of] <= maxBrought {
			files = append(files, f)
			continue
		}
		if others[of] == nil {
			others[of] = sha256.New()
		}
		fmt.Fprintf(others[of], "%q %s\n", f.Path, f.Hash)
	}
	rest := func(of, name, sum string) {
		place := cmp.Or(of, goesBy.Places[0])
		files = append(files, act.File{Path: path.Join(place, name), Place: place, Kind: "skill", Hash: sum})
	}
	for _, of := range slices.Sorted(maps.Keys(others)) {
		rest(of, "(the other files)", hex.EncodeToString(others[of].Sum(nil)))
	}
	if b.more { // which nobody can have agreed to: it is told as another one each time
		rest(goesBy.Project, "(more files than are looked at)", hashOfText(rand.Text()))
	}
	left := maxBroughtAll
	for i := range files {
		if left -= len(files[i].Text); left < 0 {
			files[i].Text = ""
		}
	}
	return files
}

// repositoryOf names the repository in a folder, so that its clones and work trees are known
// as the same one: by where it was cloned from, or else by the folder that all of it lies in.
// A repository can say that it is another one: then its files are held to those.
func repositoryOf(folder string) string {
	common := filepath.Join(folder, ".git")
	if text, err := readConfig(common); err == nil && text != nil { // of a work tree, it says where the repository is
		to, _ := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
		if common = strings.TrimSpace(to); !filepath.IsAbs(common) {
			common = filepath.Join(folder, common)
		}
		if text, err := readConfig(filepath.Join(common, "commondir")); err == nil && text != nil {
			if to := strings.TrimSpace(string(text)); filepath.IsAbs(to) {
				common = to
			} else {
				common = filepath.Join(common, to)
			}
		}
	}
	if text, err := readConfig(filepath.Join(common, "config")); err == nil {
		if from := clonedFrom(string(text)); from != "" {
			return addressOf(from, folder)
		}
	}
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	return slashed(strings.TrimSuffix(common, string(filepath.Separator)+".git"))
}

// clonedFrom is the address of the remote "origin" in git's configuration, or of the first.
func clonedFrom(config string) (from string) {
	remote := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			remote = ""
			if name, ok := strings.CutPrefix(line, "[remote "); ok {
				remote = strings.Trim(name, `"] `)
			}
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if remote == "" || !strings.EqualFold(strings.TrimSpace(name), "url") {
			continue
		}
		if value = strings.Trim(strings.TrimSpace(value), `"`); remote == "origin" {
			return value
		} else if from == "" {
			from = value
		}
	}
	return from
}

// addressOf is a repository's address as it is the same by whichever way it is reached, and
// without what is secret in it.
func addressOf(from, folder string) string {
	scheme, rest, is := strings.Cut(from, "://")
	host, way, scp := strings.Cut(from, ":")
	switch {
	case is && !strings.EqualFold(scheme, "file"):
		host, way, _ = strings.Cut(rest, "/")
	case scp && !is && len(host) > 1 && !strings.ContainsAny(host, "/\\"): // user@host:path
	default: // a folder of this machine
		if is {
			from = rest
		}
		if !filepath.IsAbs(from) {
			from = filepath.Join(folder, from)
		}
		return slashed(strings.TrimSuffix(filepath.Clean(from), string(filepath.Separator)+".git"))
	}
	host = strings.ToLower(host[strings.LastIndex(host, "@")+1:])
	return strings.ToValidUTF8(host+"/"+strings.Trim(strings.TrimSuffix(strings.Trim(way, "/"), ".git"), "/"), "\uFFFD")
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

// goesByMembers are the files as a step tells them, with where it was looked for them.
func goesByMembers(goesBy *act.GoesBy) map[string]any {
	b := []byte{'['}
	for i, f := range goesBy.Files {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(append(b, `{"path":`...), f.Path)
		b = rawjson.AppendString(append(b, `,"place":`...), f.Place)
		b = rawjson.AppendString(append(b, `,"kind":`...), f.Kind)
		b = rawjson.AppendString(append(b, `,"sha256":`...), f.Hash)
		if f.Text != "" {
			b = rawjson.AppendString(append(b, `,"text":`...), f.Text)
		}
		b = append(b, '}')
	}
	members := map[string]any{"files": jsontext.Value(append(b, ']')), "places": goesBy.Places}
	if goesBy.Project != "" {
		members["project"] = map[string]string{"folder": goesBy.Project, "repository": goesBy.Repository}
	}
	return members
}
