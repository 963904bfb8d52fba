package operator

import (
	"errors"
	"net/http"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
)

// LedgerShown is how far the logs have come, and where else that is known.
type LedgerShown struct {
	Logs []LogShown `json:"logs"`
}

// LogShown is one log. Checkpoint is its newest, signed; of an empty log there is none.
type LogShown struct {
	Log        uint32        `json:"log"`
	Size       uint64        `json:"size"`
	Pruned     uint64        `json:"pruned,omitzero"` // records below are gone
	Checkpoint string        `json:"checkpoint,omitzero"`
	Anchors    []AnchorShown `json:"anchors,omitempty"`
}

// AnchorShown is the last checkpoint that was published to one place, where whoever writes
// the log cannot change it: records below its size cannot be rewritten unseen.
type AnchorShown struct {
	Place string    `json:"place"`
	Size  uint64    `json:"size"`
	At    time.Time `json:"at"`
}

func (o *API) showLedger(r *http.Request, _ act.Principal, _ Nothing) (LedgerShown, error) {
	shown := LedgerShown{Logs: []LogShown{}}
	logs, err := o.Store.Logs(r.Context())
	if err != nil {
		return shown, o.failed("the logs were not read", err)
	}
	for _, log := range logs {
		head, err := o.Store.Head(r.Context(), log)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		} else if err != nil {
			return shown, o.failed("the log's head was not read", err)
		}
		one := LogShown{Log: log, Size: head.Size, Pruned: head.Pruned, Checkpoint: string(head.Checkpoint)}
		anchors, err := o.Store.Anchors(r.Context(), log)
		if err != nil {
			return shown, o.failed("the log's anchors were not read", err)
		}
		newest := map[string]int{}
		for _, a := range anchors {
			if a.Place == ledger.LogPlace || a.Place == ledger.FormerPlace {
				continue // neither is anywhere else: who has this machine has both
			}
			i, known := newest[a.Place]
			if !known {
				i, newest[a.Place] = len(one.Anchors), len(one.Anchors)
				one.Anchors = append(one.Anchors, AnchorShown{Place: a.Place})
			}
			if !a.At.Before(one.Anchors[i].At) {
				one.Anchors[i].Size, one.Anchors[i].At = a.Size, a.At
			}
		}
		shown.Logs = append(shown.Logs, one)
	}
	return shown, nil
}
