package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/operator"
)

// ledgerView is how far the logs have come, and one receipt that the browser checks.
type ledgerView struct {
	Logs     []logView
	Decision string // of the receipt
	Receipt  string
	Key      string // of its log, as this node says
	Problem  string
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

func (v *visit) ledger() (view, error) {
	var l ledgerView
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
	status := 0
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
