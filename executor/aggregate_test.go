package executor

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestAggregate(t *testing.T) {
	results := []Result{
		{ID: "a", Value: jsontext.Value(`{"n":12345678901234567890,"x":1}`), Status: "completed"},
		{ID: "b", Status: "failed", Value: jsontext.Value(`{"n":0}`)},
		{ID: "c", Value: jsontext.Value(`{"x":2}`), Status: "completed"},
		{ID: "d", Value: jsontext.Value(`[1]`), Status: "completed"},
		{ID: "d", Value: jsontext.Value(`"two"`), Status: "completed"},
		{ID: "e", Status: "completed"},
	}
	for inputs, want := range map[string]string{
		`{}`:                   `{"a":{"n":12345678901234567890,"x":1},"c":{"x":2},"d":[1],"d#2":"two"}`,
		`{"strategy":"keyed"}`: `{"a":{"n":12345678901234567890,"x":1},"c":{"x":2},"d":[1],"d#2":"two"}`,
		`{"strategy":"merge"}`: `{"d":[1],"d#2":"two","n":12345678901234567890,"x":2}`,
	} {
		e := NewAggregate()
		tr := try(t, e, inputs)
		tr.job.Results = results
		v, err := tr.run(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		got := read[struct {
			Summary   string         `json:"summary"`
			Timestamp time.Time      `json:"timestamp"`
			Results   jsontext.Value `json:"results"`
			Count     int            `json:"result_count"`
			Missing   []missing      `json:"missing"`
		}](t, v)
		if diff := cmp.Diff(want, string(got.Results)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", inputs, diff)
		}
		if diff := cmp.Diff([]missing{{"b", "failed"}, {"e", "completed"}}, got.Missing); diff != "" {
			t.Errorf("%s (-want +got):\n%s", inputs, diff)
		}
		if got.Count != 4 || got.Summary != "4 of 6 tasks gave a result; missing: b (failed), e (completed)" || time.Since(got.Timestamp) > time.Hour {
			t.Errorf("%s: %s", inputs, v)
		}
	}
	e := NewAggregate()
	v, err := try(t, e, ``).run(t.Context(), e)
	if err != nil || string(read[map[string]jsontext.Value](t, v)["results"]) != "{}" {
		t.Errorf("of nothing: %s, %v", v, err)
	}
}
