package model

import (
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"reeve.example/reeve/internal/rawjson"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

var readable = []struct {
	text string
	want answer
}{
	{`{"risk_score":0}`, answer{}},
	{`{"risk_score":1}`, answer{score: 1}},
	{` {"risk_score":1e-1} `, answer{score: 0.1}},
	{`{"risk_score":0.9,"risk_level":"CRITICAL","threats":["a","b"],"reasoning":"r"}`, answer{0.9, []string{"a", "b"}}},
	{`{"risk_score":0.9,"reason":["no text"],"threats":null}`, answer{score: 0.9}},
	{`{"risk_score":0.9,"threats":"a"}`, answer{score: 0.9}},
	{`{"risk_score":0.9,"threats":[1,{"a":"b"},["c"],null," ","d"]}`, answer{0.9, []string{"d"}}},
	{`{"risk_score":0.9,"threats":["\u001b[2Ja\u0000\n\u202eb\u200b\u0085\u2028 "]}`, answer{0.9, []string{"[2Jab"}}},
	{`{"risk_score":0.9,"threats":["` + strings.Repeat("x", 199) + `éz"]}`, answer{0.9, []string{strings.Repeat("x", 199)}}},
	{`{"risk_score":0.9,"threats":["` + strings.Repeat("x", 198) + `éz"]}`, answer{0.9, []string{strings.Repeat("x", 198) + "é"}}},
	{`{"risk_score":0.9,"threats":[` + strings.Repeat(`"",`, 50) + strings.Repeat(`"y",`, 50) + `""]}`, answer{0.9, strings.Split(strings.Repeat("y", 20), "")}},
}

var unreadable = []string{
	``, `null`, `0.5`, `"0.5"`, `[]`, `[{"risk_score":0.5}]`, `{}`, `{"Risk_Score":0.5}`, `{"result":{"risk_score":0.5}}`,
	`{"risk_score":null}`, `{"risk_score":"0.5"}`, `{"risk_score":true}`, `{"risk_score":[0.5]}`, `{"risk_score":{}}`,
	`{"risk_score":NaN}`, `{"risk_score":Infinity}`, `{"risk_score":1e400}`, `{"risk_score":-1e400}`,
	`{"risk_score":-0.01}`, `{"risk_score":1.01}`, `{"risk_score":50}`, `{"risk_score":.5}`, `{"risk_score":0.5`,
	`{"risk_score":0.5,"risk_score":0.6}`, `{"risk_score":0.5}{"risk_score":0.6}`, `{"risk_score":0.5} is my answer`,
	"```json\n{\"risk_score\":0.5}\n```", `{"risk_score":0.5,"threats":["` + "\xff" + `"]}`,
	`{"risk_score":0.5,"threats":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
}

func completion(content string) string {
	return `{"choices":[{"message":{"content":` + string(rawjson.Quote(content)) + `}},{"message":{"content":"{}"}}]}`
}

func TestParse(t *testing.T) {
	for _, tt := range readable {
		a, err := parseAnswer([]byte(tt.text))
		if diff := cmp.Diff(tt.want, a, cmp.AllowUnexported(answer{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.text, err, diff)
		}
		a, err = parseCompletion([]byte(completion(tt.text)))
		if diff := cmp.Diff(tt.want, a, cmp.AllowUnexported(answer{})); err != nil || diff != "" {
			t.Errorf("the completion of %s: %v (-want +got):\n%s", tt.text, err, diff)
		}
	}
	for _, text := range unreadable {
		if a, err := parseAnswer([]byte(text)); err == nil || a.score != 0 {
			t.Errorf("%s: %v, %v", text, a, err)
		}
		if !utf8.ValidString(text) {
			continue
		}
		if a, err := parseCompletion([]byte(completion(text))); err == nil || a.score != 0 {
			t.Errorf("the completion of %s: %v, %v", text, a, err)
		}
	}
	for _, text := range []string{
		``, `{}`, `{"risk_score":0.5}`, `{"error":{"message":"m"}}`, `{"choices":[]}`, `{"choices":{"0":{"message":{"content":"{\"risk_score\":0.5}"}}}}`, `{"choices":[{}]}`,
		`{"choices":[{},{"message":{"content":"{\"risk_score\":0.5}"}}]}`,
		`{"choices":[{"message":{"content":null,"refusal":"no"}}]}`, `{"choices":[{"message":{"content":{"risk_score":0.5}}}]}`,
		`{"choices":[{"text":"{\"risk_score\":0.5}"}]}`, completion(`{"risk_score":0.5}`) + `x`,
	} {
		if a, err := parseCompletion([]byte(text)); err == nil || a.score != 0 {
			t.Errorf("%s: %v, %v", text, a, err)
		}
	}
}

func TestNoNegativeZero(t *testing.T) {
	if a, err := parseAnswer([]byte(`{"risk_score":-0.0}`)); err != nil || math.Signbit(a.score) {
		t.Errorf("%v, %v", a, err)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, tt := range readable {
		f.Add([]byte(tt.text))
		f.Add([]byte(completion(tt.text)))
	}
	for _, text := range unreadable {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, parse := range map[string]func([]byte) (answer, error){"answer": parseAnswer, "completion": parseCompletion} {
			a, err := parse(text)
			if err != nil {
				if a.score != 0 || a.threats != nil {
					t.Fatalf("the %s %q fails and has %v", name, text, a)
				}
				continue
			}
			if !jsontext.Value(text).IsValid() || !(a.score >= 0 && a.score <= 1) || len(a.threats) > maxThreats {
				t.Fatalf("the %s %q has %v", name, text, a)
			}
			for _, threat := range a.threats {
				if threat == "" || len(threat) > maxThreat || !utf8.ValidString(threat) || strings.ContainsFunc(threat, unicode.IsControl) {
					t.Fatalf("the %s %q has the threat %q", name, text, threat)
				}
			}
		}
		// A text says the same alone and as a completion's content.
		if !utf8.Valid(text) {
			return
		}
		a, errA := parseAnswer(text)
		b, errB := parseCompletion([]byte(completion(string(text))))
		if (errA == nil) != (errB == nil) || !cmp.Equal(a, b, cmp.AllowUnexported(answer{})) {
			t.Fatalf("%q is %v (%v), and as a completion %v (%v)", text, a, errA, b, errB)
		}
	})
}
