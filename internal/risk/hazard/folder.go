package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/act"
)

// Which folder a call works in is decided here, for all that look at one: relative names, patterns
// and "." are as seen from there. A tool that runs commands may be told the folder by an argument,
// which each of them calls otherwise. Whatever may be the folder is looked at: what the argument's
// name says to be it, a path beside a command of which nothing says what it is for, and the agent's
// own, since a tool that takes no such argument runs there.

// maxFoldersOfCall is how many folders a call may work in that are looked at.
const maxFoldersOfCall = 8

// Folders are the folders that a call may work in, the likeliest first: those that its arguments
// name, as seen from the one that the agent works in, or else this. A folder is relative where it
// is not known where the agent works, and none is "".
func Folders(a *act.Action) []string { return Read(a).Folders() }

// Folders is what the function of that name tells of the reading's act.
func (r *Reading) Folders() []string {
	if r.folders != nil {
		return r.folders
	}
	c := r.sorted()
	starts := slices.ContainsFunc(c.leaves, func(l leaf) bool { return l.role == roleCommand }) && (c.kind.runs || !c.kind.writes)
	var sure, maybe []string
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.skip || len(l.words) > 0 || len(l.Text) > 4096 || strings.ContainsAny(l.Text, "\n\x00") || strings.TrimSpace(l.Text) == "" {
			continue
		}
		switch f := folderFrom(r.of.Folder, l.Text); namesFolder(folderArgument(l), starts) {
		case folderIt:
			sure = append(sure, f)
		case folderPerhaps:
			maybe = append(maybe, f)
		default:
			if starts && hint(ownName(l)) != roleCommand && isSomewhere(l.Text) && !describesEnvironment(l.place) {
				maybe = append(maybe, f)
			}
		}
	}
	switch {
	case len(sure) == 0:
		sure = []string{r.of.Folder}
	case r.of.Folder != "": // where it runs if the tool takes no such argument, and drops it
		maybe = append(maybe, r.of.Folder)
	}
	var all []string
	for _, f := range append(sure, maybe...) {
		if !slices.Contains(all, f) && len(all) < maxFoldersOfCall {
			all = append(all, f)
		}
	}
	r.folders = all
	return all
}

// SaysFolder reports whether an argument of the call says by its name in which folder it works.
func (r *Reading) SaysFolder(argument string) bool {
	if r.saysFolder == nil {
		r.saysFolder = map[string]bool{}
		c := r.sorted()
		for i := range c.leaves {
			if l := &c.leaves[i]; !l.skip && namesFolder(folderArgument(l), c.kind.runs) == folderIt {
				r.saysFolder[l.Arg] = true
			}
		}
	}
	return r.saysFolder[argument]
}

// folderFrom is a folder as an argument says it, seen from the one that the agent works in.
func folderFrom(from, said string) string {
	said = strings.Trim(strings.TrimSpace(said), "\"'`")
	if rest, ok := strings.CutPrefix(said, "file://"); ok {
		said = strings.TrimPrefix(rest, "localhost")
	}
	for _, home := range []string{"$HOME", "${HOME}", "%USERPROFILE%", "$env:USERPROFILE"} {
		if rest, ok := strings.CutPrefix(said, home); ok && (rest == "" || rest[0] == '/') {
			said = "~" + rest
		}
	}
	if said = slashed(said); len(said) > 1 {
		said = said[:1] + strings.TrimRight(said[1:], "/")
	}
	if from == "" || strings.HasPrefix(said, "/") || strings.HasPrefix(said, "~") || len(said) > 1 && said[1] == ':' {
		return said
	}
	return path.Join(slashed(from), said)
}

// isSomewhere reports whether a text is a path that says by its form that it is one.
func isSomewhere(text string) bool {
	t := strings.TrimSpace(text)
	for _, begin := range []string{"/", "~", "$HOME", "${HOME}", "./", "../", "file:///"} {
		if strings.HasPrefix(t, begin) {
			return true
		}
	}
	return t == ".." || len(t) > 2 && t[1] == ':' && (t[2] == '\\' || t[2] == '/')
}

// describesEnvironment reports whether a value stands among the variables of the environment, or
// among a command's words.
func describesEnvironment(pointer string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(pointer), "/"), func(name string) bool {
		return strings.HasPrefix(name, "env") || strings.HasPrefix(name, "variable") || argumentLists[name] && name != "arguments" && name != "parameters" && name != "params"
	})
}

// folderArgument is an argument's name, in lower case and without the signs between its words.
func folderArgument(l *leaf) string {
	name := ownName(l)
	if isDigits(name) || name == "" {
		name = l.Arg
	}
	return folderSigns.Replace(strings.ToLower(name))
}

var folderSigns = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// How sure the name of an argument is of being the folder.
const (
	folderNot = iota
	folderPerhaps
	folderIt
)

// namesFolder tells by an argument's name whether it is the folder that a call works in. starts
// says that the call starts commands.
func namesFolder(name string, starts bool) int {
	for _, other := range []string{"output", "out", "target", "dest", "dst", "source", "src", "temp", "tmp", "cache", "log", "include", "exclude", "ignore", "file", "config", "data", "cert", "key", "mount", "volume", "download", "backup"} {
		if strings.HasPrefix(name, other) {
			return folderNot
		}
	}
	stem := name
	for _, end := range []string{"path", "name", "uri", "url"} {
		stem = strings.TrimSuffix(stem, end)
	}
	before, is := "", false
	for _, end := range []string{"cwd", "pwd", "chdir", "directory", "folder", "dir"} {
		if b, ok := strings.CutSuffix(stem, end); ok {
			before, is = b, true
			break
		}
	}
	working := stem == "wd" || stem == "cd" || stem == "cwd" || stem == "pwd" || stem == "chdir" || name == "workingpath" || name == "workpath"
	switch {
	case working, is && listed("work working current cur present start starting initial run running exec execution process proc shell session terminal command cmd", before):
		return folderIt
	case is && before == "" && starts:
		return folderIt
	case is, starts && listed("root workspace project repo repository base location", stem), strings.HasSuffix(name, "root"):
		return folderPerhaps
	}
	return folderNot
}
