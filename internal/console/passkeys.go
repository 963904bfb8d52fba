package console

import (
	"net/http"
	"net/url"
	"strings"

	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/server"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// passkeysView is the passkeys of the visitor, and for an admin those of others.
type passkeysView struct {
	Own, Others []passkeyView
	Origin      string // where they are used; empty for nowhere
	Problem     string
	Label       string // what was written, after that
	Confirms    bool
}

// passkeyView is one passkey, without its key.
type passkeyView struct {
	operator.Passkey
	Number string // its id, as people compare it
}

func (v *visit) passkeys() (view, error) { return v.showPasskeys(http.StatusOK, "") }

func (v *visit) showPasskeys(status int, problem string) (view, error) {
	var list operator.PasskeyList
	if err := v.ask("GET", "/admin/passkeys", nil, &list); err != nil {
		return view{}, err
	}
	p := passkeysView{Origin: list.Origin, Problem: problem, Label: v.PostFormValue("label"), Confirms: v.may(admins)}
	for _, one := range list.Passkeys {
		shown := passkeyView{Passkey: *one, Number: inFours(one.ID)}
		if one.Principal == v.By.Name {
			p.Own = append(p.Own, shown)
		} else {
			p.Others = append(p.Others, shown)
		}
	}
	return view{template: "passkeys", title: "Passkeys — Approvals", data: p, status: status}, nil
}

// inFours is a long name as people compare it.
func inFours(id string) string {
	var b strings.Builder
	for i := range len(id) {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteByte(id[i])
	}
	return b.String()
}

// changePasskeys registers, confirms or revokes a passkey.
func (v *visit) changePasskeys() (view, error) {
	path, q := "/admin/passkeys/"+url.PathEscape(v.PostFormValue("passkey")), any(nil)
	change := operator.PasskeyChange{State: v.PostFormValue("state")}
	proof := []byte(v.PostFormValue("proof"))
	switch change.State {
	case "made":
		made := operator.NewPasskey{}
		if err := json.Unmarshal(proof, &made); err != nil {
			return v.showPasskeys(http.StatusBadRequest, "The browser sent no passkey.")
		}
		made.Label = strings.TrimSpace(v.PostFormValue("label"))
		path, q = "/admin/passkeys", made
	case "confirmed":
		if err := json.Unmarshal(proof, &change.Proof); err != nil {
			return v.showPasskeys(http.StatusBadRequest, "Nothing was confirmed: show a passkey of yours.")
		}
		q = change
	case "revoked":
		q = change
	default:
		return v.showPasskeys(http.StatusBadRequest, "Nothing was done: choose one of the buttons.")
	}
	if err := v.ask("POST", path, q, new(operator.Passkey)); err != nil {
		if status := operator.StatusOf(err); status >= 400 && status < 500 {
			return v.showPasskeys(status, sentence(err.Error()))
		}
		return view{}, err
	}
	return there(home + "passkeys")
}

// challenge answers the script of a page that is about to ask a passkey: what it is to sign for
// what the form would send.
func (c *Console) challenge(w http.ResponseWriter, r *http.Request) {
	c.serve(answers, func(v *visit) (view, error) {
		q := operator.PasskeyChallenge{Passkey: v.PostFormValue("passkey"), Approval: v.PostFormValue("approval")}
		refuse := func(status int, problem string) (view, error) {
			server.WriteJSON(w, status, map[string]string{"error": problem})
			return view{sent: true}, nil
		}
		if q.Approval != "" {
			answer, status, problem, err := v.wanted(q.Approval)
			if err != nil {
				return refuse(max(operator.StatusOf(err), http.StatusBadRequest), sentence(err.Error()))
			}
			if problem != "" {
				return refuse(status, problem)
			}
			q.Answer = answer
		}
		var asked jsontext.Value
		if err := v.ask("POST", "/admin/passkeys/challenge", q, &asked); err != nil {
			return refuse(max(operator.StatusOf(err), http.StatusBadRequest), sentence(err.Error()))
		}
		server.WriteJSON(w, http.StatusOK, asked)
		return view{sent: true}, nil
	})(w, r)
}

// noPasskey says why the visitor cannot agree where a rule asks for a passkey; empty if they can.
func (v *visit) noPasskey() (string, error) {
	var list operator.PasskeyList
	if err := v.ask("GET", "/admin/passkeys", nil, &list); err != nil {
		return "", err
	}
	why := "a rule asks for a passkey, and you have none: register one on the page Passkeys"
	for _, p := range list.Passkeys {
		switch {
		case p.Principal != v.By.Name:
		case p.State == "confirmed":
			why = ""
		case p.State == "waiting" && why != "":
			why = "a rule asks for a passkey, and nobody has confirmed yours yet"
		}
	}
	if list.Origin == "" {
		why = "a rule asks for a passkey, and the setting passkeys.origin says no place to use one"
	}
	return why, nil
}
