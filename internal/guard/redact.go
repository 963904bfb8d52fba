package guard

import (
	"bytes"
	"encoding/base64"
	"strings"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
)

// redaction masks what is configured in a JSON text that is kept: what detectors
// find in its strings, and in texts of JSON within them; numbers that are cards;
// and what stands under names that tell of a secret.
type redaction struct {
	what risk.Detector
	// files are the pointers of strings that are a file's bytes in Base64.
	files map[string]bool

	doc   *rawjson.Doc
	reps  []rawjson.Replacement
	deep  int  // texts within texts
	stuck bool // something cannot be masked
}

// deepest is how many texts within texts are read as JSON.
const deepest = 8

// mask returns the text with everything masked; nil when that cannot be done.
func mask(text []byte, what risk.Detector, files map[string]bool) []byte {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return nil
	}
	r := redaction{what: what, files: files, doc: doc}
	if r.value(doc.Root(), around{}); r.stuck {
		return nil
	}
	masked, err := doc.Splice(r.reps)
	if err != nil || holds(masked, what) {
		return nil // what still holds something is not kept
	}
	return masked
}

// Masked is a JSON text with everything masked that is in what is kept; empty when that
// cannot be done.
func (g *Guard) Masked(text []byte) string {
	if g.cfg.Redact == 0 {
		return ""
	}
	return string(mask(text, g.cfg.Redact, nil))
}

// holds reports whether a JSON text holds something that is to be masked: as it is
// written, and as it is read.
func holds(text []byte, what risk.Detector) bool {
	if what == 0 {
		return false
	}
	s := string(text)
	return len(risk.Scan(s, what, nil)) > 0 || risk.MayTell(s) && reads(text, what, around{})
}

// reads reports whether something is to be masked in a JSON text as it is read.
func reads(text []byte, what risk.Detector, c around) bool {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return true
	}
	r := redaction{what: what, doc: doc}
	r.value(doc.Root(), c)
	return r.stuck || len(r.reps) > 0
}

// around is what is known of a value from what stands around it.
type around struct {
	name  string       // of the member that it is, or lies in
	tells risk.Telling // what the name says of this very value
	below risk.Telling // what a name above says of all that lies in it
	// plain says that no name tells anything of it: jwt:https://login#ada is whose token it
	// was, and not the token.
	plain bool
}

// named is what is known of a value of a name.
func (r *redaction) named(name string, c around) around {
	if c.plain {
		return c
	}
	n := around{name: name, below: max(c.below, c.tells)}
	if r.what&risk.Secret != 0 {
		n.tells = risk.Tells(name)
	}
	return n
}

// Members that hold a name and its value: {"name": "API_KEY", "value": "…"}.
var (
	nameMembers = map[string]bool{"name": true, "key": true, "id": true, "field": true, "header": true, "variable": true, "var": true, "parameter": true, "param": true, "k": true, "option": true, "setting": true,
		"label": true, "selector": true, "element": true, "locator": true, "placeholder": true}
	valueMembers = map[string]bool{"value": true, "val": true, "v": true, "content": true, "data": true, "default": true, "values": true, "stringvalue": true, "string_value": true, "text": true}
)

func (r *redaction) value(v rawjson.Value, c around) {
	switch v.Kind() {
	case rawjson.Object:
		r.object(v, c)
	case rawjson.Array:
		r.array(v, c)
	case rawjson.String:
		r.string(v, c)
	case rawjson.Number:
		raw := string(v.Raw())
		f, found := risk.NamedNumber(c.tells, raw)
		if !found {
			f, found = risk.Number(c.name, raw, r.what)
		}
		if found {
			r.reps = append(r.reps, rawjson.Replacement{At: v, With: rawjson.Quote(risk.Mask(raw, []risk.Finding{f}))})
		}
	}
}

func (r *redaction) object(v rawjson.Value, c around) {
	pair := c // what the names within say of the values beside them
	if r.what&risk.Secret != 0 {
		for name, m := range v.Members() {
			if m.Kind() == rawjson.String && nameMembers[strings.ToLower(name)] {
				if n := r.named(m.Text(), c); n.tells != risk.Nothing {
					pair = n
				}
			}
		}
	}
	for name, m := range v.Members() {
		n := r.named(name, c)
		if n.tells == risk.Nothing && pair.tells != risk.Nothing && valueMembers[strings.ToLower(name)] {
			n = pair
		}
		r.value(m, n)
	}
}

func (r *redaction) array(v rawjson.Value, c around) {
	before := "" // the element before, where it is a text
	for i, e := range v.Elems() {
		n := c
		if before != "" && c.tells == risk.Nothing && r.what&risk.Secret != 0 && len(before) <= 64 && !strings.ContainsAny(before, " =") {
			if t := risk.Tells(before); t != risk.Nothing {
				// A flag and its value, or a pair; in a longer list of names it may be the next one.
				if n = (around{name: before, below: t}); before[0] == '-' || i == 1 && v.Len() == 2 {
					n.tells = t
				}
			}
		}
		r.value(e, n)
		before = e.Text()
	}
}

func (r *redaction) string(v rawjson.Value, c around) {
	plain := v.Text()
	file := len(r.files) > 0 && r.files[v.Pointer()]
	if file {
		decoded, err := base64.StdEncoding.DecodeString(plain)
		if err != nil {
			r.stuck = true
			return
		}
		plain = string(decoded)
	}
	masked := r.text(plain, c)
	if masked == plain {
		return
	}
	if file {
		masked = base64.StdEncoding.EncodeToString([]byte(masked))
	}
	r.reps = append(r.reps, rawjson.Replacement{At: v, With: rawjson.Quote(masked)})
}

// text masks a string.
func (r *redaction) text(plain string, c around) string {
	if f, found := risk.Named(c.tells, plain); found && !(c.tells != risk.APassword && isJSON(plain)) {
		return risk.Mask(plain, []risk.Finding{f})
	}
	if f, found := risk.Likely(c.below, plain); found {
		return risk.Mask(plain, []risk.Finding{f})
	}
	if isJSON(plain) && r.deep < deepest {
		plain = r.within(plain, c)
	}
	found := risk.Scan(plain, r.what, nil)
	if c.plain {
		return risk.Mask(plain, found)
	}
	if r.what&risk.Secret != 0 {
		found = risk.Formed(plain, risk.Assigned(plain, found))
	}
	if r.what&risk.Card != 0 {
		found = risk.Parted(plain, found)
	}
	const short = 64 // a number under a name that announces one: {"ssn": "…"}
	if len(found) == 0 && c.name != "" && len(plain) <= short {
		found = risk.Announced(c.name, plain, r.what)
	}
	return risk.Mask(plain, found)
}

// within masks a text that is JSON itself.
func (r *redaction) within(plain string, c around) string {
	doc, err := rawjson.Parse([]byte(plain))
	if err != nil {
		return plain // it is masked as a text
	}
	inner := redaction{what: r.what, doc: doc, deep: r.deep + 1}
	inner.value(doc.Root(), c)
	masked, err := doc.Splice(inner.reps)
	if r.stuck = r.stuck || inner.stuck || err != nil; r.stuck {
		return plain
	}
	return string(masked)
}

// isJSON reports whether a text looks like JSON of which the texts are others.
func isJSON(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 1 && (s[0] == '{' && s[len(s)-1] == '}' || s[0] == '[' && s[len(s)-1] == ']' || s[0] == '"' && s[len(s)-1] == '"')
}

// nameOf is the member's name that a JSON pointer ends with.
func nameOf(pointer string) string {
	return rawjson.UnescapePointer(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// restOf is a request's body without the description of its agent, if that is long
// enough to be worth it, in two pieces.
func restOf(body, agent []byte) (before, after string, cut bool) {
	if start := bytes.Index(body, agent); start >= 0 && len(agent) > 128 {
		return string(body[:start]), string(body[start+len(agent):]), true
	}
	return "", string(body), false
}
