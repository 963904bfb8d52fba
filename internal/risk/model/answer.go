package model

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/internal/rawjson"
)

// The bounds of what is kept of an answer.
const (
	maxThreats = 20
	maxThreat  = 200 // bytes of one
)

// answer is what a model said of a tool call.
type answer struct {
	score   float64 // from 0 to 1
	threats []string
}

// parseAnswer reads a JSON object with a risk_score. Everything else in it may be
// missing or of any form: risk_level, reasoning (or reason, as some name it) and
// threats decide nothing. The score must be a number from 0 to 1; one that
// is not (a percentage, say) is not brought into the range but is no answer,
// since nobody knows what was meant.
func parseAnswer(text []byte) (answer, error) {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return answer{}, fmt.Errorf("the answer is not JSON: %w", err)
	}
	if doc.Root().Kind() != rawjson.Object {
		return answer{}, errors.New("the answer is not a JSON object")
	}
	score := doc.Root().Get("risk_score").Float() // NaN when it is no number
	if !(score >= 0 && score <= 1) {
		return answer{}, errors.New("the answer has no risk_score from 0 to 1")
	}
	a := answer{score: score + 0} // -0 becomes 0
	for _, v := range doc.Root().Get("threats").Elems() {
		if len(a.threats) == maxThreats {
			break
		}
		if t := clean(v.Text()); t != "" {
			a.threats = append(a.threats, t)
		}
	}
	return a, nil
}

// parseCompletion reads an answer of /chat/completions: the first choice's text
// is the answer, all of it.
func parseCompletion(text []byte) (answer, error) {
	doc, err := rawjson.Parse(text)
	if err != nil {
		return answer{}, fmt.Errorf("the completion is not JSON: %w", err)
	}
	for _, choice := range doc.Root().Get("choices").Elems() {
		content := choice.Get("message").Get("content")
		if content.Kind() != rawjson.String {
			break
		}
		return parseAnswer([]byte(content.Text()))
	}
	return answer{}, errors.New("the completion has no content")
}

// clean makes a threat fit to be shown and logged: no control characters, none
// that are invisible or turn the direction of writing, and no more than
// maxThreat bytes.
func clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxThreat {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
