package act

// Who can let an act pass that was refused is decided here and nowhere else. It
// follows from the effect that the policy gave a reason, and from whether the
// reason is final.

// Overruler is who can let an act pass in spite of a reason. The zero value is
// nobody.
type Overruler uint8

// The overrulers, the fewest first.
const (
	Nobody      Overruler = iota // the reason is final
	PolicyOwner                  // by a named exception in the policy
	Person                       // by agreeing to the exact bytes
	Anybody                      // the reason stops nothing: it is only recorded
)

// Overruler returns who can let an act pass in spite of the reason. No approval
// reaches further than Person, and no exception further than PolicyOwner.
func (r *Reason) Overruler() Overruler {
	switch {
	case r.Final:
		return Nobody
	case r.Observe || r.Effect > Escalate:
		return Anybody
	case r.Effect == Escalate:
		return Person
	}
	return PolicyOwner
}

// Excepted reports whether a policy's exception may lift the reason.
func (r *Reason) Excepted() bool { return r.Overruler() >= PolicyOwner }

// Approvable reports whether people may be asked about an act with these
// reasons: one that nobody, or only the policy's owner, could let pass is not
// brought before them.
func Approvable(reasons []Reason) bool {
	for i := range reasons {
		if reasons[i].Overruler() < Person {
			return false
		}
	}
	return true
}

// FinalCodes are the codes of reasons that nobody overrules. No rule of a policy
// may take one, and no exception may name one.
var FinalCodes = []string{CodeTampering, CodeAmbiguous, CodeMalformed, CodeUnrecorded}

// Codes of final reasons.
const (
	CodeTampering  = "guardian.tampering" // the act reaches for what guards it
	CodeAmbiguous  = "input.ambiguous"    // two readers would understand two things
	CodeMalformed  = "input.malformed"    // it cannot be read
	CodeUnrecorded = "record.failed"      // nothing could be written down
)

// Final returns a reason that denies and that nobody overrules.
func Final(rule, code, message, instead string) Reason {
	return Reason{Rule: rule, Code: code, Message: message, Instead: instead, Effect: Deny, Final: true}
}

// An OverruleRow is one row of the table of who may overrule what, as the
// documentation has it.
type OverruleRow struct {
	Because string // what the refusal is for
	By      Overruler
	Who     string // who can let it pass
	How     string
	Told    string // what the model is told
}

// Overrules is the table, the strictest row first.
var Overrules = []OverruleRow{
	{"tampering with the guardian, malformed or ambiguous input, no record", Nobody,
		"nobody", "–", "that it is not possible"},
	{"a call that is not understood, a grave risk, a manifest, a policy's deny", PolicyOwner,
		"the policy's owner", "a named exception with reason, scope and end, in the policy", "the reason, and what to do instead"},
	{"a policy's escalate", Person,
		"a person with the role, at a terminal or by the approvals' API; where the rule says `passkey`, in the console alone, with a passkey that somebody else has confirmed", "the exact bytes, once; or what does the same, for a session or until a time", "that a person is asked; never how to answer"},
	{"a rule or a policy that observes", Anybody,
		"nobody needs to", "it is recorded only; the first row stops it all the same", "nothing"},
}
