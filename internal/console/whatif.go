package console

import (
	"cmp"
	"net/http"
	"time"

	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/replay"
)

// windows are the pasts that can be judged again.
var windows = []struct {
	Name, Says string
	age        time.Duration
}{
	{"1h", "the last hour", time.Hour}, {"24h", "the last day", 24 * time.Hour}, {"7d", "the last week", 7 * 24 * time.Hour}, {"30d", "the last 30 days", 30 * 24 * time.Hour},
}

// whatIfView is what would have been decided under a candidate.
type whatIfView struct {
	Name, Text, Window string
	Report             *replay.Report
	Problem            string
	Took               time.Duration
}

// Windows are the choices.
func (whatIfView) Windows() any { return windows }

func (v *visit) whatIf() (view, error) {
	e, _, err := v.edited()
	if err != nil {
		return view{}, err
	}
	return view{template: "whatif", title: "What if — Policy", data: whatIfView{Name: e.Name, Text: e.Text, Window: "24h"}}, nil
}

// tryPolicy judges a window again under the document that was sent, with the others.
func (v *visit) tryPolicy() (view, error) {
	e, files, err := v.edited()
	if err != nil {
		return view{}, err
	}
	w := whatIfView{Name: e.Name, Text: e.Text, Window: v.PostFormValue("window")}
	q := operator.Replay{Candidate: candidate(e, files), Limit: 50, Acts: 20}
	for _, one := range windows {
		if one.Name == w.Window {
			q.Since = v.console.Now().Add(-one.age)
		}
	}
	status := http.StatusOK
	if q.Since.IsZero() {
		w.Problem, status = "Choose a window.", http.StatusBadRequest
	} else {
		began := time.Now()
		w.Report = new(replay.Report)
		if err := v.ask("POST", "/api/v1/policy/replay", q, w.Report); err != nil {
			if status = operator.StatusOf(err); status < 400 || status >= 500 {
				return view{}, err
			}
			w.Report, w.Problem = nil, err.Error()
		}
		w.Took = time.Since(began)
	}
	return view{template: "whatif", title: "What if — Policy", data: w, status: status}, nil
}

// candidate is a document together with the others of the policy.
func candidate(e editView, files []operator.PolicyFile) []operator.PolicyFile {
	all := []operator.PolicyFile{{Name: cmp.Or(e.Name, "policy.yaml"), Text: e.Text}}
	for _, f := range files {
		if f.Name != e.Name {
			all = append(all, f)
		}
	}
	return all
}
