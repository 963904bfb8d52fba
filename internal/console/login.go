package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"sync"
	"time"

	"reeve.example/reeve/internal/identity"

	"golang.org/x/time/rate"
)

// Bounds of sessions. A person on duty logs in once a day.
const (
	sessionLasts = 12 * time.Hour
	sessionIdle  = 2 * time.Hour // a page that is open asks now and then
	maxSessions  = 1000          // of all people; the one that was idle longest goes
	codeLasts    = 5 * time.Minute
	maxCodes     = 100
)

// sessions are the browsers that are logged in at this node. What a browser has is a
// random id, of which only the hash stands here: nothing that is read from the node's
// memory or log lets anybody in. They end with the process.
type sessions struct {
	now func() time.Time

	mu    sync.Mutex
	open  map[[32]byte]*session // by the hash of their ids
	codes map[[32]byte]code     // of logins that a node's operator was given
}

// session is one browser that is logged in.
type session struct {
	credential  *identity.Credential
	began, seen time.Time
	over        chan struct{} // closed when it ends: what it has open ends, too

	mu            sync.Mutex
	live, looking time.Time // when the live page was last shown, and when it was before it was opened
}

// look notes that the live page is shown now, and returns when it was before it was opened.
func (s *session) look(now time.Time, opened bool) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if opened {
		s.looking = s.live
	}
	s.live = now
	return s.looking
}

// code lets one browser in, once.
type code struct {
	credential *identity.Credential
	ends       time.Time
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, open: map[[32]byte]*session{}, codes: map[[32]byte]code{}}
}

// secret is 256 random bits, as text.
func secret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// begin opens a session for whoever has shown a credential. The id is new: one that the
// browser brought means nothing.
func (s *sessions) begin(c *identity.Credential) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var idle [32]byte
	oldest := now
	for at, one := range s.open {
		if !s.lasts(one, now) {
			s.drop(at)
		} else if one.seen.Before(oldest) {
			idle, oldest = at, one.seen
		}
	}
	if len(s.open) >= maxSessions {
		s.drop(idle)
	}
	id = secret()
	s.open[sha256.Sum256([]byte(id))] = &session{credential: c, began: now, seen: now, over: make(chan struct{})}
	return id
}

// lasts reports whether a session goes on: for its time, and as long as the credential
// holds by which it began.
func (s *sessions) lasts(one *session, now time.Time) bool {
	return now.Sub(one.began) < sessionLasts && now.Sub(one.seen) < sessionIdle && one.credential.Err() == nil
}

// drop ends a session. The lock is held.
func (s *sessions) drop(at [32]byte) {
	if one := s.open[at]; one != nil {
		close(one.over)
		delete(s.open, at)
	}
}

// find is the session of an id; nil if there is none any more.
func (s *sessions) find(id string) *session {
	at := sha256.Sum256([]byte(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.open[at]
	if one == nil {
		return nil
	}
	now := s.now()
	if !s.lasts(one, now) {
		s.drop(at)
		return nil
	}
	one.seen = now
	return one
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(sha256.Sum256([]byte(id)))
}

// code makes what lets one browser in as whoever asked for it.
func (s *sessions) code(c *identity.Credential) (text string, ends time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for at, one := range s.codes {
		if len(s.codes) >= maxCodes || !now.Before(one.ends) {
			delete(s.codes, at)
		}
	}
	text, ends = secret(), now.Add(codeLasts)
	s.codes[sha256.Sum256([]byte(text))] = code{c, ends}
	return text, ends
}

// redeem is the credential that a code stands for, which is used up by it.
func (s *sessions) redeem(text string) *identity.Credential {
	at := sha256.Sum256([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.codes[at]
	delete(s.codes, at)
	if !ok || !s.now().Before(one.ends) {
		return nil
	}
	return one.credential
}

// cookies have a name that a browser takes from this very host only, where there is TLS.
const (
	cookie       = "reeve-console"
	cookieSecure = "__Host-reeve-console"
)

// overTLS reports whether the browser has an encrypted connection, to this node or to what
// stands before it. Who says so without having one only keeps a cookie from himself.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func cookieOf(r *http.Request, id string) *http.Cookie {
	c := &http.Cookie{Name: cookie, Value: id, Path: home, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if overTLS(r) {
		c.Name, c.Path, c.Secure = cookieSecure, "/", true
	}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}

// sessionID is what a request's cookie says; empty without one, or with two.
func sessionID(r *http.Request) string {
	sent := r.CookiesNamed(cookieOf(r, "").Name)
	if len(sent) != 1 {
		return ""
	}
	return sent[0].Value
}

// guesses bound how often somebody tries to log in: what is guessed at has 256 random
// bits, but a token of another issuer may be costly to check.
type guesses struct {
	mu sync.Mutex
	by map[string]*rate.Limiter // by address
}

const maxGuessers = 4096

// allowed reports whether an address may try now.
func (g *guesses) allowed(r *http.Request) bool { return g.of(r).Tokens() >= 1 }

// count counts a try: of secrets one that was no good.
func (g *guesses) count(r *http.Request) { g.of(r).Allow() }

func (g *guesses) of(r *http.Request) *rate.Limiter {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.by[host]
	if l == nil {
		if g.by == nil || len(g.by) >= maxGuessers {
			g.by = map[string]*rate.Limiter{}
		}
		l = rate.NewLimiter(rate.Every(3*time.Second), 10)
		g.by[host] = l
	}
	return l
}

// login answers the form by which a person shows a key, a token, or a code of
// `reeve console`.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	to := within(r.FormValue("to"))
	refuse := func(status int, why string) { c.showLogin(w, r, status, to, why) }
	if !c.guesses.allowed(r) {
		w.Header().Set("Retry-After", "3")
		refuse(http.StatusTooManyRequests, "Too many attempts from your address. Wait some seconds, and try again.")
		return
	}
	text := r.FormValue("secret")
	credential := c.sessions.redeem(text)
	if credential == nil {
		asked := r.Clone(r.Context())
		asked.Header = http.Header{"Authorization": {"Bearer " + text}}
		var err error
		if credential, err = c.Auth.Check(asked); err != nil {
			c.guesses.count(r)
			refuse(http.StatusUnauthorized, "This is no valid key, token or code. A code lets in once, and for five minutes.")
			return
		}
	}
	c.enter(w, r, credential, to)
}

// enter logs in whoever has shown who they are.
func (c *Console) enter(w http.ResponseWriter, r *http.Request, credential *identity.Credential, to string) {
	if credential.Role == identity.Agent {
		c.showLogin(w, r, http.StatusForbidden, to, "This is the credential of an agent. The console is for people: log in as an auditor, approver or admin.")
		return
	}
	c.sessions.end(sessionID(r)) // whoever was logged in here is not any more
	http.SetCookie(w, cookieOf(r, c.sessions.begin(credential)))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

type loginView struct{ To, Problem, Provider string }

func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	c.showLogin(w, r, http.StatusOK, within(r.FormValue("to")), "")
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	c.sessions.end(sessionID(r))
	http.SetCookie(w, cookieOf(r, ""))
	http.Redirect(w, r, home+"login", http.StatusSeeOther)
}
