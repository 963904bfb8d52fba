package policy

import (
	"bytes"
	"slices"

	"reeve.example/reeve/internal/rawjson"
)

// A document with mode: shadow is not of the policy that rules. All such documents together
// are a candidate: a whole policy of its own, by which every act is judged, too, and of
// which nothing follows but that the differences are counted.

const shadowMode = "shadow"

// apart parts the files of the policy that rules from those of its candidate. What the
// tables say of programs is for both.
func apart(files []File) (live, candidate []File) {
	for _, f := range files {
		switch {
		case isTable(f):
			live, candidate = append(live, f), append(candidate, f)
		case shadows(f):
			candidate = append(candidate, f)
		default:
			live = append(live, f)
		}
	}
	if !slices.ContainsFunc(candidate, func(f File) bool { return !isTable(f) }) {
		return live, nil
	}
	return live, candidate
}

// shadows reports whether a document is of a candidate.
func shadows(f File) bool {
	if isConstitution(f.Name) || !bytes.Contains(f.Data, []byte(shadowMode)) { // mostly so
		return false
	}
	d := &document{yamlReader: &yamlReader{file: f.Name, source: string(bytes.TrimPrefix(f.Data, []byte("\ufeff")))}}
	root := d.read()
	if root == nil || root.Kind != rawjson.Object {
		return false
	}
	mode := root.Get("mode")
	return mode != nil && mode.Kind == rawjson.String && mode.Text == shadowMode
}

// withShadow compiles a policy, and its candidate if it has one.
func withShadow(live, candidate []File, include func(files []File, docs []*document) []File) (*Set, error) {
	if candidate != nil && !slices.ContainsFunc(live, func(f File) bool { return !isTable(f) }) {
		return nil, ErrorList{{File: candidate[0].Name, Message: "every document has mode: shadow, so that no policy rules", Hint: "leave the mode away in those that are to rule"}}
	}
	s, err := compile(live, include)
	if candidate == nil {
		return s, err
	}
	shadow, wrong := compile(candidate, include)
	if err != nil || wrong != nil {
		var all ErrorList
		for _, err := range []error{err, wrong} {
			if list, ok := err.(ErrorList); ok {
				all = append(all, list...)
			}
		}
		return nil, all
	}
	s.shadow = shadow
	s.text = append(append(append(s.text[:len(s.text)-1:len(s.text)-1], `,"shadow":`...), shadow.text...), '}')
	s.settleHash()
	// What the candidate asks for must be known.
	s.follows, s.asksHabits, s.asksBill = s.follows || shadow.follows, s.asksHabits || shadow.asksHabits, s.asksBill || shadow.asksBill
	for _, c := range shadow.counted {
		if !slices.ContainsFunc(s.counted, func(own counted) bool { return own.key == c.key }) {
			s.counted = append(s.counted, c)
		}
	}
	return s, nil
}
