package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/aos"

	"github.com/go-json-experiment/json"
)

// Limits of the tools. They keep the agent alive; what it may do is for the
// guardian to say.
const (
	maxOutput   = 256 << 10 // bytes of a file, a page or a command's output
	commandTime = 10 * time.Second
	maxFound    = 5  // passages of the handbook
	maxRecalled = 20 // memories
)

// tool is something that the agent can do. run gets the inputs as the guardian
// let them pass, and returns what the tool puts out. It sets s.Did. A toolError
// is told to the plan; any other error stops the agent.
type tool struct {
	aos.ToolDefinition
	run func(ctx context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error)
}

// tools are declared to the guardian with every step, and to a model.
var tools []tool

func init() { // their functions lead back here
	text := func(name, about string) aos.ToolArgumentDefinition {
		return aos.ToolArgumentDefinition{Name: name, Type: "string", Description: about, Required: true}
	}
	optional := func(d aos.ToolArgumentDefinition) aos.ToolArgumentDefinition {
		d.Required = false
		return d
	}
	define := func(id, about string, arguments ...aos.ToolArgumentDefinition) aos.ToolDefinition {
		return aos.ToolDefinition{
			Name: id, ID: id, Description: about, Type: "function_call", Arguments: arguments,
			Outputs: []aos.ToolOutputDefinition{{Name: "text", Type: "string", MimeType: "text/plain"}},
		}
	}
	tools = []tool{
		{define("read_file", "Reads a text file.",
			text("path", "Path of the file, from the work folder.")), readFile},
		{define("write_file", "Writes a text file. Missing folders are made.",
			text("path", "Path of the file, from the work folder."),
			text("content", "The whole new content."),
			optional(text("mode", `Permissions in octal, such as "0644".`))), writeFile},
		{define("shell", "Runs a shell command in the work folder and returns what it prints.",
			text("command", "The command line.")), runShell},
		{define("fetch_page", "Fetches a web page and returns its source.",
			text("url", "Address of the page, http or https.")), fetchPage},
		{define("search_handbook", "Looks for passages of the office handbook.",
			text("query", "Words to look for.")), searchHandbook},
		{define("remember", "Remembers something for later sessions.",
			text("text", "What to remember.")), remember},
		{define("recall", "Recalls what was remembered.",
			text("query", "Words to look for; empty for everything.")), recall},
	}
}

func definitions() (list []aos.ToolDefinition) {
	for _, t := range tools {
		list = append(list, t.ToolDefinition)
	}
	return list
}

// argument returns a text argument, empty when it is absent.
func argument(inputs []aos.ToolArgumentValue, name string) (string, error) {
	for _, in := range inputs {
		if in.Name != name {
			continue
		}
		var s string
		if err := json.Unmarshal(in.Value, &s); err != nil {
			return "", failed("the argument %s is not a text", name)
		}
		return s, nil
	}
	return "", nil
}

// place is the file that a path stands for. It may lie anywhere.
func (a *Agent) place(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.cfg.Dir, path)
}

func readFile(_ context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error) {
	path, err := argument(inputs, "path")
	if err != nil {
		return "", err
	}
	f, err := os.Open(a.place(path))
	if err != nil {
		return "", failed("%w", plain(err))
	}
	defer f.Close()
	text, err := readText(f)
	if err != nil {
		return "", failed("read %s: %w", path, plain(err))
	}
	s.Did = fmt.Sprintf("Read %s.", count(len(text), "byte", "bytes"))
	return text, nil
}

func writeFile(_ context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error) {
	path, err := argument(inputs, "path")
	content, err2 := argument(inputs, "content")
	octal, err3 := argument(inputs, "mode")
	if err := errors.Join(err, err2, err3); err != nil {
		return "", failed("%w", err)
	}
	if octal == "" {
		octal = "0644"
	}
	mode, err := strconv.ParseUint(octal, 8, 12)
	if err != nil || mode > 0o777 {
		return "", failed("the mode %q is not one such as 0644", octal)
	}
	file := a.place(path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", failed("%w", plain(err))
	}
	if err := os.WriteFile(file, []byte(content), fs.FileMode(mode)); err != nil {
		return "", failed("%w", plain(err))
	}
	if err := os.Chmod(file, fs.FileMode(mode)); err != nil {
		return "", failed("%w", plain(err))
	}
	s.Did = fmt.Sprintf("Wrote %s, mode %04o.", count(len(content), "byte", "bytes"), mode)
	return fmt.Sprintf("wrote %s to %s with mode %04o", count(len(content), "byte", "bytes"), path, mode), nil
}

// runShell runs a command line in the work folder. The command gets none of the
// agent's environment, where keys may be, but the path to programs.
func runShell(ctx context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error) {
	line, err := argument(inputs, "command")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := shellCommand(ctx, line)
	cmd.Dir = a.cfg.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.cfg.Dir, "LC_ALL=C"}
	if runtime.GOOS == "windows" {
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "USERPROFILE=" + a.cfg.Dir, "SystemRoot=" + os.Getenv("SystemRoot")}
	}
	cmd.WaitDelay = time.Second
	var out limitedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	output := strings.TrimRight(strings.ToValidUTF8(string(out.kept), "\uFFFD"), "\r\n")
	var exit *exec.ExitError
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return output, failed("the command was stopped after %s", commandTime)
	case errors.As(err, &exit):
		return output, failed("the command ended with code %d", exit.ExitCode())
	case err != nil:
		return output, failed("%w", err)
	}
	s.Did = fmt.Sprintf("Ran it: %s.", count(lines(output), "line", "lines"))
	return output, nil
}

// fetchPage fetches one page. It follows no redirect: the address that it
// leads to must be asked about first, so it is told to the plan.
func fetchPage(ctx context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error) {
	address, err := argument(inputs, "url")
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", failed("%q is not an http or https address", address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", failed("%w", err)
	}
	res, err := a.cfg.HTTP.Do(req)
	if err != nil {
		return "", failed("fetch the page: %w", err)
	}
	defer res.Body.Close()
	text, err := readText(res.Body)
	switch {
	case err != nil:
		return "", failed("fetch the page: %w", err)
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return "", failed("the page has moved to %s; it was not followed", res.Header.Get("Location"))
	case res.StatusCode != http.StatusOK:
		return text, failed("the server answered %s", res.Status)
	}
	s.Did = fmt.Sprintf("Fetched %s.", count(len(text), "byte", "bytes"))
	return text, nil
}

// searchHandbook finds the passages of the handbook that hold most of the
// query's words, and asks about them before anybody reads them.
func searchHandbook(ctx context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error) {
	query, err := argument(inputs, "query")
	if err != nil {
		return "", err
	}
	found, err := a.search(query)
	if err != nil {
		return "", failed("search the handbook: %w", plain(err))
	}
	if len(found) == 0 {
		s.Did = "Found nothing."
		return "nothing was found", nil
	}
	r, err := a.cfg.Guardian.KnowledgeRetrieval(ctx, &aos.KnowledgeRetrievalParams{
		Context:       a.where(),
		KnowledgeStep: aos.KnowledgeRetrievalStepParams{Query: query, Keywords: strings.Fields(query), Results: found},
		Reasoning:     s.Move.Why,
	})
	if err != nil {
		return "", err
	}
	kept := found
	if r.Decision == aos.Modify {
		var m aos.KnowledgeRetrievalParams
		if err := r.Modified(&m); err != nil {
			return "", err
		}
		kept = m.KnowledgeStep.Results
	}
	var changes []Change
	var texts []string
	for i, k := range kept {
		if i < len(found) {
			changes = append(changes, changed(k.ID, found[i].Content, k.Content)...)
		}
		texts = append(texts, fmt.Sprintf("[%s] %s", k.ID, k.Content))
	}
	if !s.note("steps/knowledgeRetrieval", r, changes) {
		s.Did = "What was found was thrown away."
		return "", nil
	}
	s.Did = fmt.Sprintf("Found %s.", count(len(texts), "passage", "passages"))
	if len(changes) > 0 {
		s.Did += seesChanged
	}
	return strings.Join(texts, "\n"), nil
}

// search returns the paragraphs of the handbook that hold the most words of
// the query, best first.
func (a *Agent) search(query string) (found []aos.KnowledgeRetrievalResult, err error) {
	words := strings.Fields(strings.ToLower(query))
	scores := map[string]int{}
	err = filepath.WalkDir(a.cfg.Handbook, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := readText(f)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(a.cfg.Handbook, path)
		if err != nil {
			return err
		}
		for i, passage := range strings.Split(text, "\n\n") {
			n := 0
			for _, w := range words {
				if strings.Contains(strings.ToLower(passage), w) {
					n++
				}
			}
			if n > 0 {
				id := fmt.Sprintf("%s#%d", filepath.ToSlash(name), i+1)
				scores[id] = n
				found = append(found, aos.KnowledgeRetrievalResult{ID: id, Content: strings.TrimSpace(passage), MimeType: "text/plain"})
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	slices.SortStableFunc(found, func(x, y aos.KnowledgeRetrievalResult) int { return scores[y.ID] - scores[x.ID] })
	return found[:min(len(found), maxFound)], err
}

// memory is one line of the memory file.
type memory struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// remember stores a text, in the form that the guardian lets pass.
func remember(ctx context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error) {
	text, err := argument(inputs, "text")
	if err != nil {
		return "", err
	}
	r, err := a.cfg.Guardian.MemoryStore(ctx, &aos.MemoryParams{Context: a.where(), Memory: []string{text}, Reasoning: s.Move.Why})
	if err != nil {
		return "", err
	}
	kept, changes, err := memories(r, []string{text})
	if err != nil {
		return "", err
	}
	if !s.note("steps/memoryStore", r, changes) {
		s.Did = "Not remembered."
		return "", nil
	}
	for _, m := range kept {
		if err := a.store(m); err != nil {
			return "", failed("remember: %w", plain(err))
		}
	}
	s.Did = "Remembered."
	if len(changes) > 0 {
		s.Did = "Remembered in the changed form."
	}
	return "remembered", nil
}

func (a *Agent) store(text string) error {
	line, err := json.Marshal(memory{time.Now().UTC(), text})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(a.cfg.Memory, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// recall looks up what was remembered, and asks about it before it is used.
func recall(ctx context.Context, a *Agent, s *Step, inputs []aos.ToolArgumentValue) (string, error) {
	query, err := argument(inputs, "query")
	if err != nil {
		return "", err
	}
	found, err := a.remembered(query)
	if err != nil {
		return "", failed("recall: %w", plain(err))
	}
	if len(found) == 0 {
		s.Did = "Nothing came to mind."
		return "nothing is remembered about it", nil
	}
	r, err := a.cfg.Guardian.MemoryContextRetrieval(ctx, &aos.MemoryParams{Context: a.where(), Memory: found, Reasoning: s.Move.Why})
	if err != nil {
		return "", err
	}
	kept, changes, err := memories(r, found)
	if err != nil {
		return "", err
	}
	if !s.note("steps/memoryContextRetrieval", r, changes) {
		s.Did = "The memory was left alone."
		return "", nil
	}
	s.Did = fmt.Sprintf("Recalled %s.", count(len(kept), "memory", "memories"))
	if len(changes) > 0 {
		s.Did += seesChanged
	}
	return strings.Join(kept, "\n"), nil
}

// remembered returns the latest memories that hold a word of the query, oldest first.
func (a *Agent) remembered(query string) (found []string, err error) {
	text, err := os.ReadFile(a.cfg.Memory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	words := strings.Fields(strings.ToLower(query))
	for line := range bytes.Lines(text) {
		var m memory
		if json.Unmarshal(line, &m) != nil || m.Text == "" {
			continue // a line cut short by a crash
		}
		low := strings.ToLower(m.Text)
		if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(low, w) }) {
			found = append(found, m.Text)
		}
	}
	return found[max(0, len(found)-maxRecalled):], nil
}

// memories returns the memories as the guardian lets them pass.
func memories(r *aos.Result, before []string) (after []string, changes []Change, err error) {
	after = before
	if r.Decision == aos.Modify {
		var m aos.MemoryParams
		if err := r.Modified(&m); err != nil {
			return nil, nil, err
		}
		after = m.Memory
	}
	for i := range min(len(before), len(after)) {
		changes = append(changes, changed("memory", before[i], after[i])...)
	}
	return after, changes, nil
}

// readText reads a bounded text. What is longer is cut, and says so.
func readText(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxOutput+1))
	if err != nil {
		return "", err
	}
	if len(b) <= maxOutput {
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	}
	cut := maxOutput
	for !utf8.RuneStart(b[cut]) && cut > maxOutput-utf8.UTFMax {
		cut--
	}
	return strings.ToValidUTF8(string(b[:cut]), "\uFFFD") + "\n[cut here: it is longer]", nil
}

// limitedBuffer keeps the first maxOutput bytes and takes the rest in silence,
// so that a talkative command is not stopped half way.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), maxOutput-len(b.kept))]...)
	return len(p), nil
}

// plain leaves the folders of this machine out of an error for the plan.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s %s: %w", p.Op, filepath.Base(p.Path), p.Err)
	}
	return err
}

func lines(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(s, "\n") + 1
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
