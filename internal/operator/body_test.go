package operator

import (
	"strings"
	"testing"

	"reeve.example/reeve/internal/jsonbody"
)

// What is wrong with a body is said without a name of this program's own.
func TestBodyInWords(t *testing.T) {
	for _, tt := range []struct {
		q          any
		body, want string
	}{
		{new(Replay), `[]`, "the body is an object"},
		{new(Replay), `null`, "the body is null"},
		{new(Replay), ` null `, "the body is null"},
		{new(Replay), ``, "no JSON"},
		{new(Replay), `{"since":`, "no JSON"},
		{new(Replay), `{} {}`, "no JSON"},
		{new(Replay), `{"limit":1,"limit":2}`, `"/limit" is there twice`},
		{new(Replay), `{"since":"1h"}`, `"/since" is a time such as`},
		{new(Replay), `{"since":7}`, `"/since" is a time such as`},
		{new(Replay), `{"limit":"x"}`, `"/limit" is a whole number`},
		{new(Replay), `{"limit":1.5}`, `"/limit" is a whole number`},
		{new(Replay), `{"candidate":{}}`, `"/candidate" is a list`},
		{new(Replay), `{"candidate":[{"name":1}]}`, `"/candidate/0/name" is a text`},
		{new(Replay), `{"candidate":[{"do":1}]}`, `there is no member "do": there are name, text`},
		{new(HabitsWord), `{"nothing":1}`, `there is no member "nothing": there are `},
		{new(ApprovalAnswer), `{"for":7}`, `"/for" is an object`},
		{new(ApprovalAnswer), `{"usual":"yes"}`, `"/usual" is true or false`},
		{new(Nothing), `{"a":1}`, `there is no member "a": it has none`},
	} {
		err := jsonbody.Read([]byte(tt.body), tt.q)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.body, err, tt.want)
			continue
		}
		for _, own := range []string{"Go ", "operator.", "time.Time", "json:", "jsontext", "unmarshal", "approval."} {
			if strings.Contains(err.Error(), own) {
				t.Errorf("%s is told as %v", tt.body, err)
			}
		}
	}
	if err := jsonbody.Read([]byte(`{"since":"2027-01-01T00:00:00Z","limit":3}`), new(Replay)); err != nil {
		t.Error(err)
	}
}
