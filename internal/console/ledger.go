package console

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/operator"

	"github.com/go-json-experiment/json"
)

// ledgerView is how far the logs have come, and one receipt that the browser checks.
type ledgerView struct {
	Logs     []logView
	Decision string // of the receipt
	Receipt  string
	Key      string // of its log, as this node says
	Problem  string

	Since, Until string // of the evidence that was asked for
	Refused      string // why there is none
}

// logView is one log.
type logView struct {
	operator.LogShown
	Key     string
	Ahead   uint64        // records that no anchor has yet
	Age     time.Duration // of the newest anchor
	Stale   bool          // that is long for what came since
	Nowhere bool          // nothing was anchored
}

// staleAnchor is from when on an anchor is called old, where records came after it.
const staleAnchor = 24 * time.Hour

// logs asks how far the logs have come.
func (v *visit) logs() (list []logView, err error) {
	var shown operator.LedgerShown
	if err := v.ask("GET", "/api/v1/ledger", nil, &shown); err != nil {
		return nil, err
	}
	now := v.console.Now()
	for _, l := range shown.Logs {
		one := logView{LogShown: l, Ahead: l.Size, Nowhere: len(l.Anchors) == 0}
		var newest time.Time
		for _, a := range l.Anchors {
			one.Ahead = min(one.Ahead, l.Size-min(a.Size, l.Size))
			if a.At.After(newest) {
				newest = a.At
			}
		}
		if !one.Nowhere {
			one.Age = now.Sub(newest)
		}
		one.Stale = one.Ahead > 0 && one.Age > staleAnchor
		list = append(list, one)
	}
	return list, nil
}

func (v *visit) ledger() (view, error) { return v.showLedger(0, "") }

func (v *visit) showLedger(status int, problem string) (view, error) {
	l := ledgerView{Refused: problem, Since: v.FormValue("since"), Until: v.FormValue("until")}
	var err error
	if l.Logs, err = v.logs(); err != nil {
		return view{}, err
	}
	for i := range l.Logs {
		key, err := v.node.Text(v.Context(), "/ledger/"+strconv.FormatUint(uint64(l.Logs[i].Log), 10)+"/key")
		if err != nil {
			return view{}, err
		}
		l.Logs[i].Key = strings.TrimSpace(string(key))
	}
	if len(l.Logs) > 0 {
		l.Key = l.Logs[0].Key
	}
	if l.Decision = strings.TrimSpace(v.FormValue("decision")); l.Decision != "" {
		pos, err := act.ParsePosition(l.Decision)
		if err != nil {
			l.Problem, status = sentence(err.Error()), http.StatusBadRequest
		} else if text, err := v.node.Text(v.Context(), "/ledger/"+strings.Replace(pos.String(), "-", "/receipt/", 1)); err != nil {
			if status = operator.StatusOf(err); status < 400 || status >= 500 {
				return view{}, err
			}
			l.Problem = sentence(err.Error())
		} else {
			l.Receipt = string(text)
		}
		for _, one := range l.Logs {
			if one.Log == pos.Log {
				l.Key = one.Key
			}
		}
	}
	return view{template: "ledger", title: "Ledger", data: l, status: status}, nil
}

// evidence gives out what was decided in a time as one archive. It is sent while it is made,
// and is the one answer here that is no page.
func (c *Console) evidence(w http.ResponseWriter, r *http.Request) {
	c.serve(looking, func(v *visit) (view, error) {
		q := url.Values{}
		for _, name := range []string{"since", "until"} {
			q.Set(name, strings.TrimSpace(v.FormValue(name)))
		}
		asked := v.WithContext(v.Context())
		asked.URL = &url.URL{Path: "/api/v1/evidence", RawQuery: q.Encode()}
		answer := &download{ResponseWriter: w}
		c.Node.ServeHTTP(answer, asked)
		if !answer.refused {
			return view{sent: true}, nil
		}
		var said struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(answer.said.Bytes(), &said); err != nil {
			return view{}, err
		}
		return v.showLedger(answer.status, sentence(said.Error))
	})(w, r)
}

// download passes on an answer that is a file, and keeps one that says why there is none.
type download struct {
	http.ResponseWriter
	status  int
	refused bool
	said    bytes.Buffer
}

func (d *download) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *download) WriteHeader(status int) {
	if d.status, d.refused = status, status != http.StatusOK; !d.refused {
		d.ResponseWriter.WriteHeader(status)
	}
}

func (d *download) Write(b []byte) (int, error) {
	if d.refused {
		return d.said.Write(b)
	}
	return d.ResponseWriter.Write(b)
}
