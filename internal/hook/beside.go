package hook

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"
)

// Agents give their models more than prompts and results: the files that a prompt names
// with @, the text of a command or a skill. They read these themselves, run the commands
// that stand in a skill, and call no hook for it. So the same is read here, and judged
// before the prompt or the call goes on: texts as what was looked up, commands as calls of
// the shell. Nothing of it can be changed: what must not be read as it is blocks the prompt.

// attachments are what an agent gives its model beside an event: no hook is called for them.
type attachments struct {
	texts    []attachment
	commands []string // that the agent runs to make a text
}

type attachment struct {
	name string // a file's, or what else it is
	text string
}

// Bounds of what is read for one event.
const (
	maxBeside   = 4 << 20
	maxBesides  = 256
	maxMentions = 1024 // places with an @ in one text
	maxMention  = 1024 // bytes of a name
	maxListed   = 1000 // names of a folder
	maxCommands = 64   // that a skill runs
)

// judgeBeside asks about what the agent does and gives its model beside an event. The
// decision is the first that does not let it pass; nil if all of it may.
func (e *Event) judgeBeside(ctx context.Context, turn, call string, ask func(context.Context, []byte) (*Decision, error)) (*Decision, error) {
	context := e.context(turn, call, time.Now())
	step := context.StepID
	for i, command := range e.beside.commands {
		id := fmt.Sprintf("%s:runs:%d", step, i)
		context.StepID = id
		request, err := request("steps/toolCallRequest", &aos.ToolCallRequestParams{Context: context, ToolCallRequest: aos.ToolCallRequest{
			ExecutionID: id, ToolID: Shell, Inputs: []aos.ToolArgumentValue{{Name: "command", Value: rawjson.Quote(command)}},
		}})
		if err != nil {
			return nil, err
		}
		d, err := ask(ctx, request)
		if err != nil {
			return nil, err
		}
		if d.Effect != act.Allow {
			return e.held(d, "A command that "+e.Agent.Name+" would run by itself for this is not allowed."), nil
		}
	}
	if len(e.beside.texts) == 0 {
		return nil, nil
	}
	retrieval := aos.KnowledgeRetrievalStepParams{Query: "what " + e.Agent.Name + " reads by itself"}
	for _, b := range e.beside.texts {
		retrieval.Results = append(retrieval.Results, aos.KnowledgeRetrievalResult{ID: b.name, Content: b.text})
	}
	context.StepID = step + ":beside"
	request, err := request("steps/knowledgeRetrieval", &aos.KnowledgeRetrievalParams{Context: context, KnowledgeStep: retrieval})
	if err != nil {
		return nil, err
	}
	d, err := ask(ctx, request)
	if err != nil || d.Effect == act.Allow {
		return nil, err
	}
	return e.held(d, e.Agent.Name+" would read by itself what must not be read as it is. Leave it out, and have it read with a tool."), nil
}

// held is a decision about what goes with an event, as one about the event.
func (e *Event) held(d *Decision, why string) *Decision {
	return &Decision{Effect: act.Deny, Message: sentences(why, d.said()), Instead: d.Instead, Codes: d.Codes, ID: d.ID}
}

// geminiContents is what Gemini CLI writes before the files that a prompt names.
const geminiContents = "\n--- Content from referenced files ---"

// readsContents takes the files' contents out of a prompt of Gemini CLI's, which has them
// at its end: they are not what the user said.
func (e *Event) readsContents() {
	for i, t := range e.texts {
		if said, contents, ok := strings.Cut(t.text, geminiContents); ok {
			e.texts[i] = text{text: said}
			e.beside.texts = append(e.beside.texts, attachment{"the files that the prompt names", contents})
		}
	}
}

// claudeReads gathers what Claude Code reads by itself when it is given a prompt: the files
// that it names, and the command that it begins with.
func (e *Event) claudeReads(prompt string) error {
	g := newGatherer(e)
	if line, ok := strings.CutPrefix(strings.TrimSpace(prompt), "/"); ok {
		name, arguments, _ := strings.Cut(line, " ")
		g.command(name, arguments)
	}
	g.mentioned(prompt)
	return g.err
}

// claudeSkill gathers the text of a skill that the model calls for.
func (e *Event) claudeSkill() error {
	g := newGatherer(e)
	arguments := firstOf(e.input, "args", "arguments")
	said := arguments.Text()
	if said == "" {
		said = string(arguments.Raw())
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(first(e.input, "skill", "command", "name")), "/"), " ")
	g.command(name, strings.TrimSpace(rest+" "+said))
	return g.err
}

// claudeInstructions reads a file of instructions, which Claude Code tells of after it has
// read it.
func (e *Event) claudeInstructions(name string) error {
	g := newGatherer(e)
	said, ok := g.file(name)
	if !ok && g.err == nil {
		said = "[" + e.Agent.Name + " has read this file, and it cannot be read now: not seen by reeve]"
	}
	e.About, e.beside.texts = name, nil
	e.texts = []text{{text: said}}
	return g.err
}

// gatherer reads what an agent reads.
type gatherer struct {
	e    *Event
	left int // bytes
	seen map[string]bool
	err  error
}

func newGatherer(e *Event) *gatherer {
	return &gatherer{e: e, left: maxBeside, seen: map[string]bool{}}
}

// runsInText are the commands in the text of a skill, and substituted what is put into them.
var (
	runsInText  = lazyregexp.New("(?s)!`([^`]+)`|```!(.*?)```")
	substituted = lazyregexp.New(`\$(ARGUMENTS(\[[0-9]+\])?|[0-9]+)`)
)

// runs gathers the commands that a skill's text runs.
func (g *gatherer) runs(text, arguments string) {
	for _, m := range runsInText.FindAllStringSubmatch(text, -1) {
		command := substituted.ReplaceAllLiteralString(m[1]+m[2], arguments)
		if !g.run(command) {
			return
		}
		g.add("the output of "+command, "["+g.e.Agent.Name+" runs this itself: its output is not seen by reeve]")
	}
}

// run gathers a command that the agent runs, and reports whether there is room for it.
func (g *gatherer) run(command string) bool {
	if len(g.e.beside.commands) == maxCommands {
		g.fail("the skill runs too many commands")
		return false
	}
	g.e.beside.commands = append(g.e.beside.commands, command)
	return true
}

// command reads the files of a command or a skill of this name: of the user, of the
// repository and the folders above it, and of plugins.
func (g *gatherer) command(name, arguments string) {
	plugin, own, ok := strings.Cut(name, ":")
	names := []string{name, strings.ReplaceAll(name, ":", "/")}
	if ok {
		names = append(names, own)
	}
	folder := Folder("claude-code", os.Getenv)
	if home, err := os.UserHomeDir(); err == nil && folder == "" {
		folder = filepath.Join(home, ".claude")
	}
	folders := []string{folder}
	for dir := g.e.Cwd; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		folders = append(folders, filepath.Join(dir, ".claude"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if ok {
		for _, pattern := range []string{"*/" + plugin, "*/*/" + plugin, "*/*/" + plugin + "/*"} {
			found, _ := filepath.Glob(filepath.Join(folder, "plugins", pattern))
			folders = append(folders, found...)
		}
	}
	for _, folder := range folders {
		for _, file := range skillFiles(folder, names) {
			text, ok := g.file(file)
			if !ok {
				continue
			}
			for _, command := range headCommands(text) {
				g.run(command)
			}
			g.runs(text, arguments)
			g.mentioned(text)
		}
	}
}

// mentioned reads the files that a text names after an @. Where such a name ends, and what
// may stand before it, agents see differently: so every file that it could be is read.
func (g *gatherer) mentioned(text string) {
	places := 0
	for rest := text; ; {
		i := strings.IndexByte(rest, '@')
		if i < 0 {
			return
		}
		if places++; places > maxMentions {
			g.fail("the prompt names too many files")
			return
		}
		rest = rest[i+1:]
		for _, name := range namesAt(rest) {
			if server, uri, ok := strings.Cut(name, ":"); ok && server != "" && strings.Contains(uri, "://") {
				g.add("@"+name, "["+g.e.Agent.Name+" may read this resource of an MCP server itself: not seen by reeve]")
			}
			file := name
			if strings.HasPrefix(file, "~/") {
				if home, err := os.UserHomeDir(); err == nil {
					file = filepath.Join(home, file[2:])
				}
			}
			if !filepath.IsAbs(file) {
				file = filepath.Join(g.e.Cwd, filepath.FromSlash(file))
			}
			g.file(file)
		}
	}
}

// namesAt are the names that may begin at the start of a text: in quotation marks, or up to
// each place where a word could end.
func namesAt(text string) (names []string) {
	if len(text) > maxMention {
		text = text[:maxMention]
	}
	for _, mark := range []string{`"`, "'"} {
		if inner, ok := strings.CutPrefix(text, mark); ok {
			if name, _, ok := strings.Cut(inner, mark); ok && name != "" {
				return []string{name}
			}
		}
	}
	var plain []byte // without the backslashes that keep a word together
	escaped, last := false, rune(0)
	add := func() {
		if name := string(plain); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, r := range text {
		if !escaped && unicode.IsSpace(r) {
			break
		}
		if !escaped && r == '\\' {
			escaped = true
			continue
		}
		if escaped = false; !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && last != 0 {
			add()
		}
		plain, last = utf8.AppendRune(plain, r), r
	}
	add()
	return names
}

// file reads a file that is there, or lists a folder.
func (g *gatherer) file(name string) (text string, ok bool) {
	info, err := os.Stat(name)
	if err != nil || g.seen[name] || g.err != nil {
		return "", false
	}
	g.seen[name] = true
	switch {
	case info.IsDir():
		entries, err := os.ReadDir(name)
		if err != nil {
			return "", false
		}
		for i, entry := range entries {
			if i == maxListed {
				break
			}
			text += entry.Name() + "\n"
		}
	case info.Mode().IsRegular():
		f, err := regular.Open(name)
		if err != nil {
			return "", false // nor can the agent, which is the same user
		}
		defer f.Close()
		read, err := io.ReadAll(io.LimitReader(f, int64(g.left)+1))
		if err != nil {
			return "", false
		}
		if len(read) > g.left {
			g.fail(fmt.Sprintf("%s is too large to be judged before it is read: have it read with a tool, in parts", name))
			return "", false
		}
		text = strings.ToValidUTF8(string(read), "\ufffd")
	default:
		return "", false
	}
	g.add(name, text)
	return text, true
}

func (g *gatherer) add(name, text string) {
	if len(g.e.beside.texts) == maxBesides {
		g.fail("the prompt names too many files")
		return
	}
	g.left = max(0, g.left-len(text))
	g.e.beside.texts = append(g.e.beside.texts, attachment{name, text})
}

func (g *gatherer) fail(why string) {
	if g.err == nil {
		g.err = fmt.Errorf("what %s would read by itself cannot be judged: %s", g.e.Agent.Name, why)
	}
}
