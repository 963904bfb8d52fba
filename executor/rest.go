package executor

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/outbound"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// RESTConfig is for NewREST.
type RESTConfig struct {
	// AllowPrivate lets tasks call addresses that are not public: the node's own
	// network and loopback.
	AllowPrivate bool
	// Credentials are sent to their services by requests that have none of their own.
	Credentials Credentials
	// MaxBody is how many bytes of an answer's body are kept; 0 means 4 MiB.
	MaxBody int64

	pause time.Duration // before the second try; 0 means half a second
}

// NewREST returns rest_executor, which calls a web service.
func NewREST(c RESTConfig) Executor {
	if c.MaxBody <= 0 {
		c.MaxBody = 4 << 20
	}
	if c.pause == 0 {
		c.pause = 500 * time.Millisecond
	}
	return &rest{c}
}

type rest struct{ config RESTConfig }

func (e *rest) Describe() Description {
	return Description{
		ID:           "rest_executor",
		Name:         "REST",
		Description:  "Calls a web service over HTTP. Only public addresses are reached, and of them only those that the manifest allows.",
		Tags:         []string{"http", "rest", "network"},
		InputSchema:  restSchema,
		ResultSchema: restResultSchema,
		Manifest:     act.Manifest{TimeoutSeconds: 300, NetworkAllowed: true},
		Enforces:     networkLimits,
	}
}

var restSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["url"],
  "properties": {
    "url": {"type": "string", "description": "The http or https URL."},
    "method": {"type": "string", "enum": ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"], "default": "GET"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Headers of the request. They are sent to no other host than the URL's, and shown in no result."},
    "query": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "array"]}, "description": "Added to the URL's query."},
    "json": {"description": "The body, sent as JSON. At most one of json, body and form."},
    "body": {"type": "string", "description": "The body, sent as it is."},
    "form": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "array"]}, "description": "The body, sent as a form."},
    "auth": {
      "type": "object",
      "description": "A credential, which is sent to no other host than the URL's and shown in no result.",
      "required": ["type"],
      "properties": {
        "type": {"enum": ["bearer", "basic", "apikey"]},
        "token": {"type": "string", "description": "For bearer."},
        "username": {"type": "string", "description": "For basic."},
        "password": {"type": "string", "description": "For basic."},
        "name": {"type": "string", "description": "For apikey: the header's or the parameter's name, X-API-Key by default."},
        "value": {"type": "string", "description": "For apikey."},
        "in": {"enum": ["header", "query"], "default": "header", "description": "For apikey."}
      }
    },
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may take, with all tries; never more than the manifest allows."},
    "retries": {"type": "integer", "minimum": 0, "maximum": 10, "default": 2, "description": "How often it is tried again when the connection fails or the service is overloaded (429, 502, 503, 504); never for POST and PATCH."}
  },
  "additionalProperties": true
}`)

type restInputs struct {
	URL     string                    `json:"url"`
	Method  string                    `json:"method"`
	Headers map[string]string         `json:"headers"`
	Query   map[string]jsontext.Value `json:"query"`
	JSON    jsontext.Value            `json:"json"`
	Body    *string                   `json:"body"`
	Form    map[string]jsontext.Value `json:"form"`
	Auth    *restAuth                 `json:"auth"`
	Timeout *float64                  `json:"timeout"`
	Retries *int                      `json:"retries"`
}

type restAuth struct {
	Type     string `json:"type"`
	Token    string `json:"token"`
	Username string `json:"username"`
	Password string `json:"password"`
	Name     string `json:"name"`
	Value    string `json:"value"`
	In       string `json:"in"`
}

// restCall is a request that may be made more than once.
type restCall struct {
	method  string
	url     *url.URL
	shown   string // the URL as results may show it
	header  http.Header
	content string
	body    []byte
	once    bool   // it may have been done although no answer came
	key     string // for services to recognize a repeat by
	secrets secrets
}

func (e *rest) Execute(ctx context.Context, job *Job) (jsontext.Value, error) {
	var in restInputs
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	call, err := newRESTCall(job, in)
	if err != nil {
		return nil, err
	}
	dialer, err := network(job.Manifest, e.config.AllowPrivate)
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := limited(ctx, job.Manifest, in.Timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	progress := report(job)
	defer progress.close()
	d, _ := allowedTime(job.Manifest, in.Timeout)
	options := outbound.Options{HeaderTimeout: d + time.Second, MaxResponse: e.config.MaxBody, Redirects: 5, Header: call.header, For: call.url}
	e.config.Credentials.arm(&options, &call.secrets)
	client := dialer.Client(options)
	defer client.CloseIdleConnections()

	retries := 2
	if in.Retries != nil {
		retries = *in.Retries
	}
	if retries < 0 || retries > 10 {
		return nil, final("the input \"retries\" must be from 0 to 10")
	}
	if call.once {
		retries = 0
	}
	for try := 0; ; try++ {
		value, err := e.try(ctx, client, call)
		again := (*Error)(nil)
		if !errors.As(err, &again) || again.Final || try == retries || !retryable(again) || ctx.Err() != nil {
			return value, err
		}
		pause := max(again.After, time.Duration(float64(e.config.pause<<try)*(0.5+rand.Float64())))
		if until, ok := ctx.Deadline(); ok && time.Now().Add(pause).After(until) {
			return nil, err // it would not be asked again in time
		}
		progress.say(-1, fmt.Sprintf("%s; trying again in %v", again.Message, pause.Round(time.Millisecond)))
		if gone := wait(ctx, pause); gone != nil {
			return nil, gone
		}
	}
}

// retryable is whether a failure may pass by itself. A status that does not say
// so is the service's answer.
func retryable(e *Error) bool {
	if e.Result == nil {
		return true // no answer came
	}
	var answer struct {
		Status int `json:"status_code"`
	}
	return json.Unmarshal(e.Result, &answer) == nil && slices.Contains([]int{429, 502, 503, 504}, answer.Status)
}

func newRESTCall(job *Job, in restInputs) (*restCall, error) {
	c := &restCall{method: strings.ToUpper(in.Method)}
	if c.method == "" {
		c.method = http.MethodGet
	}
	if !slices.Contains([]string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}, c.method) {
		return nil, final("the input \"method\" must be GET, HEAD, OPTIONS, POST, PUT, PATCH or DELETE")
	}
	var err error
	if c.url, err = webURL("url", in.URL); err != nil {
		return nil, err
	}
	c.url.Fragment, c.url.RawFragment = "", ""
	if c.header, err = headers(in.Headers, &c.secrets); err != nil {
		return nil, err
	}
	query, err := values("query", in.Query)
	if err != nil {
		return nil, err
	}
	addQuery(c.url, query)
	if p := blockedIn(job.Manifest, c.url.String()); p != "" {
		return nil, final("the URL holds %q, which the manifest blocks", p)
	}
	c.shown = c.url.String()
	if err := c.authorize(in.Auth); err != nil {
		return nil, err
	}
	if err := c.setBody(in); err != nil {
		return nil, err
	}
	if own := c.header.Get("Content-Type"); own != "" {
		c.content = own
		c.header.Del("Content-Type")
	}
	if c.method == http.MethodPost || c.method == http.MethodPatch {
		c.once = true
		if c.header.Get("Idempotency-Key") == "" {
			c.key = job.Key
		}
	}
	return c, nil
}

func addQuery(u *url.URL, v url.Values) {
	if len(v) > 0 {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+v.Encode(), "&")
	}
}

// values reads an object of strings, numbers, booleans, or arrays of them.
func values(name string, in map[string]jsontext.Value) (url.Values, error) {
	out := url.Values{}
	for key, v := range in {
		list := []jsontext.Value{v}
		if v.Kind() == '[' {
			if err := json.Unmarshal(v, &list); err != nil {
				return nil, final("the input %q cannot be read at %q", name, cut(key, 100))
			}
		}
		for _, one := range list {
			switch one.Kind() {
			case '"':
				var text string
				if err := json.Unmarshal(one, &text); err != nil {
					return nil, final("the input %q cannot be read at %q", name, cut(key, 100))
				}
				out.Add(key, text)
			case '0', 't', 'f':
				out.Add(key, string(one))
			default:
				return nil, final("the input %q must have strings, numbers, booleans or arrays of them, and has something else at %q", name, cut(key, 100))
			}
		}
	}
	return out, nil
}

// authorize adds the credential.
func (c *restCall) authorize(a *restAuth) error {
	if a == nil {
		return nil
	}
	set := map[string]string{}
	switch a.Type {
	case "bearer":
		if a.Token == "" {
			return final("the input \"auth\" has no token")
		}
		set["Authorization"] = "Bearer " + a.Token
	case "basic":
		if a.Username == "" {
			return final("the input \"auth\" has no username")
		}
		set["Authorization"] = basic(a.Username, a.Password, &c.secrets)
	case "apikey":
		name := a.Name
		if name == "" {
			name = "X-API-Key"
		}
		if a.Value == "" {
			return final("the input \"auth\" has no value")
		}
		switch a.In {
		case "", "header":
			set[name] = a.Value
		case "query":
			c.secrets.add(a.Value)
			addQuery(c.url, url.Values{name: {a.Value}})
		default:
			return final("auth.in must be \"header\" or \"query\"")
		}
	default:
		return final("auth.type must be \"bearer\", \"basic\" or \"apikey\"")
	}
	h, err := headers(set, &c.secrets)
	for name, v := range h {
		if c.header[name] != nil {
			return final("the header %s is in \"headers\" and in \"auth\"", name)
		}
		c.header[name] = v
	}
	return err
}

func (c *restCall) setBody(in restInputs) error {
	bodies := 0
	if len(in.JSON) > 0 {
		bodies++
		c.content, c.body = "application/json", in.JSON
	}
	if in.Body != nil {
		bodies++
		c.content, c.body = "text/plain; charset=utf-8", []byte(*in.Body)
	}
	if in.Form != nil {
		bodies++
		form, err := values("form", in.Form)
		if err != nil {
			return err
		}
		c.content, c.body = "application/x-www-form-urlencoded", []byte(form.Encode())
	}
	if bodies > 1 {
		return final("only one of the inputs \"json\", \"body\" and \"form\" can be the body")
	}
	if bodies > 0 && (c.method == http.MethodGet || c.method == http.MethodHead) {
		return final("a %s request has no body", c.method)
	}
	return nil
}

// restResult is an answer.
type restResult struct {
	Status    int               `json:"status_code"`
	Headers   map[string]string `json:"headers"`
	JSON      jsontext.Value    `json:"json,omitzero"`
	Body      *string           `json:"body,omitzero"`
	Base64    string            `json:"body_base64,omitzero"` // of what is no text
	URL       string            `json:"url"`
	Elapsed   float64           `json:"elapsed_seconds"`
	Truncated bool              `json:"truncated,omitzero"`
}

// try makes one request.
func (e *rest) try(ctx context.Context, client *http.Client, c *restCall) (jsontext.Value, error) {
	begun := time.Now()
	request, err := http.NewRequestWithContext(ctx, c.method, c.url.String(), bytes.NewReader(c.body))
	if err != nil {
		return nil, final("the input \"url\" is no URL")
	}
	if len(c.body) > 0 || c.content != "" {
		request.Header.Set("Content-Type", c.content)
	}
	if c.key != "" {
		request.Header.Set("Idempotency-Key", c.key)
	}
	request.Header.Set("User-Agent", "reeve")
	response, err := client.Do(request)
	if err != nil {
		return nil, failed(ctx, c.url.Hostname()+" was not reached", err, c.secrets)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	truncated := errors.Is(err, outbound.ErrTooLarge)
	if err != nil && !truncated {
		return nil, failed(ctx, "the answer broke off", err, c.secrets)
	}
	result := restResult{Status: response.StatusCode, Headers: map[string]string{}, URL: c.shown, Elapsed: seconds(time.Since(begun)), Truncated: truncated}
	if to := response.Request.URL; origin(to) != origin(c.url) || to.Path != c.url.Path {
		result.URL = c.secrets.mask(to.Redacted())
	}
	for name, v := range response.Header {
		if name != "Set-Cookie" { // a credential that the service gave us
			result.Headers[cut(name, 200)] = cut(c.secrets.mask(strings.Join(v, ", ")), 8<<10)
		}
	}
	if err := result.setBody(body, response.Header.Get("Content-Type"), c.secrets); err != nil {
		return nil, err
	}
	value, err := encode(result)
	if err != nil || response.StatusCode < 400 {
		return value, err
	}
	status := response.StatusCode
	return nil, &Error{
		Message: fmt.Sprintf("%s answered %d %s", c.url.Hostname(), status, http.StatusText(status)),
		Final:   status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests,
		After:   retryAfter(response.Header.Get("Retry-After"), time.Now()),
		Result:  value,
	}
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// setBody shows JSON as JSON, text as text, and all else in base64.
func (r *restResult) setBody(body []byte, content string, s secrets) error {
	kind, _, _ := mime.ParseMediaType(content)
	if v := jsontext.Value(body); !r.Truncated && (kind == "application/json" || strings.HasSuffix(kind, "+json")) && v.IsValid() {
		masked, err := s.maskJSON(v)
		r.JSON = masked
		if err != nil {
			return final("%v", err)
		}
		return nil
	}
	if r.Truncated { // in the middle of a letter, perhaps
		for cutoff := 0; cutoff < utf8.UTFMax && len(body) > 0 && !utf8.Valid(body); cutoff++ {
			body = body[:len(body)-1]
		}
		body = body[:len(body)-s.held(string(body))] // nor of a secret
	}
	if utf8.Valid(body) {
		text := s.mask(string(body))
		r.Body = &text
		return nil
	}
	r.Base64 = base64.StdEncoding.EncodeToString([]byte(s.mask(string(body))))
	return nil
}

// retryAfter reads the header of this name: seconds, or a date. More than an
// hour is taken as an hour.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(min(n, 3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return min(at.Sub(now), time.Hour)
	}
	return 0
}
