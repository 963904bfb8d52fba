package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/mcp/proxy"
	"reeve.example/reeve/internal/mcp/proxy/install"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/secret"
	"reeve.example/reeve/internal/words"
)

// mcpProxy is one reeve mcp.
type mcpProxy struct {
	listen, upstream string
	headers          []string
	server           string
	wait             time.Duration
	url, key         string
	hosts, origins   []string
	maxMessage       int
}

// mcpSettings are the settings of a node that the proxy needs when it decides by itself.
var mcpSettings = []string{"data", "database", "policy", "log-format", "keep", "redact"}

// mcpConfig is the configuration of a proxy.
func mcpConfig(cmd *cobra.Command) (reeve.Config, error) {
	return ownConfig(cmd, "mcp", append([]string{"mcp-pin"}, mcpSettings...)...)
}

func mcpCommand() *cobra.Command {
	x := &mcpProxy{}
	c := &cobra.Command{
		Use:   "mcp [flags] (-- COMMAND… | --upstream URL)",
		Short: "Stand between an MCP client and an MCP server, and judge what passes",
		Long: `Stands between an MCP client and an MCP server. Calls of tools, their results,
resources, prompts, sampling and elicitation are judged by the policy before they
pass, and recorded. Put it before the server's command in a client's configuration:

  reeve mcp -- npx -y @modelcontextprotocol/server-filesystem /workspace

or let reeve mcp install do so. The client speaks over standard input and output,
or with --listen over HTTP; the server is a command, or with --upstream a URL.

It asks the node that runs on the data folder, or with --url another one. If none
runs there, it decides by itself with the policy and the ledger in the folder, and
other proxies on the same folder ask it.

A client chooses the folder that it works in. So no setting is read from the
environment, nor from a reeve.yaml in that folder: they are flags, or lie in the file
that --config names, else in the user's own configuration folder (reeve/reeve.yaml),
where the data folder is, too (reeve/data).

The tools of a server are pinned when they are first listed. New and changed ones
are left out, and calls of them denied, until somebody agrees: reeve mcp tools.`,
		Args: args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, command []string) error {
			return x.run(cmd, command)
		},
	}
	f := c.Flags()
	f.StringVar(&x.listen, "listen", "", "serve clients over HTTP at this address, such as 127.0.0.1:8931, instead of standard input and output")
	f.StringVar(&x.upstream, "upstream", "", "URL of the server, instead of a command")
	f.StringArrayVar(&x.headers, "header", nil, "header for the server, as NAME=env:NAME or NAME=file:PATH, where clients speak over standard input")
	f.StringVar(&x.server, "server", "", "name of the server, for rules and pins; the command or the URL when empty")
	f.String("pin", "", "what becomes of tools: trust-first takes those that a server lists first and holds later ones, ask holds all, off takes all (default: mcp.pin of the configuration, or trust-first)")
	f.DurationVar(&x.wait, "wait", 45*time.Second, "how long a call waits for a person, when one must agree")
	f.StringVar(&x.url, "url", "", "ask the node at this URL, such as http://127.0.0.1:8080")
	f.StringVar(&x.key, "key", "", "reference to the API key for --url: env:NAME or file:PATH")
	f.StringSliceVar(&x.hosts, "host", nil, "further host names that HTTP clients may use for the proxy")
	f.StringSliceVar(&x.origins, "origin", nil, "web pages that may use it, such as http://localhost:6274")
	f.IntVar(&x.maxMessage, "max-message", 16<<20, "size of the largest message, in bytes")
	ownFlags(c, mcpSettings...)
	c.AddCommand(mcpToolsCommand(), mcpInstallCommand(), mcpStatusCommand())
	return c
}

func (x *mcpProxy) run(cmd *cobra.Command, command []string) error {
	if (len(command) == 0) == (x.upstream == "") {
		return usageError{errors.New("give the server's command after --, or its URL with --upstream")}
	}
	if x.maxMessage < 1024 {
		return usageError{errors.New("--max-message is at least 1024")}
	}
	cfg, err := mcpConfig(cmd)
	if err != nil {
		return usageError{err}
	}
	setLogger(cfg, cmd.ErrOrStderr())
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	guardian, done, err := x.guardian(ctx, cfg)
	if err != nil {
		return err
	}
	p := &proxy.Proxy{
		Guardian: guardian, Server: x.name(command), Pin: pins.Mode(cfg.MCP.Pin), Wait: x.wait, MaxMessage: x.maxMessage,
		Hosts: x.hosts, Origins: x.origins,
	}
	err = x.serve(ctx, p, command, cmd.InOrStdin(), cmd.OutOrStdout())
	if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
		err = nil // it was told to end
	}
	stop()
	return errors.Join(err, done())
}

// name is the name of the server.
func (x *mcpProxy) name(command []string) string {
	switch {
	case x.server != "":
		return x.server
	case x.upstream != "":
		return x.upstream
	}
	return strings.Join(command, " ")
}

func (x *mcpProxy) serve(ctx context.Context, p *proxy.Proxy, command []string, in io.Reader, out io.Writer) error {
	var server proxy.Server
	if x.upstream == "" {
		server = proxy.Command(command[0], command[1:]...)
	}
	if x.listen != "" {
		return x.serveHTTP(ctx, p, server)
	}
	if server == nil {
		header, err := x.header()
		if err != nil {
			return err
		}
		if server, err = proxy.Upstream(x.upstream, header); err != nil {
			return usageError{err}
		}
	}
	return p.ServeStdio(ctx, in, out, server)
}

// header are the headers for the server. Secrets are named, not written.
func (x *mcpProxy) header() (http.Header, error) {
	h := http.Header{}
	for _, text := range x.headers {
		name, ref, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--header %q is not NAME=env:NAME or NAME=file:PATH", text)}
		}
		text, err := secret.Read(ref)
		if err != nil {
			return nil, fmt.Errorf("--header %s: %w", name, err)
		}
		h.Set(name, string(text))
	}
	return h, nil
}

// serveHTTP serves clients over HTTP until ctx ends.
func (x *mcpProxy) serveHTTP(ctx context.Context, p *proxy.Proxy, server proxy.Server) error {
	host, _, err := net.SplitHostPort(x.listen)
	if err != nil {
		return usageError{fmt.Errorf("--listen %q is not an address such as 127.0.0.1:8931", x.listen)}
	}
	local := host == "localhost" || net.ParseIP(host) != nil && net.ParseIP(host).IsLoopback()
	switch {
	case len(x.headers) > 0:
		return usageError{errors.New("--header is for clients on standard input: over HTTP, each client sends its own credential to the server")}
	case !local && server != nil:
		return usageError{errors.New("a command is served on this machine only: anybody who reaches the address could have it run")}
	case !local && len(x.hosts) == 0:
		return usageError{errors.New("to listen beyond this machine, name the proxy with --host: other names are refused, since a web page could use them")}
	}
	var h http.Handler
	if server != nil {
		programs := p.NewPrograms(ctx, server)
		defer programs.Close()
		h = programs
	} else if h, err = p.NewHandler(x.upstream); err != nil {
		return usageError{err}
	}
	mux := http.NewServeMux()
	mux.Handle("/{$}", h)
	mux.Handle("/mcp", h)
	l, err := net.Listen("tcp", x.listen)
	if err != nil {
		return err
	}
	s := mcpServer(mux, mcpReadTimeout, mcpWriteTimeout)
	slog.Info("the MCP proxy is ready", "url", "http://"+l.Addr().String()+"/mcp", "server", p.Server)
	context.AfterFunc(ctx, func() { s.Close() }) // streams would never end
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// How long a client has to send a request, and to take a part of what it gets.
const (
	mcpReadTimeout  = 2 * time.Minute
	mcpWriteTimeout = 30 * time.Second
)

// mcpServer is a server of which no client holds a connection by doing nothing.
// Streams last as long as they are read.
func mcpServer(h http.Handler, read, write time.Duration) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := &pacedWriter{w, http.NewResponseController(w), write}
			p.begin()
			h.ServeHTTP(p, r)
			p.begin() // the server writes what is left
		}),
		// Of a request that has been read, net/http takes ReadTimeout away again.
		ReadTimeout: read, ReadHeaderTimeout: min(5*time.Second, read), IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
}

// pacedWriter is a response of which the client has to take each part in time.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	wait    time.Duration
}

// pacedPart is how much of a response a client has to take at a time.
const pacedPart = 64 << 10

func (w *pacedWriter) begin() { w.control.SetWriteDeadline(time.Now().Add(w.wait)) }

func (w *pacedWriter) Write(b []byte) (n int, err error) {
	for {
		w.begin()
		part := b[n:min(n+pacedPart, len(b))]
		written, err := w.ResponseWriter.Write(part)
		if n += written; err != nil || n == len(b) {
			return n, err
		}
	}
}

// FlushError is what http.ResponseController calls.
func (w *pacedWriter) FlushError() error {
	w.begin()
	return w.control.Flush()
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// guardian returns what decides, and what ends it.
func (x *mcpProxy) guardian(ctx context.Context, cfg reeve.Config) (proxy.Guardian, func() error, error) {
	if x.url != "" {
		r := &proxy.Remote{URL: strings.TrimSuffix(x.url, "/")}
		if x.key != "" {
			text, err := secret.Read(x.key)
			if err != nil {
				return nil, nil, err
			}
			r.Key = string(text)
		}
		if _, err := r.Touched(ctx); err != nil {
			return nil, nil, fmt.Errorf("ask the node at %s: %w", x.url, err)
		}
		return r, func() error { return nil }, nil
	}
	cfg.Listen = "" // it serves nobody but the operator's socket
	n := &localGuardian{ctx: ctx, cfg: cfg}
	if err := n.find(nil); err != nil {
		return nil, nil, err
	}
	return n, n.close, nil
}

// localGuardian is the guardian of a data folder: the node that runs on it, or else one
// in this process, which proxies that come later find running. When that one ends,
// the next takes its place.
type localGuardian struct {
	ctx context.Context
	cfg reeve.Config

	mu     sync.Mutex
	now    proxy.Guardian
	node   *reeve.Node // in this process; nil when another runs
	served chan error
}

// find looks for a node, unless somebody else found another one than old.
func (n *localGuardian) find(old proxy.Guardian) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now != old {
		return nil
	}
	const patience = 5 * time.Second // while another process starts or ends
	var err error
	for began := time.Now(); time.Since(began) < patience; {
		if o := operator.Dial(n.ctx, n.cfg.Data); o != nil {
			r := &proxy.Remote{URL: "http://localhost", Client: o.HTTP}
			if _, err = r.Touched(n.ctx); err == nil {
				n.now = r
				return nil
			}
			if !errors.Is(err, proxy.ErrUnreachable) {
				return err
			}
		} else if err = n.open(); err == nil {
			return nil
		} else if !errors.Is(err, ledger.ErrInUse) {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-n.ctx.Done():
			return n.ctx.Err()
		}
	}
	return fmt.Errorf("%w, and its socket in %s cannot be reached: run this as the node's user", err, n.cfg.Data)
}

// open opens a node in this process, and serves its socket.
func (n *localGuardian) open() error {
	node, err := reeve.Open(n.ctx, n.cfg)
	if err != nil {
		return err
	}
	n.node, n.served = node, make(chan error, 1)
	go func() { n.served <- node.Serve(n.ctx, nil) }()
	n.now = &proxy.Local{Guard: node.Guard(), Pins: node.Pins(), Principal: proxy.Here}
	return nil
}

func (n *localGuardian) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.node == nil {
		return nil
	}
	return errors.Join(<-n.served, n.node.Close())
}

// with asks the node, and another one where it has gone.
func (n *localGuardian) with(f func(proxy.Guardian) error) error {
	n.mu.Lock()
	now := n.now
	n.mu.Unlock()
	err := f(now)
	if !errors.Is(err, proxy.ErrUnreachable) || n.ctx.Err() != nil {
		return err
	}
	if found := n.find(now); found != nil {
		return errors.Join(err, found)
	}
	n.mu.Lock()
	now = n.now
	n.mu.Unlock()
	return f(now)
}

// Judge implements proxy.Guardian.
func (n *localGuardian) Judge(ctx context.Context, q *proxy.Question) (a *proxy.Answer, err error) {
	err = n.with(func(g proxy.Guardian) error { a, err = g.Judge(ctx, q); return err })
	return a, err
}

// Await implements proxy.Guardian.
func (n *localGuardian) Await(ctx context.Context, id string) error {
	return n.with(func(g proxy.Guardian) error { return g.Await(ctx, id) })
}

// Tools implements proxy.Guardian.
func (n *localGuardian) Tools(ctx context.Context, server string, pin pins.Mode, definitions jsontext.Value) (denied map[string]act.Reason, err error) {
	err = n.with(func(g proxy.Guardian) error { denied, err = g.Tools(ctx, server, pin, definitions); return err })
	return denied, err
}

// Touched implements proxy.Guardian.
func (n *localGuardian) Touched(ctx context.Context) (methods map[string]bool, err error) {
	err = n.with(func(g proxy.Guardian) error { methods, err = g.Touched(ctx); return err })
	return methods, err
}

func mcpToolsCommand() *cobra.Command {
	return group("tools", "What MCP servers list: see it, and agree to what is held", pinCommands("mcp tools", "SERVER", "TOOL", "approve", "the tools of MCP servers")...)
}

// pinsCommand is the same for all that is pinned: the files that coding agents go by, too.
func pinsCommand() *cobra.Command {
	c := group("pins", "What agents go by and was agreed to: instructions, skills, settings, and MCP servers' tools", pinCommands("pins", "OF", "NAME", "agree", "files and tools")...)
	c.Long = `The files that a coding agent goes by (instructions such as AGENTS.md, skills,
settings with hooks) and the tools of MCP servers are taken as they are first seen. What
comes later, or changes, is held until somebody agrees to it. OF is an MCP server, or the
files in one project, by the name or the id that list shows. See docs/hooks.md.`
	return c
}

// pinCommands are the commands of what is pinned. of and name are what their help calls it,
// and agree is the word for agreeing to it.
func pinCommands(path, of, name, agree, all string) []*cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List " + all + ", and which of them are held", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return listTools(cmd, path == "pins") },
	}
	jsonFlag(list)
	diff := &cobra.Command{
		Use: "diff [" + of + " [" + name + "]]", Short: "Show what is held, beside what was agreed to", Args: args(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, a []string) error { return diffTools(cmd, a) },
	}
	forget := &cobra.Command{
		Use: "forget " + of, Short: "Forget what was agreed to of one, which is then as if it were new", Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return forgetTools(cmd, a[0]) },
	}
	commands := []*cobra.Command{list, diff, forget}
	for _, verb := range []struct {
		name, short string
		agree       bool
	}{{agree, "Agree to what is held", true}, {"refuse", "Refuse what is held", false}} {
		var hash string
		var all bool
		c := &cobra.Command{
			Use: verb.name + " " + of + " (" + name + "… | --all)", Short: verb.short, Args: args(cobra.MinimumNArgs(1)),
			Example: "  reeve " + path + " " + verb.name + " files read_file\n  reeve " + path + " " + verb.name + " files --all",
			RunE: func(cmd *cobra.Command, a []string) error {
				switch {
				case all == (len(a) > 1):
					return usageError{errors.New("name what is meant, or say --all for all that are held")}
				case hash != "" && len(a) != 2:
					return usageError{errors.New("--hash is of one tool")}
				}
				return answerTools(cmd, a[0], a[1:], hash, verb.agree)
			},
		}
		c.Flags().BoolVar(&all, "all", false, "all definitions of the server that are held, as they are shown")
		c.Flags().StringVar(&hash, "hash", "", "answer only if this, as shown, is still the definition that is held")
		commands = append(commands, c)
	}
	for _, c := range commands {
		c.Args = notEmpty(c.Args) // without a name all of them would be meant
		settingFlags(c, "data", "database")
		new(nodeFlags).add(c)
		if c != list {
			jsonFlag(c)
		}
	}
	return commands
}

// toolKeeper reaches the node of a data folder, or the one that --server names, for what is
// said about tools.
func toolKeeper(cmd *cobra.Command) (r *proxy.Remote, done func() error, err error) {
	if node := serverOf(cmd); node.server != "" {
		key, err := node.credential()
		if err != nil {
			return nil, nil, err
		}
		return &proxy.Remote{URL: strings.TrimSuffix(node.server, "/"), Key: key}, func() error { return nil }, nil
	}
	cfg, err := config(cmd)
	if err != nil {
		return nil, nil, err
	}
	cfg = orOwn(cfg)
	cfg.Listen = ""
	n := &localGuardian{ctx: cmd.Context(), cfg: cfg}
	if operator.Dial(cmd.Context(), cfg.Data) != nil {
		if err := n.find(nil); err != nil {
			return nil, nil, err
		}
		return n.now.(*proxy.Remote), n.close, nil
	}
	if err := noRecords(cfg); err != nil {
		return nil, nil, err
	}
	node, err := reeve.Open(cmd.Context(), cfg)
	if err != nil {
		return nil, nil, err
	}
	return &proxy.Remote{URL: "http://localhost", Client: operator.Within(proxy.Serve(node.Guard(), node.Pins())).HTTP}, node.Close, nil
}

// servers are the MCP servers of which tools are known: those of a name or an id,
// all of them for "".
func servers(cmd *cobra.Command, r *proxy.Remote, name string) ([]*pins.Server, error) {
	all, err := r.Servers(cmd.Context())
	if err != nil {
		return nil, err
	}
	sayDamaged(cmd, all.Damaged)
	found := slices.DeleteFunc(all.Servers, func(s *pins.Server) bool { return name != "" && s.ID != name && s.Name != name })
	if len(found) == 0 && name != "" {
		return nil, fmt.Errorf("no MCP server has listed tools, and nothing else is pinned, by the name %q: see reeve pins list", name)
	}
	slices.SortFunc(found, func(a, b *pins.Server) int { return strings.Compare(a.Name+"\n"+a.ID, b.Name+"\n"+b.ID) })
	return found, nil
}

// oneServer is the one server of a name or an id, also one of which what is stored is
// damaged: it has only its id then.
func oneServer(cmd *cobra.Command, r *proxy.Remote, name string) (id, called string, err error) {
	all, err := r.Servers(cmd.Context())
	if err != nil {
		return "", "", err
	}
	for _, e := range all.Damaged {
		if e.ID == name {
			return e.ID, "a server of which what is stored is damaged", nil
		}
	}
	found, err := servers(cmd, r, name)
	if err != nil {
		return "", "", err
	}
	if len(found) > 1 {
		return "", "", fmt.Errorf("%d servers are named %q: give the id of one", len(found), name)
	}
	return found[0].ID, found[0].Name, nil
}

func forgetTools(cmd *cobra.Command, server string) (err error) {
	r, done, err := toolKeeper(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	id, name, err := oneServer(cmd, r, server)
	if err != nil {
		return err
	}
	if err := r.Forget(cmd.Context(), proxy.ServerName{Server: id}); err != nil {
		return err
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), map[string]string{"server": id, "name": name, "state": "forgotten"})
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the tools of %s are forgotten\n", printable(name))
	return nil
}

// listTools lists the tools of MCP servers, and with files also what agents go by.
func listTools(cmd *cobra.Command, files bool) (err error) {
	r, done, err := toolKeeper(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	all, err := servers(cmd, r, "")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s *pins.Server) bool { return s.Files && !files })
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), slices.Concat([]*pins.Server{}, all))
	}
	if len(all) == 0 {
		what := "no MCP server has listed tools yet"
		if files {
			what = "nothing is pinned yet"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s%s\n", what, elsewhere(cmd))
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	if files {
		fmt.Fprintln(w, "ID\tOF\tNAME\tSTATE\tHASH")
	} else {
		fmt.Fprintln(w, "SERVER\tNAME\tTOOL\tSTATE\tHASH")
	}
	for _, s := range all {
		for _, t := range s.Tools {
			state, hash := "agreed", t.Hash
			switch {
			case t.Held != nil && t.Held.Refused != "":
				state, hash = "refused", t.Held.Hash
			case t.Held != nil && t.Hash == "":
				state, hash = "held, new", t.Held.Hash
			case t.Held != nil:
				state, hash = "held, changed", t.Held.Hash
			case t.Gone:
				state = "gone"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.12s\n", s.ID, printable(s.Name), printable(t.Name), state, hash)
		}
	}
	return w.Flush()
}

func diffTools(cmd *cobra.Command, a []string) (err error) {
	r, done, err := toolKeeper(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	a = append(a, "", "")
	all, err := servers(cmd, r, a[0])
	if err != nil {
		return err
	}
	shown, list := 0, []heldTool{}
	for _, s := range all {
		for _, t := range s.Tools {
			if t.Held != nil && (a[1] == "" || t.Name == a[1]) {
				list = append(list, heldTool{s.ID, s.Name, t})
				if wantsJSON(cmd) {
					continue
				}
				showHeld(cmd.OutOrStdout(), s, t)
				shown++
			}
		}
	}
	switch {
	case wantsJSON(cmd):
		return printJSON(cmd.OutOrStdout(), list)
	case shown == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "no definition of a tool is held")
	}
	return nil
}

// heldTool is a tool with the definition that is held, beside the one that was agreed to.
type heldTool struct {
	Server string     `json:"server"`
	Name   string     `json:"server_name"`
	Tool   *pins.Tool `json:"tool"`
}

// showHeld prints a definition that is held, line by line beside the one that was
// agreed to. All of it that a server wrote is made harmless.
func showHeld(out io.Writer, s *pins.Server, t *pins.Tool) {
	of, what := "server", "tool  "
	if s.Files {
		of, what = "of    ", "file  "
	}
	fmt.Fprintf(out, "%s %s (%s)\n%s %s\nhash   %s\n", of, s.ID, printable(s.Name), what, printable(t.Name), t.Held.Hash)
	if t.Held.Was != "" {
		fmt.Fprintf(out, "It is defined as %s was, which the server does not list any more.\n", printable(t.Held.Was))
	}
	for _, f := range t.Held.Found {
		fmt.Fprintln(out, "!", printable(f))
	}
	if t.Held.Definition == nil {
		fmt.Fprintln(out, "The definition is too long to be kept, and cannot be shown.")
		return
	}
	for _, line := range diffLines(definitionLines(t.Definition), definitionLines(t.Held.Definition)) {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
}

// definitionLines is a definition over several lines, each harmless in a terminal.
func definitionLines(v jsontext.Value) []string {
	if v == nil {
		return nil
	}
	return strings.Split(readable(v), "\n")
}

// diffLines marks the lines that are only in the one or the other.
func diffLines(old, new []string) (marked []string) {
	// The lengths of the longest common parts of what is left of both.
	const most = 2000
	old, new = old[:min(len(old), most)], new[:min(len(new), most)]
	common := make([][]int16, len(old)+1)
	for i := range common {
		common[i] = make([]int16, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			if old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			marked = append(marked, "  "+new[j])
			i, j = i+1, j+1
		case j == len(new) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			marked = append(marked, "- "+old[i])
			i++
		default:
			marked = append(marked, "+ "+new[j])
			j++
		}
	}
	return marked
}

func answerTools(cmd *cobra.Command, server string, tools []string, hash string, agree bool) (err error) {
	r, done, err := toolKeeper(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	found, err := servers(cmd, r, server)
	if err != nil {
		return err
	}
	if len(found) > 1 {
		return fmt.Errorf("%d servers are named %q: give the id of one", len(found), server)
	}
	if len(tools) == 0 { // all that are held
		for _, t := range found[0].Tools {
			if t.Held != nil && t.Held.Refused == "" {
				tools = append(tools, t.Name)
			}
		}
		if len(tools) == 0 {
			return fmt.Errorf("no definition of a tool of %q is held", server)
		}
	}
	word, answered := "agreed to", []toolAnswer{}
	if !agree {
		word = "refused"
	}
	for _, name := range tools {
		t := found[0].Tool(name)
		if t == nil || t.Held == nil {
			return fmt.Errorf("no definition of a tool %q is held", name)
		}
		seen := hash
		if seen == "" {
			seen = t.Held.Hash
		}
		if _, err := r.Answer(cmd.Context(), proxy.ToolAnswer{Server: found[0].ID, Tool: name, Hash: seen, Agree: agree}); err != nil {
			return err
		}
		answered = append(answered, toolAnswer{found[0].ID, name, seen, strings.ReplaceAll(word, " to", "")})
		if wantsJSON(cmd) {
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s of %s is %s\n", printable(name), printable(found[0].Name), word)
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), answered)
	}
	return nil
}

// toolAnswer is what was said of one held definition.
type toolAnswer struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Hash   string `json:"hash"`
	State  string `json:"state"`
}

// clientStatus is how it stands with the MCP servers in one configuration of a client.
type clientStatus struct {
	Client string `json:"client"`
	File   string `json:"file"`
	// Judged are behind the proxy, Unjudged could be, and Elsewhere are no commands.
	Judged    []string `json:"judged"`
	Unjudged  []string `json:"unjudged"`
	Elsewhere []string `json:"elsewhere"`
	Problem   string   `json:"problem,omitempty"`

	install string // the command that puts the others behind the proxy
}

// serverStatus is how it stands with the tools of one server.
type serverStatus struct {
	Server string   `json:"server"`
	Name   string   `json:"name"`
	Tools  int      `json:"tools"`
	Held   []string `json:"held"` // new or changed, and not listed until somebody has agreed
}

func mcpStatusCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell which MCP servers are judged, and whose tools are held",
		Long: `Looks at the configurations of all clients, the user's and those of the project in the present
folder, and tells of each server whether the client's calls of its tools go through reeve, which
judges them. A server that is a program can be put behind reeve mcp, by reeve mcp install; before
one at a URL reeve mcp --listen can stand, and where the client is a coding agent with reeve's
hooks, these judge its calls in any case (reeve hook status).

Then the servers whose tools reeve has seen. A tool that is new or was changed is kept from the
client until somebody has agreed to it.

The marks: ok is as it should be, !! wants something to be done, -- is outside of what
reeve mcp install does.`,
		Example: "  reeve mcp status\n  reeve mcp tools diff",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			clients, err := clientStatuses()
			if err != nil {
				return err
			}
			tools, err := serverStatuses(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"clients": clients, "servers": tools})
			}
			printMCPStatus(cmd.OutOrStdout(), clients, tools)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	settingFlags(c, "data", "database")
	return c
}

func clientStatuses() ([]clientStatus, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	list := []clientStatus{}
	seen := map[string]bool{}
	for _, client := range install.Clients {
		for _, project := range []bool{false, true} {
			f, err := install.Find(client, project, home, os.Getenv)
			if err != nil || seen[f.Path] {
				continue // it has none of that kind here
			}
			seen[f.Path] = true
			text, err := os.ReadFile(f.Path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			s := clientStatus{Client: client, File: f.Path, Judged: []string{}, Unjudged: []string{}, Elsewhere: []string{}, install: "reeve mcp install " + client}
			if project {
				s.install += " --project"
			}
			if err == nil {
				var behind, rest install.Done
				if _, behind, err = install.Unwrap(client, text); err == nil {
					_, rest, err = install.Wrap(client, text, []string{"reeve", "mcp"})
				}
				s.Judged, s.Unjudged, s.Elsewhere = append(s.Judged, behind.Changed...), append(s.Unjudged, rest.Changed...), append(s.Elsewhere, rest.Left...)
			}
			if err != nil {
				s.Problem = err.Error()
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// serverStatuses are the servers whose tools are known here; none where no node was.
func serverStatuses(cmd *cobra.Command) (list []serverStatus, err error) {
	list = []serverStatus{}
	cfg, err := config(cmd)
	if err != nil {
		return nil, err
	}
	if noRecords(orOwn(cfg)) != nil {
		return list, nil
	}
	r, done, err := toolKeeper(cmd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	all, err := servers(cmd, r, "")
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Files { // which agents go by: see reeve pins
			continue
		}
		one := serverStatus{Server: s.ID, Name: s.Name, Tools: len(s.Tools), Held: []string{}}
		for _, t := range s.Tools {
			if t.Held != nil && t.Held.Refused == "" {
				one.Held = append(one.Held, t.Name)
			}
		}
		list = append(list, one)
	}
	return list, nil
}

func printMCPStatus(out io.Writer, clients []clientStatus, tools []serverStatus) {
	if len(clients) == 0 {
		fmt.Fprintln(out, "no client has a configuration with MCP servers here")
	}
	for _, c := range clients {
		fmt.Fprintf(out, "%s, %s\n", c.Client, printable(c.File))
		for _, row := range []struct {
			mark, says string
			names      []string
		}{
			{"ok", "its calls go through reeve, and are judged", c.Judged},
			{"!!", "its calls do not go through reeve; put it behind: " + c.install, c.Unjudged},
			{"--", "at a URL, and its calls do not go through reeve mcp; put a proxy before it: reeve mcp --listen ADDRESS --upstream URL", c.Elsewhere},
		} {
			for _, name := range row.names {
				fmt.Fprintf(out, "  %s  %s: %s\n", row.mark, printable(name), row.says)
			}
		}
		if c.Problem != "" {
			fmt.Fprintf(out, "  !!  %s\n", printable(c.Problem))
		}
		if len(c.Judged)+len(c.Unjudged)+len(c.Elsewhere) == 0 && c.Problem == "" {
			fmt.Fprintln(out, "  no servers")
		}
	}
	for i, s := range tools {
		if i == 0 {
			fmt.Fprintln(out, "\nservers whose tools reeve has seen")
		}
		if len(s.Held) == 0 {
			fmt.Fprintf(out, "  ok  %s (%s): %s, and none waits for anybody\n", printable(s.Name), s.Server, words.Count(s.Tools, "tool"))
			continue
		}
		fmt.Fprintf(out, "  !!  %s (%s): new or changed, and kept from the client until somebody agrees: %s\n      look: reeve mcp tools diff %s\n      agree: reeve mcp tools approve %s --all\n",
			printable(s.Name), s.Server, printable(strings.Join(s.Held, ", ")), s.Server, s.Server)
	}
}

func mcpInstallCommand() *cobra.Command {
	var undo, project bool
	var file, url, key string
	c := &cobra.Command{
		Use:   "install CLIENT",
		Short: "Put the proxy in front of all servers in a client's configuration",
		Long: `Puts the proxy in front of all servers that are commands in the configuration of
a client: ` + strings.Join(install.Clients, ", ") + `.
Servers at a URL stay as they are, since their clients log in to them by themselves.

The file as it was lies beside it; --undo puts it back, or takes the proxy away
where the file has changed since. Start the client again afterwards.`,
		Args: oneOf(install.Clients),
		RunE: func(cmd *cobra.Command, a []string) error {
			home, err := os.UserHomeDir()
			if err != nil {
				return err
			}
			f, err := install.Find(a[0], project, home, os.Getenv)
			if err != nil {
				return usageError{err}
			}
			if file != "" {
				f.Path = file
			}
			if undo {
				return undoInstall(cmd.OutOrStdout(), &f)
			}
			proxy, err := proxyCommand(cmd, url, key)
			if err != nil {
				return err
			}
			done, err := f.Install(proxy)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			tellInstalled(cmd.OutOrStdout(), &f, done)
			return nil
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "take the proxy away again")
	c.Flags().BoolVar(&project, "project", false, "the configuration of the project in this folder, instead of the user's")
	c.Flags().StringVar(&file, "file", "", "the configuration's file, where it is another")
	c.Flags().StringVar(&url, "url", "", "have the proxies ask the node at this URL")
	c.Flags().StringVar(&key, "key", "", "reference to the API key for --url: env:NAME or file:PATH")
	c.Flags().String("pin", "", "what becomes of tools: trust-first, ask or off")
	ownFlags(c, "data", "policy")
	return c
}

// proxyCommand is the command that is put in front of a server's. Clients start it
// wherever they are, so its paths are whole.
func proxyCommand(cmd *cobra.Command, url, key string) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cfg, err := ownConfig(cmd, "mcp", "mcp-pin", "data", "policy")
	if err != nil {
		return nil, usageError{err}
	}
	command := []string{program, "mcp"}
	given := func(name string) (string, bool) {
		f := cmd.Flags().Lookup(name)
		return f.Value.String(), f.Changed
	}
	if url != "" {
		command = append(command, "--url", url)
		if key != "" {
			command = append(command, "--key", key)
		}
	}
	file, isGiven := given("config")
	if !isGiven {
		file = userConfig() // settled now: later, a variable could say where it is
	}
	if file != "" {
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
		command = append(command, "--config", file)
	}
	if url == "" {
		command = append(command, "--data", cfg.Data)
		if _, isGiven := given("policy"); isGiven {
			command = append(command, "--policy", cfg.Policy)
		}
	}
	if pin, isGiven := given("pin"); isGiven {
		command = append(command, "--pin", pin)
	}
	return command, nil
}

func tellInstalled(out io.Writer, f *install.File, done install.Done) {
	for _, name := range done.Changed {
		fmt.Fprintf(out, "%s is judged now\n", printable(name))
	}
	for _, name := range done.Left {
		fmt.Fprintf(out, "%s stays as it is: it is no command\n", printable(name))
	}
	if len(done.Changed) == 0 {
		fmt.Fprintf(out, "nothing was changed in %s\n", f.Path)
		return
	}
	fmt.Fprintf(out, "%s was changed; as it was, it lies in %s\nStart %s again.\n", f.Path, filepath.Base(done.Backup), f.Client)
}

func undoInstall(out io.Writer, f *install.File) error {
	done, err := f.Undo()
	if err != nil {
		return err
	}
	switch {
	case len(done.Changed) == 0:
		fmt.Fprintf(out, "no server in %s is behind the proxy\n", f.Path)
	case done.Exact:
		fmt.Fprintf(out, "%s is as it was\n", f.Path)
	default:
		fmt.Fprintf(out, "the proxy was taken away from %s; other changes stay\n", strings.Join(done.Changed, ", "))
	}
	return nil
}
