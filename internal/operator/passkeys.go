package operator

import (
	"errors"
	"fmt"
	"net/http"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/guard"
	"reeve.example/reeve/internal/identity"
)

// PasskeyList is the passkeys that somebody may see: their own, and all for an admin.
type PasskeyList struct {
	Passkeys []*guard.Passkey `json:"passkeys"`
	// Origin is where they are used; empty where nowhere.
	Origin string `json:"origin,omitzero"`
}

// Passkey and NewPasskey are guard's, for those who ask.
type (
	Passkey    = guard.Passkey
	NewPasskey = guard.NewPasskey
)

func (o *API) listPasskeys(r *http.Request, by act.Principal, _ Nothing) (PasskeyList, error) {
	whose := by.Name
	if _, role := identity.FromContext(r.Context()); role == identity.Admin {
		whose = ""
	}
	list, err := o.Guard.Passkeys(r.Context(), whose)
	if err != nil {
		return PasskeyList{}, o.failed("the passkeys were not read", err)
	}
	return PasskeyList{Passkeys: append([]*guard.Passkey{}, list...), Origin: o.Guard.Site().Origin}, nil
}

// PasskeyChallenge asks for what a passkey is to sign: to be registered, without anything; to
// confirm another one; or for one answer to one act that is held.
type PasskeyChallenge struct {
	Passkey  string         `json:"passkey,omitzero"`
	Approval string         `json:"approval,omitzero"`
	Answer   ApprovalAnswer `json:"answer,omitzero"`
}

func (o *API) challengePasskey(r *http.Request, by act.Principal, q PasskeyChallenge) (c *guard.Challenge, err error) {
	switch {
	case q.Passkey != "" && q.Approval != "":
		return nil, badRequest("want a passkey or an approval, not both")
	case q.Approval != "":
		var reply guard.Reply
		if reply, err = replyOf(&q.Answer); err == nil {
			c, err = o.Guard.AskToAgree(r.Context(), q.Approval, by, reply)
		}
	case q.Passkey != "":
		c, err = o.Guard.AskToConfirm(r.Context(), q.Passkey, by)
	default:
		c, err = o.Guard.AskToRegister(r.Context(), by)
	}
	if err != nil {
		err = o.failed("the passkey was not asked", err)
	}
	return c, err
}

func (o *API) registerPasskey(r *http.Request, by act.Principal, q guard.NewPasskey) (*guard.Passkey, error) {
	p, err := o.Guard.RegisterPasskey(r.Context(), by, &q)
	if err != nil {
		err = o.failed("the passkey was not registered", err)
	}
	return p, err
}

// PasskeyChange confirms or revokes a passkey.
type PasskeyChange struct {
	State string `json:"state"` // confirmed or revoked
	// Proof is what the passkey of who confirms signed; the node's owner, who asks by the
	// socket in the data folder, needs none.
	Proof *guard.Proof `json:"proof,omitzero"`
}

func (o *API) changePasskey(r *http.Request, by act.Principal, q PasskeyChange) (p *guard.Passkey, err error) {
	_, role := identity.FromContext(r.Context())
	switch {
	case q.State == guard.PasskeyRevoked:
		p, err = o.Guard.RevokePasskey(r.Context(), r.PathValue("id"), by, role == identity.Admin)
	case q.State != guard.PasskeyConfirmed:
		return nil, badRequest("want {\"state\": \"confirmed\" or \"revoked\"}")
	case role != identity.Admin:
		return nil, problem{http.StatusForbidden, errors.New("an admin confirms passkeys")}
	default:
		p, err = o.Guard.ConfirmPasskey(r.Context(), r.PathValue("id"), by, q.Proof)
	}
	if err != nil {
		err = o.failed("the passkey was not changed", err)
	}
	return p, err
}

// inTheConsole says where an act is answered for which a passkey is needed.
func (o *API) inTheConsole(id string, err error) error {
	if origin := o.Guard.Site().Origin; origin != "" && errors.Is(err, approval.ErrPasskey) {
		return fmt.Errorf("%w, at %s/console/approvals/%s", err, origin, id)
	}
	return err
}
