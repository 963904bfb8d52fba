package executor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/act"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// NewAggregate returns aggregate_results_executor, which puts the results of a
// task's dependencies together.
func NewAggregate() Executor { return aggregate{} }

type aggregate struct{}

func (aggregate) Describe() Description {
	return Description{
		ID:           "aggregate_results_executor",
		Name:         "Aggregate results",
		Description:  "Puts the results of the tasks that it depends on into one.",
		Tags:         []string{"results"},
		InputSchema:  aggregateSchema,
		ResultSchema: aggregateResultSchema,
		Manifest:     act.Manifest{TimeoutSeconds: 60},
		Enforces:     networkLimits, // it reaches nothing
		Idempotent:   true,
	}
}

var aggregateSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "strategy": {
      "enum": ["keyed", "merge"],
      "default": "keyed",
      "description": "keyed: results has each result under its task's id. merge: results has the members of all results, a later one's in place of an earlier one's of the same name."
    }
  },
  "additionalProperties": true
}`)

// missing is a dependency that gave no result.
type missing struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

func (aggregate) Execute(ctx context.Context, job *Job) (jsontext.Value, error) {
	var in struct {
		Strategy string `json:"strategy"`
	}
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	if in.Strategy != "" && in.Strategy != "keyed" && in.Strategy != "merge" {
		return nil, final("the input \"strategy\" must be \"keyed\" or \"merge\"")
	}
	results, lost, count := map[string]jsontext.Value{}, []missing{}, 0
	for _, r := range job.Results {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.Status != "completed" || len(r.Value) == 0 {
			lost = append(lost, missing{r.ID, r.Status})
			continue
		}
		count++
		if in.Strategy == "merge" && r.Value.Kind() == '{' {
			var members map[string]jsontext.Value
			if err := json.Unmarshal(r.Value, &members); err != nil {
				return nil, final("the result of %q cannot be read: %v", r.ID, err)
			}
			for name, v := range members {
				results[name] = v
			}
			continue
		}
		results[unused(results, r.ID)] = r.Value
	}
	summary := fmt.Sprintf("%d of %d tasks gave a result", count, len(job.Results))
	if len(lost) > 0 {
		var names []string
		for _, m := range lost[:min(len(lost), 10)] {
			names = append(names, m.ID+" ("+m.Status+")")
		}
		summary += "; missing: " + strings.Join(names, ", ")
		if len(lost) > 10 {
			summary += ", …"
		}
	}
	return encode(struct {
		Summary   string                    `json:"summary"`
		Timestamp string                    `json:"timestamp"`
		Results   map[string]jsontext.Value `json:"results"`
		Count     int                       `json:"result_count"`
		Missing   []missing                 `json:"missing,omitempty"`
	}{summary, time.Now().UTC().Format(time.RFC3339), results, count, lost})
}

// unused is an id, with a number if there is a result of that id already.
func unused(results map[string]jsontext.Value, id string) string {
	name := id
	for n := 2; results[name] != nil; n++ {
		name = id + "#" + strconv.Itoa(n)
	}
	return name
}
