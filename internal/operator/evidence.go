package operator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"reeve.example/reeve/internal/evidence"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/server"
)

// evidenceQuery is the time that evidence is asked for.
func (o *API) evidenceQuery(r *http.Request) (q ledger.Query, err error) {
	params := r.URL.Query()
	for _, one := range []struct {
		name string
		at   *time.Time
	}{{"since", &q.Since}, {"until", &q.Until}} {
		text := params.Get(one.name)
		if text == "" || len(params[one.name]) != 1 {
			return q, errors.New("say of which time: since and until are a day such as 2027-01-31, a time, or an age such as 90d")
		}
		if *one.at, err = Moment(text, o.Retention.Now()); err != nil {
			return q, fmt.Errorf("%s: %w", one.name, err)
		}
	}
	if len(params) != 2 {
		return q, errors.New("nothing is asked by anything but since and until")
	}
	return q, q.Check()
}

// evidence streams an archive of what was decided in a time. That it was given out is
// recorded before. One is made at a time.
func (o *API) evidence(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, err error) { answer(w, status, map[string]string{"error": err.Error()}) }
	q, err := o.evidenceQuery(r)
	if err != nil {
		refuse(http.StatusBadRequest, err)
		return
	}
	if !o.giving.TryLock() {
		refuse(http.StatusTooManyRequests, errors.New("evidence is being made for somebody: ask again when it is done"))
		return
	}
	defer o.giving.Unlock()
	by, _ := identity.FromContext(r.Context())
	span := [2]string{q.Since.UTC().Format(time.RFC3339), q.Until.UTC().Format(time.RFC3339)}
	if _, err := o.Guard.Note(r.Context(), "evidence", by, map[string]string{"since": span[0], "until": span[1]}); err != nil {
		refuse(http.StatusInternalServerError, o.failed("that evidence was given out was not recorded", err))
		return
	}
	server.Hold(r.Context(), o.Retention.Now())
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "evidence-"+q.Since.UTC().Format(time.DateOnly)+"-"+q.Until.UTC().Format(time.DateOnly)+".zip"))
	out := bufio.NewWriterSize(&patient{Writer: w, control: http.NewResponseController(w), patience: patience, atLeast: atLeast}, 64<<10)
	_, err = evidence.Write(r.Context(), out, evidence.Of{Store: o.Store, Keys: o.Evidence, Since: q.Since, Until: q.Until, Made: o.Retention.Now(), Version: o.Version})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		if r.Context().Err() == nil {
			o.Logger.Error("evidence was not written", "error", err)
		}
		panic(http.ErrAbortHandler) // half of it must not look like all of it
	}
}

// Whoever takes an archive has the one place for it, so that it must be taken: at this rate
// at least, but for a while in all.
const (
	patience = time.Minute
	atLeast  = 256 << 10 // bytes in a second
)

// patient is a response that lasts as long as its reader reads. The time that it takes to
// make what is written does not count.
type patient struct {
	io.Writer
	control  *http.ResponseController
	patience time.Duration
	atLeast  int64 // bytes in a second
	waited   time.Duration
	written  int64
}

func (p *patient) Write(b []byte) (int, error) {
	began := time.Now()
	left := p.patience + time.Duration(p.written/p.atLeast)*time.Second - p.waited
	if err := p.control.SetWriteDeadline(began.Add(left)); err != nil && !errors.Is(err, http.ErrNotSupported) { // as for who asks in this process
		return 0, fmt.Errorf("nothing would end a reader that does not read: %w", err)
	}
	n, err := p.Writer.Write(b)
	p.waited += time.Since(began)
	p.written += int64(n)
	return n, err
}
