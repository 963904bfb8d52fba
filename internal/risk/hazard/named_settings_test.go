package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestSettingsNamePrograms: a setting of the user's that names a program where no package puts one has it
// run in all that the user does, whatever stands in it; settings that name none, or one that is installed,
// ask nobody.
func TestSettingsNamePrograms(t *testing.T) {
	asks := func(file, text string) bool {
		return Assess("write_file", []act.Leaf{leafOf("path", file), leafOf("content", text)}).has("persist.setting", 0.4)
	}
	for _, c := range [][2]string{
		{"~/.ssh/config", "Host *\n  ProxyCommand ~/k %h\n"}, {"/home/dev/.ssh/config", "Host *\n  ProxyCommand /home/dev/k %h\n"}, {"~/.aws/config", "[default]\ncredential_process=/home/dev/k\n"},
		{"~/.kube/config", "users:\n- user:\n    exec:\n      command: /home/dev/k\n"}, {"~/.gitconfig", "[core]\n\tpager=~/k\n"}, {"~/.config/git/config", "[alias]\n\tst=!~/k\n"}, {".git/config", "[core]\n\tfsmonitor=./vendor/k\n"},
		{"~/.vimrc", "autocmd VimEnter * silent !~/k\n"}, {"~/.config/nvim/init.lua", "os.execute(\"~/k &\")\n"}, {"~/.emacs", "(shell-command \"~/k\")\n"}, {"~/.emacs.d/init.el", "(start-process \"k\" nil \"~/k\")\n"},
		{"~/.tmux.conf", "run-shell \"~/k\"\n"}, {"~/.screenrc", "screen ~/k\n"}, {"~/.config/kitty/kitty.conf", "shell ~/k\n"}, {"~/.config/ghostty/config", "command = /home/dev/k\n"}, {"~/.wezterm.lua", "return {default_prog={\"/home/dev/k\"}}\n"},
		{"~/.config/direnv/direnvrc", "~/k\n"}, {"~/.config/mise/config.toml", "[hooks]\nenter=\"~/k\"\n"}, {"~/.config/starship.toml", "[custom.k]\ncommand=\"~/k\"\nwhen=true\n"}, {"~/.inputrc", "\"\\C-l\": \"~/k\\n\"\n"},
		{"~/.psqlrc", "\\! ~/k\n"}, {"~/.sqliterc", ".shell ~/k\n"}, {"~/.gdbinit", "shell ~/k\n"}, {"~/.my.cnf", "[client]\npager=/home/dev/k\n"}, {"~/.irbrc", "`~/k`\n"}, {"~/.pythonrc", "import os; os.system(\"~/k\")\n"}, {"~/.ipython/profile_default/startup/00.py", "import os; os.system(\"~/k\")\n"},
		{"~/.Rprofile", "system(\"~/k\")\n"}, {"~/.julia/config/startup.jl", "run(`/home/dev/k`)\n"}, {"~/.gradle/init.gradle", "\"~/k\".execute()\n"}, {"~/.local/share/applications/firefox.desktop", "[Desktop Entry]\nExec=~/k\n"},
		{"~/.config/i3/config", "exec ~/k\n"}, {"~/.config/sway/config", "exec ~/Downloads/k\n"}, {"~/.config/hypr/hyprland.conf", "exec-once=~/k\n"}, {"~/.claude/settings.json", `{"statusLine":{"type":"command","command":"~/work/x/k"}}`},
	} {
		if !asks(c[0], c[1]) {
			t.Errorf("%s passes: %q", c[0], c[1])
		}
	}
	for _, c := range [][2]string{
		{"~/.vimrc", "set number\nset tabstop=4\nset undodir=~/undo\nautocmd FileType go setlocal noexpandtab\n"}, {"~/.config/nvim/init.lua", "vim.o.number = true\nvim.opt.undodir = \"~/undo\"\nvim.cmd(\"colorscheme x\")\n"},
		{"~/.gitconfig", "[user]\n\tname = A\n[core]\n\tpager = delta\n\texcludesfile = ~/.gitignore\n[alias]\n\tst = status -sb\n\tlast = !git log -1\n"}, {"~/.ssh/config", "Host *\n  IdentityFile ~/.ssh/id\nHost b\n  ProxyJump a\n  ProxyCommand /usr/bin/nc %h %p\n"},
		{"~/.tmux.conf", "set -g mouse on\nrun '~/.tmux/plugins/tpm/tpm'\nset -g default-command zsh\nbind r source-file ~/.tmux.conf\n"}, {"~/.config/sway/config", "exec waybar\nbindsym $mod+Return exec foot\nexec ~/.config/sway/scripts/bar.sh\n"},
		{"~/.config/kitty/kitty.conf", "shell zsh\nfont_size 12\nmap f1 launch --cwd=current\n"}, {"~/.config/starship.toml", "[git_branch]\nformat = \"[$branch]($style)\"\n"}, {"~/.aws/config", "[default]\nregion = eu-central-1\ncredential_process = aws-vault exec x\n"},
		{"~/.kube/config", "users:\n- user:\n    exec:\n      command: aws\n      args: [eks, get-token]\n"}, {"~/.config/mise/config.toml", "[tools]\nnode = \"22\"\n"}, {"~/.psqlrc", "\\set QUIET 1\n\\timing\n"}, {"~/.inputrc", "set completion-ignore-case on\n\"\\e[A\": history-search-backward\n"},
		{"~/.local/share/applications/x.desktop", "[Desktop Entry]\nExec=/opt/x/x %u\n"}, {"~/.claude/settings.json", `{"statusLine":{"type":"command","command":"~/.claude/statusline.sh"},"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"prettier --write ."}]}]}}`},
		{"~/.wezterm.lua", "local c = {}\nc.default_prog = {\"/usr/bin/zsh\"}\nreturn c\n"}, {"~/.emacs", "(setq inferior-lisp-program \"sbcl\")\n(load-file \"~/.emacs.d/x.el\")\n"}, {".husky/pre-commit", "./scripts/lint.sh\n"}, {"~/.pythonrc", "import os, readline\nprint(os.getcwd())\n"},
		{".claude/settings.json", `{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"./scripts/fmt.sh"}]}]}}`},
	} {
		if asks(c[0], c[1]) {
			t.Errorf("%s asks: %q", c[0], c[1])
		}
	}
}

// TestAgentsPolicies: a file by which an agent asks about less asks somebody.
func TestAgentsPolicies(t *testing.T) {
	for _, c := range [][2]string{
		{"~/.gemini/policies/x.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 999\n"}, {"~/.gemini/trustedFolders.json", `{"/home/dev": "TRUST_FOLDER"}`}, {"~/.gemini/extensions/k/gemini-extension.json", `{"name":"k","mcpServers":{"k":{"command":"node","args":["x.js"]}}}`},
		{"~/.codex/rules/default.rules", "prefix_rule(pattern=[\"rm\"], decision=\"allow\")\n"}, {"~/.codex/config.toml", "[projects.\"/home/dev\"]\ntrust_level=\"trusted\"\n"},
	} {
		if !Assess("write_file", []act.Leaf{leafOf("path", c[0]), leafOf("content", c[1])}).has("defense.agent", 0.45) {
			t.Errorf("%s passes: %q", c[0], c[1])
		}
	}
	for _, c := range [][2]string{
		{"~/.gemini/policies/x.toml", "[[rule]]\ntoolName = \"shell\"\ndecision = \"ask_user\"\n"}, {"~/.codex/rules/default.rules", "prefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\n"}, {"~/.codex/config.toml", "model = \"gpt-5\"\n[projects.\"/home/dev/work/shop\"]\ntrust_level=\"trusted\"\n"},
	} {
		if Assess("write_file", []act.Leaf{leafOf("path", c[0]), leafOf("content", c[1])}).has("defense.agent", 0.45) {
			t.Errorf("%s asks: %q", c[0], c[1])
		}
	}
}
