package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/report"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
)

func (o *API) decisions(r *http.Request, _ act.Principal, _ Nothing) (ledger.Answer, error) {
	q, err := ParseQuery(r.URL.Query(), o.Retention.Now())
	if err != nil {
		return ledger.Answer{}, problem{http.StatusBadRequest, err}
	}
	a, err := ledger.Search(r.Context(), o.Store, q)
	return a, o.asked("the decisions were not read", err)
}

// How many streams of decisions are open at once, and of one caller.
const mostStreams, ownStreams = 64, 16

// streamDecisions streams what is decided from now on, of what a query asks for: an event
// for each decision, whose id says where a reader goes on that comes back.
func (o *API) streamDecisions(w http.ResponseWriter, r *http.Request) {
	params := r.URL.Query()
	from := r.Header.Get("Last-Event-ID")
	if params.Has("after") {
		from = cmp.Or(from, params.Get("after"))
		params.Del("after")
	}
	q, err := ParseQuery(params, o.Retention.Now())
	if err == nil {
		err = q.Check()
	}
	var places ledger.Places
	if err == nil && from != "" {
		places, err = ledger.ParsePlaces(from)
	}
	if err == nil && (q.Text != "" || q.Cursor != "" || q.Limit != 0 || q.Oldest) {
		err = errors.New("a stream is asked for without text, cursor, limit and order")
	}
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	if places == nil {
		if places, err = ledger.Ends(r.Context(), o.Store); err != nil {
			answer(w, http.StatusInternalServerError, map[string]string{"error": o.failed("the ledger was not read", err).Error()})
			return
		}
	}
	by, _ := identity.FromContext(r.Context())
	o.bound.Do(func() { o.streams.Most, o.streams.Own = mostStreams, ownStreams })
	leave := o.streams.Enter(by.Name)
	if leave == nil {
		answer(w, http.StatusTooManyRequests, map[string]string{"error": "too many streams are open"})
		return
	}
	defer leave()
	server.Hold(r.Context(), o.Retention.Now())
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if o.Stopping != nil {
		go func() {
			select {
			case <-o.Stopping():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	jsonrpc.ServeEvents(ctx, w, func(ctx context.Context, send func(jsonrpc.Event) error) error {
		err := o.Log.Tail().Follow(ctx, o.Store, q, places, func(l *ledger.Line, at ledger.Places) error {
			text, err := json.Marshal(l)
			if err != nil {
				return err
			}
			return send(jsonrpc.Event{Name: "decision", ID: at.String(), Data: text})
		})
		if err != nil && ctx.Err() == nil {
			o.Logger.Warn("a stream of decisions ended", "error", err)
		}
		return err
	})
}

// questions are the parameters of a query that are names, in the order in which they are
// told.
var questions = []struct {
	name string
	at   func(q *ledger.Query) *string
}{
	{"agent", func(q *ledger.Query) *string { return &q.Agent }},
	{"principal", func(q *ledger.Query) *string { return &q.Principal }},
	{"user", func(q *ledger.Query) *string { return &q.User }},
	{"organization", func(q *ledger.Query) *string { return &q.Organization }},
	{"on_behalf_of", func(q *ledger.Query) *string { return &q.Behalf }},
	{"session", func(q *ledger.Query) *string { return &q.Session }},
	{"tool", func(q *ledger.Query) *string { return &q.Tool }},
	{"effect", func(q *ledger.Query) *string { return &q.Effect }},
	{"rule", func(q *ledger.Query) *string { return &q.Rule }},
	{"door", func(q *ledger.Query) *string { return &q.Door }},
	{"kind", func(q *ledger.Query) *string { return &q.Kind }},
	{"task", func(q *ledger.Query) *string { return &q.Task }},
	{"approval", func(q *ledger.Query) *string { return &q.Approval }},
	{"text", func(q *ledger.Query) *string { return &q.Text }},
	{"cursor", func(q *ledger.Query) *string { return &q.Cursor }},
}

// ParseQuery reads a query from the parameters of an address. Parameters that there are
// not, and those that are given twice, are refused: an auditor who mistypes one must not
// take what is found for all.
func ParseQuery(params url.Values, now time.Time) (q ledger.Query, err error) {
	for name, values := range params {
		if len(values) != 1 {
			return q, fmt.Errorf("%.80q is given %d times", name, len(values))
		}
		value := values[0]
		i := slices.IndexFunc(questions, func(one struct {
			name string
			at   func(q *ledger.Query) *string
		}) bool {
			return one.name == name
		})
		switch {
		case i >= 0:
			*questions[i].at(&q) = value
		case name == "since":
			q.Since, err = Moment(value, now)
		case name == "until":
			q.Until, err = Moment(value, now)
		case name == "limit":
			if q.Limit, err = strconv.Atoi(value); err != nil || q.Limit < 1 {
				err = fmt.Errorf("limit is 1 to %d, not %.80q", ledger.MaxLines, value)
			}
		case name == "order":
			if q.Oldest = value == "oldest"; !q.Oldest && value != "newest" {
				err = fmt.Errorf("order is newest or oldest, not %.80q", value)
			}
		case name == "log":
			var log uint64
			if log, err = strconv.ParseUint(value, 10, 32); err != nil {
				err = fmt.Errorf("log is a log's number, not %.80q", value)
			}
			q.Logs = []uint32{uint32(log)}
		default:
			err = fmt.Errorf("nothing is asked by %.80q", name)
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

// Params writes a query as the parameters of an address, as ParseQuery reads it.
func Params(q ledger.Query) url.Values {
	params := url.Values{}
	for _, one := range questions {
		if value := *one.at(&q); value != "" {
			params.Set(one.name, value)
		}
	}
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			params.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	if q.Limit > 0 {
		params.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Oldest {
		params.Set("order", "oldest")
	}
	for _, log := range q.Logs {
		params.Add("log", strconv.FormatUint(uint64(log), 10))
	}
	return params
}

// Moment reads a day, a time, or an age.
func Moment(text string, now time.Time) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if age, err := words.Duration(text); err == nil && age > 0 {
		return now.Add(-age), nil
	}
	return time.Time{}, fmt.Errorf("%.80q is no day such as 2027-01-31, no time such as 2027-01-31T12:00:00Z and no age such as 400d", text)
}

// Indexed tells how much of the logs the index covers.
type Indexed struct {
	Logs []IndexedLog `json:"logs"`
}

// IndexedLog is one log of them.
type IndexedLog struct {
	Log     uint32 `json:"log"`
	Records uint64 `json:"records"`
	Covered uint64 `json:"covered"`
}

// index makes the index of all logs anew.
func (o *API) index(r *http.Request, by act.Principal, _ Nothing) (Indexed, error) {
	made := Indexed{Logs: []IndexedLog{}}
	if _, err := o.Guard.Note(r.Context(), "index", by, nil); err != nil {
		return made, err
	}
	logs, err := o.Store.Logs(r.Context())
	for _, log := range logs {
		if err != nil {
			break
		}
		one := IndexedLog{Log: log}
		if one.Covered, one.Records, err = ledger.RebuildIndex(r.Context(), o.Retention.Store, log); err == nil {
			made.Logs = append(made.Logs, one)
		}
	}
	return made, err
}

// listSessions lists runs of agents, by whichever door: those that have a step of what is
// asked for.
func (o *API) listSessions(r *http.Request, _ act.Principal, _ Nothing) (report.Runs, error) {
	q, err := ParseQuery(r.URL.Query(), o.Retention.Now())
	if err != nil {
		return report.Runs{}, problem{http.StatusBadRequest, err}
	}
	runs, err := report.List(r.Context(), o.Store, q)
	return runs, o.asked("the sessions were not read", err)
}

// showSession shows a part of one run's steps, the oldest first, or of them those that are
// asked for. With part its id may be the beginning or end of a name that is among the newest.
func (o *API) showSession(r *http.Request, _ act.Principal, _ Nothing) (report.Window, error) {
	params := r.URL.Query()
	newest, part := params.Get("order") == "newest", params.Get("part")
	if params.Has("part") && part != "true" && part != "false" {
		return report.Window{}, badRequest("part is true or false, not %.80q", part)
	}
	params.Del("part")
	q, err := ParseQuery(params, o.Retention.Now())
	if err != nil {
		return report.Window{}, problem{http.StatusBadRequest, err}
	}
	q.Oldest = !newest
	id := r.PathValue("id")
	if part == "true" {
		if id, err = report.Named(r.Context(), o.Store, id); err != nil {
			return report.Window{}, o.asked("the session was not looked for", err)
		}
	}
	w, err := report.Show(r.Context(), o.Store, id, q)
	if err == nil {
		err = o.Replays.flows(r.Context(), w.Steps)
	}
	return w, o.asked("the session was not read", err)
}

// asked is what an auditor is told of an error.
func (o *API) asked(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrQuery), errors.Is(err, report.ErrManyNamed):
		return problem{http.StatusBadRequest, err}
	case errors.Is(err, report.ErrNoneNamed):
		return problem{http.StatusNotFound, err}
	}
	return o.failed(what, err)
}
