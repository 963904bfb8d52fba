package realagents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reeve.example/reeve/internal/modelserver"

	"golang.org/x/sys/unix"
)

// underEtc is the argument with which this program puts a folder in the place of /etc,
// for the program that its further arguments name, and for nobody else.
const underEtc = "under-etc"

func init() {
	if len(os.Args) < 4 || os.Args[1] != underEtc {
		return
	}
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(os.Args[2], "/etc", "", unix.MS_BIND, ""))
	if err == nil {
		err = unix.Exec(os.Args[3], os.Args[3:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "the machine's settings are tried in mounts of the test's own, which could not be made:", err)
	os.Exit(1)
}

// within has a command see the run's own /etc, if it has one.
func (r *run) within(cmd *exec.Cmd) {
	if r.etc == "" {
		return
	}
	cmd.Args = append([]string{r.self, underEtc, r.etc, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = r.self
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNS
}

// machine is a machine with an agent whose settings require reeve's hooks. Its /etc is
// the run's own: this machine's is not touched.
func machine(t *testing.T, a *agent, policy string) *run {
	t.Helper()
	r := prepare(t, a)
	r.etc = filepath.Join(filepath.Dir(r.home), "etc")
	if err := copyEtc(r.etc); err != nil {
		t.Fatal(err)
	}
	// Only root writes there, which install wants of what everybody runs.
	r.bin = "/etc/reeve/bin"
	bin := filepath.Join(r.etc, "reeve", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"reeve", "reeve-hook"} {
		if err := os.Link(filepath.Join(programs, program), filepath.Join(bin, program)); err != nil {
			t.Fatal(err)
		}
	}
	r.file("policy.yaml", policy)
	r.data = filepath.Join(r.home, "reeve")
	r.reeve("hook", "install", "--yes", "--managed", a.id, "--data", r.data, "--policy", filepath.Join(r.home, "policy.yaml"), "--trails", filepath.Join(r.home, "trails"))
	return r
}

// copyEtc copies what programs need of /etc.
func copyEtc(to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf", "resolv.conf", "localtime", "ld.so.cache", "ssl", "alternatives", "terminfo"} {
		err := filepath.WalkDir(filepath.Join("/etc", name), func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is not there, or closed to this user
			}
			target := filepath.Join(to, strings.TrimPrefix(file, "/etc"))
			switch {
			case d.IsDir():
				return os.MkdirAll(target, 0o755)
			case d.Type()&fs.ModeSymlink != 0:
				leads, err := os.Readlink(file)
				if err != nil {
					return err
				}
				return os.Symlink(leads, target)
			case d.Type().IsRegular():
				text, err := os.ReadFile(file)
				if err != nil {
					return nil
				}
				return os.WriteFile(target, text, 0o644)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// The ways in which a user, a repository or the environment might switch hooks off that
// the machine requires.
var switches = map[string][]struct {
	name string
	home map[string]string
	work map[string]string
	env  []string
	args []string
}{
	"codex": {
		{name: "the user's settings", home: map[string]string{".codex/config.toml": "\n[features]\nhooks = false\nunified_exec_tty = true\n"}},
		{name: "the repository's settings", work: map[string]string{".codex/config.toml": "[features]\nhooks = false\n"}},
		{name: "a flag", args: []string{"--disable", "hooks"}},
		{name: "a setting on the command line", args: []string{"-c", "features.hooks=false"}},
	},
	"gemini": {
		{name: "the repository's settings", work: map[string]string{".gemini/settings.json": `{"hooksConfig": {"enabled": false}}`}},
		{name: "the hook's name in the repository's settings", work: map[string]string{".gemini/settings.json": `{"hooksConfig": {"disabled": ["reeve"]}}`}},
		{name: "GEMINI_CLI_SYSTEM_SETTINGS_PATH", env: []string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH=/nowhere.json"}},
	},
	"opencode": {
		{name: "the repository's plugin of that name", work: map[string]string{".opencode/plugins/reeve.js": "export const Reeve = async () => ({})\n"}},
		{name: "the repository's list of plugins", work: map[string]string{"opencode.json": `{"plugin": []}`}},
		{name: "OPENCODE_PURE", env: []string{"OPENCODE_PURE=1"}},
	},
	"claude-code": {
		{name: "the user's settings", home: map[string]string{".claude/settings.json": `{"disableAllHooks": true}`}},
		{name: "the repository's settings", work: map[string]string{".claude/settings.json": `{"disableAllHooks": true}`}},
		{name: "the repository's environment", work: map[string]string{".claude/settings.json": `{"env": {"CLAUDE_CODE_SIMPLE": "1"}}`}},
		{name: "CLAUDE_CODE_SIMPLE", env: []string{"CLAUDE_CODE_SIMPLE=1"}},
		{name: "--bare", args: []string{"--bare"}},
	},
	"copilot": {
		{name: "the user's settings", home: map[string]string{".copilot/settings.json": `{"disableAllHooks": true}`, ".copilot/config.json": `{"disableAllHooks": true}`}},
		{name: "the repository's settings", work: map[string]string{".github/copilot/settings.json": `{"disableAllHooks": true}`, ".claude/settings.json": `{"disableAllHooks": true}`}},
	},
}

// What the machine's settings require holds whatever a user, a repository or the
// environment says; what does not is in testdata, and in docs/hooks.md.
func TestManaged(t *testing.T) {
	for _, a := range agents {
		t.Run(a.id, func(t *testing.T) {
			t.Parallel()
			f := &facts{t: t, name: a.id + "-managed"}
			r := machine(t, a, "version: 1\ndefault: allow\nrules:\n"+moreRules)
			try := func(name string, n int) string {
				said := fmt.Sprintf("play %d", n)
				r.model.Play(said, modelserver.Calls(a.shell(fmt.Sprintf("echo ran > ran-%d.txt", n))),
					modelserver.Calls(a.shell(fmt.Sprintf("echo forbidden > denied-%d.txt", n))), modelserver.Say("finished"))
				r.prompt(said)
				if !r.has(fmt.Sprintf("ran-%d.txt", n)) {
					return "nothing runs"
				}
				return either(r.has(fmt.Sprintf("denied-%d.txt", n)), "DO NOT HOLD", "hold")
			}
			f.must("the machine's hooks", try("", 0), "hold")
			for i, s := range switches[a.id] {
				was := map[string][]byte{}
				for name, text := range s.home {
					file := filepath.Join(r.home, name)
					old, _ := os.ReadFile(file)
					was[file] = old
					r.file(name, string(old)+text)
				}
				for name, text := range s.work {
					file := r.at(name)
					if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
						t.Fatal(err)
					}
					was[file] = nil
				}
				r.env, r.args = s.env, s.args
				f.add("against "+s.name+", they", try(s.name, i+1))
				r.env, r.args = nil, nil
				for file, text := range was {
					if err := os.Remove(file); err == nil && text != nil {
						os.WriteFile(file, text, 0o600)
					}
				}
			}
			f.lines = append(f.lines, "uninstalled: "+strings.TrimSpace(r.reeve("hook", "uninstall", "--yes", "--managed", a.id)))
			f.must("uninstalled, they", try("", 99), "DO NOT HOLD")
			f.compare()
		})
	}
}
