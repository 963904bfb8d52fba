// Package console is what people see of a node in a browser: what waits for them, what
// agents do, and what decides. It reads and changes nothing itself. Each page asks the
// operator's interface in the name of who is logged in, as the command line does: the same
// functions answer, the same roles hold, the same records are written.
//
//	c := console.New(console.Config{Node: node.Admin(), Auth: auth})
//	for _, route := range c.Routes() { … }
//
// Pages are made here and work without a script, but for what comes by itself: htmx
// fetches a page again when the node says that something has changed. What agents wrote
// is shown by package visible, escaped by html/template, and held by a Content Security
// Policy that runs nothing but the files of this package.
package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/visible"
)

// home is where the pages are.
const home = "/console/"

// Home is the path below which all pages are.
const Home = home

// Config is what a Console needs. All but Provider is required.
type Config struct {
	// Node answers the operator's interface; a request's context names the caller.
	Node http.Handler
	// Auth knows keys and tokens.
	Auth *identity.Authenticator
	// Tail tells of what changes, and Stopping is done when the node is to stop.
	Tail     *Tail
	Stopping func() <-chan struct{}

	// Provider is where people log in beside that; nil for nowhere.
	Provider *Provider

	Version string
	Now     func() time.Time
	Logger  *slog.Logger
}

// Console serves the pages of one node.
type Console struct {
	Config
	sessions *sessions
	guesses  guesses // of who logs in with a secret
	begun    guesses // logins by the provider
	logins   logins
	pages    func() map[string]*template.Template // read for the first who looks: most nodes are looked at rarely
}

// New returns a console in which nobody is logged in.
func New(cfg Config) *Console {
	return &Console{Config: cfg, sessions: newSessions(cfg.Now), pages: sync.OnceValue(func() map[string]*template.Template { return pages(cfg.Now) })}
}

// Who may see a page.
var (
	looking   = []identity.Role{identity.Auditor, identity.Admin}
	answering = []identity.Role{identity.Approver, identity.Auditor, identity.Admin}
	anybody   = answering
	answers   = []identity.Role{identity.Approver, identity.Admin} // what waits
	admins    = []identity.Role{identity.Admin}
)

// page is one address: what it is called, who sees it, and what makes it.
type page struct {
	pattern string // without the method
	roles   []identity.Role
	get     func(*visit) (view, error)
	post    func(*visit) (view, error) // nil for a page that changes nothing
}

// view is a page as it is to be shown, or where to go instead.
type view struct {
	template, title string
	data            any
	status          int // 0 means 200
	to              string
	sent            bool // all is answered
}

// there has the browser go to another page.
func there(path string) (view, error) { return view{to: path}, nil }

// visit is one request of somebody who is logged in.
type visit struct {
	*http.Request
	console *Console
	node    *operator.Client
	By      act.Principal
	Role    identity.Role
	session *session
	last    uint64 // the last change before anything was read
}

// May reports whether the visitor has one of these roles.
func (v *visit) may(roles []identity.Role) bool { return slices.Contains(roles, v.Role) }

// ask asks the node in the visitor's name.
func (v *visit) ask(method, path string, q, a any) error {
	return v.node.Ask(v.Context(), method, path, q, a)
}

func (c *Console) table() []page {
	return []page{
		{"{$}", anybody, (*visit).today, nil},
		{"approvals", answering, (*visit).approvals, nil},
		{"approvals/{id}", answering, (*visit).approval, (*visit).answer},
		{"passkeys", answers, (*visit).passkeys, (*visit).changePasskeys},
		{"live", looking, (*visit).live, nil},
		{"sessions", looking, (*visit).runs, nil},
		{"session", looking, (*visit).run, nil},
		{"decisions/{id}", looking, (*visit).decision, nil},
		{"agents", looking, (*visit).agents, nil},
		{"agents/{did...}", looking, (*visit).agent, (*visit).setAgent},
		{"habits", looking, (*visit).habits, nil},
		{"bill", looking, (*visit).bill, nil},
		{"tools", answers, (*visit).tools, (*visit).answerTool},
		{"policy", looking, (*visit).policy, nil},
		{"policy/edit", looking, (*visit).editPolicy, (*visit).editPolicy},
		{"policy/whatif", looking, (*visit).whatIf, (*visit).tryPolicy},
		{"tasks", anybody, (*visit).tasks, nil},
		{"tasks/{id}", anybody, (*visit).task, (*visit).changeTask},
		{"policy/reload", admins, (*visit).toPolicy, (*visit).reloadPolicy},
		{"ledger", looking, (*visit).ledger, nil},
		{"node", looking, (*visit).showNode, nil},
	}
}

// maxForm is the largest body of a form, in bytes.
const maxForm = 1 << 20

// Routes are the console's for a node's server.
func (c *Console) Routes() []server.Route {
	routes := []server.Route{
		{Pattern: "GET /console", Handler: http.RedirectHandler(home, http.StatusSeeOther)},
		{Pattern: "GET " + home + "static/{file}", Handler: http.HandlerFunc(static)},
		{Pattern: "GET " + home + "login", Handler: http.HandlerFunc(c.loginPage), Who: c.who},
		{Pattern: "POST " + home + "login", Handler: own(c.login), MaxBody: maxForm, Who: nobody},
		{Pattern: "POST " + home + "logout", Handler: own(c.logout), Who: nobody},
		{Pattern: "GET " + home + "evidence", Handler: http.HandlerFunc(c.evidence), Who: c.who},
		{Pattern: "POST " + home + "passkeys/challenge", Handler: own(c.challenge), MaxBody: maxForm, Who: c.who},
		{Pattern: "GET " + home + "events", Handler: http.HandlerFunc(c.events), Who: c.who},
		{Pattern: "GET " + home, Handler: http.HandlerFunc(c.missing), Who: c.who},
	}
	if c.Provider != nil {
		routes = append(routes,
			server.Route{Pattern: "GET " + home + "login/provider", Handler: http.HandlerFunc(c.toProvider), Who: nobody},
			server.Route{Pattern: "GET " + home + "login/callback", Handler: http.HandlerFunc(c.fromProvider), Who: nobody})
	}
	for _, p := range c.table() {
		routes = append(routes, server.Route{Pattern: "GET " + home + p.pattern, Handler: c.serve(p.roles, p.get), Who: c.who})
		if p.post != nil {
			routes = append(routes, server.Route{Pattern: "POST " + home + p.pattern, Handler: own(c.serve(p.roles, p.post)), MaxBody: maxForm, Who: c.who})
		}
	}
	return routes
}

// who is the credential of the session that a request's cookie names; nil for none.
func (c *Console) who(r *http.Request) *identity.Credential {
	if one := c.sessions.find(sessionID(r)); one != nil {
		return one.credential
	}
	return nil
}

func nobody(*http.Request) *identity.Credential { return nil }

// own lets a request through that changes something only if the browser says that it comes
// from a page of this node. The server has refused those that say otherwise; here it is
// not enough to say nothing, since a cookie comes along by itself.
func own(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Origin"]) != 1 && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
			http.Error(w, "The request does not say that it comes from a page of this node, and is not answered.", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// serve makes a handler of a page for those who are logged in and have the role.
func (c *Console) serve(roles []identity.Role, f func(*visit) (view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		one := c.sessions.find(sessionID(r))
		if one == nil {
			c.stranger(w, r)
			return
		}
		by, role := one.credential.Principal, one.credential.Role
		last, _ := c.Tail.now() // before anything of the page is read
		v := &visit{
			Request: r.WithContext(identity.NewContext(r.Context(), by, role)), console: c,
			node: operator.As(c.Node), By: by, Role: role, session: one, last: last,
		}
		if !slices.Contains(roles, role) {
			c.write(w, r, v, http.StatusForbidden, "problem", "Not for your role", problemView{
				Title: "Not for your role", Text: fmt.Sprintf("You are logged in as %s. This page is for another role: %s.", role, names(roles)),
			})
			return
		}
		shown, err := f(v)
		switch {
		case err != nil:
			c.failed(w, r, v, err)
		case shown.sent:
		case shown.to != "":
			http.Redirect(w, r, shown.to, http.StatusSeeOther)
		default:
			c.write(w, r, v, max(shown.status, http.StatusOK), shown.template, shown.title, shown.data)
		}
	}
}

func names(roles []identity.Role) string {
	var list []string
	for _, role := range roles {
		list = append(list, string(role))
	}
	return strings.Join(list, " or ")
}

// stranger answers a request without a session.
func (c *Console) stranger(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("HX-Request") != "": // a part of a page that is open: the whole page goes to the login
		w.Header().Set("HX-Refresh", "true")
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.FormValue("here") == "":
		// By a link of another site, such as in a message that tells of an act that waits,
		// the cookie does not come along. It does when the page asks for itself.
		c.write(w, r, nil, http.StatusOK, "again", "reeve", nil)
	default:
		http.Redirect(w, r, home+"login?to="+template.URLQueryEscaper(r.URL.RequestURI()), http.StatusSeeOther)
	}
}

// within is a page of the console to go to, whatever was asked for.
func within(to string) string {
	if !strings.HasPrefix(to, home) || strings.ContainsAny(to, "\\\r\n") || strings.Contains(to, "//") || strings.Contains(to, "..") || strings.HasPrefix(to, home+"log") {
		return home
	}
	return to
}

func (c *Console) missing(w http.ResponseWriter, r *http.Request) {
	c.serve(anybody, func(v *visit) (view, error) {
		return view{"problem", "Nothing here", problemView{Title: "Nothing here", Text: "The console has no page at this address."}, http.StatusNotFound, "", false}, nil
	})(w, r)
}

type problemView struct{ Title, Text string }

// failed shows what went wrong.
func (c *Console) failed(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	status, title := http.StatusInternalServerError, "This did not work"
	if known := operator.StatusOf(err); known != 0 {
		status = known
	}
	switch status {
	case http.StatusNotFound:
		title = "Not found"
	case http.StatusForbidden:
		title = "Not for you"
	}
	c.write(w, r, v, status, "problem", title, problemView{Title: title, Text: sentence(err.Error())})
}

// contentPolicy lets a page use the files of this package and nothing else: no script or
// style that stands in it, nothing of another host, and no other page may frame it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// frame is what stands around every page.
type frame struct {
	Title   string
	At      string // the item of the navigation
	Who     string // empty before the login
	Role    identity.Role
	Nav     []navItem
	Body    any
	Version string
	Here    string // the page's own address
	Last    uint64 // the last change before the page was made
}

type navItem struct {
	Name, Path, Key string
	Current         bool
	Count           int // what waits there
}

// nav is the way to the pages that a role may see.
func (v *visit) nav() (items []navItem) {
	at, _, _ := strings.Cut(strings.TrimPrefix(v.URL.Path, home), "/")
	if list, is := map[string]string{"session": "sessions", "passkeys": "approvals", "habits": "agents", "bill": "agents", "decisions": "live"}[at]; is {
		at = list
	}
	for _, item := range []struct {
		name, path, key string
		roles           []identity.Role
	}{
		{"Today", "", "t", anybody},
		{"Live", "live", "l", looking},
		{"Sessions", "sessions", "s", looking},
		{"Approvals", "approvals", "a", answering},
		{"Agents", "agents", "e", looking},
		{"MCP tools", "tools", "m", answers},
		{"Tasks", "tasks", "k", anybody},
		{"Policy", "policy", "p", looking},
		{"Ledger", "ledger", "d", looking},
		{"Node", "node", "n", looking},
	} {
		if !v.may(item.roles) {
			continue
		}
		shown := navItem{Name: item.name, Path: home + item.path, Key: item.key, Current: at == item.path}
		if item.path == "approvals" {
			shown.Count = v.waiting()
		}
		items = append(items, shown)
	}
	return items
}

// waiting is how many acts wait for people, as far as they are read.
func (v *visit) waiting() int {
	list, _, err := v.held(false)
	if err != nil {
		return 0
	}
	n := 0
	for _, h := range list.Approvals {
		if h.State == "held" {
			n++
		}
	}
	return n
}

// write writes a page.
func (c *Console) write(w http.ResponseWriter, r *http.Request, v *visit, status int, name, title string, data any) {
	f := frame{Title: visible.Line(title), Body: data, Version: c.Version, Here: r.URL.RequestURI()}
	if v != nil {
		f.Who, f.Role, f.Nav, f.Last = v.By.Name, v.Role, v.nav(), v.last
	}
	var b bytes.Buffer
	if err := c.pages()[name].ExecuteTemplate(&b, "layout", f); err != nil {
		c.Logger.Error("a page of the console cannot be written", "page", name, "error", err)
		http.Error(w, "The page could not be written; the node's log has more.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Referrer-Policy", "same-origin") // with none at all browsers would not say where a form comes from
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Vary", "Cookie, HX-Request")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// Code answers the operator who asks for a code that lets one browser in: as whoever
// asked, who is known by the context.
func (c *Console) Code() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, role := identity.FromContext(r.Context())
		if role != identity.Admin || by.Method != identity.Operator.Method { // others have a key to log in with
			server.WriteJSON(w, http.StatusForbidden, map[string]string{"error": "Your role is " + string(role) + ", which may not do this."})
			return
		}
		by.Method = "console" // a browser that is let in is not the socket
		text, ends := c.sessions.code(c.Auth.Vouched(by, role))
		server.WriteJSON(w, http.StatusOK, Code{text, ends})
	})
}

// Code lets one browser in, once.
type Code struct {
	Code string    `json:"code"`
	Ends time.Time `json:"ends"`
}
