package operator

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"reeve.example/reeve/internal/ledger"

	"github.com/google/go-cmp/cmp"
)

// A connection that is lost goes on where it was, and what a first one may have missed is
// looked for once more; a refusal ends it.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		answers := []func(w http.ResponseWriter){
			func(w http.ResponseWriter) {}, // lost before anything came
			func(w http.ResponseWriter) {
				fmt.Fprint(w, "event: decision\nid: 0-3\ndata: {\"decision\":\"0-2\"}\n\nevent: decision\nid: 0-4\ndata: {\"deci")
			},
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
			func(w http.ResponseWriter) { fmt.Fprint(w, "id: 0-4\ndata: {\"decision\":\"0-3\"}\n\n") },
			func(w http.ResponseWriter) {
				answer(w, http.StatusForbidden, map[string]string{"error": "It was revoked."})
			},
		}
		node := As(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.RequestURI()+" "+r.Header.Get("Last-Event-ID"))
			w.Header().Set("Content-Type", "text/event-stream")
			next := answers[0]
			answers = answers[1:]
			next(w)
		}))
		begun, lost := 0, 0
		var got []string
		err := node.Follow(t.Context(), ledger.Query{Agent: "a&b"}, func() error { begun++; return nil }, func(error) { lost++ },
			func(l *ledger.Line) error { got = append(got, l.Decision); return nil })
		if err == nil || err.Error() != "It was revoked." || begun != 2 || lost != 4 {
			t.Errorf("%v, begun %d times, lost %d times", err, begun, lost)
		}
		if diff := cmp.Diff([]string{"0-2", "0-3"}, got); diff != "" {
			t.Errorf("decisions (-want +got):\n%s", diff)
		}
		path := "/api/v1/decisions/stream?agent=a%26b "
		if diff := cmp.Diff([]string{path, path, path + "0-3", path + "0-3", path + "0-4"}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// What cannot be followed at all is said at once, and so is what is no stream of decisions.
func TestFollowRefused(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"busy":     func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"no node":  func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") },
		"no event": func(w http.ResponseWriter, r *http.Request) { events(w, "data: <html>\n\n") },
	} {
		err := As(h).Follow(t.Context(), ledger.Query{}, func() error { return nil }, func(error) { t.Errorf("%s: it is asked again", name) }, nil)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	server := httptest.NewServer(nil)
	server.Close()
	err := At(server.URL, "").Follow(t.Context(), ledger.Query{}, nil, nil, nil)
	if err == nil || StatusOf(err) != 0 {
		t.Errorf("nobody there: %v", err)
	}
	stop := errors.New("stop")
	err = As(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { events(w, "data: {\"decision\":\"0-1\"}\n\n") })).
		Follow(t.Context(), ledger.Query{}, func() error { return nil }, nil, func(*ledger.Line) error { return stop })
	if err != stop {
		t.Errorf("a reader that stops: %v", err)
	}
}

func events(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, text)
}
