package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
)

// Span is for how long people agree. The zero Span is once, to exactly what was shown.
type Span struct {
	Session bool      `json:"session,omitzero"` // while the act's session lasts
	Until   time.Time `json:"until,omitzero"`
}

// Bounds of spans: who wants more than that writes an exception into the policy.
const (
	SessionLasts = 24 * time.Hour
	MaxSpan      = 90 * 24 * time.Hour
)

// Once reports whether it is for one act alone.
func (s Span) Once() bool { return !s.Session && s.Until.IsZero() }

// narrower is what two people have both agreed to.
func (s Span) narrower(o Span) Span {
	if s.Once() || o.Once() {
		return Span{}
	}
	s.Session = s.Session || o.Session
	if s.Until.IsZero() || !o.Until.IsZero() && o.Until.Before(s.Until) {
		s.Until = o.Until
	}
	return s
}

// At is the span of an answer that is given now; an error says why it can be none.
func (s Span) At(now time.Time) (Span, error) {
	switch {
	case s.Once():
		return s, nil
	case s.Session && !s.Until.IsZero():
		return s, fmt.Errorf("%w: say session or until, not both", ErrSpan)
	case s.Until.IsZero():
		s.Until = now.Add(SessionLasts)
	case !s.Until.After(now):
		return s, fmt.Errorf("%w: %s is over", ErrSpan, s.Until.Format(time.RFC3339))
	case s.Until.Sub(now) > MaxSpan:
		return s, fmt.Errorf("%w: it is for at most 90 days; for longer, the policy's owner writes an exception", ErrSpan)
	}
	return s, nil
}

// Errors of agreeing for more than once.
var (
	ErrSpan = errors.New("this is no time to agree for")
	ErrOnce = errors.New("this can be agreed to once only")
)

// Scope is what of an act has to be the same for another to be covered by the same
// agreement. What the other may do more of, it has to be asked about.
type Scope struct {
	// Once is why the act can be agreed to once only; empty when it can for more.
	Once string `json:"once,omitzero"`
	// Same is a digest of all that has to be the same: who asks, the tool, and every
	// argument but those of Differs, which can be others or missing. Beside a command that
	// is known whole they are words about it, and can be there or not.
	Same    string   `json:"same,omitzero"`
	Differs []string `json:"differs,omitzero"`
	// Act is the command in the one form in which its spellings are compared, and Free are
	// the options that may stand in it or not; empty where the text itself must be the same.
	Act  string   `json:"act,omitzero"`
	Free []string `json:"free,omitzero"`
	// Known says that all that the act does is in what has to be the same: what may differ are
	// words about a command, or nothing.
	Known bool `json:"known,omitzero"`
	// Folder is where the act works, if it matters and is known.
	Folder string `json:"folder,omitzero"`
	Files  []File `json:"files,omitzero"`
	// Labels are what is known of the act beside: the codes of what was found in it, and
	// whether its session has read what others wrote.
	Labels []string `json:"labels,omitzero"`
	Risk   act.Risk `json:"risk,omitzero"`
	// Defined is a hash of the server's definition of the tool, where that is known: by
	// another one the same words may mean something else.
	Defined string `json:"defined,omitzero"`
}

// Words say what agreement for more than once covers, line by line, beside who acts and where.
func (s *Scope) Words() (lines []string) {
	if s.Act != "" {
		lines = append(lines, s.Act)
		if len(s.Free) > 0 {
			lines = append(lines, "with or without "+strings.Join(s.Free, ", "))
		}
		lines = append(lines, "also among commands that only print, and before others that pass by themselves")
	}
	if len(s.Differs) > 0 {
		lines = append(lines, "whatever stands in "+strings.Join(s.Differs, ", "))
	}
	var files []string
	for _, f := range s.Files {
		if strings.HasPrefix(f.Sum, "sha256:") && (f.Path == f.Real || strings.ContainsAny(f.Path, "./")) {
			files = append(files, f.Path)
		}
	}
	if len(files) > 0 {
		lines = append(lines, "while unchanged: "+strings.Join(files, ", "))
	}
	return lines
}

// File is a file that an act runs or goes to, as it was when people were asked.
type File struct {
	Path string `json:"path"` // as the act names it
	Real string `json:"real"` // where that leads
	// Sum is its content's digest, or what else stands there; empty where only the place
	// matters.
	Sum string `json:"sum,omitzero"`
}

// Covers reports whether a later act does the same to the same thing, and nothing worse.
func (s *Scope) Covers(later *Scope) bool {
	switch {
	case s.Once != "" || later.Once != "" || s.Same == "" || s.Same != later.Same || s.Folder != later.Folder || s.Defined != later.Defined:
		return false
	case !slices.Equal(s.Files, later.Files), later.Risk.Heuristic > s.Risk.Heuristic:
		return false
	case level(later.Risk.Score) > level(s.Risk.Score): // a model's own opinion is never twice the same
		return false
	}
	more := func(list, than []string) bool {
		return slices.ContainsFunc(list, func(l string) bool { return !slices.Contains(than, l) })
	}
	return !more(later.Labels, s.Labels) && (s.Known && later.Known || !more(later.Differs, s.Differs))
}

// Unlike says in a few words why a later act is not covered; empty where it is.
func (s *Scope) Unlike(later *Scope) string {
	switch {
	case s.Covers(later):
		return ""
	case s.Once != "":
		return s.Once
	case s.Same != later.Same:
		these, those := strings.Fields(s.Act), strings.Fields(later.Act)
		for i := range max(len(these), len(those)) {
			switch {
			case i >= len(those):
				return "a word is missing" + wordAt(i, these[i])
			case i >= len(these) || these[i] != those[i]:
				return "a word is another" + wordAt(i, those[i])
			}
		}
		return "what it is given, or who asks, is another"
	case s.Folder != later.Folder:
		return "the folder is another"
	case s.Defined != later.Defined:
		return "the tool is defined otherwise"
	}
	for i, f := range later.Files {
		if i >= len(s.Files) || s.Files[i] != f {
			return "a file is another, or is not as it was" + quoted(f.Path)
		}
	}
	switch {
	case len(later.Files) < len(s.Files):
		return "a file is no more what it goes by" + quoted(s.Files[len(later.Files)].Path)
	case later.Risk.Heuristic > s.Risk.Heuristic || level(later.Risk.Score) > level(s.Risk.Score):
		return fmt.Sprintf("its risk is higher, %.2f and not %.2f", later.Risk.Score, s.Risk.Score)
	}
	for _, l := range later.Labels {
		if !slices.Contains(s.Labels, l) {
			return "something is known of it that was not then" + quoted(l)
		}
	}
	return "an argument is given that was not then"
}

// wordAt names a word of a command: by what it is where it says what is done, and else by its place, since
// what a command is given is kept only where that is set.
func wordAt(i int, word string) string {
	if option, _, _ := strings.Cut(word, "="); i < 3 || strings.HasPrefix(option, "-") {
		return quoted(option)
	}
	return fmt.Sprintf(" (word %d)", i+1)
}

// quoted is a word behind a sentence, where it is a plain one that can hold nothing that must not be shown.
func quoted(word string) string {
	plain := !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/-~ :", r))
	})
	if !plain || word == "" || len(word) > 80 || strings.Contains(word, "://") {
		return ""
	}
	return fmt.Sprintf(" (%q)", word)
}

// level orders the levels of risk.
func level(score float64) int {
	return slices.Index([]string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}, act.Level(score))
}

// Grant is people's agreement to acts that do the same as one that was shown to them.
type Grant struct {
	ID       string `json:"id"`
	Approval string `json:"approval"` // the held decision that they answered
	Decision string `json:"decision"` // the decision that held it
	State    State  `json:"state"`    // Approved until it is Revoked or Expired

	// The act that was shown.
	Principal string `json:"principal"`
	Agent     string `json:"agent,omitzero"`
	Session   string `json:"session,omitzero"` // empty where it is for all of the agent's
	Door      string `json:"door"`
	Kind      string `json:"kind"`
	Resource  string `json:"resource,omitzero"`
	What      string `json:"what,omitzero"` // as it is kept, masked
	Scope     Scope  `json:"scope"`

	Needs   []Need    `json:"needs"`
	Answers []Answer  `json:"answers"`
	Created time.Time `json:"created"`
	Until   time.Time `json:"until"`
	// Ended says who took it back, and when.
	Ended *Answer `json:"ended,omitzero"`
}

// At is the grant's state at a time.
func (g *Grant) At(now time.Time) State {
	if g.State == Approved && (!now.Before(g.Until) || now.Before(g.Created)) {
		return Expired
	}
	return g.State
}

// Covers reports whether the grant answers what is asked about an act at a time.
func (g *Grant) Covers(needs []Need, scope *Scope, now time.Time) bool {
	asked := Decision{Needs: g.Needs}
	return g.At(now) == Approved && len(needs) > 0 && asked.Covers(needs) && g.Scope.Covers(scope)
}

// Revoke takes the grant back.
func (g *Grant) Revoke(by act.Principal, note string, now time.Time) error {
	if state := g.At(now); state != Approved {
		return fmt.Errorf("%w: it is %s", ErrEnded, state)
	}
	g.State, g.Ended = Revoked, &Answer{By: by.Name, Note: note, At: now}
	return nil
}

// Who lists those who agreed.
func (g *Grant) Who() []string { return (&Decision{State: Approved, Answers: g.Answers}).Who() }

// Data is the grant as it is stored.
func (g *Grant) Data() ([]byte, error) { return json.Marshal(g) }

// ParseGrant reads what Data wrote.
func ParseGrant(data []byte) (*Grant, error) {
	g := new(Grant)
	if err := json.Unmarshal(data, g); err != nil {
		return nil, fmt.Errorf("read a grant: %w", err)
	}
	return g, nil
}
