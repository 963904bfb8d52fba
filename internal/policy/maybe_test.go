package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

func arguments(pairs ...string) (all []act.Argument) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, act.Argument{Name: pairs[i], Value: []byte(pairs[i+1]), Pointer: "/" + pairs[i]})
	}
	return all
}

func callWith(args []act.Argument) *Input {
	return &Input{Action: &act.Action{Kind: act.ToolCall, Canonical: "deploy_app", Arguments: args}}
}

const noProduction = `version: 1
default: allow
rules:
  - {name: no-production, on: call, tools: ["*deploy*"], effect: deny, when: 'args.environment.may_be("production")'}
`

// TestMayBe: a value says a name, or another, or nothing.
func TestMayBe(t *testing.T) {
	set, err := Load(File{"a.yaml", []byte(noProduction)})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]act.Effect{
		``: act.Deny, `null`: act.Deny, `""`: act.Deny, `"  "`: act.Deny, `[]`: act.Deny, `{}`: act.Deny, `[null]`: act.Deny, `{"name":null}`: act.Deny, `"\u200b"`: act.Deny,
		`"production"`: act.Deny, `"Production"`: act.Deny, `" production\n"`: act.Deny, `"ｐｒｏｄｕｃｔｉｏｎ"`: act.Deny, `"prod\u200buction"`: act.Deny, `"prоduction"`: act.Deny,
		`["production"]`: act.Deny, `[["Production "]]`: act.Deny, `{"name":"production"}`: act.Deny, `{"production":true}`: act.Deny, `["staging","production"]`: act.Deny,
		`"staging,production"`: act.Deny, `"env=production"`: act.Deny, `"\"production\""`: act.Deny, `"[\"production\"]"`: act.Deny, `"production;"`: act.Deny, `"eu/production"`: act.Deny,
		`"staging"`: act.Allow, `["staging"]`: act.Allow, `{"name":"staging"}`: act.Allow, `"pre-production"`: act.Allow, `"productionx"`: act.Allow, `false`: act.Allow, `7`: act.Allow, `["staging",null]`: act.Allow,
		`"` + strings.Repeat(" ", 100_000) + `production"`: act.Deny,
		`"` + strings.Repeat("x", 100_000) + `"`:           act.Allow,
	} {
		args := arguments("environment", value)
		if value == "" {
			args = nil
		}
		if got := set.Evaluate(callWith(args)); got.Effect != want {
			t.Errorf("%.60s: %s", value, got.Effect)
		}
	}
	twice := arguments("environment", `"staging"`, "environment", `"staging"`)
	if v := set.Evaluate(callWith(twice)); v.Effect != act.Deny {
		t.Errorf("given twice: %s", v.Effect)
	}
	for name, want := range map[string]act.Effect{"Environment": act.Deny, "ENVIRONMENT": act.Deny} {
		if v := set.Evaluate(callWith(arguments("environment", `"staging"`, name, `"production"`))); v.Effect != want {
			t.Errorf("%s beside: %s", name, v.Effect)
		}
	}
	if x := set.Explain(callWith(arguments("environment", `["Production"]`))); !x.Rules[0].Matched {
		t.Errorf("explained otherwise than judged: %v", x)
	}
}

func TestMayBeForms(t *testing.T) {
	load := func(rule string) (*Set, error) {
		return Load(File{"a.yaml", []byte("version: 1\ndefault: allow\nlists: {live: [Production, 'prod-*']}\nrules:\n  - {name: a, effect: deny, " + rule + "}\n")})
	}
	for _, tt := range []struct {
		rule string
		args []act.Argument
		deny bool
	}{
		{`tools: deploy_app, when: 'args.environment.may_be(lists.live)'`, arguments("environment", `"prod-eu"`), true},
		{`tools: deploy_app, when: 'args.environment.may_be(lists.live)'`, arguments("environment", `"eu"`), false},
		{`tools: deploy_app, when: 'args.environment.may_be(["a", "prod*"])'`, arguments("environment", `"PRODUCTION"`), true},
		{`tools: deploy_app, when: 'args["environment"].may_be("7")'`, arguments("environment", `[7]`), true},
		{`tools: deploy_app, when: 'args.dry_run.may_be("false")'`, arguments("dry_run", `false`), true},
		{`tools: deploy_app, when: 'args.dry_run.may_be("false")'`, arguments("dry_run", `true`), false},
		{`tools: deploy_app, when: 'args.dry_run.may_be("false")'`, nil, true},
		{`tools: deploy_app, when: 'args.target.environment.may_be("production")'`, arguments("target", `{"environment":"staging"}`), false},
		{`tools: deploy_app, when: 'args.target.environment.may_be("production")'`, arguments("target", `{"environment":["production"]}`), true},
		{`tools: deploy_app, when: 'args.target.environment.may_be("production")'`, arguments("target", `{}`), true},
		{`tools: deploy_app, when: 'args.target.environment.may_be("production")'`, arguments("target", `"production"`), true},
		{`tools: deploy_app, when: 'args.target.environment.may_be("production")'`, nil, true},
		{`when: 'has(args.environment) && args.environment.may_be("production")'`, nil, false},
		{`when: 'has(args.environment) && args.environment.may_be("production")'`, arguments("environment", `["production"]`), true},
		{`when: 'args.exists(k, v, v.may_be("production"))'`, arguments("x", `"PRODUCTION"`), true},
		{`when: 'agent.id.may_be("deployer")'`, nil, true},
	} {
		set, err := load(tt.rule)
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		if v := set.Evaluate(callWith(tt.args)); (v.Effect == act.Deny) != tt.deny {
			t.Errorf("%s with %s: %s", tt.rule, tt.args, v.Effect)
		}
		if w := set.Warnings(); w != nil {
			t.Errorf("%s: %v", tt.rule, w)
		}
	}
	for rule, want := range map[string]string{
		`when: 'args.environment.may_be("production")'`:                  `args.environment.may_be() holds for every call without this argument, in a rule for all tools (name the tools, or write has(args.environment) && …)`,
		`when: 'user.exists && args.a.b.may_be("production")'`:           `args.a.may_be() holds for every call without this argument`,
		`tools: x, when: 'args.environment.may_be(1)'`:                   `may_be cannot be applied to`,
		`tools: x, when: 'args.environment.may_be("a", "b")'`:            `may_be`,
		`tools: x, when: 'args.environment.may_bee("a")'`:                `did you mean may_be`,
		`tools: x, when: 'args.exists(k, k.may_be("a") && foo.bar > 1)'`: `there is no variable "foo"`,
	} {
		if _, err := load(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// TestExactWarning: a rule that stops by an exact text is warned of, and one that lets
// pass by it, or stops by anything else, is not.
func TestExactWarning(t *testing.T) {
	for rule, want := range map[string]bool{
		`tools: "*deploy*", effect: deny, when: 'has(args.environment) && args.environment == "production"'`:                           true,
		`tools: "*deploy*", effect: escalate, when: 'has(args.environment) && "production" == args.environment'`:                       true,
		`tools: deploy, effect: deny, when: 'args.environment == "production"'`:                                                        true,
		`tools: deploy, effect: deny, when: 'args.environment in ["production", "live"]'`:                                              true,
		`tools: deploy, effect: deny, when: 'user.exists && (args.a > 1 || !(args.environment != "production"))'`:                      true,
		`tools: deploy, effect: allow, when: 'has(args.environment) && args.environment == "staging"'`:                                 false,
		`tools: deploy, effect: deny, when: 'args.environment != "staging"'`:                                                           false,
		`tools: deploy, effect: deny, when: '!(has(args.environment) && args.environment == "staging")'`:                               false,
		`tools: deploy, effect: deny, when: '!(args.environment in ["staging"])'`:                                                      false,
		`tools: deploy, effect: deny, when: 'args.amount == 7'`:                                                                        false,
		`tools: deploy, effect: deny, when: 'args.environment.may_be("production")'`:                                                   false,
		`tools: deploy, effect: deny, when: 'action.tool == "deploy"'`:                                                                 false,
		`tools: deploy, effect: modify, modify: {replace: {argument: environment, with: x}}, when: 'args.environment == "production"'`: false,
	} {
		set, err := Load(File{"a.yaml", []byte("version: 1\ndefault: deny\nrules:\n  - {name: a, on: call, " + rule + "}\n")})
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		if w := set.Warnings(); (w != nil) != want {
			t.Errorf("%s: %v", rule, w)
		} else if want && !strings.Contains(w.Error(), `a.yaml:4:6: the rule "a" compares args.environment with a text exactly`) {
			t.Errorf("%s: %v", rule, w)
		}
	}
}

// respell gives one of the other ways to say a value, by which a program may still take it.
func respell(r *rand.Rand, value string) string {
	text := strings.Trim(value, `"`)
	return pick(r, []string{
		"[" + value + "]", `{"value":` + value + `}`, `[[` + value + `],"other"]`, `"` + strings.ToUpper(text) + `"`, `" ` + text + `\t"`,
		`"` + text[:1] + `\u200b` + text[1:] + `"`, `"` + text + `,other"`, `"x=` + text + `"`, `"'` + text + `'"`, "null", `""`, "[]", `{"` + text + `":1}`,
	})
}

// TestThreat26MissingValues: whatever is done to the arguments that a rule that stops
// reads (left out, nothing, in a list, of another type, beyond what numbers hold, in
// another spelling), what it denied is not let pass.
func TestThreat26MissingValues(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 26))
		var leaf func(depth int) string
		leaf = func(depth int) string {
			if depth > 0 && r.IntN(4) > 0 {
				return "(" + leaf(depth-1) + pick(r, []string{" && ", " || "}) + leaf(depth-1) + ")"
			}
			return pick(r, []string{
				`args.env.may_be("production")`, `args.o.env.may_be(["production", "live"])`, `args.env.may_be("prod*")`,
				`args.n > 3`, `args.b`, `args.n >= 7.5`, `args.o.b`, `args.s.contains("yes")`,
			})
		}
		condition := leaf(3)
		effect := pick(r, []string{"deny", "escalate"})
		set, err := Load(File{"a.yaml", fmt.Appendf(nil, "version: 1\ndefault: allow\nrules:\n  - {name: rule, tools: deploy_app, effect: %s, when: %q}\n", effect, condition)})
		if err != nil {
			t.Fatalf("%v\n%s", err, condition)
		}
		for range 20 {
			all := arguments(
				"env", pick(r, []string{`"production"`, `"live"`, `"staging"`}),
				"o", pick(r, []string{`{"env":"production","b":true}`, `{"env":"live","b":false}`, `{"env":"staging","b":true}`}),
				"n", pick(r, []string{"1", "7", "12.5"}),
				"b", pick(r, []string{"true", "false"}),
				"s", pick(r, []string{`"yes"`, `"no"`}),
			)
			before := set.Evaluate(callWith(all)).Effect
			for i := range all {
				is := string(all[i].Value)
				others := []string{"", "null", "[" + is + "]", `{"x":` + is + `}`, "[]"}
				switch all[i].Name {
				case "env":
					others = append(others, respell(r, is), respell(r, is))
				case "n":
					others = append(others, `"`+is+`"`, "1e999", `"NaN"`, is+"e400", "true")
				case "b":
					others = append(others, `"`+is+`"`, "1", "0")
				case "o":
					others = append(others, "{}", `{"env":["production"],"b":[true]}`, `"`+strings.ReplaceAll(is, `"`, `\"`)+`"`)
				case "s":
					others = append(others, "7", "true")
				}
				for _, other := range others {
					changed := append([]act.Argument(nil), all...)
					if changed[i].Value = []byte(other); other == "" {
						changed = append(changed[:i], changed[i+1:]...)
					}
					if after := set.Evaluate(callWith(changed)).Effect; after > before {
						t.Fatalf("with %s = %q instead of %s the effect goes from %s to %s\n%s\n%s", all[i].Name, other, is, before, after, condition, all)
					}
				}
			}
		}
	}
}

// TestThreat26FirstRule: the rule that README writes first holds in every spelling.
func TestThreat26FirstRule(t *testing.T) {
	set, err := Load(File{"a.yaml", []byte(noProduction)})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 26))
	for range 500 {
		value := `"production"`
		for range 1 + r.IntN(2) {
			if strings.HasPrefix(value, `"`) && len(value) > 6 && !strings.Contains(value, `\`) {
				value = respell(r, value)
			} else {
				value = "[" + value + "]"
			}
		}
		if v := set.Evaluate(callWith(arguments("environment", value))); v.Effect != act.Deny {
			t.Errorf("%s: %s", value, v.Effect)
		}
	}
}
