package hook

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/internal/regular"
)

// What a command or a skill is called is said by its file's name, its folder's, or by the
// name that stands at its head. Which of them counts differs from one release of an agent to
// the next, and so does whether upper and lower case are one; so each that could be meant is
// read.

// Bounds of a search for skills.
const (
	maxSkills    = 2000    // names in one folder of settings
	maxSkillHead = 8 << 10 // bytes of a file that are read for its name
)

// skillFiles are the files below a folder of settings that a name may mean.
func skillFiles(folder string, names []string) (files []string) {
	means := func(name string) bool {
		return name != "" && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	left := maxSkills
	_ = filepath.WalkDir(filepath.Join(folder, "commands"), func(file string, entry os.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return filepath.SkipAll
		}
		rel, err := filepath.Rel(filepath.Join(folder, "commands"), file)
		if err != nil || entry.IsDir() || !strings.EqualFold(filepath.Ext(file), ".md") {
			return nil
		}
		name := filepath.ToSlash(rel[:len(rel)-len(".md")])
		if means(name) || means(filepath.Base(name)) || means(headName(file)) {
			files = append(files, file)
		}
		return nil
	})
	skills := filepath.Join(folder, "skills")
	entries, _ := os.ReadDir(skills)
	for _, entry := range entries[:min(len(entries), maxSkills)] {
		inside, _ := os.ReadDir(filepath.Join(skills, entry.Name())) // also behind a link
		for _, one := range inside[:min(len(inside), maxSkills)] {
			if !strings.EqualFold(one.Name(), "SKILL.md") {
				continue
			}
			file := filepath.Join(skills, entry.Name(), one.Name())
			if means(entry.Name()) || means(headName(file)) {
				files = append(files, file)
			}
		}
	}
	return files
}

// headName is the name that a skill's file says at its head; empty for none.
func headName(file string) string {
	f, err := regular.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxSkillHead))
	for line := range strings.Lines(head(string(text))) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "name") {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// head is what stands at a skill's head, between lines of ---; empty where nothing does.
func head(text string) string {
	text = strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
	rest, ok := strings.CutPrefix(text, "---")
	if !ok {
		return ""
	}
	if at := strings.Index(rest, "\n---"); at >= 0 {
		return rest[:at]
	}
	return rest
}

// headCommands are the commands that a skill's head has run: the hooks that it brings along.
func headCommands(text string) (commands []string) {
	lines := strings.Split(head(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t-{,")
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.Trim(strings.TrimSpace(name), `"'`) != "command" {
			if _, value, ok = strings.Cut(line, "command:"); !ok {
				continue
			}
		}
		value = strings.TrimSpace(value)
		indent := len(lines[i]) - len(strings.TrimLeft(lines[i], " \t"))
		block := value == "" || value[0] == '|' || value[0] == '>'
		if block {
			value = ""
		}
		for i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || len(lines[i+1])-len(strings.TrimLeft(lines[i+1], " \t")) > indent) {
			next := strings.TrimSpace(lines[i+1])
			if before, _, ok := strings.Cut(next, ":"); ok && !block && !strings.ContainsAny(before, " /\"'$|") {
				break // the next name
			}
			value += "\n" + next
			i++
		}
		if value = strings.Trim(strings.TrimSpace(value), `"'`); value != "" {
			commands = append(commands, value)
		}
	}
	return commands
}
