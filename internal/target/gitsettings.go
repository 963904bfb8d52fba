package target

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/internal/regular"
)

// A GitSetting is one of Git's settings, with its key as git config shows it: the section and the name in
// lower case, and between them the part in quotes as it is.
type GitSetting struct{ Key, Value string }

// Bounds of the settings of Git that are read.
const (
	maxGitFiles    = 16 // with those that they take in
	maxGitSettings = 1024
)

// GitSettings are the settings by which Git goes in a folder, as they lie on the disk: those of the user, of
// the repository, and of files that these take in, whatever they take them in for. top is the folder of the
// repository's files; empty where there is none.
func GitSettings(folder string) (settings []GitSetting, top string) {
	at, git, common := repositoryOf(folder)
	var files []string
	home, err := os.UserHomeDir()
	if err == nil {
		files = append(files, filepath.Join(home, ".config", "git", "config"), filepath.Join(home, ".gitconfig"))
	}
	if git != "" {
		files = append(files, filepath.Join(common, "config"), filepath.Join(git, "config.worktree"))
		for top = at; filepath.Dir(top) != top; top = filepath.Dir(top) {
			if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
				break
			}
		}
	}
	for i := 0; i < len(files) && i < maxGitFiles; i++ {
		text, err := regular.Read(files[i], maxGitFile)
		if err != nil {
			continue
		}
		for _, s := range settingsOfGit(string(text)) {
			if len(settings) == maxGitSettings {
				return settings, top
			}
			settings = append(settings, s)
			if section, _, _ := strings.Cut(s.Key, "."); (section == "include" || section == "includeif") && strings.HasSuffix(s.Key, ".path") {
				file := s.Value
				if rest, ok := strings.CutPrefix(file, "~/"); ok {
					file = filepath.Join(home, rest)
				} else if !filepath.IsAbs(file) {
					file = filepath.Join(filepath.Dir(files[i]), file)
				}
				if !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
	}
	return settings, top
}

// settingsOfGit are the settings in the text of one file.
func settingsOfGit(text string) (settings []GitSetting) {
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, ok := strings.Cut(line[1:], "]")
			if !ok {
				continue
			}
			name, sub, quoted := strings.Cut(head, `"`)
			section = strings.ToLower(strings.TrimSpace(name)) + "."
			if quoted {
				section += strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(sub), `"`), `\`, "") + "."
			}
			line = strings.TrimSpace(rest)
		}
		if line == "" || line[0] == '#' || line[0] == ';' || section == "" {
			continue
		}
		key, value, set := strings.Cut(line, "=")
		if !set {
			value = "true"
		}
		settings = append(settings, GitSetting{section + strings.ToLower(strings.TrimSpace(key)), gitValue(strings.TrimSpace(value))})
	}
	return settings
}

// gitValue is a value without the quotes and the comment that stand in it.
func gitValue(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}
