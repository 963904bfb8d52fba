package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/internal/identity"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Provider is where people log in by OpenID Connect: by an authorization code with PKCE.
type Provider struct {
	Issuer, Client, Secret string
	Scopes                 []string
	// Claims says what the claims of a token mean; its keys and audience are not used.
	Claims identity.JWT
}

// Bounds of logins that are under way.
const (
	loginLasts    = 10 * time.Minute
	maxLogins     = 1000
	providerWaits = 10 * time.Second
)

// logins are those that were sent to the provider, and have not come back.
type logins struct {
	mu       sync.Mutex
	provider *oidc.Provider // once it has answered
	asking   chan struct{}  // closed when it has, or will not; nil while nobody asks
	failed   error          // of who asked last
	under    map[[32]byte]underway
}

// underway is one login, known by the hash of its state.
type underway struct {
	nonce, verifier, to string
	ends                time.Time
}

// loginCookie holds the state in the browser that began the login, so that nobody is logged
// in by a link of another. It comes along when the provider sends the browser back, which
// the session's own cookie does not.
const loginCookie = "reeve-login"

// reach asks the provider for its addresses and keys, once. One asks for all who wait
// meanwhile, and nobody waits longer than that: a provider that is silent does not have them
// wait one after the other.
func (c *Console) reach(ctx context.Context) (*oidc.Provider, error) {
	l := &c.logins
	l.mu.Lock()
	if l.provider != nil {
		defer l.mu.Unlock()
		return l.provider, nil
	}
	if l.asking == nil {
		l.asking = make(chan struct{})
		go c.askProvider()
	}
	asking := l.asking
	l.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.provider == nil {
		return nil, l.failed
	}
	return l.provider, nil
}

// askProvider asks the provider, and tells those who wait. It is no request's own: the keys
// are fetched later, too.
func (c *Console) askProvider() {
	p, err := oidc.NewProvider(oidc.ClientContext(context.Background(), providerClient), c.Provider.Issuer)
	l := &c.logins
	l.mu.Lock()
	defer l.mu.Unlock()
	l.provider, l.failed = p, err
	close(l.asking)
	l.asking = nil
}

// providerClient calls providers. What they answer is bounded in time and size. It follows no
// redirect: the code, its verifier and the client's secret go to the provider only.
var providerClient = &http.Client{
	Timeout:       providerWaits,
	Transport:     boundedAnswers{},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// boundedAnswers ends an answer that is longer than a provider's can be.
type boundedAnswers struct{}

const maxProviderAnswer = 1 << 20

func (boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxProviderAnswer)
	}
	return resp, err
}

func (c *Console) oauth(p *oidc.Provider, r *http.Request) *oauth2.Config {
	back := url.URL{Scheme: "http", Host: r.Host, Path: home + "login/callback"} // the provider knows those that are ours
	if overTLS(r) {
		back.Scheme = "https"
	}
	return &oauth2.Config{ClientID: c.Provider.Client, ClientSecret: c.Provider.Secret, Endpoint: p.Endpoint(), RedirectURL: back.String(), Scopes: c.Provider.Scopes}
}

// toProvider sends a browser to the provider.
func (c *Console) toProvider(w http.ResponseWriter, r *http.Request) {
	to := within(r.FormValue("to"))
	// Nobody has shown anything yet: one address neither has the provider asked without end,
	// nor takes the places of all others among the logins that are under way.
	if !c.begun.allowed(r) {
		w.Header().Set("Retry-After", "3")
		c.showLogin(w, r, http.StatusTooManyRequests, to, "Too many logins were begun from your address. Wait some seconds, and try again.")
		return
	}
	c.begun.count(r)
	p, err := c.reach(r.Context())
	if err != nil {
		c.Logger.Warn("the provider at which people log in does not answer", "issuer", c.Provider.Issuer, "error", err)
		c.showLogin(w, r, http.StatusBadGateway, to, "The provider does not answer. Try again, or log in with a key.")
		return
	}
	state := secret()
	one := underway{nonce: secret(), verifier: oauth2.GenerateVerifier(), to: to, ends: c.Now().Add(loginLasts)}
	c.logins.mu.Lock()
	for at, other := range c.logins.under {
		if len(c.logins.under) >= maxLogins || !c.Now().Before(other.ends) {
			delete(c.logins.under, at)
		}
	}
	if c.logins.under == nil {
		c.logins.under = map[[32]byte]underway{}
	}
	c.logins.under[sha256.Sum256([]byte(state))] = one
	c.logins.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: loginCookie, Value: state, Path: home + "login", HttpOnly: true, Secure: overTLS(r), SameSite: http.SameSiteLaxMode, MaxAge: int(loginLasts / time.Second)})
	http.Redirect(w, r, c.oauth(p, r).AuthCodeURL(state, oidc.Nonce(one.nonce), oauth2.S256ChallengeOption(one.verifier)), http.StatusSeeOther)
}

// fromProvider is where the provider sends a browser back to.
func (c *Console) fromProvider(w http.ResponseWriter, r *http.Request) {
	if !c.guesses.allowed(r) {
		w.Header().Set("Retry-After", "3")
		c.showLogin(w, r, http.StatusTooManyRequests, home, "Too many attempts from your address. Wait some seconds, and try again.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: loginCookie, Path: home + "login", HttpOnly: true, Secure: overTLS(r), SameSite: http.SameSiteLaxMode, MaxAge: -1})
	state := r.FormValue("state")
	sent := r.CookiesNamed(loginCookie)
	at := sha256.Sum256([]byte(state))
	c.logins.mu.Lock()
	one, ok := c.logins.under[at]
	delete(c.logins.under, at)
	c.logins.mu.Unlock()
	if !ok || !c.Now().Before(one.ends) || len(sent) != 1 || subtle.ConstantTimeCompare([]byte(sent[0].Value), []byte(state)) != 1 {
		c.guesses.count(r)
		c.showLogin(w, r, http.StatusBadRequest, home, "This login was not begun in this browser, is over, or took longer than ten minutes. Begin again.")
		return
	}
	if r.FormValue("error") != "" {
		c.showLogin(w, r, http.StatusUnauthorized, one.to, "The provider did not let you in.")
		return
	}
	credential, err := c.holder(r, &one)
	if err != nil {
		c.guesses.count(r)
		c.Logger.Warn("a login by the provider was refused", "error", err)
		reason := "The provider's answer is not valid."
		if known, ok := errors.AsType[*identity.Error](err); ok {
			reason = known.Reason
		}
		c.showLogin(w, r, http.StatusUnauthorized, one.to, reason)
		return
	}
	if credential.Role == identity.Agent {
		c.showLogin(w, r, http.StatusForbidden, one.to, "The provider says nothing of a role that you have here. Ask whoever looks after it.")
		return
	}
	c.enter(w, r, credential, one.to)
}

// holder exchanges the code for a token, checks it, and says whose it is.
func (c *Console) holder(r *http.Request, one *underway) (*identity.Credential, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), providerClient), providerWaits)
	defer cancel()
	p, err := c.reach(ctx)
	if err != nil {
		return nil, err
	}
	if iss := r.FormValue("iss"); iss != "" && iss != c.Provider.Issuer { // RFC 9207
		return nil, errors.New("the answer is of another issuer")
	}
	token, err := c.oauth(p, r).Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(one.verifier))
	if err != nil {
		return nil, err
	}
	raw, _ := token.Extra("id_token").(string)
	verified, err := p.Verifier(&oidc.Config{ClientID: c.Provider.Client, Now: c.Now, SupportedSigningAlgs: []string{"RS256", "ES256", "EdDSA"}}).Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(one.nonce)) != 1 {
		return nil, errors.New("the token is of another login")
	}
	if err := identity.Strict(raw); err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return nil, err
	}
	if party, has := claims["azp"]; has && party != c.Provider.Client {
		return nil, errors.New("the token is for another client")
	}
	by, role, err := c.Provider.Claims.Holder(claims)
	if err != nil {
		return nil, err
	}
	return c.Auth.Vouched(by, role), nil
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request, status int, to, why string) {
	c.write(w, r, nil, status, "login", "Log in", loginView{To: to, Problem: why, Provider: c.providerName()})
}

// providerName is what the provider is called on the page; empty where there is none.
func (c *Console) providerName() string {
	if c.Provider == nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(c.Provider.Issuer, "https://"), "http://")
}
