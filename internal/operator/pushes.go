package operator

import (
	"net/http"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/deliver"
)

// PushList is how far push notifications have come.
type PushList struct {
	Pushes []deliver.State `json:"pushes"`
}

func (o *API) listPushes(r *http.Request, _ act.Principal, _ Nothing) (PushList, error) {
	list, err := o.Pushes(r.Context(), r.URL.Query().Get("task"))
	if err != nil {
		return PushList{}, o.failed("the push notifications were not read", err)
	}
	return PushList{append([]deliver.State{}, list...)}, nil
}
