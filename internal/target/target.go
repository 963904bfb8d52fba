// Package target tells what an act is aimed at: in one line for whoever is asked about
// it, and as a scope, which says of a later act whether it does the same to the same
// thing.
//
//	target.What(a, nil)          // "shell: npm publish --tag next"
//	scope := target.Of(a)        // what of it must be the same, and what may differ
//	scope.Files = target.Files…  // the state of the files that it runs
package target

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/words"
)

// Bounds of a line.
const (
	maxWhat  = 2000 // bytes
	maxWords = 40   // of a text for a reader, of which no more is shown
)

// Look notes what the disk says of an act: where its words lead, what is checked out, what Git would take
// in, where the data is that it may take away, and which secrets lie where it may send something.
func Look(a *act.Action) {
	folder := folderOf(a)
	a.Branch, a.Links = Branch(a, folder), Links(a, folder)
	a.Unkept, a.Ignored = Unkept(a, folder)
	a.Stores, a.Cluster, a.Swept = Stores(a, folder), Cluster(a), Swept(a, folder)
	a.Kubeconfigs, a.Missing = Kubeconfigs(a, folder), missing(folder)
	Secrets(a, folder)
}

// folderOf is the folder in which a call works; empty where that is not known, or where it may be several.
func folderOf(a *act.Action) string {
	if !a.IsCall() {
		return ""
	}
	if folders := hazard.Folders(a); len(folders) == 1 && filepath.IsAbs(folders[0]) {
		return folders[0] // not cleaned: x/link/.. is not x
	}
	return ""
}

// What tells in one line what an act would do. masked is the request as it is kept, of
// which the values are taken in place of the act's own; nil for those.
func What(a *act.Action, masked []byte) string {
	value := func(_ string, own []byte) []byte { return own }
	if masked != nil {
		doc, err := rawjson.Parse(masked)
		if err != nil {
			return name(a)
		}
		cursor := rawjson.Cursor{Doc: doc}
		value = func(pointer string, _ []byte) []byte { return cursor.At(pointer).Raw() }
	}
	var said []string
	if !a.IsCall() {
		for i := range a.Content {
			if l := &a.Content[i]; !l.Fixed && l.Pointer != "" {
				said = append(said, plain(value(l.Pointer, rawjson.Quote(l.Text))))
			}
		}
		return words.Shorten(strings.TrimSpace(string(a.Kind)+" "+name(a))+": "+strings.Join(said, " "), maxWhat)
	}
	forReaders := readersArguments(a, hazard.Read(a))
	for i := range a.Arguments {
		arg := &a.Arguments[i]
		text := plain(value(arg.Pointer, arg.Value))
		switch {
		case text == "":
		case arg.Name == "command":
			said = slices.Insert(said, 0, text)
		case forReaders[arg.Name] && len(text) > maxWords:
			said = append(said, fmt.Sprintf("%s=(%s)", arg.Name, words.Count(len(text), "byte")))
		default:
			said = append(said, arg.Name+"="+text)
		}
	}
	return words.Shorten(name(a)+": "+strings.Join(said, " "), maxWhat)
}

// name is what an act is called that is the call of a tool.
func name(a *act.Action) string {
	n := a.Resource
	if a.Server != "" && a.Server != n {
		n = strings.TrimSuffix(a.Server+"/"+n, "/")
	}
	return n
}

// plain is a text without its quotes, and anything else as JSON.
func plain(value []byte) string {
	doc, err := rawjson.Parse(value)
	if err != nil {
		return ""
	}
	if root := doc.Root(); root.Kind() == rawjson.String {
		return root.Text()
	}
	return string(doc.Root().AppendCanonical(nil))
}

// readersArguments are the names of a call's arguments that hold words for a reader, or a
// file's content, and nothing else.
func readersArguments(a *act.Action, read *hazard.Reading) map[string]bool {
	parts := read.Parts()
	names := map[string]bool{}
	for i := range a.Content {
		if arg := a.Content[i].Arg; arg != "" {
			was, seen := names[arg]
			names[arg] = parts[i].Words && !a.Content[i].Fixed && (was || !seen)
		}
	}
	for i := range a.Arguments { // of one that is no single text, the form can matter
		if v := a.Arguments[i].Value; len(v) == 0 || v[0] != '"' {
			names[a.Arguments[i].Name] = false
		}
	}
	return names
}
