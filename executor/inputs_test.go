package executor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	for inputs, want := range map[string]string{
		`{"url":"a","url":"b"}`:   "duplicate",
		`{"url":"a"`:              "cannot be read",
		`{"url":"a"} x`:           "cannot be read",
		"{\"url\":\"\xff\"}":      "cannot be read",
		`null`:                    "",
		``:                        "",
		`{"URL":7}`:               "", // another name
		`{"retries":1e30}`:        `the input "retries" must be a whole number`,
		`{"timeout":true}`:        `the input "timeout" must be a number, not a boolean`,
		`{"auth":{"token":null}}`: "",
		`{"auth":{"token":[]}}`:   `the input "auth.token" must be a string, not an array`,
		strings.Repeat(`{"json":`, 20_000) + "1" + strings.Repeat("}", 20_000): "cannot be read",
	} {
		var in restInputs
		err := decode(&Job{Inputs: jsontext.Value(inputs)}, &in)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", inputs, err, want)
		}
	}
}

func TestBlockedPatterns(t *testing.T) {
	m := act.Manifest{BlockedPatterns: []string{"rm -rf", "", "4111"}}
	for inputs, blocked := range map[string]bool{
		`{"command":"ls"}`:                       false,
		`{"command":"rm -rf /"}`:                 true,
		`{"command":"\u0072m -rf /"}`:            true, // written otherwise
		`{"deep":[{"x":["a rm -rf b"]}]}`:        true,
		`{"rm -rf":1}`:                           true,
		`{"card":4111111111111111}`:              true,
		`{"command":["rm","-rf"]}`:               false, // no one text holds it
		`{"command":"rm  -rf","n":411,"x":null}`: false,
	} {
		var in struct{}
		if err := decode(&Job{Inputs: jsontext.Value(inputs), Manifest: m}, &in); (err != nil) != blocked {
			t.Errorf("%s: %v", inputs, err)
		}
	}
}

func TestTime(t *testing.T) {
	n := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		most  int
		asked *float64
		want  time.Duration
		ok    bool
	}{
		{0, nil, 0, false}, {-1, nil, 0, false}, {0, n(5), 0, false}, {10, n(0), 0, false}, {10, n(-1), 0, false},
		{10, nil, 10 * time.Second, true}, {10, n(3), 3 * time.Second, true}, {10, n(1e300), 10 * time.Second, true}, {10, n(0.25), 250 * time.Millisecond, true},
		{1 << 60, n(1e300), maxSeconds * time.Second, true},
	} {
		if got, err := allowedTime(act.Manifest{TimeoutSeconds: c.most}, c.asked); got != c.want || (err == nil) != c.ok {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

// TestEnded: who ends the work decides what its error is.
func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel, err := limited(t.Context(), act.Manifest{TimeoutSeconds: 5}, nil)
		if err != nil || ended(ctx) != nil {
			t.Fatal(err)
		}
		defer cancel()
		start := time.Now()
		if e := wrong(t, wait(ctx, time.Hour)); e.Final || !strings.Contains(e.Message, "longer than the 5s") || time.Since(start) != 5*time.Second {
			t.Errorf("its time was over: %+v after %v", e, time.Since(start))
		}
		outer, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		ctx, cancel, _ = limited(outer, act.Manifest{TimeoutSeconds: 5}, nil)
		defer cancel()
		if err := wait(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the node's time was over: %v", err)
		}
	})
}

func TestOutput(t *testing.T) {
	for _, c := range []struct {
		limit     int
		writes    []string
		want      string
		truncated bool
	}{
		{10, nil, "", false},
		{10, []string{"0123456789"}, "0123456789", false},
		{10, []string{"01234567890"}, "01234\n… 1 bytes left out …\n67890", true},
		{10, []string{"0", "123", "45678", "9"}, "0123456789", false},
		{10, []string{"abcde", strings.Repeat("x", 1000), "vwxyz"}, "abcde\n… 1000 bytes left out …\nvwxyz", true},
		{10, []string{"a\xffb"}, "a\uFFFDb", false},
		{1, []string{"ab"}, "a\n… 1 bytes left out …\n", true},
	} {
		o := newOutput(c.limit, nil)
		for _, w := range c.writes {
			if n, err := o.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%q: %d, %v", w, n, err)
			}
		}
		if text, truncated := o.text(); text != c.want || truncated != c.truncated {
			t.Errorf("%q: %q, %v", c.writes, text, truncated)
		}
	}
}

func TestReports(t *testing.T) {
	tr := try(t, NewAggregate(), `{}`)
	r := report(tr.job)
	o := newOutput(100, r)
	for _, w := range []string{"one\ntw", "o\r\n\n", strings.Repeat("x", maxMessage*3), "\nlast"} {
		o.Write([]byte(w))
	}
	o.text()
	if diff := cmp.Diff([]string{"one", "two", strings.Repeat("x", maxMessage) + "…", "last"}, tr.told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for range 2 * maxReports {
		r.say(0, "")
	}
	if len(tr.told) != maxReports {
		t.Errorf("%d were told", len(tr.told))
	}
	r.close()
	tr.over = true
	r.left = 1
	r.say(0, "late")
	report(&Job{}).say(0, "to nobody")
}

func TestSecrets(t *testing.T) {
	var s secrets
	s.add("s3cret/+", "tiny", "123456789")
	if got := s.mask("a s3cret/+ b s3cret%2F%2B c tiny"); got != "a *** b *** c tiny" {
		t.Error(got)
	}
	got, err := s.maskJSON(jsontext.Value(`{"a":"x s3cret/+","b":["s3cret\/+",123456789,1.10,12345678901234567890],"s3cret/+":null}`))
	if want := `{"a":"x ***","b":["***","***",1.10,12345678901234567890],"***":null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := s.maskJSON(jsontext.Value(`{"s3cret/+":1,"***":2}`)); err == nil {
		t.Error("two names became one")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"url":"http://a/","query":{"a":[1,"b",true]},"auth":{"type":"apikey","value":"v","in":"query"}}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":"x"}],"max_cost_usd":0.1}`))
	f.Add([]byte(`{"message":[{"text":"x"},null],"command":["a"],"metadata":{}}`))
	f.Add([]byte(`{"url":"http://a/%zz","headers":{"X":"\n"},"form":{"a":null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		job := &Job{Inputs: b, Key: "k", Manifest: act.Manifest{BlockedPatterns: []string{"blocked"}}}
		var rest restInputs
		if decode(job, &rest) == nil {
			if c, err := newRESTCall(job, rest); err == nil && (c.url.Host == "" || strings.Contains(c.url.String(), "blocked")) {
				t.Fatalf("%s: %v", b, c.url)
			}
		}
		var llmIn llmInputs
		if decode(job, &llmIn) == nil {
			NewLLM(LLMConfig{Model: "m", PromptPrice: 1, CompletionPrice: 1}).(*llm).newAnswer(llmIn)
		}
		var mcpIn mcpInputs
		if decode(job, &mcpIn) == nil {
			mcpIn.check()
		}
		var a2aIn a2aInputs
		if decode(job, &a2aIn) == nil {
			a2aIn.message("k", job.Labels)
		}
		var commandIn commandInputs
		if decode(job, &commandIn) == nil {
			commandIn.args()
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n")
	f.Add(": ping\ndata: {\"usage\":{\"prompt_tokens\":-1}}\ndata:{}\n")
	f.Fuzz(func(t *testing.T, s string) {
		a := &llmAnswer{maxTokens: 10, report: report(&Job{})}
		v, err := a.result(a.stream(strings.NewReader(s)))
		if e := (*Error)(nil); errors.As(err, &e) {
			v = e.Result
		}
		if !v.IsValid() {
			t.Fatalf("%q: %s, %v", s, v, err)
		}
	})
}
