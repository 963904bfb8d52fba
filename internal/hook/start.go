package hook

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/aos"
)

// A repository's own settings can switch hooks off, now or once its folder is trusted.
// Where the hook runs nevertheless, it says so when a session begins: in the record and
// on standard error. Before each prompt it is said once more, as a step of its own, so
// that a rule which denies it keeps the prompt back.

// alsoRead are files of settings that an agent reads beside its own.
var alsoRead = map[string][]string{"copilot": {".claude/settings.json", ".claude/settings.local.json"}, "gemini": {".env"}}

// maxAbove is how many folders above the one that an agent works in are looked at.
const maxAbove = 64

// switchedOffBelow says which files of a repository's settings, in a folder and those
// above it, would have an agent run no hooks.
func switchedOffBelow(agent, folder string) (found []string) {
	if !filepath.IsAbs(folder) {
		return nil
	}
	names := alsoRead[agent]
	for _, s := range Settings {
		if s.Agent == agent && !s.User && !strings.HasPrefix(s.Path, "/") && !strings.Contains(s.Path, "*") {
			names = append(names[:len(names):len(names)], s.Path)
		}
	}
	for range maxAbove {
		for _, name := range names {
			file := filepath.Join(folder, filepath.FromSlash(name))
			if text, err := readConfig(file); err == nil && text != nil {
				if off := switchedOff(text); off != "" {
					found = append(found, fmt.Sprintf("%s switches hooks off (%s)", file, off))
				}
			}
		}
		if folder == filepath.Dir(folder) {
			break
		}
		folder = filepath.Dir(folder)
	}
	return found
}

// look looks at the settings of the folder in which a session begins, or goes on: what
// a model has written is there by the next prompt.
func (e *Event) look() {
	if e.Child == "" && (e.Kind == Start || e.Kind == Prompt) {
		e.off = switchedOffBelow(e.Agent.ID, e.Cwd)
		e.goesBy = lookBrought(e.Cwd)
	}
}

// offTexts are those of a step that tells of it.
func (e *Event) offTexts() (texts []text) {
	for _, off := range e.off {
		texts = append(texts, text{text: off})
	}
	return texts
}

// judgeOff asks about what switches hooks off before a prompt goes on. It returns the
// decision that keeps the prompt back, nil if none does.
func (e *Event) judgeOff(ctx context.Context, turn string, ask func(context.Context, []byte) (*Decision, error)) (*Decision, error) {
	if len(e.off) == 0 {
		return nil, nil
	}
	told, err := request("steps/message", &aos.MessageParams{Context: e.context(turn, "", time.Now()), Message: message(aos.RoleSystem, e.offTexts())})
	if err != nil {
		return nil, err
	}
	d, err := ask(ctx, told)
	if err != nil || d.Effect == act.Allow || d.Effect == act.Modify {
		return nil, err
	}
	return d, nil
}

// notices are what standard error says beside an answer.
func (e *Event) notices() string {
	var b strings.Builder
	for _, off := range e.off {
		fmt.Fprintf(&b, "reeve: %s\n", off)
	}
	for _, said := range e.noted {
		fmt.Fprintf(&b, "reeve: %s See reeve pins diff.\n", said)
	}
	return b.String()
}
