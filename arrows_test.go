package reeve_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows is which rooms a room may import, beside the standard library and
// other modules: the picture in ARCHITECTURE.md. They go down only.
var arrows = map[string]string{
	"act":                          "",
	"internal/rawjson":             "",
	"internal/canon":               "internal/words",
	"internal/lazyregexp":          "",
	"internal/visible":             "internal/canon",
	"internal/deliver":             "internal/outbound internal/words",
	"internal/glob":                "",
	"internal/pubkey":              "",
	"internal/links":               "",
	"internal/regular":             "",
	"internal/words":               "",
	"internal/jsonrpc":             "internal/rawjson internal/words act",
	"internal/risk":                "internal/lazyregexp internal/canon",
	"internal/risk/hazard":         "internal/glob internal/lazyregexp act internal/canon internal/rawjson internal/yamldoc internal/risk internal/risk/hazard/effects internal/words",
	"internal/risk/hazard/effects": "internal/lazyregexp",

	"internal/risk/hazard/corpus/build": "",
	"internal/risk/model":               "internal/rawjson",
	"internal/params":                   "internal/canon internal/rawjson",
	"internal/jsonbody":                 "",
	"internal/wording":                  "act internal/visible",
	"internal/content":                  "act internal/canon internal/rawjson",
	"a2a/message":                       "act internal/canon internal/content internal/rawjson",
	"internal/mcp/message":              "act internal/canon internal/content internal/rawjson",
	"internal/mcp/pins":                 "internal/lazyregexp act internal/guard internal/canon internal/rawjson internal/ledger internal/risk internal/words",
	"internal/mcp/proxy":                "internal/jsonbody internal/lazyregexp act internal/approval internal/guard internal/identity internal/canon internal/content internal/jsonrpc internal/rawjson internal/wording internal/mcp/message internal/mcp/pins internal/policy internal/risk internal/words",
	"internal/mcp/proxy/install":        "internal/rawjson",
	"internal/provenance":               "internal/canon internal/rawjson",
	"internal/habits":                   "act internal/provenance internal/rawjson internal/words",
	"internal/session":                  "act internal/canon internal/provenance internal/rawjson internal/risk internal/risk/hazard internal/words",
	"internal/report":                   "act internal/hook internal/rawjson internal/visible internal/ledger internal/words",
	"internal/workflow":                 "internal/lazyregexp internal/rawjson internal/words internal/yamldoc task",
	"internal/policy":                   "internal/habits internal/lazyregexp internal/provenance internal/words act internal/canon internal/content internal/rawjson internal/yamldoc internal/regular internal/risk internal/risk/hazard internal/session internal/glob",
	"task":                              "internal/rawjson internal/words",
	"internal/ledger":                   "act internal/glob internal/rawjson task internal/words",
	"internal/nodes":                    "",
	"internal/store":                    "act internal/identity internal/ledger internal/nodes task",
	"internal/store/internal/layout":    "act internal/ledger",
	"internal/store/sqlite":             "act internal/identity internal/ledger internal/nodes internal/store internal/store/internal/layout task",
	"internal/store/postgres":           "internal/lazyregexp act internal/identity internal/ledger internal/nodes internal/quota internal/store internal/store/internal/layout task",
	"internal/store/storetest":          "act internal/identity internal/ledger internal/store task",
	"internal/outbound":                 "internal/words internal/glob act",
	"executor":                          "internal/content internal/jsonrpc internal/lazyregexp act internal/outbound internal/rawjson internal/sandbox internal/words internal/pubkey",
	"internal/identity":                 "internal/glob internal/lazyregexp act internal/pubkey internal/canon",
	"internal/approval":                 "act internal/canon",
	"internal/agent":                    "act internal/pubkey",
	"internal/target":                   "act internal/approval internal/canon internal/lazyregexp internal/links internal/rawjson internal/regular internal/risk internal/risk/hazard internal/words internal/yamldoc",
	"internal/guard":                    "internal/habits act internal/agent internal/approval internal/canon internal/identity internal/ledger internal/links internal/passkey internal/policy internal/provenance internal/quota internal/rawjson internal/risk internal/risk/hazard internal/session internal/target internal/words task",
	"internal/notice":                   "internal/deliver act internal/approval internal/guard internal/ledger internal/visible internal/words",
	"internal/engine":                   "internal/deliver act internal/approval executor internal/guard internal/identity internal/quota internal/canon internal/content internal/rawjson internal/wording internal/ledger task",
	"internal/apflow":                   "executor internal/jsonrpc internal/rawjson",
	"flow":                              "act internal/engine executor internal/identity internal/jsonrpc internal/rawjson internal/ledger task internal/words",
	"a2a":                               "internal/deliver a2a/message act internal/approval internal/engine executor internal/guard internal/identity internal/canon internal/content internal/jsonrpc internal/outbound internal/rawjson internal/wording internal/ledger task internal/words",
	"aos":                               "act a2a/message internal/canon internal/content internal/jsonrpc internal/params internal/rawjson internal/wording internal/mcp/message",
	"aos/guarded":                       "aos",
	"aos/guarded/mcpguard":              "aos/guarded",
	"acs":                               "act internal/content internal/guard internal/jsonrpc internal/ledger internal/mcp/message internal/params internal/rawjson internal/wording internal/words",
	"internal/sandbox":                  "act internal/outbound internal/glob",
	"a2g/intent":                        "act internal/approval internal/guard internal/ledger",
	"a2g":                               "a2g/intent act internal/agent internal/approval internal/guard internal/identity internal/canon internal/content internal/jsonrpc internal/params internal/quota internal/rawjson internal/wording internal/ledger internal/policy internal/pubkey",
	"internal/server":                   "act internal/agent internal/identity internal/jsonrpc internal/quota task",
	"internal/retention":                "internal/identity a2a act internal/bom internal/engine internal/guard internal/ledger internal/store task",
	"internal/operator":                 "internal/jsonbody internal/passkey internal/deliver internal/evidence internal/bom a2g a2g/intent act internal/agent internal/approval internal/guard internal/identity internal/datadir internal/jsonrpc internal/ledger internal/nodes internal/policy internal/replay internal/report internal/retention internal/server internal/words internal/habits internal/hook internal/rawjson internal/target",
	"internal/console":                  "act internal/agent internal/approval internal/bom internal/habits internal/identity internal/ledger internal/mcp/pins internal/mcp/proxy internal/operator internal/report internal/server internal/visible internal/words flow internal/replay task",
	"internal/export":                   "internal/ledger",
	"internal/evidence":                 "act internal/ledger internal/visible internal/words",
	"internal/bom":                      "act internal/canon internal/export internal/guard internal/ledger internal/rawjson internal/replay internal/visible internal/words",
	"internal/otlp":                     "internal/export",
	"internal/ocsf":                     "act internal/export internal/ledger internal/otlp internal/trace",
	"internal/otlp/otlptest":            "",
	"internal/ocsf/ocsftest":            "",
	"internal/passkey/passkeytest":      "internal/passkey",
	"internal/trace":                    "act internal/export internal/ledger internal/otlp internal/rawjson",
	"": "internal/risk/hazard internal/links internal/regular internal/passkey internal/deliver internal/bom internal/export internal/ocsf internal/otlp internal/trace internal/notice internal/apflow a2a acs a2g a2g/intent act aos internal/approval internal/engine executor flow internal/guard internal/guardian internal/identity internal/datadir internal/jsonrpc internal/outbound internal/rawjson internal/quota internal/secret internal/ledger internal/mcp/pins internal/mcp/proxy internal/nodes internal/operator internal/policy internal/console " +
		"internal/replay internal/retention internal/risk internal/risk/model internal/server internal/session internal/store internal/store/postgres internal/store/sqlite task internal/words internal/workflow internal/yamldoc",

	"internal/guardian": "internal/regular internal/glob internal/lazyregexp act internal/hook internal/links internal/canon internal/rawjson internal/risk/hazard internal/target internal/yamldoc",
	"internal/hook":     "internal/canon internal/wording internal/regular internal/lazyregexp act aos internal/content internal/jsonrpc internal/rawjson internal/secret",
	"internal/secret":   "",
	"internal/linear":   "",
	"internal/datadir":  "",
	"internal/quota":    "",
	"internal/passkey":  "internal/pubkey",

	"internal/simulation": "act aos internal/guard internal/words",
	"internal/replay":     "a2a a2g acs act aos internal/engine internal/guard internal/ledger internal/mcp/proxy internal/policy internal/provenance internal/session internal/words",
	"internal/yamldoc":    "internal/rawjson",

	"examples/agent/agent":     "aos",
	"examples/agent":           "aos examples/agent/agent",
	"examples/cluster":         "",
	"examples/workflow/own":    " act executor",
	"examples/workflow/prices": "",
	"demo":                     "aos examples/agent/agent",
	"cmd/reeve":                "internal/evidence  internal/bom a2g act internal/agent internal/hook internal/engine executor flow task aos internal/approval demo internal/guard internal/guardian internal/identity internal/datadir internal/rawjson internal/secret internal/visible internal/words internal/workflow internal/jsonrpc internal/ledger internal/mcp/pins internal/mcp/proxy internal/mcp/proxy/install internal/nodes internal/operator internal/policy internal/replay internal/retention internal/report internal/risk/hazard internal/sandbox internal/server internal/session internal/simulation internal/store internal/store/postgres internal/store/sqlite internal/console internal/habits internal/target",
	"cmd/reeve-hook":           "internal/hook internal/datadir",
	"bench":                    "",
	"deploy/image":             "",
	"deploy/sbom":              "",
	"internal/needs":           "",
	"internal/chromium":        "internal/needs",
	"internal/needs/collector": "",
	"internal/modelserver":     "",
	"internal/hook/realagents": "internal/modelserver",
	"vectors":                  "task",
}

const module = "reeve.example/reeve"

func TestArrows(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rooms, _ := strings.Cut(string(text), "## The rooms")
	rooms, _, _ = strings.Cut(rooms, "\n## ")
	seen := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(path))
		if room == "." {
			room = ""
		}
		if inside, ok := strings.CutPrefix(room, "internal/"); ok && !seen[room] {
			if name, _, _ := strings.Cut(inside, "/"); !strings.Contains(rooms, " "+name+" ") && !strings.Contains(rooms, " "+name+"/") {
				t.Errorf("ARCHITECTURE.md does not say what the room %q is for", room)
			}
		}
		seen[room] = true
		allowed, listed := arrows[room]
		if !listed {
			t.Errorf("the room %q is not in the list of arrows", room)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			to, ours := strings.CutPrefix(name, module+"/")
			if name == module {
				to, ours = "", true
			}
			if ours && !slices.Contains(strings.Split(allowed, " "), to) {
				t.Errorf("%s: %q must not import %q", path, room, to)
			}
			if room == "act" && !ours && strings.Contains(name, ".") {
				t.Errorf("%s: act imports the standard library only, not %q", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range arrows {
		if !seen[room] {
			t.Errorf("the list of arrows has the room %q, which is not there", room)
		}
	}
}
