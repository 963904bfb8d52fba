package guarded

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxBody is the most that is read of a request's or an answer's body: what is longer
// cannot be judged, and is refused.
const MaxBody = 2 << 20

// Transport asks about each HTTP request that an agent's tools make: a call of the tool Name
// with the inputs method, url and body. The answer's status and body are the result; its
// reader gets what was left of them. Bodies are text; others cannot be judged.
type Transport struct {
	Agent *Agent
	// Session of requests whose context has no turn; empty for a new one each.
	Session string
	// Name of the tool, by which rules name it. Empty means "http".
	Name string
	// Next makes the requests. Nil means [http.DefaultTransport].
	Next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper]. What is denied is an error that wraps a *[Denied].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readText(r.Body)
	if err != nil {
		return nil, fmt.Errorf("the request's body: %w", err)
	}
	args := Arguments{"method": r.Method, "url": r.URL.String()}
	if r.Body != nil && body != "" {
		args["body"] = body
	}
	name, next := t.Name, t.Next
	if name == "" {
		name = "http"
	}
	if next == nil {
		next = http.DefaultTransport
	}
	var answer *http.Response
	out, err := t.Agent.From(r.Context(), t.Session).Call(r.Context(), name, args, func(ctx context.Context, args Arguments) (Output, error) {
		judged, err := requestOf(ctx, r, args)
		if err != nil {
			return Output{}, err
		}
		answer, err = next.RoundTrip(judged)
		if err != nil {
			return Output{}, err
		}
		answer.Request = r
		text, err := readText(answer.Body)
		if err != nil {
			return Output{}, fmt.Errorf("the answer's body: %w", err)
		}
		return Output{Texts: []string{answer.Status, text}, IsError: answer.StatusCode >= 400}, nil
	})
	if err != nil {
		return nil, err
	}
	left := out.Texts[1]
	answer.Body = io.NopCloser(strings.NewReader(left))
	answer.ContentLength = int64(len(left))
	answer.Header.Set("Content-Length", strconv.Itoa(len(left)))
	return answer, nil
}

// forAnyHost are headers that say nothing of who asks.
var forAnyHost = []string{"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Language", "Content-Type", "User-Agent"}

// requestOf is a request with the method, address and body that the guardian left.
func requestOf(ctx context.Context, r *http.Request, args Arguments) (*http.Request, error) {
	method, _ := args["method"].(string)
	address, _ := args["url"].(string)
	body, _ := args["body"].(string)
	judged, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	judged.Header = r.Header.Clone()
	first := r // which a client has filled in, and whose headers it gives to all that it is redirected to
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	if judged.URL.Host == r.URL.Host {
		judged.Host = r.Host
	}
	if judged.URL.Host != first.URL.Host || judged.URL.Scheme != first.URL.Scheme {
		// What was for one host is not told to another that the guardian or an answer chose. Which header
		// holds a credential only the caller knows.
		for name := range judged.Header {
			if !slices.Contains(forAnyHost, name) {
				judged.Header.Del(name)
			}
		}
	}
	if body == "" {
		judged.Body = http.NoBody
	}
	return judged, nil
}

// readText reads a body that is text, and closes it.
func readText(body io.ReadCloser) (string, error) {
	if body == nil {
		return "", nil
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, MaxBody+1))
	if err != nil {
		return "", err
	}
	if len(b) > MaxBody {
		return "", fmt.Errorf("it has more than %d bytes, which cannot be judged", MaxBody)
	}
	if !utf8.Valid(b) {
		return "", errors.New("it is no text, which cannot be judged")
	}
	return string(b), nil
}

// Handler asks about each call of a tool that is an HTTP handler. The tool's name is the last
// part of the path; its inputs are the members of the body's JSON object, or else the query's.
// A request that is denied is answered with 403 and the text for the model; one that nobody
// could judge, with 503.
func Handler(agent *Agent, session func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		args, inBody, err := argumentsOf(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		kept := &keptAnswer{header: http.Header{}}
		out, err := agent.From(r.Context(), session(r)).Call(r.Context(), path.Base(r.URL.Path), args, func(ctx context.Context, args Arguments) (Output, error) {
			judged := r.Clone(ctx)
			if err := setArguments(judged, args, inBody); err != nil {
				return Output{}, err
			}
			next.ServeHTTP(kept, judged)
			if kept.long {
				return Output{}, fmt.Errorf("the answer has more than %d bytes, which cannot be judged", MaxBody)
			}
			text, err := readText(io.NopCloser(&kept.body))
			return Output{Texts: []string{text}, IsError: kept.status >= 400}, err
		})
		var denied *Denied
		switch {
		case errors.As(err, &denied):
			http.Error(w, denied.Error(), http.StatusForbidden)
		case err != nil:
			// What is wrong is for whoever runs the tool: it may hold what nobody may read.
			http.Error(w, "The guardian could not be asked, or the result could not be judged.", http.StatusServiceUnavailable)
		default:
			for name, values := range kept.header {
				w.Header()[name] = values
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(out.Texts[0])))
			w.WriteHeader(cmp.Or(kept.status, http.StatusOK))
			io.WriteString(w, out.Texts[0])
		}
	})
}

// argumentsOf reads the inputs of a call, and says whether they are in the body.
func argumentsOf(r *http.Request) (args Arguments, inBody bool, err error) {
	text, err := readText(r.Body)
	if err != nil {
		return nil, false, fmt.Errorf("the request's body: %w", err)
	}
	// Not r.URL.Query, which leaves out what it cannot read.
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, false, fmt.Errorf("the query: %w", err)
	}
	args = Arguments{}
	for name, values := range query {
		if len(values) != 1 {
			return nil, false, fmt.Errorf("the query has %s %d times", name, len(values))
		}
		args[name] = values[0]
	}
	if text == "" {
		return args, false, nil
	}
	if len(args) > 0 {
		return nil, false, errors.New("a call has its inputs in the query or in the body, not in both")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return nil, false, fmt.Errorf("the body is no JSON object: %w", err)
	}
	if d.More() {
		return nil, false, errors.New("the body has more than one JSON object")
	}
	return args, true, nil
}

// setArguments gives a request the inputs that were judged: all that its handler could read them
// from is written anew, also a form that somebody before has read already.
func setArguments(r *http.Request, args Arguments, inBody bool) error {
	r.Body, r.ContentLength = http.NoBody, 0
	r.Form, r.PostForm, r.MultipartForm = nil, nil, nil
	query := url.Values{}
	if inBody {
		b, err := json.Marshal(args)
		if err != nil {
			return err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	} else {
		for name, value := range args {
			query.Set(name, fmt.Sprint(value))
		}
	}
	r.URL.RawQuery = query.Encode()
	r.RequestURI = r.URL.RequestURI()
	return nil
}

// keptAnswer keeps an answer until it has been judged.
type keptAnswer struct {
	header http.Header
	status int // 0 until the handler has said it
	body   bytes.Buffer
	long   bool // the handler wrote more than is kept
}

func (k *keptAnswer) Header() http.Header { return k.header }

func (k *keptAnswer) WriteHeader(status int) {
	if k.status == 0 && status >= 200 { // the first counts, and those below only announce it
		k.status = status
	}
}

func (k *keptAnswer) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	// Handlers seldom look at this error. The rest of such an answer must not pass for the whole.
	if k.long = k.long || k.body.Len()+len(b) > MaxBody; k.long {
		return 0, fmt.Errorf("the answer has more than %d bytes, which cannot be judged", MaxBody)
	}
	return k.body.Write(b)
}
