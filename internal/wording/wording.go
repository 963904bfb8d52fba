// Package wording says what was decided, for every door alike: in sentences for
// people and models, in codes for programs, and in the figures of a risk.
package wording

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/visible"
)

// Each lists a text of the reasons that count, each text once, in their order. Rules
// that only watch do not count, nor does an empty text.
func Each(d *act.Decision, of func(r *act.Reason) string) (list []string) {
	for i := range d.Reasons {
		r := &d.Reasons[i]
		if text := of(r); text != "" && !r.Observe && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// Deciding is Each of the reasons that made the decision what it is: those of the
// strictest rules.
func Deciding(d *act.Decision, of func(r *act.Reason) string) []string {
	return Each(d, func(r *act.Reason) string {
		if r.Effect != d.Effect {
			return ""
		}
		return of(r)
	})
}

// The texts of a reason.
func Code(r *act.Reason) string    { return r.Code }
func Rule(r *act.Reason) string    { return r.Rule }
func Instead(r *act.Reason) string { return r.Instead }

// Said is what a rule says, as a sentence.
func Said(r *act.Reason) string { return Sentence(r.Message) }

// Advice is what a rule says, and what it would have one do instead.
func Advice(r *act.Reason) string { return strings.TrimSpace(Said(r) + " " + Sentence(r.Instead)) }

// Most is how many sentences or hints one is told at most, of as many as there are.
const Most = 3

// Few is a list cut off after Most.
func Few(list []string) []string { return list[:min(len(list), Most)] }

// Why is one to three sentences for a person: what the strictest rules say. It is
// empty where they say nothing.
func Why(d *act.Decision) string { return strings.Join(Few(Deciding(d, Said)), " ") }

// MustAgree ends what is said of a held act.
const MustAgree = "A person must agree first."

// Asked is what the person is told who is asked about a held act where the agent works: what of
// it does what, and why they are asked. It is empty where no rule names a part of the act.
func Asked(d *act.Decision) string {
	var does []string              // sentences, in their order
	texts := map[string][]string{} // the parts that do so
	for i := range d.Reasons {
		r := &d.Reasons[i]
		if r.Observe || r.Effect != d.Effect {
			continue
		}
		for _, p := range r.Passages {
			said := strings.TrimSuffix(p.Does, ".")
			if !slices.Contains(does, said) {
				does = append(does, said)
			}
			if text := visible.Lines(p.Text); text != "" && !slices.Contains(texts[said], text) {
				texts[said] = append(texts[said], text)
			}
		}
	}
	var b strings.Builder
	why := Why(d)
	for _, said := range Few(does) {
		why = strings.Replace(why, " "+said+".", "", 1) // a rule's message may say it, too
		b.WriteString(said)
		if parts := texts[said]; len(parts) > 0 {
			b.WriteString(": `" + strings.Join(parts, "`, `") + "`")
		}
		b.WriteString(". ")
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + why
}

// Message is Why, and says by itself what follows from the decision.
func Message(d *act.Decision) string {
	why := Why(d)
	switch {
	case why != "" && d.Effect == act.Escalate:
		return why + " " + MustAgree
	case why != "":
		return why
	case d.Effect == act.Allow:
		return "No rule of the policy speaks against this."
	case d.Effect == act.Modify:
		return "This may happen in the changed form only."
	case d.Effect == act.Escalate:
		return "A person must agree to this first."
	}
	return "The policy does not allow this."
}

// Sentence ends a text with a full stop, unless it ends with a mark already.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	switch last, _ := utf8.DecodeLastRuneInString(s); last {
	case '.', '!', '?', '…', '。', '"', ')':
		return s
	}
	return s + "."
}

// Level is a risk's level in a word.
func Level(r act.Risk) string {
	if r.Level != "" {
		return r.Level
	}
	return act.Level(r.Score)
}

// AppendScore appends a risk's score in JSON.
func AppendScore(b []byte, score float64) []byte {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		score = 1 // JSON has no word for it, and it is no reason for calm
	}
	return strconv.AppendFloat(b, score, 'f', -1, 64)
}
