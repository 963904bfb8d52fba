package console

import (
	"reeve.example/reeve/internal/operator"
)

// nodeView is how the nodes are.
type nodeView struct {
	operator.NodeList
	Status  *operator.Status
	Running *operator.Running
	Keys    []operator.KeyInfo
}

func (v *visit) showNode() (view, error) {
	var n nodeView
	if err := v.ask("GET", "/nodes", nil, &n.NodeList); err != nil {
		return view{}, err
	}
	if v.may(admins) {
		n.Status = new(operator.Status)
		if err := v.ask("GET", "/admin/status", nil, n.Status); err != nil {
			return view{}, err
		}
		n.Running = new(operator.Running)
		if err := v.ask("GET", "/api/v1/running", nil, n.Running); err != nil {
			return view{}, err
		}
		if err := v.ask("GET", "/admin/keys", nil, &n.Keys); err != nil {
			return view{}, err
		}
	}
	return view{template: "node", title: "Node", data: n}, nil
}
