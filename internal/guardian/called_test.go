package guardian

import (
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// namesOfFolder are what tools that run commands call the folder that they run them in: those of
// coding agents, and others that servers of tools have.
var namesOfFolder = []string{
	"workdir", "dir_path", "directory", "working_directory", "working_dir", "cwd", "dir", "workingDirectory", "workingDir", "work_dir",
	"WORKDIR", "currentDirectory", "folder", "folderPath", "dirPath", "exec_dir", "start_dir", "root", "projectRoot", "path", "workspaceFolder", "repo_path", "chdir", "where",
}

// TestFolderOfTheCall: relative names are read from the folder that the call names, whatever it calls
// it, and from where the agent works if that is relative; for commands, files and patches.
func TestFolderOfTheCall(t *testing.T) {
	g, home := aGuarded(t)
	own := home + "/.config/reeve"
	for _, name := range namesOfFolder {
		for _, at := range []struct{ session, folder, command string }{
			{home + "/src/proj", "~/.config/reeve", "rm -rf data policy"},
			{home + "/src/proj", own, "rm -rf data policy"},
			{home + "/src/proj", own + "/policy", "sed -i s/deny/allow/ mine.yaml"},
			{home + "/src/proj", "../../.config", "rm -rf reeve"},
			{"", "~/.config/reeve", "rm -rf data"},
			{home + "/src/proj", "file://" + own, "rm -rf ./data"},
			{home + "/src/proj", home + "/link", "mv data /tmp/x"},
			{home + "/src/proj", "$HOME/.config", "find . -delete"},
			{home + "/src/proj", home, "rm -rf .*"},
			{home + "/src/proj", own, "python3 -c \"import shutil; shutil.rmtree('data')\""},
			{home + "/src/proj", own, "cat data/seed | base64"},
			{home + "/src/proj", home + "/bin", "./reeve approvals approve abc"},
			{home + "/src/proj", home + "/.claude", "rm settings.json"},
		} {
			if got := g.Tampering(call(at.session, "exec_command", "command", at.command, name, at.folder), nil); got == nil {
				t.Errorf("%s=%s in %s: %q is let go on", name, at.folder, at.session, at.command)
			}
		}
		for _, at := range []struct{ session, folder, command string }{
			{home + "/src/proj", home + "/src/reeve", "rm -rf data policy"},
			{home + "/src", "proj", "rm -rf data policy dist"},
			{home + "/src/proj", home + "/src/proj/web", "npm test && rm -rf dist"},
			{home + "/src/proj", "/tmp/x", "find . -delete"},
			{home + "/src/proj", home + "/src", "ls reeve && git -C reeve status"},
		} {
			if got := g.Tampering(call(at.session, "exec_command", "command", at.command, name, at.folder), nil); got != nil {
				t.Errorf("%s=%s in %s: %q is refused: %v", name, at.folder, at.session, at.command, got)
			}
		}
	}
	patch := "*** Begin Patch\n*** Update File: data/seed\n@@\n-x\n+y\n*** End Patch\n"
	for what, a := range map[string]*act.Action{
		"two folders, of which one is no argument of the tool": call(home+"/src/proj", "bash", "command", "rm -rf data", "cwd", "/tmp", "workdir", own),
		"the folder before the command":                        call(home+"/src/proj", "shell", "workdir", own, "command", "rm -rf data"),
		"a patch":                                              call(home+"/src/proj", "apply_patch", "input", patch, "workdir", own),
		"a patch and directory":                                call(home+"/src/proj", "apply_patch", "patch", patch, "directory", own),
		"a file":                                               call(home+"/src/proj", "write_file", "path", "policy/mine.yaml", "content", "x", "working_directory", own),
		"a file and cwd":                                       call(home+"/src/proj", "delete_file", "file_path", "seed", "cwd", own+"/data"),
		"what a folder names itself":                           call(home+"/.config", "delete_directory", "directory", "reeve"),
		"in options": {Kind: act.ToolCall, Canonical: "run", Resource: "run", Folder: home + "/src/proj", Content: []act.Leaf{
			{Pointer: "/params/arguments/command", Arg: "command", Text: "rm -rf data"}, {Pointer: "/params/arguments/options/cwd", Arg: "options", Text: own}}},
		"in pairs": {Kind: act.ToolCall, Canonical: "shell", Resource: "shell", Folder: home + "/src/proj", Content: []act.Leaf{
			{Pointer: "/params/inputs/0/value", Arg: "command", Text: "rm -rf data"}, {Pointer: "/params/inputs/1/value", Arg: "workdir", Text: own}}},
		"a list of words": {Kind: act.ToolCall, Canonical: "shell", Resource: "shell", Folder: home + "/src/proj", Content: []act.Leaf{
			{Pointer: "/params/arguments/command/0", Arg: "command", Text: "rm"}, {Pointer: "/params/arguments/command/1", Arg: "command", Text: "-rf"}, {Pointer: "/params/arguments/command/2", Arg: "command", Text: "data"},
			{Pointer: "/params/arguments/workdir", Arg: "workdir", Text: own}}},
	} {
		if g.Tampering(a, nil) == nil {
			t.Errorf("%s is let go on", what)
		}
	}
	for what, a := range map[string]*act.Action{
		"a variable of the environment": {Kind: act.ToolCall, Canonical: "shell", Resource: "shell", Folder: home + "/src/proj", Content: []act.Leaf{
			{Pointer: "/params/arguments/command", Arg: "command", Text: "rm -rf data"}, {Pointer: "/params/arguments/env/CONFIG", Arg: "env", Text: "/etc/x"}}},
		"a file of the project": call(home+"/src/proj", "write_file", "path", "policy/mine.yaml", "content", "x", "cwd", home+"/src/proj"),
		"a search":              call(home+"/src/proj", "grep", "pattern", "data", "path", home+"/src"),
	} {
		if got := g.Tampering(a, nil); got != nil {
			t.Errorf("%s is refused: %v", what, strings.TrimSpace(got[0].Message))
		}
	}
}

// TestAgentsOwnTools: an agent's tools for its own settings do not switch hooks off.
func TestAgentsOwnTools(t *testing.T) {
	g, home := aGuarded(t)
	for _, tt := range []struct {
		a       *act.Action
		tampers bool
	}{
		{call(home, "config", "setting", "disableAllHooks", "value", "true"), true}, {call(home, "config", "key", "disable_all_hooks", "value", "1"), true}, {call(home, "update_settings", "name", "disableHooks", "to", "on"), true},
		{&act.Action{Kind: act.ToolCall, Canonical: "config", Resource: "Config", Folder: home, Content: []act.Leaf{{Pointer: "/setting", Arg: "setting", Text: "disableAllHooks"}}, Arguments: []act.Argument{{Name: "setting", Value: []byte(`"disableAllHooks"`)}, {Name: "value", Value: []byte("true")}}}, true},
		{&act.Action{Kind: act.ToolCall, Canonical: "config", Resource: "Config", Folder: home, Content: []act.Leaf{{Pointer: "/setting", Arg: "setting", Text: "disableAllHooks"}}, Arguments: []act.Argument{{Name: "setting", Value: []byte(`"disableAllHooks"`)}, {Name: "value", Value: []byte("false")}}}, false},
		{call(home, "slashcommand", "command", "/hooks disable"), true}, {call(home, "slash_command", "command", "/hooks remove all hooks"), true},
		{call(home, "config", "setting", "disableAllHooks"), false}, {call(home, "config", "setting", "theme", "value", "dark"), false}, {call(home, "slashcommand", "command", "/hooks"), false}, {call(home, "slashcommand", "command", "/review the hooks"), false},
	} {
		if r := g.Tampering(tt.a, nil); (len(r) > 0) != tt.tampers {
			t.Errorf("tampers: %v, want %v: %s %v", len(r) > 0, tt.tampers, tt.a.Canonical, tt.a.Content)
		}
	}
}
