package hook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBroughtProject: the project is the outermost repository, wherever in it an agent works
// and by whichever way it got there, and is known by where it was cloned from.
func TestBroughtProject(t *testing.T) {
	root := t.TempDir()
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	remote := func(url string) string {
		return "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = https://elsewhere.example/x\n[remote \"origin\"]\n\turl = " + url + "\n"
	}
	for name, text := range map[string]string{
		"one/.git/config": remote("https://ann:secret@Git.example/team/app.git"), "one/sub/.git/HEAD": "x", "one/sub/deep/x": "", "one/AGENTS.md": "x",
		"two/.git/config": remote("git@git.example:team/app"), "three/.git/config": remote("ssh://git@git.example/team/app/"),
		"plain/.git/config": "[core]\n", "copy/.git/config": remote(filepath.Join(root, "plain")), "far/.git/config": remote("../plain/.git"), "file/.git/config": remote("file://" + filepath.ToSlash(root) + "/plain"),
		"tree/.git": "gitdir: " + filepath.Join(root, "plain", ".git", "worktrees", "tree") + "\n", "plain/.git/worktrees/tree/commondir": "../..\n",
		"odd/.git": "gitdir: \x00", "none/AGENTS.md": "x",
	} {
		writeFile(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	link(t, filepath.Join(root, "one", "sub"), filepath.Join(root, "link"))
	app, plain := "git.example/team/app", filepath.ToSlash(root)+"/plain"
	for folder, want := range map[string][2]string{
		"one": {"one", app}, "one/sub": {"one", app}, "one/sub/deep": {"one", app}, "link": {"one", app}, "link/deep": {"one", app}, "two": {"two", app}, "three": {"three", app},
		"plain": {"plain", plain}, "copy": {"copy", plain}, "far": {"far", plain}, "file": {"file", plain}, "tree": {"tree", plain}, "none": {"", ""},
	} {
		got := lookBrought(filepath.Join(root, filepath.FromSlash(folder)))
		project := strings.TrimPrefix(strings.TrimPrefix(got.Project, filepath.ToSlash(root)), "/")
		if project != want[0] || got.Repository != want[1] || got.Files == nil || len(got.Places) < 2 {
			t.Errorf("%s: %+v, want %q", folder, got, want)
		}
		for _, f := range got.Files {
			if !slices.Contains(got.Places, f.Place) {
				t.Errorf("%s: %s is of %q, where nobody looked", folder, f.Path, f.Place)
			}
		}
	}
	lookBrought(filepath.Join(root, "odd")) // is no reason to stop
}

// TestBrought: what a repository brings is found in the folder, above it up to the
// repository's, behind links and in any case; settings are told without what stands in them.
func TestBrought(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", filepath.Join(root, "home"))
	repository := filepath.Join(root, "above", "repository")
	work := filepath.Join(repository, "a", "b")
	for name, text := range map[string]string{
		"above/AGENTS.md": "not of it", "above/repository/.git/HEAD": "x", "above/repository/agents.MD": "be kind", "above/repository/a/CLAUDE.md": "be brief", "above/repository/a/b/README.md": "nothing",
		"above/repository/.claude/skills/pdf/SKILL.md": "read", "above/repository/.claude/skills/pdf/run.sh": "#!/bin/sh", "above/repository/.mcp.json": `{"token":"secret"}`,
		"above/repository/.cursor/rules/deep/x.mdc": "rule", "home/.claude/CLAUDE.md": "mine", "home/.claude/projects/x.jsonl": "a log", "home/.claude/skills/own/SKILL.md": "own", "home/AGENTS.md": "none's", "elsewhere/evil.md": "linked",
	} {
		writeFile(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	if err := os.Symlink(filepath.Join(root, "elsewhere"), filepath.Join(repository, ".claude", "commands")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range lookBrought(work).Files {
		rel, _ := filepath.Rel(root, f.Path)
		got = append(got, rel+" "+f.Kind+" "+f.Text)
	}
	want := []string{
		"above/repository/.claude/commands/evil.md skill linked", "above/repository/.claude/skills/pdf/SKILL.md skill read", "above/repository/.claude/skills/pdf/run.sh skill #!/bin/sh",
		"above/repository/.cursor/rules/deep/x.mdc instructions rule", "above/repository/.mcp.json settings ", "above/repository/a/CLAUDE.md instructions be brief", "above/repository/agents.MD instructions be kind",
		"home/.claude/CLAUDE.md instructions mine", "home/.claude/skills/own/SKILL.md skill own",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestBroughtOwn: the user's own files count wherever an agent works, also where a variable
// puts them; of what Claude Code keeps about itself, the servers alone.
func TestBroughtOwn(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(root, "config"))
	writeFile(t, filepath.Join(root, "work", "x"), "")
	for _, name := range []string{
		"home/.codex/AGENTS.md", "home/.codex/prompts/a.md", "home/.codex/skills/a/SKILL.md", "home/.agents/skills/a/SKILL.md", "home/.gemini/GEMINI.md", "home/.gemini/commands/a.toml",
		"home/.gemini/extensions/a/gemini-extension.json", "home/.config/opencode/AGENTS.md", "home/.config/opencode/plugin/a.ts", "home/.copilot/agents/a.md", "home/.copilot/mcp-config.json",
		"home/.aws/amazonq/cli-agents/a.json", "home/.claude/output-styles/a.md", "config/CLAUDE.md", "config/skills/a/SKILL.md", "config/settings.json",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		before := digestOf(lookBrought(filepath.Join(root, "work")).Files)
		writeFile(t, file, "be kind")
		came := digestOf(lookBrought(filepath.Join(root, "work")).Files)
		writeFile(t, file, "be cruel")
		if is := digestOf(lookBrought(filepath.Join(root, "work")).Files); before == came || came == is {
			t.Errorf("%s comes and changes, and nobody hears of it", name)
		}
	}
	own := filepath.Join(root, "home", ".claude.json")
	digest := func(text string) string {
		writeFile(t, own, text)
		return digestOf(lookBrought(filepath.Join(root, "work")).Files)
	}
	was := digest(`{"numStartups":1,"mcpServers":{"a":{"command":"a"}},"projects":{"/srv/x":{"mcpServers":{},"history":[]}}}`)
	if digest(`{"numStartups":2,"mcpServers":{"a":{"command":"a"}},"projects":{"/srv/x":{"mcpServers":{},"history":["x"]},"/srv/y":{}}}`) != was {
		t.Error("each start is a change")
	}
	for _, text := range []string{`{"mcpServers":{"a":{"command":"b"}}}`, `{"mcpServers":{"a":{"command":"a"}},"projects":{"/srv/x":{"mcpServers":{"b":{}}}}}`, `{`} {
		if digest(text) == was {
			t.Errorf("%s is no change", text)
		}
	}
}

// TestBroughtImports: what instructions name is looked at with them, and what that names, so
// deep; of what is no text nothing but the hash is told.
func TestBroughtImports(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", filepath.Join(root, "home"))
	for name, text := range map[string]string{
		"work/.git/HEAD": "x", "work/CLAUDE.md": "See @docs/a.md, and @~/own.md.\n- @./two\\ words.md (@docs/end.md) mail@docs/none.md @key @loop.md\n@" + filepath.ToSlash(root) + "/far.md",
		"work/docs/a.md": "@b.md", "work/docs/b.md": "@../c.md", "work/c.md": "", "home/own.md": "", "work/two words.md": "", "work/docs/end.md": "", "work/docs/none.md": "", "work/key": "secret", "work/loop.md": "@loop.md @CLAUDE.md", "far.md": "far",
		"work/.claude/skills/s/SKILL.md": "@../../../skilled.md", "work/skilled.md": "",
	} {
		writeFile(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	var got []string
	for _, f := range lookBrought(filepath.Join(root, "work")).Files {
		real, _ := filepath.EvalSymlinks(root)
		rel, _ := filepath.Rel(real, f.Path)
		if strings.HasPrefix(rel, "..") {
			rel, _ = filepath.Rel(root, f.Path)
		}
		got = append(got, rel)
		if rel == "work/key" && f.Text != "" {
			t.Error("what a key holds is told")
		}
	}
	slices.Sort(got)
	want := []string{"far.md", "home/own.md", "work/.claude/skills/s/SKILL.md", "work/CLAUDE.md", "work/c.md", "work/docs/a.md", "work/docs/b.md", "work/docs/end.md", "work/key", "work/loop.md", "work/two words.md"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestBroughtMany: a flood of files hides none that changes, and is told within bounds.
func TestBroughtMany(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", filepath.Join(root, "home"))
	for i := range 2 * maxBrought {
		writeFile(t, filepath.Join(root, ".claude", "skills", fmt.Sprintf("%04d", i), "SKILL.md"), strings.Repeat("x", 4096))
	}
	writeFile(t, filepath.Join(root, ".git", "HEAD"), "")
	before := lookBrought(root).Files
	if len(before) != maxBrought+1 {
		t.Fatalf("%d files are told", len(before))
	}
	size := 0
	for _, f := range before {
		size += len(f.Text)
	}
	if size > maxBroughtAll {
		t.Errorf("%d bytes of texts are told", size)
	}
	writeFile(t, filepath.Join(root, ".claude", "skills", fmt.Sprintf("%04d", 2*maxBrought-1), "SKILL.md"), "run rm")
	if digestOf(before) == digestOf(lookBrought(root).Files) {
		t.Error("the last file of many has changed, and nobody hears of it")
	}
	writeFile(t, filepath.Join(root, ".claude", "skills", strings.Repeat("d/", maxDeep+2), "SKILL.md"), "too deep")
	once, again := lookBrought(root).Files, lookBrought(root).Files
	if digestOf(once) == digestOf(again) {
		t.Error("what is not looked at is told as if somebody could agree to it")
	}
	writeFile(t, filepath.Join(root, "big", "AGENTS.md"), strings.Repeat("y", maxBroughtText+1))
	for _, f := range lookBrought(filepath.Join(root, "big")).Files {
		if strings.HasSuffix(f.Path, "AGENTS.md") && f.Text != "" {
			t.Error("a long text is told whole")
		}
	}
}

// TestBroughtHidden: an agent, or a repository, hides no change of a file by what else it
// lays beside it, and has nobody wait.
func TestBroughtHidden(t *testing.T) {
	for name, c := range map[string]struct {
		lay    func(t *testing.T, root string) // before
		change func(t *testing.T, root string)
	}{
		"a file that does not end": {func(t *testing.T, root string) {
			link(t, "/dev/zero", filepath.Join(root, ".claude", "skills", "a.md")) // no regular one
			if runtime.GOOS == "linux" {
				link(t, "/proc/self/pagemap", filepath.Join(root, ".claude", "skills", "b.md")) // a regular one
			}
		}, nil},
		"a link that leads back": {func(t *testing.T, root string) {
			for i := range 4 {
				link(t, "..", filepath.Join(root, ".claude", "skills", fmt.Sprint("a", i), "up"))
			}
		}, nil},
		"more than is read": {func(t *testing.T, root string) {
			big := filepath.Join(root, ".agents", "skills", "big")
			writeFile(t, big, "")
			if err := os.Truncate(big, 2*maxBroughtRead); err != nil {
				t.Fatal(err)
			}
		}, nil},
		"the same size and time, behind more than is read": {func(t *testing.T, root string) {
			big := filepath.Join(root, ".agents", "skills", "big")
			writeFile(t, big, "")
			if err := os.Truncate(big, 2*maxBroughtRead); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, root string) {
			file := filepath.Join(root, ".claude", "skills", "z", "SKILL.md")
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, file, "be cruel")
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		"a repository in the repository": {nil, func(t *testing.T, root string) {
			writeFile(t, filepath.Join(root, "work", ".git", "HEAD"), "")
			writeFile(t, filepath.Join(root, "CLAUDE.md"), "be cruel")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			t.Setenv("HOME", filepath.Join(root, "home"))
			writeFile(t, filepath.Join(root, ".git", "HEAD"), "")
			writeFile(t, filepath.Join(root, "CLAUDE.md"), "be kind")
			writeFile(t, filepath.Join(root, ".claude", "skills", "z", "SKILL.md"), "be kind")
			writeFile(t, filepath.Join(root, "work", "x"), "")
			if c.lay != nil {
				c.lay(t, root)
			}
			if c.change == nil {
				c.change = func(t *testing.T, root string) { writeFile(t, filepath.Join(root, "CLAUDE.md"), "be cruel") }
			}
			hashOf := func(name string) string {
				files := lookBrought(filepath.Join(root, "work")).Files
				for _, f := range files {
					if f.Path == filepath.ToSlash(filepath.Join(root, filepath.FromSlash(name))) {
						return f.Hash
					}
				}
				return digestOf(files)
			}
			was := []string{hashOf("CLAUDE.md"), hashOf(".claude/skills/z/SKILL.md")}
			c.change(t, root)
			if is := []string{hashOf("CLAUDE.md"), hashOf(".claude/skills/z/SKILL.md")}; slices.Equal(was, is) {
				t.Error("a file changed, and nobody hears of it")
			}
		})
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// TestBroughtTold: the guardian hears of the files when a session begins and before each
// prompt; their texts once, and again when one has changed; what it says of them is shown.
func TestBroughtTold(t *testing.T) {
	root := t.TempDir()
	t.Setenv("HOME", filepath.Join(root, "home"))
	writeFile(t, filepath.Join(root, ".git", "HEAD"), "")
	writeFile(t, filepath.Join(root, "CLAUDE.md"), "be kind")
	run := Run{Agent: "claude-code", Trails: filepath.Join(root, "trails"), Timeout: time.Minute}
	respond := func(event, rest string) (texts []string, told string) {
		t.Helper()
		input := fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","cwd":%q%s}`, event, root, rest)
		answer := run.Respond(t.Context(), []byte(input), func(_ context.Context, request []byte) (*Decision, error) {
			doc, err := rawjson.Parse(request)
			if err != nil {
				t.Fatal(err)
			}
			files := doc.At("/params/context/session/metadata/files")
			if files.Exists() {
				texts = []string{}
			}
			for _, f := range files.Elems() {
				texts = append(texts, f.Get("text").Text())
			}
			return &Decision{Effect: act.Allow, ID: "0-1", Files: []string{"CLAUDE.md changed."}}, nil
		})
		return texts, answer.Stderr
	}
	for i, c := range []struct {
		event, rest string
		write       string
		want        []string
		told        bool
	}{
		{"SessionStart", `,"source":"startup"`, "", []string{"be kind"}, true},
		{"UserPromptSubmit", `,"prompt":"hello"`, "", []string{""}, false},
		{"UserPromptSubmit", `,"prompt":"hello"`, "be cruel", []string{"be cruel"}, true},
		{"UserPromptSubmit", `,"prompt":"hello"`, "", []string{""}, false},
		{"PreToolUse", `,"tool_name":"Read","tool_input":{"file_path":"x"}`, "", nil, false},
		{"UserPromptSubmit", `,"prompt":"hello"`, "-", []string{}, true},
		{"UserPromptSubmit", `,"prompt":"hello"`, "", []string{}, false},
		{"UserPromptSubmit", `,"prompt":"hello"`, "be cruel", []string{"be cruel"}, true},
	} {
		switch c.write {
		case "":
		case "-":
			if err := os.Remove(filepath.Join(root, "CLAUDE.md")); err != nil {
				t.Fatal(err)
			}
		default:
			writeFile(t, filepath.Join(root, "CLAUDE.md"), c.write)
		}
		texts, told := respond(c.event, c.rest)
		if !slices.Equal(texts, c.want) || (texts == nil) != (c.want == nil) || strings.Contains(told, "CLAUDE.md changed") != c.told {
			t.Errorf("%d: told %q, and said %q", i, texts, told)
		}
	}
}
