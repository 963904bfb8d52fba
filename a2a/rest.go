package a2a

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/rawjson"
)

// REST answers the HTTP+JSON binding of version 1.0, below /rest.
func (s *Server) REST() http.Handler { return &rest10{s, v1, "/rest"} }

// RESTv03 answers that of version 0.3, below /v1.
func (s *Server) RESTv03() http.Handler { return &rest10{s, p03, "/v1"} }

type rest10 struct {
	s       *Server
	dialect dialect
	prefix  string
}

func (h *rest10) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.s.cfg.Logger.Error("panic while handling a call", "panic", p, "stack", string(debug.Stack()))
			h.refuse(w, r, errors.New("panic"))
		}
	}()
	ctx := context.WithValue(r.Context(), baseKey{}, h.s.baseOf(r))
	q, err := h.read(r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	by := h.s.caller(ctx)
	if q.op == opStream || q.op == opSubscribe {
		st, err := h.s.open(ctx, by, q)
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		h.stream(ctx, w, r, st)
		return
	}
	body, err := h.s.answer(ctx, by, q)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", mediaOf(r))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// mediaOf is the type of an answer: that of the protocol where it is asked for.
func mediaOf(r *http.Request) string {
	const own = "application/a2a+json"
	if strings.Contains(r.Header.Get("Accept"), own) {
		return own
	}
	return "application/json"
}

func (h *rest10) refuse(w http.ResponseWriter, r *http.Request, err error) {
	h.s.log(r.Context(), r.Method+" "+r.URL.Path, err)
	f := failed(err)
	w.Header().Set("Content-Type", mediaOf(r))
	if f.fault == exhausted {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(f.http)
	w.Write(f.rest(h.dialect))
}

func (h *rest10) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, st *stream) {
	h.s.cfg.Hold(ctx, h.s.cfg.Now())
	d := h.dialect
	jsonrpc.ServeEvents(ctx, w, func(ctx context.Context, send func(jsonrpc.Event) error) error {
		tell := func(e *event) error { return send(jsonrpc.Event{Data: d.event(nil, e)}) }
		err := tell(st.first)
		if err == nil {
			err = st.run(ctx, tell)
		}
		if err != nil && ctx.Err() == nil && h.s.closing.Err() == nil {
			h.s.log(ctx, r.URL.Path, err)
			return send(jsonrpc.Event{Data: failed(err).rest(d)})
		}
		return err
	})
}

// read reads a request: what it asks for is in its verb and path, and the rest in
// its body or its query.
func (h *rest10) read(r *http.Request) (*request, error) {
	version := r.Header.Get("A2A-Version")
	if version == "" {
		version = r.URL.Query().Get("A2A-Version")
	}
	if err := h.dialect.check(version); err != nil {
		return nil, err
	}
	op, path, err := h.route(r)
	if err != nil {
		return nil, err
	}
	body, err := h.body(r)
	if err != nil {
		return nil, err
	}
	params := body
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		if params, err = queried(r.URL.Query()); err != nil {
			return nil, err
		}
	}
	if op == opPushCreate && h.dialect.proto() && !params.Get("config").Exists() { // the body is the config alone
		o := begin(nil)
		o.raw("config", params.Raw())
		if params, err = parse(o.end()); err != nil {
			return nil, err
		}
	}
	params, err = with(params, path)
	if err != nil {
		return nil, err
	}
	return h.dialect.readParams(op, params)
}

func parse(b []byte) (rawjson.Value, error) {
	doc, err := rawjson.Parse(b)
	if err != nil {
		return rawjson.Value{}, fail(badJSON, "The body is not acceptable JSON: "+err.Error()+".")
	}
	return doc.Root(), nil
}

// body reads the body of a POST.
func (h *rest10) body(r *http.Request) (rawjson.Value, error) {
	if r.Method != http.MethodPost {
		return rawjson.Value{}, nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, h.s.maxBody()))
	if err != nil {
		return rawjson.Value{}, fail(badParams, "The body is larger than "+strconv.FormatInt(h.s.maxBody(), 10)+" bytes, or it did not arrive whole.")
	}
	if len(b) == 0 { // such as to cancel
		return rawjson.Value{}, nil
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && media != "application/a2a+json" || r.Header.Get("Content-Encoding") != "" {
		return rawjson.Value{}, fail(contentType, "Send the request as Content-Type: application/json or application/a2a+json.")
	}
	v, err := parse(b)
	if err == nil && v.Kind() != rawjson.Object {
		err = fail(badParams, "The body is "+v.Kind().Noun()+", and must be an object.")
	}
	return v, err
}

func (s *Server) maxBody() int64 {
	if s.cfg.MaxBody > 0 {
		return s.cfg.MaxBody
	}
	return jsonrpc.DefaultMaxBody
}

// The parameters of queries that are no strings.
var queryNumbers = map[string]bool{"historyLength": true, "pageSize": true}

// queryNames are the parameters that are read.
var queryNames = []string{"contextId", "status", "pageSize", "pageToken", "historyLength", "statusTimestampAfter", "lastUpdatedTime", "includeArtifacts"}

// queried is a query as the params that it stands for.
func queried(query url.Values) (rawjson.Value, error) {
	o := begin(nil)
	for _, name := range queryNames {
		values := query[name]
		if len(values) == 0 {
			values = query[snake(name)]
		}
		switch {
		case len(values) == 0:
		case len(values) > 1:
			return rawjson.Value{}, invalid(name, "It is there more than once.")
		case queryNumbers[name]:
			n, err := strconv.Atoi(values[0])
			if err != nil {
				return rawjson.Value{}, invalid(name, "It must be an integer.")
			}
			o.number(name, n)
		case name == "includeArtifacts":
			yes, err := strconv.ParseBool(values[0])
			if err != nil {
				return rawjson.Value{}, invalid(name, "It must be true or false.")
			}
			o.flag(name, yes)
		default:
			o.textIf(name, values[0])
		}
	}
	return parse(o.end())
}

// with adds what the path says to params, in the place of what the body says.
func with(params rawjson.Value, path map[string]string) (rawjson.Value, error) {
	if len(path) == 0 {
		return params, nil
	}
	o := begin(nil)
	for name, v := range params.Members() {
		replaced := false
		for own := range path {
			replaced = replaced || name == own || name == snake(own)
		}
		if !replaced {
			o.raw(name, v.Raw())
		}
	}
	for name, value := range path {
		o.text(name, value)
	}
	return parse(o.end())
}

// route finds the operation, and what of its params the path holds.
func (h *rest10) route(r *http.Request) (operation, map[string]string, error) {
	path := strings.TrimPrefix(r.URL.Path, h.prefix)
	verb := r.Method
	if verb == http.MethodHead {
		verb = http.MethodGet
	}
	switch verb + " " + path {
	case "POST /message:send":
		return opSend, nil, nil
	case "POST /message:stream":
		return opStream, nil, nil
	case "GET /tasks":
		return opList, nil, nil
	case "GET /extendedAgentCard":
		if h.dialect == v1 {
			return opCard, nil, nil
		}
	case "GET /card":
		if h.dialect.proto() {
			return opCard, nil, nil
		}
	}
	rest, ok := strings.CutPrefix(path, "/tasks/")
	if !ok {
		return 0, nil, fail(noMethod, "There is nothing at this path.")
	}
	task, config, isPush := strings.Cut(rest, "/pushNotificationConfigs")
	config, hasConfig := strings.CutPrefix(config, "/")
	switch {
	case strings.Contains(task, "/") || strings.Contains(config, "/") || isPush && !hasConfig && config != "":
	case isPush && hasConfig && config != "" && verb == http.MethodGet:
		return opPushGet, h.named(task, config), nil
	case isPush && hasConfig && config != "" && verb == http.MethodDelete:
		return opPushDelete, h.named(task, config), nil
	case isPush && !hasConfig && verb == http.MethodPost:
		if h.dialect.proto() {
			return opPushCreate, map[string]string{"parent": "tasks/" + task}, nil
		}
		return opPushCreate, map[string]string{"taskId": task}, nil
	case isPush && !hasConfig && verb == http.MethodGet:
		if h.dialect.proto() {
			return opPushList, map[string]string{"parent": "tasks/" + task}, nil
		}
		return opPushList, map[string]string{"taskId": task}, nil
	case !isPush:
		return h.action(verb, task)
	}
	return 0, nil, fail(noMethod, "There is nothing at this path.")
}

// named is what a path says of a push configuration.
func (h *rest10) named(task, config string) map[string]string {
	if h.dialect.proto() {
		return map[string]string{"name": "tasks/" + task + "/pushNotificationConfigs/" + config}
	}
	return map[string]string{"taskId": task, "id": config}
}

// action is what is asked of one task.
func (h *rest10) action(verb, task string) (operation, map[string]string, error) {
	id, action, _ := strings.Cut(task, ":")
	name := map[string]string{"id": id}
	if h.dialect.proto() {
		name = map[string]string{"name": "tasks/" + id}
	}
	switch {
	case verb == http.MethodGet && action == "":
		return opGet, name, nil
	case verb == http.MethodPost && action == "cancel":
		return opCancel, name, nil
	case action == "subscribe" && (verb == http.MethodGet || verb == http.MethodPost):
		return opSubscribe, name, nil
	}
	return 0, nil, fail(noMethod, "There is nothing at this path.")
}
