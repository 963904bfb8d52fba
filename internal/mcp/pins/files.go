package pins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/words"
)

// What an agent goes by in a folder (instructions, skills, settings with hooks) is pinned as
// the tools of an MCP server are: in a Server of its own, whose tools are the files. A file's
// hash is that of its bytes.

// filesOf names what an agent goes by in a folder, as people see and answer it.
func filesOf(agent, folder string) string {
	return words.Cut(fmt.Sprintf("files of %s in %s", agent, folder), maxFolder)
}

// Bounds of the files of one folder.
const (
	maxFolder   = 1024 // bytes of its name
	MaxFiles    = 256
	maxFileText = 16 << 10 // bytes of a text that is kept to be compared
)

// CompareFiles compares what an agent goes by with what was agreed to, remembers what is new,
// with a record, and returns what differs: sentences, without anything that is the files' own
// but their names. A *guard.QuotaError says that there is no room for them.
func (p *Pins) CompareFiles(ctx context.Context, by act.Principal, agent, folder string, mode Mode, files []act.File) (differ []string, err error) {
	switch {
	case mode == Off:
		return nil, nil
	case len(files) > MaxFiles || !proper(files):
		return []string{"What the agent says of the files that it goes by cannot be compared."}, nil
	}
	name := filesOf(agent, folder)
	id := serverID(by.Name, name)
	s, err := p.items.Update(ctx, id, func(s *Server, item *guard.Item) (*guard.Note, error) {
		if !item.Found {
			*s = Server{ID: id, Name: name, Principal: by.Name, Files: true}
		}
		changes := s.takeFiles(files, mode, p.now())
		if len(changes) == 0 {
			return nil, nil
		}
		item.Charged = true
		return guard.Admin("pins.files", by, map[string]string{
			"agent": agent, "folder": folder, "id": id, "changes": strings.Join(changes[:min(len(changes), 50)], "; "),
		}), nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range s.Tools {
		if t.Held != nil && !t.Gone {
			differ = append(differ, t.differs())
		}
	}
	return differ, nil
}

// proper reports whether each file has a name of its own, and a hash.
func proper(files []act.File) bool {
	seen := map[string]bool{}
	for _, f := range files {
		if sum, err := hex.DecodeString(f.Hash); err != nil || len(sum) != sha256.Size || f.Path == "" || len(f.Path) > maxFolder || seen[f.Path] {
			return false
		}
		seen[f.Path] = true
	}
	return true
}

// differs says how a file differs from what was agreed to.
func (t *Tool) differs() string {
	name := strconv.QuoteToASCII(words.Cut(t.Name, 200))
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

// takeFiles brings what is known up to date with the files that are there, and says what
// changed. A file that comes without its text has the one that it had with this hash.
func (s *Server) takeFiles(files []act.File, mode Mode, now time.Time) (changes []string) {
	first := s.First.IsZero()
	if first {
		s.First = now
		changes = append(changes, "the folder is new")
	}
	there := map[string]bool{}
	for _, f := range files {
		there[f.Path] = true
	}
	for _, t := range s.Tools {
		if gone := !there[t.Name]; gone != t.Gone {
			t.Gone = gone
			changes = append(changes, fmt.Sprintf("%.80q is %s", t.Name, map[bool]string{true: "gone", false: "back"}[gone]))
		}
	}
	for _, f := range files {
		t := s.Tool(f.Path)
		switch {
		case t != nil && t.Hash == f.Hash:
			if t.Held != nil {
				t.Held = nil
				changes = append(changes, fmt.Sprintf("%.80q is as it was agreed to", f.Path))
			}
			continue
		case t != nil && t.Held != nil && t.Held.Hash == f.Hash:
			continue
		}
		if t == nil {
			t = &Tool{Name: f.Path}
			s.Tools = append(s.Tools, t)
		}
		text := definitionOf(f)
		if s.size()+len(text) > maxBytes {
			text = nil
		}
		var found []string
		for _, one := range risk.Scan(f.Text, risk.Injection|risk.Hidden, nil) {
			if said := fmt.Sprintf("There is what looks like %s in it.", one.Name); !slices.Contains(found, said) && len(found) < maxFound {
				found = append(found, said)
			}
		}
		if first && mode == TrustFirst && len(found) == 0 {
			t.Hash, t.Definition, t.By, t.At = f.Hash, text, "first listing", now
			changes = append(changes, fmt.Sprintf("%.80q is taken as first seen (%.12s)", f.Path, f.Hash))
			continue
		}
		t.Held = &Held{Hash: f.Hash, Definition: text, Since: now, Found: found}
		changes = append(changes, fmt.Sprintf("%.80q is held (%.12s)", f.Path, f.Hash))
	}
	s.forget()
	return changes
}

// definitionOf is a file as it is kept to be shown, and compared with what it becomes.
func definitionOf(f act.File) []byte {
	b := rawjson.AppendString([]byte(`{"kind":`), f.Kind)
	b = rawjson.AppendString(append(b, `,"name":`...), f.Path)
	if f.Text != "" && len(f.Text) <= maxFileText {
		b = rawjson.AppendString(append(b, `,"text":`...), f.Text)
	}
	return append(b, '}')
}
