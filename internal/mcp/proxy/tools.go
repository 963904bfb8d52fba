package proxy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	mcp "reeve.example/reeve/internal/mcp/message"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/words"
)

var itoa = strconv.Itoa

// asker asks the server on the proxy's own account: it gets a method and the
// params, as JSON, and returns the result.
type asker func(ctx context.Context, method string, params []byte) (rawjson.Value, error)

// toolbox is the tools that a server lists to a client, or to clients that are
// not told apart.
type toolbox struct {
	listing sync.Mutex // held while the server is asked

	// lasts is for how long a list is used, where the server cannot tell that it
	// has changed; 0 for as long as it does not tell.
	lasts time.Duration

	mu      sync.Mutex
	whole   bool // the list below is all of them, and up to date
	asked   time.Time
	version int // counts what made it out of date
	tools   map[string]*tool
	held    string // says what is held back; empty for nothing
}

// tool is one tool that was listed.
type tool struct {
	hash   string        // of its definition
	params []binding     // arguments that are also headers
	schema rawjson.Value // of its arguments
	denied *act.Reason   // why it must not be called
	hidden bool          // it is not shown
	hints  act.Hints
}

func newToolbox() *toolbox { return &toolbox{tools: map[string]*tool{}} }

// outdated notes that the server's tools have changed.
func (t *toolbox) outdated() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole = false
	t.version++
}

func (t *toolbox) find(name string) (*tool, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tools[name], t.whole && (t.lasts == 0 || time.Since(t.asked) < t.lasts)
}

// hints are what the server says of a tool.
func (t *toolbox) hints(name string) act.Hints {
	if found, _ := t.find(name); found != nil {
		return found.hints
	}
	return 0
}

// holds says what is held back.
func (t *toolbox) holds() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// refusals are why a call with params must not be made: the server did not list the
// tool, its definition waits for somebody to agree to it, or programs would
// understand its arguments in different ways. Where the client has not seen the
// list, or it is out of date, the server is asked for it first.
func (t *toolbox) refusals(ctx context.Context, s *session, params rawjson.Value, via asker) []act.Reason {
	name := params.Get("name")
	if name.Kind() != rawjson.String {
		return []act.Reason{{
			Rule: toolsRule, Code: "mcp.unnamed", Effect: act.Deny,
			Message: "The call does not name its tool.", Instead: "Name one that is listed.",
		}}
	}
	found, whole := t.find(name.Text())
	if !whole || found != nil && found.denied != nil { // which somebody may have agreed to by now
		if err := t.refresh(ctx, s, via); err != nil {
			s.p.logger().Error("the server's tools are not known", "server", s.p.Server, "error", err)
			return []act.Reason{{
				Rule: toolsRule, Code: "mcp.unlisted", Effect: act.Deny,
				Message: "Which tools the server has is not known. The proxy's log says why.",
			}}
		}
		found, _ = t.find(name.Text())
	}
	held := t.holds()
	switch {
	case name.Text() == standIn && held != "":
		return []act.Reason{{Rule: toolsRule, Code: "mcp.tool_held", Effect: act.Deny, Message: held, Instead: "Do without them until then."}}
	case found == nil:
		return []act.Reason{{
			Rule: toolsRule, Code: "mcp.unlisted", Effect: act.Deny,
			Message: "The server lists no tool of this name.", Instead: "List the tools, and call one of them.",
		}}
	case found.denied != nil:
		return []act.Reason{*found.denied}
	}
	if r := doubleArgument(found.schema, params.Get("arguments")); r != nil {
		return []act.Reason{*r}
	}
	return nil
}

// maxPages is how many parts a list of tools may have.
const maxPages = 100

// refresh asks the server for all of its tools.
func (t *toolbox) refresh(ctx context.Context, s *session, via asker) error {
	t.listing.Lock()
	defer t.listing.Unlock()
	t.mu.Lock()
	version := t.version
	t.mu.Unlock()
	var definitions []rawjson.Value
	params := []byte("{}")
	for page := 0; ; page++ {
		if page == maxPages {
			return fmt.Errorf("its list has more than %d parts", maxPages)
		}
		result, err := via(ctx, "tools/list", params)
		if err != nil {
			return err
		}
		for _, d := range result.Get("tools").Elems() {
			definitions = append(definitions, d)
		}
		if len(definitions) > pins.MaxTools {
			return fmt.Errorf("it lists more than %d tools", pins.MaxTools)
		}
		cursor := result.Get("nextCursor")
		if cursor.Kind() != rawjson.String {
			break
		}
		params = append(append([]byte(`{"cursor":`), cursor.Raw()...), '}')
	}
	return t.take(ctx, s, definitions, version)
}

// take has a whole list of tools, as of a version, compared with those that are
// pinned, and keeps it.
func (t *toolbox) take(ctx context.Context, s *session, definitions []rawjson.Value, version int) error {
	tools, held, err := t.judge(ctx, s, definitions)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = held
	t.tools, t.whole, t.asked = tools, version == t.version, time.Now()
	return nil
}

// judge has definitions compared with those that are pinned, and says which are held back.
func (t *toolbox) judge(ctx context.Context, s *session, definitions []rawjson.Value) (map[string]*tool, string, error) {
	list := []byte{'['}
	for i, d := range definitions {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, d.Raw()...)
	}
	denied, err := s.p.Guardian.Tools(ctx, s.p.Server, s.p.pin(), append(list, ']'))
	if err != nil {
		return nil, "", err
	}
	tools := make(map[string]*tool, len(definitions))
	waiting := map[string]string{}
	for _, d := range definitions {
		name := d.Get("name").Text()
		if name == standIn {
			denied[name] = act.Reason{Rule: toolsRule, Code: "mcp.tool_held", Effect: act.Deny, Message: "The server gives a tool the name under which reeve tells of what it holds back."}
		}
		if r, no := denied[name]; no && r.Code == "mcp.tool_held" {
			waiting[name] = r.Message
		}
		x := &tool{hash: pins.Hash(d), params: bindings(d.Get("inputSchema")), schema: d.Get("inputSchema"), hints: mcp.Hints(d)}
		if r, no := denied[name]; no {
			x.hidden = true
			if r.Code != notGranted {
				x.denied = &r
			}
		}
		tools[name] = x
	}
	return tools, heldText(waiting), nil
}

// standIn is the name of the tool that stands in a list for those that are held back, so
// that who uses the client sees there that something is. A call of it is answered with the
// same text. No server's tool has this name.
const standIn = "reeve_held_back"

// heldText says in reeve's own words which tools are held back and why: a model reads it,
// so nothing of the definitions is in it.
func heldText(waiting map[string]string) string {
	if len(waiting) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(waiting))
	var b strings.Builder
	fmt.Fprintf(&b, "reeve holds back %s of this server, until a person has looked at what it says. This is no tool, and needs no call. A person sees more with: reeve mcp status.", words.Count(len(names), "tool"))
	const most = 20
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, " And %d more.", len(names)-most)
			break
		}
		fmt.Fprintf(&b, " %s: %s", pins.Plain(name), waiting[name])
	}
	return b.String()
}

// withStandIn adds to a list of tools the one that says what is held back.
func (t *toolbox) withStandIn(answer []byte) []byte {
	held := t.holds()
	if held == "" {
		return answer
	}
	doc, err := rawjson.Parse(answer)
	if err != nil {
		return answer
	}
	list := doc.Root().Get("result").Get("tools")
	if list.Kind() != rawjson.Array {
		return answer
	}
	all := []byte{'['}
	for _, d := range list.Elems() {
		all = append(append(all, d.Raw()...), ',')
	}
	all = append(all, `{"name":"`+standIn+`","title":"Tools are held back","description":`...)
	all = rawjson.AppendString(all, held)
	all = append(all, `,"inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}}]`...)
	with, err := doc.Splice([]rawjson.Replacement{{At: list, With: all}})
	if err != nil {
		return answer
	}
	return with
}

// visible returns an answer to tools/list without the tools that must not be
// called. The whole list is compared at once, since a tool that is not on it is
// gone: so where the answer is only a part, the server is asked for the whole.
func (t *toolbox) visible(ctx context.Context, s *session, m *message, part bool, via asker) (*message, error) {
	result := m.root().Get("result")
	list := result.Get("tools")
	if !result.Exists() {
		return m, nil // an error
	}
	if list.Kind() != rawjson.Array || list.Len() > pins.MaxTools {
		return nil, fmt.Errorf("it is no list, or one of more than %d tools", pins.MaxTools)
	}
	definitions := make([]rawjson.Value, 0, list.Len())
	for _, d := range list.Elems() {
		definitions = append(definitions, d)
	}
	var err error
	if part || result.Get("nextCursor").Exists() {
		err = t.refresh(ctx, s, via)
	} else {
		t.mu.Lock()
		version := t.version
		t.mu.Unlock()
		err = t.take(ctx, s, definitions, version)
	}
	if err != nil {
		return nil, err
	}
	kept, left := []byte{'['}, 0
	for _, d := range definitions {
		found, _ := t.find(d.Get("name").Text())
		if found == nil || found.hidden || part && found.hash != pins.Hash(d) {
			left++
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, d.Raw()...)
	}
	if left == 0 {
		return m, nil
	}
	s.p.logger().Warn("tools were left out of the server's list", "server", s.p.Server, "tools", left, "see", "reeve mcp tools")
	raw, err := m.doc.Splice([]rawjson.Replacement{{At: list, With: append(kept, ']')}})
	if err != nil {
		return nil, err
	}
	return read(raw)
}
