package hazard

import (
	"path"
	"strings"
)

// What lies where shells look for programs is started by its name: by every later shell, by an
// editor, by a login. Who puts a file there under the name of a program that people use has that run
// in its place. A new name is a tool of one's own, which nobody starts but who knows of it.

// programFolders are folders in which shells look for programs, besides those of the system and those
// of managers of versions, which lie in a folder of the home whose name begins with a dot.
var programFolders = set("/usr/local/bin /usr/local/sbin /opt/homebrew/bin /opt/local/bin ~/bin ~/.bin ~/sbin ~/go/bin ~/miniconda3/bin ~/anaconda3/bin ~/mambaforge/bin ~/.local/share/pnpm ~/library/pnpm ~/.dotnet/tools")

// startedAs is the name by which a file is started wherever somebody is: that of a program in a folder
// where shells look for them. p is normalized.
func startedAs(p string) (name string, ok bool) {
	dir, name := path.Split(p)
	dir = strings.ToLower(strings.TrimSuffix(dir, "/"))
	if name == "" || !strings.HasPrefix(dir, "~") && !strings.HasPrefix(dir, "/") {
		return "", false
	}
	ok = programFolders[dir]
	if !ok && strings.HasPrefix(dir, "~/.") && listed("bin sbin shims", path.Base(dir)) {
		ok = true
		for part := range strings.SplitSeq(dir, "/") { // which nobody looks in who does not work there
			ok = ok && !listed(".cache worktrees virtualenvs .virtualenvs .venv .venvs .tox", part)
		}
	}
	return name, ok
}

// putsProgram judges that a file is put where shells look for programs; text is what it will hold, where
// that is known.
func (a *assessor) putsProgram(file, text string, at span) {
	p := normalPath(file).text
	if from := a.from(file); from != "" {
		p = normalPath(from).text
	}
	name, ok := startedAs(p)
	plugs := plugsInto(p)
	if own := normalPath(a.began).text; !ok && plugs == "" || own != "" && strings.HasPrefix(p, own+"/") {
		return
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	grave := false
	if text != "" {
		weight, _, _ := a.table.ifRun(name, text)
		grave = weight >= Grave
	}
	used := programs()[name] || programs()[strings.TrimRight(name, "0123456789.")] || trustedNames[name] || usedDaily[name]
	if plugs != "" { // of the parts of a program, those that it comes with
		used = usedDaily[name] && strings.HasPrefix(name, plugs+"-")
	}
	switch {
	case takesPasswords[name], used && grave:
		a.report("code.library_hijack", 0.85, at)
	case used:
		a.report("code.library_hijack", 0.6, at)
	case grave:
		a.report("persist.setting", 0.6, at)
	}
}

// pluginFolders are folders from which a program takes what it starts as a part of itself, by the name of that
// program; what lies below them is started by its name, or whenever the program begins.
var pluginFolders = []struct{ folder, of string }{
	{"~/.docker/cli-plugins/", "docker"}, {"/usr/local/lib/docker/cli-plugins/", "docker"}, {"/usr/local/libexec/docker/cli-plugins/", "docker"}, {"/usr/lib/docker/cli-plugins/", "docker"}, {"/usr/libexec/docker/cli-plugins/", "docker"}, {"~/.config/containers/plugins/", "podman"},
	{"~/.local/share/gh/extensions/", "gh"}, {"~/.config/glab-cli/plugins/", "glab"},
	{"~/.local/share/helm/plugins/", "helm"}, {"~/library/helm/plugins/", "helm"}, {"~/.helm/plugins/", "helm"}, {"~/.kube/plugins/", "kubectl"}, {"~/.krew/bin/kubectl-", "kubectl"}, {"~/.krew/store/", "kubectl"},
	{"~/.terraform.d/plugins/", "terraform"}, {"~/.local/share/terraform/plugins/", "terraform"}, {"~/.terraform.d/plugin-cache/", "terraform"}, {"~/.packer.d/plugins/", "packer"}, {"~/.config/packer/plugins/", "packer"}, {"~/.pulumi/plugins/", "pulumi"}, {"~/.vagrant.d/gems/", "vagrant"},
	{"~/.vim/pack/", "vim"}, {"~/.vim/plugged/", "vim"}, {"~/.local/share/nvim/", "nvim"}, {"~/.config/nvim/pack/", "nvim"}, {"~/.tmux/plugins/", "tmux"}, {"~/.config/tmux/plugins/", "tmux"}, {"~/.asdf/plugins/", "asdf"}, {"~/.local/share/mise/plugins/", "mise"},
	{"~/.vscode/extensions/", "code"}, {"~/.vscode-server/extensions/", "code"}, {"~/.cursor/extensions/", "cursor"}, {"~/.windsurf/extensions/", "windsurf"}, {"~/.config/micro/plug/", "micro"}, {"~/.config/sublime-text/packages/", "subl"}, {"~/.elpa/", "emacs"},
	{"~/.cargo/bin/cargo-", "cargo"}, {"~/.local/bin/git-", "git"}, {"~/.local/bin/kubectl-", "kubectl"}, {"~/bin/git-", "git"}, {"~/bin/kubectl-", "kubectl"}, {"~/.local/bin/docker-", "docker"}, {"~/.aws/cli/plugins/", "aws"}, {"~/.config/gcloud/plugins/", "gcloud"}, {"~/.config/fisher/", "fish"},
}

// plugsInto is the program that takes a file as a part of itself, by where that lies; empty for none.
func plugsInto(p string) string {
	p = strings.ToLower(p)
	for _, of := range pluginFolders {
		if strings.HasPrefix(p, of.folder) {
			return of.of
		}
	}
	return ""
}

// bringsProgram judges that what a stranger has is put where a program takes parts of itself, or under the name of
// one that people use, without being looked at.
func (s *shell) bringsProgram(p string) {
	name, ok := startedAs(p)
	if plugsInto(p) != "" || ok && (programs()[name] || usedDaily[name]) {
		s.report("code.library_hijack", 0.6, s.at)
	}
}

// putsCopy judges that a file is put under another name where shells look for programs: it is started
// in the place of that one, and what it is nobody has read. A name that a package gives a program of its
// own, and that people put right, is none.
func (c *invocation) putsCopy(from, to string) {
	name := path.Base(slashed(strings.TrimSpace(from)))
	if strings.HasSuffix(to, "/") || name == path.Base(slashed(to)) || c.name == "ln" && !strings.Contains(from, "/") { // $(which fdfind)
		return
	}
	for _, dir := range []string{"/bin/", "/usr/", "/opt/", "/snap/"} {
		if strings.HasPrefix(from, dir) {
			return
		}
	}
	f, _ := c.getFile(from)
	c.assessor.putsProgram(to, f.text, c.at)
}

// shadows says whether a file would be run in the place of a program of the system, or of one that
// keeps watch or keys: one that is copied, linked or fetched under another name may be a maker's own.
func (s *shell) shadows(p string) bool {
	name, ok := startedAs(p)
	return ok && ofSystem[name]
}

var (
	// takesPasswords are programs to which people type a password.
	takesPasswords = set("sudo su doas ssh ssh-add ssh-agent gpg gpg2 gpg-agent passwd login pass pinentry pkexec sudoedit op bw age sops vault keepassxc-cli")
	// ofSystem are programs that come with the system, and what people give keys to: nobody installs
	// them into a home.
	ofSystem = set(`sudo su ssh scp sftp git ls cat sh bash zsh fish dash python python3 node npm gpg curl wget passwd kubectl docker login perl env find grep sed awk cp mv rm ln mkdir chmod tar less vi ps top id test which
		man make cc gcc ld as mount systemctl crontab ssh-add ssh-agent doas pkexec pinentry claude codex gemini reeve reeve-hook`)
	// usedDaily are programs that developers start all day, and that no table names otherwise.
	usedDaily = set(`rustc rustup rustfmt cargo-clippy gofmt gopls dlv pip pip3 pipx uv uvx poetry conda mamba pyenv rbenv nodenv asdf mise volta nvm corepack tsc tsx eslint prettier vite jest
		gem bundle bundler rake rails irb composer artisan dotnet nuget mvn gradle sbt kotlinc ghc stack cabal elixir mix iex erl
		code cursor nvim emacs nano subl gh glab tig lazygit rg fd fzf bat eza jq yq htop btop tmux zellij starship direnv zoxide atuin thefuck
		terraform tofu terragrunt ansible helm k9s kind minikube skaffold eksctl flux argocd podman nerdctl colima docker-compose aws gcloud az doctl flyctl heroku vercel netlify wrangler
		docker-buildx docker-scout docker-scan docker-init docker-model docker-mcp docker-sbom docker-debug docker-desktop docker-extension
		psql mysql sqlite3 redis-cli mongosh opencode cursor-agent copilot qwen amp droid goose aider clear exit reset tput`)
)
