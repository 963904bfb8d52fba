package reeve_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/chromium"
	"reeve.example/reeve/internal/identity"
)

const guardedByPasskey = `
version: 1
name: desk
default: allow
rules: [{name: payments, tools: [transfer], effect: escalate, code: payments, reason: A person must agree to payments., approval: {passkey: true}}]
risk: {deny: off}
`

// as asks the node's operator's interface as somebody, by the socket or by a console.
func (r *running) as(by act.Principal, method, path, body string) (int, string) {
	r.Helper()
	w := httptest.NewRecorder()
	r.node.Admin().ServeHTTP(w, httptest.NewRequestWithContext(identity.NewContext(r.Context(), by, identity.Admin), method, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// authenticator gives a page's browser an authenticator.
func authenticator(p *chromium.Page) (id string) {
	p.Helper()
	p.Do("WebAuthn.enable", nil)
	var made struct {
		ID string `json:"authenticatorId"`
	}
	if err := json.Unmarshal(p.Do("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "usb", "hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true,
	}}), &made); err != nil {
		p.Fatal(err)
	}
	return made.ID
}

// TestThreat17Passkey: where a rule asks for a passkey, a login alone agrees to nothing. A
// passkey is registered in a real browser, counts once somebody else has confirmed it, and signs
// one answer to one act.
func TestThreat17Passkey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	origin := fmt.Sprintf("http://localhost:%d", port)
	r := start(t, map[string]string{"policy-text": guardedByPasskey, "approvals-wait": "50s", "listen": fmt.Sprintf("127.0.0.1:%d", port), "passkeys-origin": origin})
	address := r.url
	r.url = origin
	p := chromium.Open(t)
	p.Size(1280, 1000, "light")
	r.enter(p, identity.Approver)
	device := authenticator(p)
	agent := r.asks(step(1, "clerk", "transfer", "to", "Birch Ltd", "amount", "250.00"))
	waits := func(text string) (id string) {
		t.Helper()
		p.Go(r.url + "/console/approvals")
		p.Click("the act", fmt.Sprintf(`[...document.querySelectorAll("a.act")].find(a => a.innerText.includes(%q))`, text))
		p.Says("May this happen?")
		return p.Eval(`location.pathname.split("/").pop()`)
	}
	first := waits("Birch")
	p.Says("You cannot agree, since a rule asks for a passkey, and you have none")
	p.Until("nothing but a refusal", `[...document.querySelectorAll("form[data-answer] button")].map(b => b.value).join() === "deny"`)
	var shown struct {
		Seen string `json:"seen"`
	}
	_, text := r.ask(identity.Approver, "GET", "/approvals/"+first, "")
	json.Unmarshal([]byte(text), &shown)
	approve := fmt.Sprintf(`{"answer":"approve","seen":%q}`, shown.Seen)
	if code, text := r.ask(identity.Approver, "POST", "/approvals/"+first, approve); code != 403 || !strings.Contains(text, "you have none") {
		t.Errorf("without a passkey: %d %s", code, text)
	}

	// It is registered, and counts for nothing: whoever has the login could have done it.
	register := func(label string) {
		p.Go(r.url + "/console/passkeys")
		p.Eval(fmt.Sprintf(`document.querySelector("#label").value = %q`, label))
		p.Click("Register", `document.querySelector("button[value=made]")`)
		p.Until("it is there", fmt.Sprintf(`[...document.querySelectorAll("li.card")].some(l => l.innerText.includes(%q))`, label))
	}
	p.Go(r.url + "/console/passkeys")
	p.Says("You have none.")
	register("the blue key")
	p.Says("It waits for an admin")
	p.Accessible()
	p.Look("passkeys")
	number := p.Eval(`document.querySelector("li.card code").innerText.replaceAll(" ", "")`)
	waits("Birch")
	p.Says("nobody has confirmed yours yet")
	if code, text := r.ask(identity.Approver, "POST", "/approvals/"+first, approve); code != 403 || !strings.Contains(text, "nobody has confirmed yours yet") {
		t.Errorf("with one that nobody confirmed: %d %s", code, text)
	}

	// Nobody confirms it who is not somebody else with a passkey, or at the node's own socket.
	const confirm = `{"state":"confirmed"}`
	thief := act.Principal{Name: "key:made-by-the-thief", Method: "key"}
	browser := act.Principal{Name: identity.Operator.Name, Method: "console"}
	for name, by := range map[string]act.Principal{
		"its holder": {Name: "key:approver", Method: "key"}, "a key that a stolen one made": thief, "a browser that the socket let in": browser,
		"another key of its holder": {Name: "key:other", Method: "key", Person: "key:approver"},
	} {
		if code, text := r.as(by, "POST", "/admin/passkeys/"+number, confirm); code != 403 {
			t.Errorf("%s confirms it: %d %s", name, code, text)
		}
	}
	if code, text := r.ask(identity.Approver, "POST", "/admin/passkeys/"+number, confirm); code != 403 {
		t.Errorf("an approver confirms it: %d %s", code, text)
	}
	if code, text := r.as(identity.Operator, "POST", "/admin/passkeys/"+number, confirm); code != 200 {
		t.Fatalf("the owner: %d %s", code, text)
	}

	// Now it signs the answer.
	waits("Birch")
	p.Says("A rule asks for your passkey")
	p.Accessible()
	p.Look("approval-passkey")
	if code, text := r.ask(identity.Approver, "POST", "/approvals/"+first, approve); code != 403 || !strings.Contains(text, origin+"/console/approvals/"+first) {
		t.Errorf("a key alone: %d %s", code, text)
	}
	p.Do("WebAuthn.setUserVerified", map[string]any{"authenticatorId": device, "isUserVerified": false})
	p.Click("Approve once", `document.querySelector("button[value=once]")`)
	p.Says("The passkey was not shown")
	p.Do("WebAuthn.setUserVerified", map[string]any{"authenticatorId": device, "isUserVerified": true})
	p.Click("Approve once", `document.querySelector("button[value=once]")`)
	if text := <-agent; !strings.Contains(text, `"decision":"allow"`) || !strings.Contains(text, "key:approver agreed to this") {
		t.Errorf("the agent was answered: %s", text)
	}
	p.Says("and showed a passkey")

	// What it signed is in the record, and is of no use for another act, nor again.
	var answered struct {
		Answers []struct {
			Passkey string `json:"passkey"`
			Signed  string `json:"signed"`
		} `json:"answers"`
	}
	_, text = r.ask(identity.Auditor, "GET", "/approvals/"+first, "")
	if json.Unmarshal([]byte(text), &answered); len(answered.Answers) != 1 || answered.Answers[0].Passkey != number {
		t.Fatal(text)
	}
	recorded := false
	for i := range 30 {
		_, text := r.ask(identity.Auditor, "GET", fmt.Sprintf("/decisions/0-%d", i), "")
		recorded = recorded || strings.Contains(text, "admin.approval.approve") && strings.Contains(text, number) && strings.Contains(text, "authenticator")
	}
	if !recorded {
		t.Error("no record has what was signed")
	}
	agent = r.asks(step(2, "clerk", "transfer", "to", "Oak Ltd", "amount", "9"))
	second := waits("Oak")
	_, text = r.ask(identity.Approver, "GET", "/approvals/"+second, "")
	json.Unmarshal([]byte(text), &shown)
	replayed := fmt.Sprintf(`{"answer":"approve","seen":%q,"passkey":%s}`, shown.Seen, answered.Answers[0].Signed)
	if code, text := r.ask(identity.Approver, "POST", "/approvals/"+second, replayed); code != 409 || !strings.Contains(text, "was answered already") {
		t.Errorf("what was signed before: %d %s", code, text)
	}

	// An admin with a passkey confirms somebody's second one, in the page; at another name of the
	// node nothing is asked.
	p.Do("WebAuthn.removeVirtualAuthenticator", map[string]any{"authenticatorId": device})
	authenticator(p)
	register("the spare key of the approver")
	admin := p.Tab()
	admin.Size(1280, 1000, "dark")
	authenticator(admin)
	r.url = address
	r.enter(admin, identity.Admin)
	admin.Go(r.url + "/console/passkeys")
	admin.Eval(`document.querySelector("#label").value = "mine"`)
	admin.Click("Register", `document.querySelector("button[value=made]")`)
	admin.Says("Passkeys are used at " + origin)
	admin.Requests = nil // those of the other name
	r.url = origin
	p.Do("Page.bringToFront", nil)
	p.Click("revoke", `[...document.querySelectorAll("li.card")].find(l => l.innerText.includes("the blue key")).querySelector("button[value=revoked]")`)
	p.Says("revoked by key:approver")
	waits("Oak")
	p.Says("nobody has confirmed yours yet")
	admin.Do("Page.bringToFront", nil)
	r.enter(admin, identity.Admin)
	admin.Go(r.url + "/console/passkeys")
	admin.Eval(`document.querySelector("#label").value = "mine"`)
	admin.Click("Register", `document.querySelector("button[value=made]")`)
	admin.Says("It waits for an admin")
	own := admin.Eval(`document.querySelector("section[aria-labelledby=own] li.card code").innerText.replaceAll(" ", "")`)
	if code, text := r.as(identity.Operator, "POST", "/admin/passkeys/"+own, confirm); code != 200 {
		t.Fatalf("the owner: %d %s", code, text)
	}
	admin.Go(r.url + "/console/passkeys")
	admin.Accessible()
	admin.Look("passkeys-admin-dark")
	admin.Click("confirm", `document.querySelector("button[value=confirmed]")`)
	admin.Says("confirmed by key:admin")
	admin.Clean()
	p.Do("Page.bringToFront", nil)
	r.enter(p, identity.Approver) // the browser was the admin's meanwhile
	waits("Oak")
	p.Click("Approve once", `document.querySelector("button[value=once]")`)
	if text := <-agent; !strings.Contains(text, `"decision":"allow"`) {
		t.Errorf("the agent was answered: %s", text)
	}
	p.Clean()
}
