package hazard

import (
	"strings"

	"reeve.example/reeve/act"
)

// A Watch is told what a call would do, as the call is read: which commands it
// starts, which files it names, which code it hands to an interpreter. Commands
// around others (env, xargs, sh -c) are told, and so are those inside. Functions
// that are nil are not called.
type Watch struct {
	Command func(*Command)
	// Shell is the shell that reads the text, where it is known, such as bash: then it is read as no
	// other would take it.
	Shell string
	// Windows is called with each command of Windows, in lower case.
	Windows func(*Command)
	// File is called with each file that the shell itself opens, and with each
	// argument that is a path. content is what would be written, when known.
	File func(path string, writes bool, content string, known bool)
	Code func(language, text string)
	URL  func(url string)
	// Which says where a program lies that a command asks for by its name; empty if it is not known.
	Which func(name string) string
	// Variable is called with each variable that is set.
	Variable func(name, value string)
}

// Command is one command that a call would start.
type Command struct {
	Name  string   // as it is called
	Words []string // its arguments; what is not known stands as it is written
	Known bool     // all of it is known
	Stdin string   // what it is given on standard input, as far as that is known
	// Around is the command that starts this one with words of its own, such as xargs.
	Around string
	// On is the machine or the container that it runs on, as the command names it that has it run
	// there; empty for this machine, and where that cannot be told.
	On string
	// Remote is the other machine for which its words are meant, as it is named: of a remote shell, and of
	// what that has run there.
	Remote string
	// Dirs are the folders that it may run in, the first being where the call
	// begins, which is not known and empty here.
	Dirs []string
}

// Observe reads a call as Assess does, and tells what it sees. Of what cannot be
// read it tells the words. It returns what Assess does.
func Observe(tool string, leaves []act.Leaf, w *Watch) Assessment {
	a := newAssessor(Default())
	a.watch = w
	a.read(newCall(tool, leaves))
	return a.assessment()
}

func (a *assessor) watchedFile(path string, writes bool, content flow) {
	if a.watch != nil && a.watch.File != nil && path != "" {
		a.watch.File(path, writes, content.text, content.known)
	}
}

func (a *assessor) watchedCode(language, text string) {
	if a.watch != nil && a.watch.Code != nil {
		a.watch.Code(language, text)
	}
}

func plainWords(args []flow) (words []string) {
	for _, a := range args {
		words = append(words, a.text)
	}
	return words
}

// MaxDirs is how many folders a script is followed into. One that goes to more is not
// followed further, so that where a command of it runs is not known.
const MaxDirs = 64

// watched tells of a command, and notes where cd leads. Where a script may be in
// one folder or in another (a subshell, a branch), it is taken to be in both.
func (s *shell) watched(args []flow, in flow) {
	if s.watch == nil {
		return
	}
	name := args[0].text
	c := &Command{Name: name, Known: true, Around: s.around, On: s.on, Remote: s.remote, Dirs: append([]string{""}, s.dirs...)}
	if in.known {
		c.Stdin = in.text
	}
	for _, a := range args {
		c.Known = c.Known && a.known
	}
	c.Words = plainWords(args[1:])
	if s.watch.Command != nil {
		s.watch.Command(c)
	}
	switch baseName(name) {
	case "cd", "pushd", "chdir":
		to := "~"
		for _, w := range c.Words {
			if !strings.HasPrefix(w, "-") {
				to = w
			}
		}
		if !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "~") {
			last := ""
			if len(s.dirs) > 0 {
				last = s.dirs[len(s.dirs)-1] + "/"
			}
			to = last + to
		}
		if len(s.dirs) < MaxDirs {
			s.dirs = append(s.dirs[:len(s.dirs):len(s.dirs)], to)
		}
	}
}
