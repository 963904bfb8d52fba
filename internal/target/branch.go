package target

import (
	"os"
	"path/filepath"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/regular"
)

// Branch is the branch that is checked out where a call works which may push it, and which a push goes to that
// names none; empty where that is not known, or where settings say something else.
func Branch(a *act.Action, folder string) string {
	pushes := false
	for i := range a.Content {
		pushes = pushes || strings.Contains(a.Content[i].Text, "push")
	}
	if !pushes {
		return ""
	}
	_, git, common := repositoryOf(folder)
	if git == "" {
		return ""
	}
	head, err := regular.Read(filepath.Join(git, "HEAD"), maxGitFile)
	if err != nil {
		return ""
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if !ok || branch == "" || strings.ContainsAny(branch, " \t\n\"'\\") {
		return ""
	}
	settings, err := regular.Read(filepath.Join(common, "config"), maxGitFile)
	if err != nil || pushesOtherwise(string(settings), branch, true) {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(git, "config.worktree")); err == nil {
		return ""
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range []string{".gitconfig", ".config/git/config"} {
			text, err := regular.Read(filepath.Join(home, name), maxGitFile)
			if err != nil && !os.IsNotExist(err) || pushesOtherwise(string(text), branch, false) {
				return ""
			}
		}
	}
	return branch
}

// maxGitFile is how much of a file of Git's is read.
const maxGitFile = 256 << 10

// repositoryOf is a folder without links, and where Git keeps what it knows of it; git is empty where there is
// no repository.
func repositoryOf(folder string) (at, git, common string) {
	if folder == "" {
		return "", "", ""
	}
	at, err := filepath.EvalSymlinks(folder) // Git looks above where it is, whatever that is called
	if err != nil {
		return "", "", ""
	}
	git, common = gitFolder(at)
	return at, git, common
}

// gitFolder is where Git keeps what it knows of a folder, and what it knows of all folders of the
// same repository; empty where there is none.
func gitFolder(dir string) (git, common string) {
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		git = filepath.Join(dir, ".git")
		info, err := os.Lstat(git)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			return git, git
		case !info.Mode().IsRegular():
			return "", ""
		}
		text, err := regular.Read(git, maxGitFile)
		to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if err != nil || !ok {
			return "", ""
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		if filepath.Base(filepath.Dir(to)) != "worktrees" {
			return "", ""
		}
		return to, filepath.Dir(filepath.Dir(to))
	}
	return "", ""
}

// pushesOtherwise reports whether settings of Git's may have a push that names no branch go elsewhere
// than to the one of the same name. own says that they are those of the repository.
func pushesOtherwise(text, branch string, own bool) bool {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, rest, _ := strings.Cut(line, "]")
			section = name + "]"
			line = strings.TrimSpace(rest)
		}
		if strings.HasSuffix(line, `\`) {
			return true
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		kind := strings.ToLower(section)
		switch {
		case key == "" || strings.HasPrefix(key, "#") || strings.HasPrefix(key, ";"):
		case strings.HasPrefix(kind, "[include") && own:
			return true
		case strings.HasPrefix(kind, "[push") && key == "default" && value != "simple" && value != "current" && value != "upstream" && value != "nothing":
			return true
		case strings.HasPrefix(kind, "[remote") && (key == "push" || key == "mirror"):
			return true
		case strings.HasPrefix(kind, "[branch") && key == "merge" && section == `[branch "`+branch+`"]` && value != "refs/heads/"+branch:
			return true
		}
	}
	return false
}
