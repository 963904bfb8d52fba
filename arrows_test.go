package reeve_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows is which rooms a room may import, beside the standard library and
// other modules: the picture in ARCHITECTURE.md. They go down only.
var arrows = map[string]string{
	"act":              "",
	"internal/rawjson": "",
	"internal/canon":   "",
	"internal/visible": "internal/canon",
	"internal/words":   "",
	"internal/jsonrpc": "internal/rawjson",
	"risk":             "internal/canon",
	"risk/hazard":      "act internal/canon internal/rawjson internal/yamldoc risk",

	"risk/hazard/corpus/build": "",
	"risk/model":               "internal/rawjson",
	"internal/params":          "internal/rawjson",
	"internal/wording":         "act",
	"internal/content":         "act internal/canon internal/rawjson",
	"a2a/message":              "act internal/canon internal/content internal/rawjson",
	"mcp/message":              "act internal/canon internal/content internal/rawjson",
	"mcp/pins":                 "act guard internal/canon internal/rawjson ledger risk",
	"mcp/proxy":                "act approval guard identity internal/canon internal/content internal/jsonrpc internal/rawjson internal/wording mcp/message mcp/pins policy risk",
	"mcp/proxy/install":        "internal/rawjson",
	"session":                  "act internal/rawjson risk risk/hazard",
	"report":                   "act hook internal/rawjson internal/visible ledger",
	"workflow":                 "internal/rawjson internal/words internal/yamldoc task",
	"policy":                   "internal/words act internal/canon internal/content internal/rawjson internal/yamldoc risk risk/hazard session",
	"task":                     "internal/rawjson",
	"ledger":                   "act internal/rawjson task",
	"store":                    "act identity ledger task",
	"store/internal/layout":    "act ledger",
	"store/sqlite":             "act identity ledger store store/internal/layout task",
	"store/postgres":           "act identity ledger store store/internal/layout task",
	"store/storetest":          "act identity ledger store task",
	"internal/outbound":        "",
	"executor":                 "act internal/outbound internal/rawjson sandbox",
	"identity":                 "act",
	"approval":                 "act",
	"agent":                    "act",
	"guard":                    "act agent approval identity internal/canon internal/quota internal/rawjson ledger policy risk session task",
	"engine":                   "act approval executor guard identity internal/quota internal/canon internal/content internal/rawjson internal/wording ledger task",
	"flow":                     "act engine executor identity internal/jsonrpc internal/rawjson ledger task",
	"a2a":                      "a2a/message act approval engine executor guard identity internal/canon internal/content internal/jsonrpc internal/outbound internal/rawjson internal/wording ledger task",
	"aos":                      "act a2a/message internal/canon internal/content internal/jsonrpc internal/params internal/rawjson internal/wording mcp/message",
	"sandbox":                  "act internal/outbound",
	"a2g/intent":               "act approval guard ledger",
	"a2g":                      "a2g/intent act agent approval guard identity internal/canon internal/content internal/jsonrpc internal/params internal/quota internal/rawjson internal/wording ledger policy",
	"server":                   "act agent identity internal/jsonrpc task",
	"retention":                "a2a act engine guard ledger store task",
	"operator":                 "a2g a2g/intent act agent approval guard identity internal/datadir internal/jsonrpc ledger retention server",
	"": "a2a a2g a2g/intent act aos approval engine executor flow guard guardian identity internal/datadir internal/jsonrpc internal/outbound internal/rawjson internal/quota internal/secret ledger mcp/pins mcp/proxy operator policy " +
		"retention risk risk/model server session store store/postgres store/sqlite task workflow",

	"guardian":         "act hook internal/canon internal/rawjson risk/hazard",
	"hook":             "act aos internal/jsonrpc internal/rawjson internal/secret",
	"internal/secret":  "",
	"internal/linear":  "",
	"internal/datadir": "",
	"internal/quota":   "",
	"internal/yamldoc": "internal/rawjson",

	"examples/agent/agent":     "aos",
	"examples/agent":           "aos examples/agent/agent",
	"examples/workflow/own":    " act executor sandbox",
	"examples/workflow/prices": "",
	"demo":                     "aos examples/agent/agent",
	"cmd/reeve":                " a2g act agent hook engine executor flow task aos approval demo guard guardian identity internal/datadir internal/rawjson internal/secret internal/visible internal/words workflow ledger mcp/pins mcp/proxy mcp/proxy/install operator policy retention report risk/hazard sandbox server session store store/postgres store/sqlite",
	"cmd/reeve-hook":           "hook internal/datadir",
	"bench":                    "",
	"internal/needs":           "",
	"internal/modelserver":     "",
	"hook/realagents":          "internal/modelserver",
	"vectors":                  "task",
}

const module = "reeve.example/reeve"

func TestArrows(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(path))
		if room == "." {
			room = ""
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
