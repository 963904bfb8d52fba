package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repository's link does not have its user's files edited.
func TestProjectLinkOut(t *testing.T) {
	for _, what := range []string{"file", "folder"} {
		project, other := t.TempDir(), t.TempDir()
		target := filepath.Join(other, "settings.json")
		if err := os.WriteFile(target, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if what == "folder" {
			err = os.Symlink(other, filepath.Join(project, ".claude"))
		} else if err = os.Mkdir(filepath.Join(project, ".claude"), 0o700); err == nil {
			err = os.Symlink(target, filepath.Join(project, ".claude", "settings.json"))
		}
		if err != nil {
			t.Skip(err)
		}
		in := &Installation{Agent: "claude-code", Project: project, Command: []string{"/bin/reeve"}}
		if _, err := in.Install(); err == nil || !strings.Contains(err.Error(), "out of the repository") {
			t.Errorf("%s: %v", what, err)
		}
		if text, _ := os.ReadFile(target); string(text) != "{}" {
			t.Errorf("%s: it was edited: %s", what, text)
		}
	}
}

// What a change of settings leaves of reeve's hooks.
func TestDisarms(t *testing.T) {
	home := t.TempDir()
	in := &Installation{Agent: "claude-code", Home: home, Command: []string{"/opt/bin/reeve"}}
	if _, err := in.Install(); err != nil {
		t.Fatal(err)
	}
	file, _ := in.File()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	armed := string(text)
	s := SettingAt(filepath.ToSlash(file), filepath.ToSlash(home))
	if s == nil || s.Agent != "claude-code" {
		t.Fatalf("%+v", s)
	}
	with := func(member string) string {
		return "{" + member + "," + strings.TrimPrefix(strings.TrimSpace(armed), "{")
	}
	for _, tt := range []struct {
		name, before, after string
		disarms             bool
	}{
		{"a permission", armed, with(`"permissions":{"allow":["Bash(ls)"]}`), false},
		{"another form", armed, strings.ReplaceAll(armed, "  ", "\t"), false},
		{"a hook beside", armed, strings.Replace(armed, `"PreToolUse": [`, `"PreToolUse": [{"hooks":[{"type":"command","command":"x"}]},`, 1), false},
		{"no file", armed, "", true},
		{"no hooks", armed, "{}", true},
		{"another event", armed, strings.Replace(armed, "PreToolUse", "PreToolUsed", 1), true},
		{"another command", armed, strings.Replace(armed, "/opt/bin/reeve", "/tmp/reeve", 1), true},
		{"another matcher", armed, strings.Replace(armed, `"PreToolUse": [
      {`, `"PreToolUse": [{"matcher":"Nothing",`, 1), true},
		{"all off", armed, with(`"disableAllHooks":true`), true},
		{"all off, escaped", armed, with(`"disable\u0041llHooks":true`), true},
		{"off by a variable", armed, with(`"env":{"CLAUDE_CODE_SIMPLE":"1"}`), true},
		{"broken", armed, armed[:len(armed)-4], true},
		{"with a comment", armed, "// x\n" + armed, true},
		{"off where there were none", "", `{"disableAllHooks":true}`, true},
		{"off in another case of the value", "", `{"disableAllHooks":"true"}`, true},
		{"not off", "", `{"disableAllHooks":false}`, false},
		{"off as it was", `{"disableAllHooks":true}`, `{"disableAllHooks":true,"x":1}`, false},
		{"something else", "", `{"permissions":{}}`, false},
		{"other hooks go", `{"hooks":{"PreToolUse":[{"hooks":[{"command":"x"}]}]}}`, "{}", false},
	} {
		if why := s.Disarms([]byte(tt.before), []byte(tt.after)); (why != "") != tt.disarms {
			t.Errorf("%s: %q", tt.name, why)
		}
	}
}

func TestLastNames(t *testing.T) {
	for _, p := range []string{"", "/", "a", "/a", "a/b", "/a/b", "/a//b/", "/etc/x/y.json"} {
		parts := strings.Split(p, "/")
		for n := 1; n < len(parts)+2; n++ {
			got, ok := lastNames(p, n)
			if has := len(parts) >= n; ok != has || ok && got != strings.Join(parts[len(parts)-n:], "/") {
				t.Errorf("the last %d of %q are %q, %v", n, p, got, ok)
			}
		}
	}
}

// TestSettingsTakeOver: variables that settings give to an agent switch its hooks off where
// they decide what runs in a hook's place, and ordinary ones do not.
func TestSettingsTakeOver(t *testing.T) {
	for text, want := range map[string]bool{
		`{"env":{"LD_PRELOAD":"/repo/x.so"}}`:                        true,
		`{"env":{"CLAUDE_CODE_SHELL_PREFIX":"./x"}}`:                 true,
		`{"env":{"CLAUDE_CODE_PROCESS_WRAPPER":"./x"}}`:              true,
		`{"env":{"CLAUDE_CODE_SHELL_PREFIX":""}}`:                    false,
		"{\"env\": {\"CLAUDE_CODE_SHELL_PREFIX\": \"x\"}, // why\n}": true,
		`{"env":{"ld_audit":"x.so"}}`:                                true,
		`{"env":{"DYLD_INSERT_LIBRARIES":"x.dylib"}}`:                true,
		`{"env":{"LD_LIBRARY_PATH":"/usr/lib:./lib"}}`:               true,
		`{"env":{"LD_LIBRARY_PATH":"/usr/../repo"}}`:                 true,
		`{"env":{"BASH_ENV":"./env.sh"}}`:                            true,
		`{"env":{"BASH_FUNC_echo%%":"() { exit 0; }"}}`:              true,
		`{"env":{"HOME":"/repo/home"}}`:                              true,
		`{"hooks":{},"Env":{"LD_PRELOAD":"x"}}`:                      true,
		"{\"env\": {\"LD_PRELOAD\": \"x\"}, // why\n}":               true,
		`{"env":{"NODE_ENV":"test","PYTHONPATH":"src"}}`:             false,
		`{"env":{"PATH":"/repo/bin:/usr/bin"}}`:                      false, // the hook's line needs none
		`{"env":{"LD_LIBRARY_PATH":"/usr/local/cuda/lib64"}}`:        false,
		`{"env":{"ENV":"dev","DEBUG":"1"}}`:                          false,
		`{"note":"LD_PRELOAD is set in env"}`:                        false,
		`{"env":{"SHELLOPTS":"noexec"}}`:                             true, // sh, where it is bash, runs nothing
		`{"env":{"SHELLOPTS":"xtrace","PS4":"$(./x)"}}`:              true,
		`{"env":{"PS4":"+ "}}`:                                       false,
		`{"env":{"ENV":"./env.sh"}}`:                                 true,
		`{"env":{"BASH_ENV":"","CLAUDE_CODE_PROCESS_WRAPPER":""}}`:   false,
		"A=1\nexport BASH_ENV=./env.sh\n":                            true,
		"BASH_FUNC_sleep%%='() { exit 0; }'\n":                       true,
		"SHELLOPTS=noexec\n":                                         true,
		"ENV=production\nHOME=/srv\nDATABASE_URL=postgres://x/y\n":   false,
		"[x.set]\nBASH_ENV = \"./x\"\n":                              true,
		"set = { LD_PRELOAD = './x.so' }\n":                          true,
		"{\"env\": {\"SHELLOPTS\": \"noexec\"}, // why\n}":           true,
	} {
		if got := SwitchesOff([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestMachineOverrules: the machine's settings overrule what a repository switches off, and of
// the variables that it gives only those that they set themselves.
func TestMachineOverrules(t *testing.T) {
	for what, more := range map[string]bool{
		"x switches hooks off (disableAllHooks)":                        false,
		"x switches hooks off (env.CLAUDE_CODE_SIMPLE)":                 false,
		"x switches hooks off (env.BASH_ENV, Env.claude_code_simple)":   false,
		"x switches hooks off (env.SHELLOPTS)":                          true,
		"x switches hooks off (env.CLAUDE_CODE_SIMPLE, env.SHELLOPTS)":  true,
		"x switches hooks off (disableAllHooks, env.BASH_FUNC_sleep%%)": true,
	} {
		s := Status{Agent: "claude-code"}
		if s.off(what, true); (len(s.Problems) > 0) != more {
			t.Errorf("%s: %+v", what, s)
		}
	}
	if off := switchedOff([]byte(`{"env":{"CLAUDE_CODE_SIMPLE":"1","SHELLOPTS":"noexec"}}`)); off != "CLAUDE_CODE_SIMPLE, env.SHELLOPTS" && off != "env.SHELLOPTS, CLAUDE_CODE_SIMPLE" {
		t.Errorf("%q", off)
	}
}
