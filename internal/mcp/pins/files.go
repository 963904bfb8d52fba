package pins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/words"
)

// What an agent goes by (instructions, skills, settings with hooks) is pinned as the tools of
// an MCP server are: in a Server of its own, whose tools are the files. A file's hash is that
// of its bytes.
//
// A file is known by the project that it lies in and its name there, whichever of its folders
// the agent works in and whichever agent it is: several read the same files, and somebody
// agrees to a file once. A project is a folder with a repository. What lies outside of one,
// such as the user's own files, is known by its whole name, in one Server.
//
// A file is taken as it is first seen where nobody has looked before: in a project that is
// new, or else in a folder that is. So a file that comes to where there was none is new, and
// held. A project is not new in a folder that was looked at, whatever became of its
// repository, nor where it is a clone or a work tree of one that is known: its files are
// compared with those, and what was agreed to in one of them is in the others.

// filesKind is the kind of item that the files of one project are.
const filesKind = "agent.files"

// filesID names the files of a project as a principal knows it; "" are those outside of all.
func filesID(principal, project string) string {
	return guard.ItemID(10, filesKind, principal, project)
}

// filesName is what people call them, and answer by.
func filesName(project string) string {
	if project == "" {
		return "files outside of repositories"
	}
	return "files in " + project
}

// Bounds of the files of one project.
const (
	maxFolder   = 1024 // bytes of a name
	MaxFiles    = 512  // that are told at once
	maxPlaces   = 128  // likewise
	maxLooked   = 4096 // folders that it is remembered of that they were looked at
	maxFileText = 16 << 10
	maxEarlier  = 16 // versions of a file that were agreed to before
)

// CompareFiles compares what an agent goes by with what was agreed to, remembers what is new,
// with a record, and returns what differs: sentences, without anything that is the files' own
// but their names. A *guard.QuotaError says that there is no room for them.
func (p *Pins) CompareFiles(ctx context.Context, by act.Principal, agent string, mode Mode, g *act.GoesBy) (differ []string, err error) {
	switch {
	case mode == Off:
		return nil, nil
	case !proper(g):
		return []string{"What the agent says of the files that it goes by cannot be compared."}, nil
	}
	var inside, outside []act.File
	for _, f := range g.Files {
		if g.Project != "" && within(f.Path, g.Project) {
			inside = append(inside, f)
		} else {
			outside = append(outside, f)
		}
	}
	around, _, err := p.files.Get(ctx, filesID(by.Name, ""))
	if err != nil {
		return nil, err
	}
	if around == nil {
		around = new(Server)
	}
	known := sync.OnceValue(func() []*Server { return p.known(ctx, by) })
	look := &look{g: g, known: known, now: p.now()}
	update := func(project string, files []act.File, also func(s *Server) (changes []string)) error {
		id := filesID(by.Name, project)
		_, err := p.files.Update(ctx, id, func(s *Server, item *guard.Item) (*guard.Note, error) {
			if !item.Found {
				if project != "" && len(files) == 0 {
					return nil, nil // that it was looked at is remembered with the folders
				}
				*s = Server{ID: id, Name: filesName(project), Principal: by.Name, Files: true, Project: project, First: p.now()}
			}
			changes := also(s)
			told, said := s.takeFiles(files, look)
			changes = append(changes, told...)
			look.differ = append(look.differ, said...)
			if len(changes) == 0 {
				return nil, nil
			}
			item.Charged = true
			return guard.Admin("pins.files", by, map[string]string{
				"agent": agent, "of": s.Name, "id": id, "changes": strings.Join(changes[:min(len(changes), 50)], "; "),
			}), nil
		})
		return err
	}
	if g.Project != "" {
		err = update(g.Project, inside, func(s *Server) (changes []string) {
			look.differ = nil
			anew := len(s.Tools) == 0 && !around.looked(g.Project) && !slices.ContainsFunc(known(), func(o *Server) bool { return o.ID != s.ID && o.sameRepository(g) })
			look.take = func(act.File) bool { return mode == TrustFirst && anew }
			if s.Repository != g.Repository {
				s.Repository = g.Repository
				changes = append(changes, fmt.Sprintf("it is of the repository %.200q", g.Repository))
			}
			return changes
		})
		if err != nil {
			return nil, err
		}
	}
	before := look.differ
	err = update("", outside, func(s *Server) (changes []string) {
		look.differ = slices.Clone(before)
		looked := slices.Clone(s.Places)
		look.take = func(f act.File) bool {
			return mode == TrustFirst && len(looked) < maxLooked && !slices.Contains(looked, f.Place)
		}
		for _, place := range g.Places {
			if len(s.Places) < maxLooked && !slices.Contains(s.Places, place) {
				s.Places = append(s.Places, place)
			}
		}
		if n := len(s.Places) - len(looked); n > 0 {
			changes = append(changes, words.Count(n, "folder")+" looked at for the first time")
		}
		return changes
	})
	return look.differ, err
}

// within reports whether a name is one below a folder.
func within(name, folder string) bool {
	return strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// proper reports whether each file has a name of its own, a place and a hash.
func proper(g *act.GoesBy) bool {
	long := func(s string) bool { return len(s) > maxFolder }
	if len(g.Files) > MaxFiles || len(g.Places) > maxPlaces || slices.ContainsFunc(g.Places, long) || long(g.Project) || long(g.Repository) {
		return false
	}
	seen := map[string]bool{}
	for _, f := range g.Files {
		if sum, err := hex.DecodeString(f.Hash); err != nil || len(sum) != sha256.Size || f.Path == "" || long(f.Path) || seen[f.Path] || !slices.Contains(g.Places, f.Place) {
			return false
		}
		seen[f.Path] = true
	}
	return true
}

// known are all files that a principal's agents go by. What is damaged is told where they are
// listed.
func (p *Pins) known(ctx context.Context, by act.Principal) (list []*Server) {
	for s, err := range p.files.All(ctx, ledger.ItemQuery{}) {
		if err == nil && s.Principal == by.Name {
			list = append(list, s)
		}
	}
	return list
}

// looked reports whether somebody looked at a folder before; where too many were, that is not
// known of any.
func (s *Server) looked(place string) bool {
	return len(s.Places) >= maxLooked || slices.Contains(s.Places, place)
}

// sameRepository reports whether a project is a clone or a work tree of the same repository,
// or the one that was cloned.
func (s *Server) sameRepository(g *act.GoesBy) bool {
	return s.Project != "" && (s.Repository == g.Repository || s.Project == g.Repository || s.Repository == g.Project)
}

// pathOf is where a file lies, and nameOf what it is called in its project.
func (s *Server) pathOf(name string) string {
	if s.Project == "" {
		return name
	}
	return path.Join(s.Project, name)
}

func (s *Server) nameOf(file string) string {
	if s.Project == "" {
		return file
	}
	return strings.TrimPrefix(file, strings.TrimSuffix(s.Project, "/")+"/")
}

// look is one look at what an agent goes by.
type look struct {
	g      *act.GoesBy
	known  func() []*Server
	take   func(f act.File) bool // whether a file is taken as it is first seen
	now    time.Time
	differ []string
}

// elsewhere is a file as it is known elsewhere: under its whole name, or in a clone of its
// project; of several the one whose content was agreed to. nil where there is none.
func (l *look) elsewhere(in *Server, name string, f act.File) (found *Tool, of string) {
	for _, s := range l.known() {
		if s.ID == in.ID {
			continue
		}
		for _, t := range s.Tools {
			same := s.pathOf(t.Name) == f.Path || in.Project != "" && t.Name == name && s.sameRepository(l.g)
			if same && t.Hash != "" && (found == nil || t.agreedTo(f.Hash)) {
				found, of = t, s.Name
			}
		}
	}
	return found, of
}

// heldElsewhere says where the same content waits for somebody, or was refused.
func (l *look) heldElsewhere(in *Server, f act.File) string {
	for _, s := range l.known() {
		for _, t := range s.Tools {
			if s.ID != in.ID && t.Held != nil && t.Held.Hash == f.Hash {
				return fmt.Sprintf("The same is held as %.200q of the %.200s.", t.Name, s.Name)
			}
		}
	}
	return ""
}

// agreedTo reports whether somebody agreed to this content of a file, now or before: whoever
// changes between branches is not asked each time.
func (t *Tool) agreedTo(hash string) bool {
	return t.Hash == hash && hash != "" || slices.Contains(t.Earlier, hash)
}

// agree makes a content the one that was agreed to.
func (t *Tool) agree(hash string, definition []byte, by string, at time.Time) {
	if t.Hash != "" && t.Hash != hash {
		t.Earlier = slices.DeleteFunc(t.Earlier, func(h string) bool { return h == hash || h == t.Hash })
		t.Earlier = append(t.Earlier, t.Hash)
		t.Earlier = t.Earlier[max(0, len(t.Earlier)-maxEarlier):]
	}
	t.Hash, t.Definition, t.By, t.At, t.Held = hash, definition, by, at, nil
}

// takeFiles brings what is known up to date with the files that are there, and says what
// changed, and what differs from what was agreed to. A file that comes without its text has
// the one that it had with this hash.
func (s *Server) takeFiles(files []act.File, l *look) (changes, differ []string) {
	there := map[string]bool{}
	for _, f := range files {
		there[s.nameOf(f.Path)] = true
	}
	for _, t := range s.Tools {
		// Of a folder that was not looked at nobody knows.
		if gone := !there[t.Name]; gone != t.Gone && (!gone || slices.Contains(l.g.Places, t.Place)) {
			t.Gone = gone
			changes = append(changes, fmt.Sprintf("%.80q is %s", t.Name, map[bool]string{true: "gone", false: "back"}[gone]))
		}
	}
	for _, f := range files {
		name := s.nameOf(f.Path)
		t := s.Tool(name)
		if t == nil {
			if s.forget(1); len(s.Tools) >= 2*MaxTools {
				differ = append(differ, fmt.Sprintf("%s is one more than is remembered, and nobody has agreed to it.", quoted(name)))
				continue
			}
			t = &Tool{Name: name, Place: f.Place}
			s.Tools = append(s.Tools, t)
		}
		if said := s.takeFile(t, f, l); said != "" {
			changes = append(changes, said)
		}
		if t.Held != nil {
			differ = append(differ, t.differs())
		}
	}
	return changes, differ
}

// takeFile brings what is known of one file up to date, and says what changed.
func (s *Server) takeFile(t *Tool, f act.File, l *look) string {
	held := t.Held != nil && t.Held.Hash == f.Hash
	switch {
	case t.agreedTo(f.Hash):
		if t.Held == nil {
			return ""
		}
		t.Held = nil
		return fmt.Sprintf("%.80q is as it was agreed to", t.Name)
	case held && t.Held.Refused != "":
		return ""
	}
	twin, of := l.elsewhere(s, t.Name, f)
	if twin != nil && twin.agreedTo(f.Hash) {
		t.agree(f.Hash, t.definitionOf(f), twin.By, twin.At)
		if twin.Hash == f.Hash {
			t.Definition = twin.Definition
		}
		return fmt.Sprintf("%.80q is as it was agreed to of the %.200s", t.Name, of)
	}
	if held {
		return ""
	}
	text := t.definitionOf(f)
	if s.size()+len(text) > maxBytes {
		text = nil
	}
	isNew := t.Hash == "" && t.Held == nil
	if isNew && twin != nil { // it is shown how it differs from that
		t.Hash, t.Definition, t.By, t.At = twin.Hash, twin.Definition, twin.By, twin.At
	}
	var found []string
	for _, one := range risk.Scan(f.Text, risk.Injection|risk.Hidden, nil) {
		if said := fmt.Sprintf("There is what looks like %s in it.", one.Name); !slices.Contains(found, said) && len(found) < maxFound {
			found = append(found, said)
		}
	}
	if isNew && twin == nil && l.take(f) {
		if said := l.heldElsewhere(s, f); said != "" {
			found = append(found, said)
		}
		if len(found) == 0 {
			t.agree(f.Hash, text, "first seen", l.now)
			return fmt.Sprintf("%.80q is taken as first seen (%.12s)", t.Name, f.Hash)
		}
	}
	t.Held = &Held{Hash: f.Hash, Definition: text, Since: l.now, Found: found}
	return fmt.Sprintf("%.80q is held (%.12s)", t.Name, f.Hash)
}

func quoted(name string) string { return strconv.QuoteToASCII(words.Cut(name, 200)) }

// differs says how a file differs from what was agreed to.
func (t *Tool) differs() string {
	name := quoted(t.Name)
	switch {
	case t.Held.Refused != "":
		return fmt.Sprintf("%s was refused as it is.", name)
	case t.Hash == "":
		return fmt.Sprintf("%s is new, and nobody has agreed to it.", name)
	}
	more, fewer := lineChanges(textOf(t.Definition), textOf(t.Held.Definition))
	if more+fewer == 0 {
		return fmt.Sprintf("%s changed, and nobody has agreed to that.", name)
	}
	return fmt.Sprintf("%s changed (%s more, %d fewer), and nobody has agreed to that.", name, words.Count(more, "line"), fewer)
}

func textOf(definition []byte) string {
	doc, err := rawjson.Parse(definition)
	if err != nil {
		return ""
	}
	return doc.Root().Get("text").Text()
}

// lineChanges counts the lines that only one of two texts has.
func lineChanges(was, is string) (more, fewer int) {
	left := map[string]int{}
	for line := range strings.Lines(was) {
		left[line]++
	}
	for line := range strings.Lines(is) {
		if left[line]--; left[line] < 0 {
			more++
		}
	}
	for _, n := range left {
		fewer += max(n, 0)
	}
	return more, fewer
}

// definitionOf is a file as it is kept to be shown, and compared with what it becomes.
func (t *Tool) definitionOf(f act.File) []byte {
	b := rawjson.AppendString([]byte(`{"kind":`), f.Kind)
	b = rawjson.AppendString(append(b, `,"name":`...), t.Name)
	if f.Text != "" && len(f.Text) <= maxFileText {
		b = rawjson.AppendString(append(b, `,"text":`...), f.Text)
	}
	return append(b, '}')
}

// forgetFolders forgets that a project's folders were looked at, so that what lies there is
// seen for the first time again.
func (p *Pins) forgetFolders(ctx context.Context, s *Server, by act.Principal) error {
	_, err := p.files.Update(ctx, filesID(s.Principal, ""), func(around *Server, item *guard.Item) (*guard.Note, error) {
		n := len(around.Places)
		around.Places = slices.DeleteFunc(around.Places, func(place string) bool { return place == s.Project || within(place, s.Project) })
		if !item.Found || len(around.Places) == n {
			return nil, nil
		}
		return guard.Admin("pins.forget", by, map[string]string{"of": s.Name, "id": s.ID, "principal": s.Principal}), nil
	})
	return err
}
