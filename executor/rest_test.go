package executor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reeve.example/reeve/act"

	"github.com/google/go-cmp/cmp"
)

// restServer is a server that says what it was asked, and can misbehave.
func restServer(t *testing.T) *httptest.Server {
	var tries atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.URL.RawQuery+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Idempotency-Key"))
		w.Header().Set("Set-Cookie", "session=given-to-us")
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s", body)
	})
	mux.HandleFunc("/tell", func(w http.ResponseWriter, r *http.Request) { // all that it was sent
		w.Header().Set("Content-Type", r.URL.Query().Get("as"))
		w.Header().Set("X-Back", r.Header.Get("Authorization")+r.Header.Get("X-API-Key"))
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"you sent":%q,"n":12345678901234567890}`, r.Header.Get("Authorization")+"|"+r.Header.Get("X-API-Key")+"|"+r.URL.RawQuery)
	})
	mux.HandleFunc("/number", func(w http.ResponseWriter, r *http.Request) { // the credential, as a number
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"n":%s}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
		io.WriteString(w, r.URL.Query().Get("say"))
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte{0, 0xff, 1}) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("é", 100_000)) })
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscan(r.URL.Query().Get("n"), &n)
		w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		w.WriteHeader(n)
	})
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, r *http.Request) { // works at every third try
		if tries.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/break", func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1)%3 != 0 {
			panic(http.ErrAbortHandler)
		}
	})
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("begun"))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("where"), http.StatusFound)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func localREST() Executor {
	return NewREST(RESTConfig{AllowPrivate: true, MaxBody: 10_001, pause: time.Millisecond})
}

func TestREST(t *testing.T) {
	server := restServer(t)
	e := localREST()
	for _, c := range []struct {
		path, more string // members of the inputs beside url
		seen, body string
	}{
		{"/echo", ``, "GET   ", ""},
		{"/echo?a=1", `,"query":{"b":["x y",2,true]}`, "GET a=1&b=x+y&b=2&b=true  ", ""},
		{"/echo", `,"method":"post","json":{"n":12345678901234567890}`, "POST  application/json key-of-the-run", `{"n":12345678901234567890}`},
		{"/echo", `,"method":"PUT","body":"text"`, "PUT  text/plain; charset=utf-8 ", "text"},
		{"/echo", `,"method":"PATCH","form":{"a":"b c","d":[1,2]}`, "PATCH  application/x-www-form-urlencoded key-of-the-run", "a=b+c&d=1&d=2"},
		{"/echo", `,"method":"POST","body":"<a/>","headers":{"content-type":"text/xml","idempotency-key":"mine"}`, "POST  text/xml mine", "<a/>"},
		{"/echo", `,"method":"DELETE","auth":{"type":"apikey","name":"k","value":"v","in":"query"}`, "DELETE k=v  ", ""},
	} {
		v, err := try(t, e, `{"url":"`+server.URL+c.path+`"`+c.more+`}`).run(t.Context(), e)
		if err != nil {
			t.Errorf("%s: %v", c.more, err)
			continue
		}
		r := read[restResult](t, v)
		if r.Status != 200 || r.Headers["X-Seen"] != strings.TrimRight(c.seen, " ") && r.Headers["X-Seen"] != c.seen || r.Body == nil || *r.Body != c.body || r.Truncated {
			t.Errorf("%s: %s", c.more, v)
		}
		if _, cookie := r.Headers["Set-Cookie"]; cookie || strings.Contains(r.URL, "k=v") {
			t.Errorf("%s shows a credential: %s", c.more, v)
		}
	}
}

func TestRESTAnswers(t *testing.T) {
	server := restServer(t)
	e := localREST()
	get := func(path string) restResult {
		t.Helper()
		v, err := try(t, e, `{"url":"`+server.URL+path+`"}`).run(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return read[restResult](t, v)
	}
	if r := get("/json?say=" + url.QueryEscape(`{"a":1.10}`)); string(r.JSON) != `{"a":1.10}` || r.Body != nil {
		t.Errorf("JSON: %+v", r)
	}
	if r := get("/json?say=" + url.QueryEscape(`{"a":1,"a":2}`)); r.JSON != nil || r.Body == nil || *r.Body != `{"a":1,"a":2}` {
		t.Errorf("JSON with a member twice is text: %+v", r)
	}
	if r := get("/bytes"); r.Base64 != "AP8B" || r.Body != nil {
		t.Errorf("bytes: %+v", r)
	}
	if r := get("/large"); !r.Truncated || r.Body == nil || *r.Body != strings.Repeat("é", 5000) {
		t.Errorf("a large one: %v, %d", r.Truncated, len(*r.Body))
	}
	if r := get("/to?where=/echo"); r.Status != 200 || r.URL != server.URL+"/echo" {
		t.Errorf("a redirect: %+v", r)
	}
}

func TestRESTFailures(t *testing.T) {
	server := restServer(t)
	e := localREST()
	for status, final := range map[int]bool{400: true, 401: true, 404: true, 408: false, 429: false, 500: false, 501: false, 503: false} {
		_, err := try(t, e, fmt.Sprintf(`{"url":"%s/status?n=%d&after=7","retries":0}`, server.URL, status)).run(t.Context(), e)
		if failure := wrong(t, err); failure.Final != final || read[restResult](t, failure.Result).Status != status || failure.After != 7*time.Second {
			t.Errorf("%d: %+v", status, failure)
		}
	}
	for _, c := range []struct {
		more  string
		ok    bool
		tries int
	}{
		{`"method":"GET"`, true, 2}, {`"method":"PUT","body":"again"`, true, 2}, {`"method":"DELETE","retries":2`, true, 2},
		{`"method":"GET","retries":1`, false, 1}, {`"method":"POST"`, false, 0}, {`"method":"PATCH","retries":5`, false, 0},
	} {
		for _, path := range []string{"/flaky", "/break"} {
			own := restServer(t)
			tr := try(t, e, `{"url":"`+own.URL+path+`",`+c.more+`}`)
			_, err := tr.run(t.Context(), e)
			if (err == nil) != c.ok || len(tr.told) != c.tries {
				t.Errorf("%s with %s: %v, tried again: %q", path, c.more, err, tr.told)
			}
		}
	}
	// Who asks for more patience than there is time is not asked again.
	start := time.Now()
	_, err := try(t, e, `{"url":"`+server.URL+`/status?n=503&after=1000","timeout":30}`).run(t.Context(), e)
	if failure := wrong(t, err); failure.After != 1000*time.Second || time.Since(start) > 25*time.Second {
		t.Errorf("%+v after %v", failure, time.Since(start))
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	_, err = try(t, e, `{"url":"`+closed.URL+`/?token=hidden","retries":1}`).run(t.Context(), e)
	if failure := wrong(t, err); failure.Final || strings.Contains(failure.Message, "hidden") {
		t.Errorf("nobody there: %+v", failure)
	}
}

// TestRESTSecrets: a server that sends back what it was sent gives nothing away.
func TestRESTSecrets(t *testing.T) {
	server := restServer(t)
	e := localREST()
	for name, auth := range map[string]string{
		"bearer":    `"auth":{"type":"bearer","token":"s3cret-value"}`,
		"basic":     `"auth":{"type":"basic","username":"u","password":"s3` + `cret-value"}`,
		"header":    `"auth":{"type":"apikey","value":"s3cret-value"}`,
		"query":     `"auth":{"type":"apikey","name":"key","in":"query","value":"s3cret-value"}`,
		"headers":   `"headers":{"Authorization":"Token s3cret-value"}`,
		"two":       `"headers":{"X-API-Key":"s3cret-value"},"auth":{"type":"bearer","token":"s3cret-value-2"}`,
		"escaped":   `"auth":{"type":"apikey","name":"key","in":"query","value":"s3cret/value"}`,
		"base64ish": `"auth":{"type":"bearer","token":"s3` + `cret-value/+=="}`,
	} {
		for _, as := range []string{"application/json", "text/plain"} {
			_, err := try(t, e, `{"url":"`+server.URL+`/tell?as=`+as+`",`+auth+`}`).run(t.Context(), e)
			failure := wrong(t, err)
			all := failure.Message + string(failure.Result)
			for _, secret := range []string{"s3cret", "dTpzM2NyZXQtdmFsdWU"} {
				if strings.Contains(all, secret) {
					t.Errorf("%s as %s: %s", name, as, all)
				}
			}
			if !strings.Contains(all, "***") || !strings.Contains(all, "12345678901234567890") {
				t.Errorf("%s as %s: nothing was sent back: %s", name, as, all)
			}
		}
	}
}

func TestRESTRefused(t *testing.T) {
	server := restServer(t)
	e := localREST()
	public := NewREST(RESTConfig{pause: time.Millisecond})
	open := act.Manifest{TimeoutSeconds: 30, NetworkAllowed: true}
	with := func(change func(*act.Manifest)) act.Manifest {
		m := open
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		e      Executor
		inputs string
		m      act.Manifest
		want   string
	}{
		"no network":         {e, `{"url":"` + server.URL + `/echo"}`, act.Manifest{TimeoutSeconds: 5}, "does not allow the network"},
		"no time":            {e, `{"url":"` + server.URL + `/echo"}`, act.Manifest{NetworkAllowed: true}, "allows nothing"},
		"a private address":  {public, `{"url":"` + server.URL + `/echo"}`, open, "is not a public one"},
		"localhost":          {public, `{"url":"` + strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + `/echo"}`, open, "is not a public one"},
		"not allowed":        {e, `{"url":"` + server.URL + `/echo"}`, with(func(m *act.Manifest) { m.AllowedDomains = []string{"example.com"} }), "not among the allowed domains"},
		"blocked":            {e, `{"url":"http://x.evil.test/"}`, with(func(m *act.Manifest) { m.BlockedDomains = []string{"*.evil.test"} }), "among the blocked domains"},
		"redirected":         {e, `{"url":"` + server.URL + `/to?where=http://x.evil.test/"}`, with(func(m *act.Manifest) { m.AllowedDomains = []string{"127.0.0.1"} }), "not among the allowed domains"},
		"a bad manifest":     {e, `{"url":"` + server.URL + `/echo"}`, with(func(m *act.Manifest) { m.AllowedDomains = []string{"exämple.com"} }), "no host's name"},
		"a blocked pattern":  {e, `{"url":"` + server.URL + `/echo","query":{"drop":"table"}}`, with(func(m *act.Manifest) { m.BlockedPatterns = []string{"drop=table"} }), "manifest blocks"},
		"another scheme":     {e, `{"url":"file:///etc/passwd"}`, open, "http or https"},
		"a password":         {e, `{"url":"http://u:hidden@127.0.0.1/"}`, open, "must not hold a name or a password"},
		"no URL":             {e, `{"url":"http://[::1"}`, open, "is no URL"},
		"two bodies":         {e, `{"url":"` + server.URL + `","method":"POST","body":"","json":1}`, open, "only one"},
		"a body to GET":      {e, `{"url":"` + server.URL + `","body":"x"}`, open, "has no body"},
		"the Host header":    {e, `{"url":"` + server.URL + `","headers":{"host":"other"}}`, open, "cannot be set"},
		"a split header":     {e, `{"url":"` + server.URL + `","headers":{"X":"a\r\nY: b"}}`, open, "no header can have"},
		"a header's name":    {e, `{"url":"` + server.URL + `","headers":{"X Y":"a"}}`, open, "no header can have"},
		"a header twice":     {e, `{"url":"` + server.URL + `","headers":{"x-a":"1","X-A":"2"}}`, open, "twice"},
		"two authorizations": {e, `{"url":"` + server.URL + `","headers":{"authorization":"a"},"auth":{"type":"bearer","token":"t"}}`, open, "in \"headers\" and in \"auth\""},
	} {
		tr := try(t, c.e, c.inputs)
		tr.job.Manifest = c.m
		_, err := tr.run(t.Context(), c.e)
		if failure := wrong(t, err); !failure.Final || !strings.Contains(failure.Message, c.want) || strings.Contains(failure.Message, "hidden") {
			t.Errorf("%s: %+v, want %q", name, failure, c.want)
		}
		if len(tr.told) > 0 {
			t.Errorf("%s was tried again: %q", name, tr.told)
		}
	}
}

func TestRESTEnds(t *testing.T) {
	e := localREST()
	server := restServer(t)
	_, err := try(t, e, `{"url":"`+server.URL+`/hang","timeout":0.3}`).run(t.Context(), e)
	if failure := wrong(t, err); failure.Final || !strings.Contains(failure.Message, "longer than the 300ms") {
		t.Errorf("its time: %+v", failure)
	}
	asked := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer slow.Close()
	cancels(t, e, try(t, e, `{"url":"`+slow.URL+`"}`), asked)

	// And while it waits for the next try.
	patient := NewREST(RESTConfig{AllowPrivate: true, pause: 20 * time.Second})
	waiting := make(chan struct{})
	tr := try(t, patient, `{"url":"`+server.URL+`/status?n=503"}`)
	tr.on = func(string) { close(waiting) }
	cancels(t, patient, tr, waiting)
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "-5": 0, "0": 0, "99999999999999999999": 0, "100000": time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0, "Fri, 02 Jan 2037 03:04:00 GMT": time.Hour, "soon": 0} {
		if diff := cmp.Diff(want, retryAfter(text, now)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
