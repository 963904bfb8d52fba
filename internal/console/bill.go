package console

import (
	"net/url"

	"reeve.example/reeve/internal/bom"
)

// billView is an agent's bill of materials: what it is made of, as its acts show it.
type billView struct {
	*bom.Report
	Format bom.Format // an example of those in which it is given out
}

// bill shows one, of the credential that is asked for where there are several.
func (v *visit) bill() (view, error) {
	agent, asked := v.FormValue("agent"), url.Values{}
	if agent == "" {
		return there(home + "agents")
	}
	for _, name := range []string{"principal", "since"} {
		if value := v.FormValue(name); value != "" {
			asked.Set(name, value)
		}
	}
	b := billView{Format: bom.Formats[0]}
	if err := v.ask("GET", "/api/v1/agents/"+segment(agent)+"/bom?"+asked.Encode(), nil, &b.Report); err != nil {
		return view{}, err
	}
	return view{template: "bill", title: agent + " — Bill of materials", data: b}, nil
}
