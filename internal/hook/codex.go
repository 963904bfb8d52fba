package hook

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"reeve.example/reeve/internal/rawjson"
)

// Codex runs no hook that its user has not trusted, by the hash of what it is, and says
// nothing of it. Its app server, which its own windows use, lists the hooks and writes
// its settings; so reeve need not know how the hash is made.

// codexServer is a running "codex app-server".
type codexServer struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	last   int
}

// codexPatience is how long Codex may take to start and answer.
const codexPatience = time.Minute

// startCodex starts Codex' app server in a folder. The error is exec.ErrNotFound where
// there is no Codex.
func startCodex(ctx context.Context, folder string) (*codexServer, error) {
	program, err := exec.LookPath("codex")
	if err != nil {
		return nil, err
	}
	s := &codexServer{cmd: exec.CommandContext(ctx, program, "app-server")}
	s.cmd.Dir, s.cmd.WaitDelay = folder, 5*time.Second
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdout = bufio.NewReaderSize(stdout, 64<<10)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := s.ask("initialize", []byte(`{"clientInfo":{"name":"reeve","version":"1"}}`)); err != nil {
		s.close()
		return nil, err
	}
	_, err = io.WriteString(s.stdin, `{"jsonrpc":"2.0","method":"initialized"}`+"\n")
	return s, err
}

func (s *codexServer) close() {
	s.stdin.Close()
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// maxCodexLine is the longest answer that is read.
const maxCodexLine = 16 << 20

// ask asks one thing. What else Codex says meanwhile is passed over.
func (s *codexServer) ask(method string, params []byte) (rawjson.Value, error) {
	s.last++
	request := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.last, method, params)
	if _, err := s.stdin.Write(request); err != nil {
		return rawjson.Value{}, err
	}
	for {
		line, err := readLine(s.stdout)
		if err != nil {
			return rawjson.Value{}, fmt.Errorf("codex app-server does not answer %s: %w", method, err)
		}
		doc, err := rawjson.Parse(line)
		if err != nil {
			continue
		}
		if id, ok := doc.Root().Get("id").Int(); !ok || id != int64(s.last) || doc.Root().Get("method").Exists() {
			continue
		}
		if fault := doc.Root().Get("error"); fault.Exists() {
			return rawjson.Value{}, fmt.Errorf("codex app-server refuses %s: %s", method, fault.Get("message").Text())
		}
		return doc.Root().Get("result"), nil
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxCodexLine {
			return nil, errors.New("its answer is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// codexHook is one of reeve's hooks, as Codex sees it.
type codexHook struct {
	key, event, hash, trust string
	enabled                 bool
}

// hooks lists the hooks of reeve's that Codex has read from a file.
func (s *codexServer) hooks(folder, file string) (list []codexHook, err error) {
	result, err := s.ask("hooks/list", obj(nil).raw("cwds", rawjson.AppendStrings(nil, []string{folder})).end())
	if err != nil {
		return nil, err
	}
	for _, entry := range result.Get("data").Elems() {
		for _, h := range entry.Get("hooks").Elems() {
			if h.Get("sourcePath").Text() != file || !strings.Contains(h.Get("command").Text(), " hook --agent codex") {
				continue
			}
			list = append(list, codexHook{
				key: h.Get("key").Text(), event: h.Get("eventName").Text(), hash: h.Get("currentHash").Text(),
				trust: h.Get("trustStatus").Text(), enabled: h.Get("enabled").Bool(),
			})
		}
	}
	return list, nil
}

// opensShells reports whether Codex, in a folder, opens shells that are typed into.
func (s *codexServer) opensShells(folder string) (bool, error) {
	result, err := s.ask("config/read", obj(nil).str("cwd", folder).end())
	if err != nil {
		return false, err
	}
	setting := result.Get("config").Get("features").Get("unified_exec_tty")
	return !setting.Exists() || setting.Bool(), nil
}

// trust writes into Codex' settings that its user trusts these hooks, and that a shell
// which is open is given no input, since no hook sees that.
func (s *codexServer) trust(list []codexHook) error {
	var state obj
	for _, h := range list {
		state = state.raw(h.key, obj(nil).str("trusted_hash", h.hash).end())
	}
	edit := func(path string, value []byte) []byte {
		return obj(nil).str("keyPath", path).str("mergeStrategy", "upsert").raw("value", value).end()
	}
	edits := append([]byte{'['}, edit("hooks.state", state.end())...)
	edits = append(edits, ',')
	edits = append(edits, edit("features.unified_exec_tty", []byte("false"))...)
	_, err := s.ask("config/batchWrite", obj(nil).raw("edits", append(edits, ']')).end())
	return err
}

// Trust sees to it that the agent runs the hooks that were installed, where it asks its
// user first and can be told. It says what it did, or what a person has to do.
func (in *Installation) Trust(ctx context.Context) (said string, err error) {
	if in.Agent != "codex" {
		return "", nil
	}
	if in.Managed {
		folder, err := os.Getwd()
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, codexPatience)
		defer cancel()
		return managedTrust(ctx, folder)
	}
	const byHand = "Codex runs no hook that was not trusted, and says nothing of it: start codex, open /hooks, and trust reeve's. Set features.unified_exec_tty = false in its config.toml: no hook sees what is typed into an open shell."
	file, err := in.File()
	if err != nil {
		return "", err
	}
	folder := in.Project
	if folder == "" {
		folder = in.Home
	}
	ctx, cancel := context.WithTimeout(ctx, codexPatience)
	defer cancel()
	s, err := startCodex(ctx, folder)
	if err != nil {
		return byHand + " (" + err.Error() + ")", nil
	}
	defer s.close()
	list, err := s.hooks(folder, file)
	if err != nil {
		return byHand + " (" + err.Error() + ")", nil
	}
	if len(list) == 0 {
		if in.Project != "" {
			return "Codex does not read the hooks of this repository, since the folder is not trusted: start codex in it, trust the folder, and install again.", nil
		}
		return "", fmt.Errorf("codex does not see the hooks in %s", file)
	}
	if err := s.trust(list); err != nil {
		return byHand + " (" + err.Error() + ")", nil
	}
	if list, err = s.hooks(folder, file); err != nil {
		return "", err
	}
	for _, h := range list {
		if h.trust != "trusted" && h.trust != "managed" || !h.enabled {
			return "", fmt.Errorf("codex does not run the hook for %s: it is %s", h.event, h.trust)
		}
	}
	return fmt.Sprintf("Codex was told to trust the %d hooks, and to open no shell that is typed into (features.unified_exec_tty).", len(list)), nil
}

// Folder is where an agent keeps its user's settings, if its own variable says so; else
// empty.
func Folder(agent string, getenv func(string) string) string {
	name := map[string]string{"codex": "CODEX_HOME", "claude-code": "CLAUDE_CONFIG_DIR", "copilot": "COPILOT_HOME", "opencode": "XDG_CONFIG_HOME"}[agent]
	if name == "" {
		return ""
	}
	if folder := getenv(name); filepath.IsAbs(folder) {
		return folder
	}
	return ""
}
