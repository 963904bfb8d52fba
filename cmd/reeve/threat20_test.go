package main

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/report"

	"github.com/go-json-experiment/json/jsontext"
)

// hostile does to a terminal or a page what an agent may try.
const hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{.}} javascript:x\x1b[2J\x1b]8;;http://evil\x07x\x1b]0;t\x9b1A\rover\u202etxt.\u2066\u200b\u0085\u061c\u00ad\U000e0041\u3164end"

// poison puts the hostile text into every text of a value.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		poison(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[jsontext.Value]() {
			v.SetBytes([]byte(`{"` + jsonText(hostile) + `":"` + jsonText(hostile) + `"}`))
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	case reflect.String:
		v.SetString(hostile)
	}
}

// jsonText escapes for JSON only what must be: the rest stays as it is.
func jsonText(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "?") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// harmful lists the characters of an output that act on a terminal or deceive.
func harmful(s string) (found []rune) {
	for _, r := range s {
		if r != '\n' && r != '\u2068' && r != '\u2069' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || r == 0x3164) {
			found = append(found, r)
		}
	}
	return found
}

// TestThreat20Views: nothing that an agent says acts on the terminal or the page of the
// person who looks at it.
func TestThreat20Views(t *testing.T) {
	h := new(approval.Decision)
	poison(reflect.ValueOf(h))
	masked := *h
	masked.Exact = nil
	s := new(report.Session)
	poison(reflect.ValueOf(s))
	for i := range s.Steps { // what the node itself says
		s.Steps[i].Kind, s.Steps[i].Effect, s.Steps[i].Decision = "tool.call", "deny", "0-1"
	}
	for i := range s.Files {
		s.Files[i].How, s.Files[i].State, s.Files[i].Decision = "written", "done", "0-1"
	}
	for name, print := range map[string]func(w io.Writer) error{
		"approvals show":            func(w io.Writer) error { return showApproval(w, h, false) },
		"approvals show --exact":    func(w io.Writer) error { return showApproval(w, h, true) },
		"approvals show, as masked": func(w io.Writer) error { return showApproval(w, &masked, false) },
		"sessions show":             func(w io.Writer) error { printSession(w, s); return nil },
		"JSON": func(w io.Writer) error {
			_, err := w.Write(pretty([]byte(`{"` + jsonText(hostile) + `":["` + jsonText(hostile) + `"]}`)))
			return err
		},
		"no JSON": func(w io.Writer) error { _, err := w.Write(pretty([]byte(hostile))); return err },
	} {
		var b bytes.Buffer
		if err := print(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if found := harmful(b.String()); found != nil {
			t.Errorf("%s prints %U in\n%q", name, found, b.String())
		}
		if !strings.Contains(b.String(), "alert(1)") {
			t.Errorf("%s does not show what is there:\n%q", name, b.String())
		}
	}

	var page bytes.Buffer
	if err := sessionPage.Execute(&page, s); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, bad := range []string{"<script>alert", "<img", "onerror=alert(1)>", "javascript:x\x1b"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if found := harmful(strings.ReplaceAll(text, "\t", " ")); found != nil {
		t.Errorf("the page holds %U", found)
	}
	if strings.Contains(strings.ToLower(text), "<script") || !strings.Contains(text, "default-src 'none'") {
		t.Error("the page has a script, or no policy against one")
	}
}

// TestThreat17EscapesHideNothing: what is written in escapes that JSON does not need
// is shown to who is asked as its reader will have it; what acts on a terminal, or
// is not seen, is not.
func TestThreat17EscapesHideNothing(t *testing.T) {
	for in, want := range map[string]string{
		`{"\u0063md":"\u0072\u006d \u002d\u0072 \/etc"}`: `"cmd": "rm -r /etc"`,
		`{"a":"\u202e\u200b\u0435"}`:                     `"a": "⟨U+202E⟩⟨U+200B⟩⟨U+0435⟩"`,
		`{"a":"\u001b[2J\u000d\u0022\u005c"}`:            `"a": "\u001b[2J\r\"\\"`,
		`{"n":1.0000000000000000000000001E+02}`:          `"n": 1.0000000000000000000000001E+02`,
		`{"a":"\u27e8U+0041\u27e9"}`:                     `"a": "⟨U+27E8⟩U+0041⟨U+27E9⟩"`,
		`{"a":"{\"b\":\"\\u0072\"}"}`:                    `"a": "{\"b\":\"\\u0072\"}"`,
	} {
		if got := readable(jsontext.Value(in)); !strings.Contains(got, want) {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}

// TestReportSaysOneThing: where something does not hold, nothing is said to be all right
// that could be it.
func TestReportSaysOneThing(t *testing.T) {
	var b strings.Builder
	printReport(&b, &ledger.Report{Size: 2, Openings: 2, Problems: []ledger.Problem{{Message: "what lies beside record 0-0 does not hold"}}})
	if !strings.Contains(b.String(), "DOES NOT HOLD") || strings.Contains(b.String(), "as committed") {
		t.Error(b.String())
	}
}
