package hook

import (
	"fmt"
	"slices"
	"strings"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/rawjson"
)

// Tool is the tool that an event is about.
type Tool struct {
	Given  string // as the agent calls it
	Name   string // as rules call it
	Server string // the MCP server that it belongs to
	MCP    bool
}

// The names that rules call the tools of all agents by. Other tools keep the
// names that the agents give them.
const (
	Shell      = canon.Shell
	ReadFile   = canon.ReadFile
	WriteFile  = canon.WriteFile
	EditFile   = canon.EditFile
	DeleteFile = canon.DeleteFile
	ListFiles  = canon.ListFiles
	SearchText = canon.SearchText
	WebFetch   = canon.WebFetch
	WebSearch  = canon.WebSearch
	Subagent   = canon.Subagent
)

// toolOf finds the common name of a tool, and the server of one that is MCP's.
func toolOf(given string) Tool {
	t := Tool{Given: given, Name: given}
	var server, name string
	var ok bool
	switch {
	case strings.HasPrefix(given, "mcp__"): // Claude Code, Codex, Gemini CLI
		server, name, ok = strings.Cut(given[len("mcp__"):], "__")
	case strings.HasPrefix(given, "@"): // Amazon Q
		server, name, ok = strings.Cut(given[1:], "/")
	case strings.HasPrefix(given, "MCP:"): // Cursor
		name, ok = given[len("MCP:"):], true
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			server, name = name[:i], name[i+1:]
		}
	}
	if ok && name != "" {
		t.Name, t.Server, t.MCP = name, server, true
		return t
	}
	if common, ok := canon.CommonTool(given); ok {
		t.Name = common
	}
	return t
}

// ofServer tells a tool of an MCP server that the agent has, where the agent puts the
// server's name before the tool's. A name that is one of the agent's own tools stays
// that: a server must not be called so that rules about files miss them.
func (t *Tool) ofServer(between string, servers []string) {
	if t.MCP || t.common() {
		return
	}
	for _, server := range servers {
		name, ok := strings.CutPrefix(t.Given, plainServer(server)+between)
		if ok && name != "" && len(server) > len(t.Server) { // of several the most special
			t.Name, t.Server, t.MCP = name, server, true
		}
	}
}

// plainServer is a server's name as agents put it into the names of tools.
func plainServer(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// common reports whether a tool is one of those that all agents have, whose arguments
// have common names, too.
func (t *Tool) common() bool {
	common, ok := canon.CommonTool(t.Name)
	return ok && !t.MCP && common == t.Name
}

// The arguments that are made here. A patch is seen whole, and beside it are the paths of
// the files that it touches. What has one path has it in both forms, so that a rule about
// paths holds for every tool, and one about path for all but a patch of several files.
const patchArgument, pathArgument, pathsArgument = "patch", "path", "paths"

// argument is one argument of a call, under the name that rules know.
type argument struct {
	name  string
	given string // the agent's name, empty for one that was made here
	value []byte
}

// arguments lists a call's arguments. Two that would get one name keep theirs.
func (e *Event) arguments() []argument {
	if !e.input.Exists() {
		return nil
	}
	if e.input.Kind() != rawjson.Object {
		return []argument{{name: "input", given: "input", value: e.input.Raw()}}
	}
	known := e.Tool.common()
	var list []argument
	for given, v := range e.input.Members() {
		name := given
		if common, ok := canon.CommonArgument(given); ok && known && !e.hasLike(common) && !hasArgument(list, common) {
			name = common
		}
		if strings.EqualFold(strings.ReplaceAll(e.Tool.Given, "_", ""), "applypatch") && (given == "command" || given == "input") && !e.hasLike(patchArgument) {
			name = patchArgument
		}
		list = append(list, argument{name, given, v.Raw()})
	}
	if why := e.unseen(); why != "" {
		list = append(list, argument{name: unseenArgument, value: rawjson.Quote(why)})
	}
	if !known || e.hasLike(pathsArgument) {
		return list
	}
	if files := e.files(list); len(files) > 0 {
		if len(files) == 1 && !hasArgument(list, pathArgument) && !e.hasLike(pathArgument) {
			list = append(list, argument{name: pathArgument, value: rawjson.Quote(files[0])})
		}
		list = append(list, argument{name: pathsArgument, value: rawjson.AppendStrings(nil, files)})
	}
	return list
}

// actable says why a call of a tool that all agents have cannot be judged: what it acts by is not
// where this agent is known to put it. A version of the agent that calls it otherwise would else
// have its calls judged as empty ones, and every one of them allowed.
func (e *Event) actable() error {
	if !e.Tool.common() {
		return nil
	}
	text := func(v rawjson.Value) bool { // or a list that begins with one
		for _, first := range v.Elems() {
			return first.Kind() == rawjson.String
		}
		return v.Kind() == rawjson.String
	}
	switch e.Tool.Name {
	case ListFiles, Subagent: // of the folder, or of what was said before
		return nil
	case Shell:
		for given, v := range e.input.Members() {
			if name := commonArgument(given); text(v) && (strings.EqualFold(name, "command") || name == "input") {
				return nil
			}
		}
		return fmt.Errorf("%.60q is called without a command that could be read", e.Tool.Given)
	}
	if e.input.Kind() == rawjson.String {
		return nil // a patch, as it is
	}
	for _, v := range e.input.Members() {
		if text(v) {
			return nil
		}
	}
	if batches := 0; e.batched(&batches) && batches > 0 {
		return nil
	}
	return fmt.Errorf("%.60q is called with nothing that says upon what", e.Tool.Given)
}

// batched reports whether each part of what a call does at once, such as Amazon Q's operations, says upon
// what it is done, and counts these parts.
func (e *Event) batched(parts *int) bool {
	for _, v := range e.input.Members() {
		if v.Kind() != rawjson.Array {
			continue
		}
		for _, part := range v.Elems() {
			*parts++
			if said := false; !eachPath(part, 0, func(string) { said = true }) || !said {
				return false
			}
		}
	}
	return true
}

// eachPath calls f with each path that stands in a part of an input, under one of its names; false where
// the part lies too deep.
func eachPath(v rawjson.Value, depth int, f func(path string)) bool {
	if depth > maxBatched {
		return false
	}
	for given, v := range v.Members() {
		low := strings.ToLower(given)
		named := commonArgument(given) == pathArgument || strings.HasSuffix(low, "path") || strings.HasSuffix(low, "paths") || low == "file" || low == "files"
		switch {
		case named && v.Kind() == rawjson.String:
			f(v.Text())
		case v.Kind() == rawjson.Object:
			if !eachPath(v, depth+1, f) {
				return false
			}
		}
		for _, elem := range v.Elems() {
			if named && elem.Kind() == rawjson.String {
				f(elem.Text())
			} else if !eachPath(elem, depth+1, f) {
				return false
			}
		}
	}
	return true
}

// maxBatched is how deep the parts of a call lie at most that are asked for their paths.
const maxBatched = 4

// commonArgument is the name that rules know an argument by.
func commonArgument(given string) string {
	if name, ok := canon.CommonArgument(given); ok {
		return name
	}
	return given
}

// unseenArgument is an argument that is made here: why nobody will see what the call gives.
// It stands beside one that the agent itself may give that name, which makes two of it, and
// such a call is refused.
const unseenArgument = "output_unseen"

// unseen says why the result of a call would reach the model past the hooks; empty if it
// would not.
func (e *Event) unseen() string {
	if e.Agent.ID != "copilot" || e.Tool.Name != Shell {
		return ""
	}
	if mode := e.input.Get("mode"); mode.Exists() && !strings.EqualFold(mode.Text(), "sync") || e.input.Get("detach").Bool() {
		return "When a command in the background ends, Copilot gives its model what it printed, and calls no hook."
	}
	return ""
}

// files are the files that a call is about, as its arguments name them.
func (e *Event) files(list []argument) (files []string) {
	for _, a := range list {
		v := e.input.Get(a.given)
		switch {
		case a.name == patchArgument && a.given != patchArgument:
			return patched(v.Text())
		case a.name == pathArgument && v.Kind() == rawjson.String:
			files = addNew(files, v.Text())
		}
	}
	seen := 0
	for _, v := range e.input.Members() {
		for _, part := range v.Elems() {
			eachPath(part, 0, func(path string) {
				if seen++; seen <= maxPatched {
					files = addNew(files, path)
				}
			})
		}
	}
	return files
}

func hasArgument(list []argument, name string) bool {
	return slices.ContainsFunc(list, func(a argument) bool { return a.name == name })
}

// hasLike reports whether the input has a member whose name is taken for this one.
func (e *Event) hasLike(name string) bool {
	for given := range e.input.Members() {
		if strings.EqualFold(strings.TrimSpace(given), name) {
			return true
		}
	}
	return false
}

// maxPatched is how many files of a patch, or of the parts of a call, are listed. These themselves
// are read whole in any case.
const maxPatched = 1000

// patched lists the files that a patch in Codex's form touches.
func patched(text string) (files []string) {
	for line := range strings.Lines(text) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), head); ok && len(files) < maxPatched {
				files = append(files, strings.TrimSpace(name))
			}
		}
	}
	return files
}
