package guardian

import (
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// An agent does not ask the guardian itself: its hooks do. Who could speak at the node's address as a hook
// does would tell it what the user has said, and what was written or read before; who has the hook's program
// run on a text of his own does the same. So whatever is sent to the node's address is refused, and so is the
// hook's program with an event. To look whether the node is there, or at its pages, is not.

// asks looks at a command that sends something to the guardian's address, or is a hook's program.
func (e *examination) asks(c *hazard.Command, name string) {
	if e.isReeve(c.Name, c.Dirs) && feedsHook(c.Words) {
		e.tampersBut("tell the guardian what an agent's hooks tell it", "The hooks do that by themselves; reeve try asks what would be decided.")
		return
	}
	if e.g.port == "" || lookers[name] || printers[name] || name == "git" {
		return
	}
	all := unescaped(strings.Join(c.Words, " "))
	switch {
	case !e.ownAddress(all) && !(speaksAsHook(all) && e.saysItself() && loopback.MatchString(all) && !otherPort.MatchString(all)):
		// A script may speak to a node of its own, at a port that it finds.
	case speaksAsHook(all), speakers[name], rawSenders[name], clients[name] && sends(c):
		e.tampersBut("speak to the guardian in the place of an agent's hooks", "To look whether it is there, get /healthz.")
	}
}

// saysItself reports whether it is the call that says so, and not a file that it has run.
func (e *examination) saysItself() bool {
	return slices.ContainsFunc(e.a.Content, func(l act.Leaf) bool { return speaksAsHook(l.Text) })
}

// asksByTool looks at a tool that is no shell and sends what hooks say to the guardian's address.
func (e *examination) asksByTool(leaves []act.Leaf) {
	if e.g.port == "" || e.named(writers) || !slices.ContainsFunc(leaves, func(l act.Leaf) bool { return speaksAsHook(l.Text) }) {
		return
	}
	if slices.ContainsFunc(leaves, func(l act.Leaf) bool {
		return len(l.Text) < 64<<10 && strings.Contains(l.Text, "://") && e.ownAddress(l.Text)
	}) {
		e.tampers("speak to the guardian in the place of an agent's hooks")
	}
}

// asksInCode looks at a program that the call holds, or that its session wrote.
func (e *examination) asksInCode(text string) {
	if e.g.port != "" && speaksAsHook(text) && e.ownAddress(text) {
		e.tampers("speak to the guardian in the place of an agent's hooks")
	}
}

// feedsHook reports whether words of reeve are those by which an agent calls its hook.
func feedsHook(words []string) bool {
	i := slices.IndexFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") })
	return i >= 0 && words[i] == "hook" && slices.ContainsFunc(words, func(w string) bool { return w == "--agent" || strings.HasPrefix(w, "--agent=") }) &&
		!slices.ContainsFunc(words[i+1:], func(w string) bool {
			return slices.Contains([]string{"install", "uninstall", "status", "test", "--help", "-h"}, w)
		})
}

var (
	// clients get a page where nothing says that they send something; rawSenders send what they are given,
	// or ask so often that nobody else is served.
	clients    = words("curl wget http https xh xhs httpie curlie aria2c invoke-webrequest iwr invoke-restmethod irm")
	rawSenders = words("nc ncat netcat socat telnet websocat wscat grpcurl evans openssl ab hey wrk wrk2 bombardier vegeta siege oha k6 caddy mitmproxy mitmdump ngrok cloudflared")
	sending    = lazyregexp.New(`^(?:-d|--data.*|--json.*|-F|--form.*|-T|--upload-file.*|--post-.*|--body-.*|--method=.*|-Body|-Method|-InFile|-Form|[A-Za-z_]\w*:?=.*|@.*)$`)
	methods    = words("post put patch delete")
)

// sends reports whether a client of HTTP sends more than it asks for.
func sends(c *hazard.Command) bool {
	for i, w := range c.Words {
		method := strings.TrimPrefix(strings.TrimPrefix(w, "--request="), "-X")
		if sending.MatchString(w) || strings.HasPrefix(w, "-d") && !strings.HasPrefix(w, "--") || methods[strings.ToLower(method)] && (i == 0 || !strings.HasPrefix(c.Words[i-1], "-o")) {
			return true
		}
	}
	return false
}

var (
	loopback  = lazyregexp.New(`(?i)(?:localhost|127(?:\.\d+){1,3}|\[?::1\]?|\b0\.0\.0\.0|\b0)\b`)
	otherPort = lazyregexp.New(`(?i)(?:localhost|127(?:\.\d+){1,3}|\[::1\]|0\.0\.0\.0):\d+(?:[/\s'"]|$)`)
	// hookMethods are the methods by which agents report to the node.
	hookMethods = lazyregexp.New(`(?i)["']?method["']?\s*[:=]\s*\\?["'](?:steps/|protocols/|a2g/|tasks\.)|hook_event_name`)
	// addressed is a host and a port that stand together, in an address or as two values.
	addressed = lazyregexp.New(`(?i)([\w.-]+|\[[0-9a-f:.%]+\]|::1)['"]?\s*[:,]?\s*['"]?(?:0*(\d{1,5})\b|\[(\d{1,5})-(\d{1,5})\])`)
)

// speaksAsHook reports whether a text holds what an agent's hooks say.
func speaksAsHook(text string) bool { return hookMethods.MatchString(text) }

// ownAddress reports whether a text names the guardian's address.
func (e *examination) ownAddress(text string) bool {
	port, _ := strconv.Atoi(e.g.port)
	for _, m := range addressed.FindAllStringSubmatch(text, 256) {
		from, to := m[2], m[2]
		if m[3] != "" {
			from, to = m[3], m[4]
		}
		first, _ := strconv.Atoi(from)
		last, _ := strconv.Atoi(to)
		if first <= port && port <= last && !e.elsewhere(m[1]) {
			return true
		}
	}
	return false
}
