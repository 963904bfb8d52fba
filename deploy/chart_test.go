package deploy

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// settings is the names that docs/configuration.md has in one column: 1 for keys of
// reeve.yaml, 3 for variables. A test of the program compares that page with the program.
func settings(t *testing.T, column int) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			names[strings.Trim(cells[column], " `")] = true
		}
	}
	return names
}

// keys adds the keys of a configuration to a list, with dots.
func keys(list []string, prefix string, value any) []string {
	m, ok := value.(map[string]any)
	if !ok {
		return append(list, prefix)
	}
	for name, value := range m {
		list = keys(list, strings.TrimPrefix(prefix+"."+name, "."), value)
	}
	return list
}

// rendered is the chart's objects with some values, by kind.
func rendered(t *testing.T, values map[string]any) (map[string]map[string]any, error) {
	t.Helper()
	chart, err := loader.Load("helm/reeve")
	if err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "guard", Namespace: "agents", Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]map[string]any{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for doc := range strings.SplitSeq(text, "\n---") {
			var object map[string]any
			if err := yaml.UnmarshalStrict([]byte(doc), &object); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			if object != nil {
				kind := object["kind"].(string)
				if strings.HasSuffix(object["metadata"].(map[string]any)["name"].(string), "-policy") {
					kind += " of the policy"
				}
				objects[kind] = object
			}
		}
	}
	return objects, nil
}

// at is what stands in an object under names.
func at(object any, names ...string) any {
	for _, name := range names {
		m, _ := object.(map[string]any)
		object = m[name]
	}
	return object
}

// TestChart: what the chart renders to is what a node takes, and shuts in what runs it.
func TestChart(t *testing.T) {
	for name, c := range map[string]struct {
		values map[string]any
		kinds  string
	}{
		"alone": {nil, "ConfigMap Service StatefulSet"},
		"three nodes": {map[string]any{"replicas": 3, "database": map[string]any{"shared": true}, "settings": map[string]any{"tasks": map[string]any{"concurrent": 8}}},
			"ConfigMap PodDisruptionBudget Service StatefulSet"},
		"all": {map[string]any{"policy": map[string]any{"own.yaml": "version: 1\nrules: []\n"}, "monitor": map[string]any{"enabled": true}, "alerts": map[string]any{"enabled": true}},
			"ConfigMap ConfigMap of the policy PrometheusRule Service ServiceMonitor StatefulSet"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := rendered(t, c.values)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for kind := range objects {
				kinds = append(kinds, kind)
			}
			if slices.Sort(kinds); strings.Join(kinds, " ") != c.kinds {
				t.Errorf("%v, and not %s", kinds, c.kinds)
			}
			// The configuration is one that a node reads, and says what was given.
			var cfg map[string]any
			if err := yaml.UnmarshalStrict([]byte(at(objects["ConfigMap"], "data", "reeve.yaml").(string)), &cfg); err != nil {
				t.Fatal(err)
			}
			known := settings(t, 1)
			for _, key := range keys(nil, "", cfg) {
				if !known[key] {
					t.Errorf("%s is no setting", key)
				}
			}
			if at(cfg, "jwt", "audience") != "reeve" || at(cfg, "jwt", "secret") == nil || at(cfg, "ledger", "seed") == nil || (at(cfg, "database") != nil) != (name == "three nodes") || (at(cfg, "policy") != nil) != (name == "all") {
				t.Errorf("%v", cfg)
			}
			pod := at(objects["StatefulSet"], "spec", "template", "spec")
			container := at(pod, "containers").([]any)[0]
			for _, want := range []bool{
				at(pod, "securityContext", "runAsNonRoot") == true, at(pod, "automountServiceAccountToken") == false,
				at(container, "securityContext", "readOnlyRootFilesystem") == true, at(container, "securityContext", "allowPrivilegeEscalation") == false,
			} {
				if !want {
					t.Errorf("the pod is open: %v", pod)
				}
			}
			if rule := objects["PrometheusRule"]; rule != nil && len(at(rule, "spec", "groups").([]any)) != 1 {
				t.Errorf("%v", rule)
			}
		})
	}
	if _, err := rendered(t, map[string]any{"replicas": 2}); err == nil || !strings.Contains(err.Error(), "database.shared") {
		t.Errorf("two nodes with a ledger each: %v", err)
	}
}

// TestCompose: every variable is a setting of a node.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose map[string]any
	if err := yaml.UnmarshalStrict(text, &compose); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile("image/main.go")
	if err != nil {
		t.Fatal(err)
	}
	known := settings(t, 3)
	known["REEVE_IMAGE"] = true
	for _, name := range regexp.MustCompile(`REEVE_[A-Z_]+`).FindAllString(string(text)+string(image), -1) {
		if !known[name] {
			t.Errorf("%s is no setting", name)
		}
	}
	if at(compose, "services", "reeve", "read_only") != true {
		t.Error("the root can be written")
	}
}

// TestRules: Prometheus takes the alerts, and the board's expressions.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, p, slog.Default())
	if errs != nil {
		t.Fatal(errs)
	}
	if len(groups.Groups) != 1 || len(groups.Groups[0].Rules) < 8 {
		t.Errorf("%+v", groups)
	}
	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if text, err = os.ReadFile("grafana/reeve.json"); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &board); err != nil || len(board.Panels) < 10 {
		t.Fatalf("%v, %d panels", err, len(board.Panels))
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$instance", ".*").Replace(target.Expr)
			if _, err := p.ParseExpr(expr); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
		}
	}
}
