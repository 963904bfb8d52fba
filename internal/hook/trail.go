package hook

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"
)

// Trail is what a session's hooks tell each other: each is a process of its own,
// and not every agent has names for its turns and calls. It is a small file of
// lines that are only ever appended, so that hooks that run at once need no lock.
//
// Nothing is allowed because of it but to show the result of a call that the
// agent's user was asked about, and to say so; whoever writes into it gains no more.
type Trail struct{ name string }

// Bounds of a trail. What lies before its last part is forgotten.
const (
	trailTail = 256 << 10
	trailMax  = 4 << 20
	trailAge  = 7 * 24 * time.Hour
	trailDir  = 4096 // files looked at when old ones are removed
)

// OpenTrail returns a session's trail in a folder, which is made.
func OpenTrail(dir string, e *Event) (*Trail, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(e.SessionID()))
	return &Trail{filepath.Join(dir, hex.EncodeToString(sum[:12])+".trail")}, nil
}

// Tidy removes the trails of sessions that have not gone on for a week.
func (t *Trail) Tidy(now time.Time) {
	dir, err := os.Open(filepath.Dir(t.name))
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(trailDir)
	for _, name := range names {
		file := filepath.Join(filepath.Dir(t.name), name)
		if info, err := os.Lstat(file); err == nil && strings.HasSuffix(name, ".trail") && info.Mode().IsRegular() && now.Sub(info.ModTime()) > trailAge {
			os.Remove(file)
		}
	}
}

func (t *Trail) add(words ...string) error {
	f, err := os.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > trailMax {
		f.Close()
		return errors.Join(err, fmt.Errorf("%s is no file of this hook's, or too large", t.name))
	}
	_, err = io.WriteString(f, strings.Join(words, " ")+"\n")
	return errors.Join(err, f.Close())
}

// lines returns the words of the newest lines.
func (t *Trail) lines() (list [][]string, err error) {
	f, err := regular.Open(t.name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", t.name))
	}
	cut := info.Size() > trailTail
	if cut {
		if _, err := f.Seek(-trailTail, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, 2*trailTail))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && !cut {
			list = append(list, words)
		}
		cut = false // of a line that was cut, the rest is not one
	}
	return list, nil
}

// BeginTurn notes that a turn begins, and returns its name. What was called before it and
// has had no result was given up, by the user or by the agent's end: no result that comes
// later is taken for that call's.
func (t *Trail) BeginTurn() (string, error) {
	id := "turn-" + rand.Text()[:10]
	return id, t.add("turn", id)
}

// brought looks whether the guardian knows the files that the agent goes by. Where the guardian was told of them as they
// are in this session, their texts are not told again. That there are none is told as well:
// one that comes later is new then, and not the first.
func (t *Trail) brought(e *Event) error {
	if e.goesBy == nil {
		return nil
	}
	lines, err := t.lines()
	if err != nil {
		return err
	}
	last := ""
	for _, words := range lines {
		if words[0] == "files" && len(words) == 2 {
			last = words[1]
		}
	}
	digest := digestOf(e.goesBy.Files)
	if e.fresh = e.Kind == Start || digest != last; !e.fresh {
		for i := range e.goesBy.Files {
			e.goesBy.Files[i].Text = ""
		}
	}
	return nil
}

// toldBrought notes that the guardian was told of them.
func (t *Trail) toldBrought(e *Event) error {
	if !e.fresh {
		return nil
	}
	return t.add("files", digestOf(e.goesBy.Files))
}

// Turn returns the name of the turn that is under way.
func (t *Trail) Turn() (string, error) {
	lines, err := t.lines()
	turn := "turn-0"
	for _, words := range lines {
		if words[0] == "turn" && len(words) == 2 {
			turn = words[1]
		}
	}
	return turn, err
}

// print tells one call from another, by its tool and arguments.
func (e *Event) print() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s ", len(e.Tool.Given), e.Tool.Given)
	h.Write(e.input.AppendCanonical(nil))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Decided notes what becomes of a call that the agent has no name for: a denied one has no
// result, and the next like it must not be taken for it; the result of a changed one comes
// with the changed arguments.
func (t *Trail) Decided(e *Event, call string, o outcome) error {
	switch o.effect {
	case act.Deny:
		return t.add("end", call, "denied")
	case act.Modify:
		doc, err := rawjson.Parse(o.input)
		if err != nil {
			return err
		}
		changed := *e
		changed.input = doc.Root()
		return t.add("call", changed.print(), call)
	}
	return nil
}

// BeginCall gives a call a name, for its result to be known by.
func (t *Trail) BeginCall(e *Event) (string, error) {
	id := "call-" + rand.Text()
	return id, t.add("call", e.print(), id)
}

// EndCall returns the name of the newest call like a result's that has had none: of an
// older one the result was lost. Empty if there is none.
func (t *Trail) EndCall(e *Event) (string, error) {
	print, mine := e.print(), rand.Text()
	for range 64 { // another hook may take the same one
		lines, err := t.lines()
		if err != nil {
			return "", err
		}
		ended := map[string]string{} // by whom, first of all
		for _, words := range lines {
			if words[0] == "end" && len(words) == 3 && ended[words[1]] == "" {
				ended[words[1]] = words[2]
			}
		}
		free := ""
		for _, words := range lines {
			if words[0] == "turn" { // the calls before it were given up
				free = ""
				continue
			}
			if words[0] != "call" || len(words) != 3 || words[1] != print {
				continue
			}
			switch ended[words[2]] {
			case mine:
				return words[2], nil
			case "":
				free = words[2]
			}
		}
		if free == "" {
			return "", nil
		}
		if err := t.add("end", free, mine); err != nil {
			return "", err
		}
	}
	return "", nil
}

// Ask notes that the agent's user is asked about a call, which is held as an approval.
func (t *Trail) Ask(e *Event, call, approval string) error {
	return t.add("ask", hex.EncodeToString([]byte(call)), hex.EncodeToString([]byte(approval)), e.print())
}

// Asked reports whether the agent's user was asked about a call, whose result an event is,
// and under which approval; that is empty where the call that was made is not the one that
// the user was shown.
func (t *Trail) Asked(e *Event, call string) (approval string, asked bool) {
	lines, _ := t.lines()
	for _, words := range lines {
		if words[0] != "ask" || len(words) != 4 || words[1] != hex.EncodeToString([]byte(call)) {
			continue
		}
		asked, approval = true, ""
		if words[3] == e.print() {
			id, _ := hex.DecodeString(words[2])
			approval = string(id)
		}
	}
	return approval, asked
}

// AskOwn notes that an agent asks its user about a call, for reasons of its own.
func (t *Trail) AskOwn(e *Event) error { return t.add("own", e.subject()) }

// AskedOwn reports whether an agent has asked its user, in this turn, about the call whose
// result an event is.
func (t *Trail) AskedOwn(e *Event) bool {
	lines, _ := t.lines()
	asked := false
	for _, words := range lines {
		switch {
		case words[0] == "turn":
			asked = false
		case words[0] == "own" && len(words) == 2 && words[1] == e.subject():
			asked = true
		}
	}
	return asked
}

// subject is what a call is about: the command, the file, the address, or else all of its
// arguments. An agent that asks its user describes the call in words of its own.
func (e *Event) subject() string {
	h := sha256.New()
	list := e.arguments()
	at := slices.IndexFunc(list, func(a argument) bool { return a.name == "command" || a.name == pathArgument || a.name == "url" })
	switch {
	case e.Tool.MCP:
		fmt.Fprintf(h, "mcp %s", e.Tool.Name)
	case at >= 0:
		fmt.Fprintf(h, "%s %s", list[at].name, list[at].value)
	default:
		fmt.Fprintf(h, "%s ", e.Tool.Name)
		h.Write(e.input.AppendCanonical(nil))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
