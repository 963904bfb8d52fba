package flow

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"reeve.example/reeve/internal/engine"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/task"

	"github.com/go-json-experiment/json"
)

// Bounds of streams.
const (
	maxStreams = 4096
	// ownStreams are how many one caller may have, so that others find room.
	ownStreams = maxStreams / 2
	someEvents = 256 // read at once
)

var errStreams = errors.New("there are too many streams open, try again without one, or later")

// room says whether there is room for the stream that a call asks for, before
// anything is carried out.
func (s *Server) room(c *call, o *options) error {
	if !o.stream || !c.r.CanFollow() {
		return nil
	}
	if !s.streams.Room(c.by.Principal.Name) {
		return errStreams
	}
	return nil
}

// follow sends the events of a tree that come after one, until the tree has ended
// and all are sent, or the server is closed. The caller's right to see them is
// asked about each time.
func (s *Server) follow(by engine.Caller, root task.ID, after uint64) jsonrpc.Follow {
	return func(ctx context.Context, send func(jsonrpc.Event) error) error {
		leave := s.streams.Enter(by.Principal.Name)
		if leave == nil {
			return errStreams // the answer is there, and the events can be asked for later
		}
		defer leave()
		return s.events(ctx, by, root, after, send)
	}
}

func (s *Server) events(ctx context.Context, by engine.Caller, root task.ID, after uint64, send func(jsonrpc.Event) error) error {
	w, stop := s.cfg.Engine.Watch(root)
	defer stop()
	for {
		select {
		case <-w.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing.Done():
			return nil
		}
		for more := true; more; {
			// The row first: what it says of is then among the events.
			r, err := s.cfg.Engine.Row(ctx, by, root)
			if err != nil {
				return s.ended(err)
			}
			list, err := s.cfg.Engine.Events(ctx, by, root, after, someEvents)
			if err != nil {
				return s.ended(err)
			}
			for i := range list {
				if s.closing.Err() != nil {
					return nil
				}
				if err := send(eventOf(&list[i])); err != nil {
					return err
				}
				after = list[i].N
			}
			if r.Open == 0 && len(list) == 0 {
				return nil
			}
			more = len(list) == someEvents || r.Open == 0
		}
	}
}

// ended logs why a stream ends before its time; that the tree is gone is no news.
func (s *Server) ended(err error) error {
	var wrong *task.Error
	if !errors.As(err, &wrong) && !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Error("a stream of events ended", "error", err)
	}
	return err
}

func eventOf(e *task.Event) jsonrpc.Event {
	return jsonrpc.Event{Name: e.Type.String(), ID: strconv.FormatUint(e.N, 10), Data: task.AppendEvent(nil, e)}
}

// EventsHandler streams the events of the tree that the task {id} of the path is
// in: from the first, or after the one that the header Last-Event-ID or the query
// ?after= says. So who loses the connection goes on without a gap. When the tree
// has ended and nothing is left to tell, the answer is 204, which makes a browser's
// EventSource stop.
func (s *Server) EventsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := s.caller(r.Context())
		after, ok := afterOf(r)
		if !ok {
			refuse(w, http.StatusBadRequest, "Last-Event-ID, or after, is the id of an event: a number.")
			return
		}
		row, err := s.rootOf(r, by)
		var wrong *task.Error
		switch {
		case errors.As(err, &wrong):
			refuse(w, http.StatusNotFound, noSuchTask)
			return
		case err != nil:
			s.cfg.Logger.Error("the events of a task cannot be read", "error", err)
			refuse(w, http.StatusInternalServerError, "The events cannot be read now.")
			return
		}
		if r.URL.Query().Has("last") {
			s.latest(w, r, by, &row)
			return
		}
		if row.Open == 0 {
			left, err := s.cfg.Engine.Events(r.Context(), by, row.ID, after, 1)
			if err == nil && len(left) == 0 {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		if r.Method == http.MethodHead { // which has no end to wait for
			w.Header().Set("Content-Type", "text/event-stream")
			return
		}
		leave := s.streams.Enter(by.Principal.Name)
		if leave == nil {
			w.Header().Set("Retry-After", "5")
			refuse(w, http.StatusServiceUnavailable, sentence(errStreams))
			return
		}
		defer leave()
		jsonrpc.ServeEvents(r.Context(), w, func(ctx context.Context, send func(jsonrpc.Event) error) error {
			return s.events(ctx, by, row.ID, after, send)
		})
	})
}

// mostLatest bounds how many of the newest events are answered at once.
const mostLatest = 1000

// latest answers the newest events of a tree, the oldest of them first, without a stream.
func (s *Server) latest(w http.ResponseWriter, r *http.Request, by engine.Caller, root *task.Row) {
	last, err := strconv.ParseUint(r.URL.Query().Get("last"), 10, 32)
	if err != nil || last == 0 || last > mostLatest {
		refuse(w, http.StatusBadRequest, "last is how many of the newest events are asked for: 1 to "+strconv.Itoa(mostLatest)+".")
		return
	}
	list, err := s.cfg.Engine.Events(r.Context(), by, root.ID, root.Events-min(last, root.Events), int(last))
	if err != nil {
		s.cfg.Logger.Error("the events of a task cannot be read", "error", err)
		refuse(w, http.StatusInternalServerError, "The events cannot be read now.")
		return
	}
	b := []byte(`{"events":[`)
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"number":`...)
		b = strconv.AppendUint(b, list[i].N, 10)
		b = append(b, `,"type":"`+list[i].Type.String()+`","at":"`+list[i].At.UTC().Format(time.RFC3339Nano)+`","event":`...)
		b = append(task.AppendEvent(b, &list[i]), '}')
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(b, "]}"...))
}

// rootOf is the root of the tree that a request's task is in.
func (s *Server) rootOf(r *http.Request, by engine.Caller) (row task.Row, err error) {
	id, err := task.ParseID(r.PathValue("id"))
	if err != nil {
		return row, &task.Error{Code: task.CodeNotFound}
	}
	row, err = s.cfg.Engine.Row(r.Context(), by, id)
	if err == nil && row.Root != id {
		row, err = s.cfg.Engine.Row(r.Context(), by, row.Root)
	}
	return row, err
}

// afterOf is the number of the last event that a client has. The header counts more
// than the query: a browser connects again with the URL of the first time.
func afterOf(r *http.Request) (after uint64, ok bool) {
	said := r.Header.Get("Last-Event-ID")
	if said == "" {
		said = r.URL.Query().Get("after")
	}
	if said == "" {
		return 0, true
	}
	after, err := strconv.ParseUint(said, 10, 63)
	return after, err == nil
}

// refuse answers an HTTP request that is no JSON-RPC.
func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]string{"error": reason})
	w.Write(body)
}
