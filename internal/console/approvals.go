package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/internal/approval"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/visible"
	"reeve.example/reeve/internal/words"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// queueView is the acts that wait, those on top that were asked for last: what an agent waits for now.
type queueView struct {
	Waiting []waitingView
	Over    []*approval.Decision // what was answered, the newest first
	All     bool
	Grants  []*approval.Grant
	More    bool // more are waiting than are shown
	Damaged int
}

// maxPages is how many pages of acts that wait are read.
const maxPages = 10

// held reads the acts that wait, those first that were asked for last, and with all those that are over,
// too; more says that there are others.
func (v *visit) held(all bool) (list operator.ApprovalList, more bool, err error) {
	query := url.Values{}
	if all {
		query.Set("all", "1")
	}
	for range maxPages {
		var page operator.ApprovalList
		if err := v.ask("GET", "/approvals?"+query.Encode(), nil, &page); err != nil {
			return list, false, err
		}
		list.Approvals = append(list.Approvals, page.Approvals...)
		list.Damaged = append(list.Damaged, page.Damaged...)
		if list.Next = page.Next; list.Next == "" {
			break
		}
		query.Set("after", page.Next)
	}
	slices.SortStableFunc(list.Approvals, func(a, b *approval.Decision) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return list, list.Next != "", nil
}

// manyWait is how many acts one page shows.
const manyWait = 200

// waitingView is one that waits, with what the visitor can do about it.
type waitingView struct {
	*approval.Decision
	Rules    string
	Agreed   int // how many agree to one form of it
	Expected int
	Cannot   string
}

// listed is an act that waits, as the visitor meets it in a list.
func (v *visit) listed(h *approval.Decision) waitingView {
	w := waitingView{Decision: h, Rules: strings.Join(h.Rules(), ", "), Cannot: v.cannot(h)}
	w.Agreed, w.Expected = agreed(h)
	if h.AnswerOf(v.By) != nil && w.Cannot == "" {
		w.Cannot = "you have agreed already, and others must, too"
	}
	return w
}

// agreed is how many people agree to one form of an act, and how many must.
func agreed(h *approval.Decision) (n, of int) {
	for _, f := range h.Forms() {
		n = max(n, len(f.Answers))
	}
	for _, need := range h.Needs {
		of = max(of, need.Quorum)
	}
	return n, of
}

func (v *visit) approvals() (view, error) {
	all := v.FormValue("all") != ""
	list, more, err := v.held(all)
	if err != nil {
		return view{}, err
	}
	q := queueView{All: all, More: more, Damaged: len(list.Damaged)}
	for _, h := range list.Approvals {
		if h.State != approval.Held {
			q.Over = append(q.Over, h)
			continue
		}
		q.Waiting = append(q.Waiting, v.listed(h))
	}
	wait := len(q.Waiting)
	q.Waiting, q.More = q.Waiting[:min(wait, manyWait)], q.More || wait > manyWait
	q.Over = q.Over[:min(len(q.Over), manyWait)]
	var grants operator.GrantList
	if err := v.ask("GET", "/grants", nil, &grants); err != nil {
		return view{}, err
	}
	q.Grants = grants.Grants
	title := "Approvals"
	if wait > 0 {
		title = words.Count(wait, "act") + " wait — Approvals"
	}
	return view{template: "approvals", title: title, data: q}, nil
}

// cannot says why the visitor cannot answer; empty if they can, as far as the page knows.
func (v *visit) cannot(h *approval.Decision) string {
	if !v.may(answers) {
		return "your role, " + string(v.Role) + ", only looks"
	}
	shown := *h
	if shown.Exact == nil {
		shown.Exact = &approval.Exact{} // the list does not have it
	}
	if err := shown.May(v.By, true, v.console.Now()); err != nil {
		return err.Error()
	}
	return ""
}

// actView is one act that people are asked about.
type actView struct {
	*approval.Decision
	Before   []ledger.Line
	Rules    string
	Parts    []partView
	Changes  []changeView
	Cannot   string   // why the visitor cannot agree
	Refuses  bool     // whether the visitor can refuse
	NoMore   string   // why it can be agreed to once only
	More     []string // what agreement for more than once covers
	Problem  string   // what went wrong with an answer
	Note     string   // what they wrote, after that
	Agreed   int      // how many agree to one form of it
	Expected int
	Mine     bool       // the visitor has agreed to it as it was asked for
	Proposed []formView // by people, with changes
	Editable []argumentView
	Changed  []approval.Change    // by who agreed
	Passkey  bool                 // who agrees shows a passkey
	Same     []*approval.Decision // others that wait for the same, byte for byte
}

// formView is a form of an act that people propose.
type formView struct {
	approval.Form
	Who     string
	Missing int  // how many more must agree
	Mine    bool // the visitor has agreed to it
}

// argumentView is an argument that can be changed by who agrees.
type argumentView struct {
	approval.Argument
	Text   string
	Unseen bool // it has characters that are not seen, so that nobody knows what they leave
}

// Field is the name of an argument's field.
func (a argumentView) Field() string { return "argument " + a.Pointer }

// editable are the arguments of an act as a person can change them.
func editable(x *approval.Exact) (list []argumentView) {
	for _, arg := range x.Arguments {
		one := argumentView{Argument: arg, Text: unquoted(arg.Value)}
		one.Unseen = visible.Lines(one.Text) != one.Text
		list = append(list, one)
	}
	return list
}

// changesOf are what a person has changed in the fields of a form. A text stays a text; all
// else is JSON.
func (v *visit) changesOf(x *approval.Exact) (changes []operator.ArgumentChange) {
	for _, arg := range editable(x) {
		if !v.PostForm.Has(arg.Field()) || arg.Unseen || arg.Fixed {
			continue
		}
		text := typed(v.PostFormValue(arg.Field()))
		if text == typed(arg.Text) {
			continue
		}
		value := jsontext.Value(text)
		if strings.HasPrefix(arg.Value, `"`) {
			value, _ = jsontext.AppendQuote(nil, text)
		}
		changes = append(changes, operator.ArgumentChange{Pointer: arg.Pointer, Value: value})
	}
	return changes
}

// same are the other acts that wait which are this one again: of the same agent, with the
// same contents, by whichever session.
func (v *visit) same(h *approval.Decision) (list []*approval.Decision, err error) {
	waiting, _, err := v.held(false)
	if err != nil {
		return nil, err
	}
	for _, other := range waiting.Approvals {
		if other.ID != h.ID && other.State == approval.Held && again(other, h) && v.cannot(other) == "" {
			list = append(list, other)
		}
	}
	return list, nil
}

// again reports whether two acts that are held are the same but for their sessions: the
// digest covers what is done, and the policy's form of it.
func again(a, b *approval.Decision) bool {
	return a.Digest == b.Digest && a.Principal == b.Principal && a.Agent == b.Agent && a.Kind == b.Kind && a.Resource == b.Resource &&
		slices.EqualFunc(a.Needs, b.Needs, approval.Need.Same)
}

// partView is a text of the act, as it was read.
type partView struct {
	approval.Part
	Before string // what a passage takes the place of
	Edit   bool
	Pieces []piece
}

type changeView struct{ Pointer, Old, New string }

// Lines is the difference that the policy makes to one value.
func (c changeView) Lines() []line { return diff(unquoted(c.Old), unquoted(c.New)) }

func (v *visit) approval() (view, error) { return v.showApproval(http.StatusOK, "") }

func (v *visit) showApproval(status int, problem string) (view, error) {
	var shown operator.ApprovalShown
	if err := v.ask("GET", "/approvals/"+url.PathEscape(v.PathValue("id")), nil, &shown); err != nil {
		return view{}, err
	}
	h := shown.Decision
	a := actView{Decision: h, Before: shown.Before, Rules: strings.Join(h.Rules(), ", "), Problem: problem, Note: v.FormValue("note")}
	a.Changed = h.Changes()
	a.Agreed, a.Expected = agreed(h)
	for _, f := range h.Forms() {
		mine := slices.ContainsFunc(f.Answers, func(o approval.Answer) bool { return o.IsOf(v.By) })
		if f.Digest == "" {
			a.Mine = mine
			continue
		}
		var who []string
		for _, o := range f.Answers {
			who = append(who, o.By)
		}
		a.Proposed = append(a.Proposed, formView{f, strings.Join(who, ", "), a.Expected - len(who), mine})
	}
	now := v.console.Now()
	if v.may(answers) {
		if err := h.May(v.By, true, now); err != nil {
			a.Cannot = err.Error()
		}
		a.Refuses = h.May(v.By, false, now) == nil
	} else {
		a.Cannot = "your role, " + string(v.Role) + ", only looks"
	}
	if a.Passkey = h.WantsPasskey(v.By); a.Passkey && a.Cannot == "" && h.State == approval.Held {
		var err error
		if a.Cannot, err = v.noPasskey(); err != nil {
			return view{}, err
		}
	}
	if x := h.Exact; x != nil {
		if a.NoMore = x.Scope.Once; a.NoMore == "" {
			a.More = x.Scope.Words()
		}
		a.Editable = editable(x)
		for i := range a.Editable { // what was written stays when it was not taken
			if one := &a.Editable[i]; v.PostForm.Has(one.Field()) {
				one.Text = v.PostFormValue(one.Field())
			}
		}
		a.Parts = partViews(x.Parts)
		for _, c := range x.Changes {
			a.Changes = append(a.Changes, changeView{c.Pointer, c.Old, c.New})
		}
	}
	if h.State == approval.Held && a.Cannot == "" && !a.Passkey { // each has a passkey shown for it alone
		var err error
		if a.Same, err = v.same(h); err != nil {
			return view{}, err
		}
	}
	return view{"approval", stateTitle(h), a, status, "", false}, nil
}

func stateTitle(h *approval.Decision) string {
	if h.State == approval.Held {
		return "May this happen? — Approvals"
	}
	return "This is " + string(h.State) + " — Approvals"
}

// partViews puts a passage that is replaced beside what takes its place.
func partViews(parts []approval.Part) (list []partView) {
	for i, p := range parts {
		one := partView{Part: p, Pieces: marked(p)}
		switch {
		case p.Use == "replaced" && i+1 < len(parts) && parts[i+1].Use == "written":
			continue // shown with the next
		case p.Use == "written" && i > 0 && parts[i-1].Use == "replaced":
			one.Edit, one.Before = true, parts[i-1].Text
		}
		list = append(list, one)
	}
	return list
}

// marked is a part's text in pieces, so that what was found in it can be marked.
func marked(p approval.Part) (list []piece) {
	cuts := []int{0, len(p.Text)}
	for _, f := range p.Findings {
		if f.Start >= 0 && f.Start < f.End && f.End <= len(p.Text) {
			cuts = append(cuts, f.Start, f.End)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := 1; i < len(cuts); i++ {
		from, to := cuts[i-1], cuts[i]
		var codes []string
		for _, f := range p.Findings {
			if f.Start <= from && to <= f.End && f.Start < f.End && !slices.Contains(codes, f.Code) {
				codes = append(codes, f.Code)
			}
		}
		list = append(list, piece{numbered(visible.Lines(p.Text[from:to])), strings.Join(codes, ", ")})
	}
	return list
}

// wanted is the answer that a form asks for, or what is wrong with it.
func (v *visit) wanted(id string) (q operator.ApprovalAnswer, status int, problem string, err error) {
	refuse := func(status int, problem string) (operator.ApprovalAnswer, int, string, error) {
		return operator.ApprovalAnswer{}, status, problem, nil
	}
	q = operator.ApprovalAnswer{Seen: v.PostFormValue("seen"), Decision: v.PostFormValue("decision"), Note: strings.TrimSpace(v.PostFormValue("note"))}
	button, form, _ := strings.Cut(v.PostFormValue("answer"), " ")
	switch button {
	case "once":
		q.Answer = "approve"
	case "form":
		q.Answer, q.Form = "approve", form
	case "changed":
		var shown operator.ApprovalShown
		if err := v.ask("GET", "/approvals/"+url.PathEscape(id), nil, &shown); err != nil {
			return q, 0, "", err
		}
		if shown.Exact != nil {
			q.Changes = v.changesOf(shown.Exact)
		}
		if q.Answer = "approve"; len(q.Changes) == 0 {
			return refuse(http.StatusUnprocessableEntity, "Nothing was changed: change an argument, or approve it as it is.")
		}
		for _, c := range q.Changes {
			if !c.Value.IsValid() {
				return refuse(http.StatusUnprocessableEntity, "What is a number, a list or an object stays JSON, which this is not: "+string(c.Value))
			}
		}
	case "session":
		q.Answer, q.For.Session = "approve", true
	case "until":
		hours := map[string]time.Duration{"1h": time.Hour, "8h": 8 * time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}[v.PostFormValue("until")]
		if hours == 0 {
			return refuse(http.StatusBadRequest, "Choose for how long you agree.")
		}
		q.Answer, q.For.Until = "approve", v.console.Now().Add(hours)
	case "deny":
		if q.Answer = "deny"; q.Note == "" {
			return refuse(http.StatusUnprocessableEntity, "Say why: the agent is told your reason, and goes on by it.")
		}
	default:
		return refuse(http.StatusBadRequest, "Nothing was answered: choose one of the buttons.")
	}
	return q, 0, "", nil
}

// answer takes a person's answer. There is none that a key gives by itself: the form names
// which button was pressed, and without one nothing is answered.
func (v *visit) answer() (view, error) {
	q, status, problem, err := v.wanted(v.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	if problem != "" {
		return v.showApproval(status, problem)
	}
	if proof := v.PostFormValue("proof"); proof != "" {
		if err := json.Unmarshal([]byte(proof), &q.Passkey); err != nil {
			return v.showApproval(http.StatusBadRequest, "Your answer was not taken: the browser sent nothing that a passkey signed.")
		}
	}
	var after approval.Decision
	if err := v.ask("POST", "/approvals/"+url.PathEscape(v.PathValue("id")), q, &after); err != nil {
		if status := operator.StatusOf(err); status != 0 && status < 500 && status != http.StatusNotFound {
			return v.showApproval(status, "Your answer was not taken: "+strings.TrimSuffix(err.Error(), ".")+".")
		}
		return view{}, err
	}
	if len(v.PostForm["same"]) > 0 && q.Changes == nil && q.Form == "" {
		if problem := v.answerSame(&after, q); problem != "" {
			return v.showApproval(http.StatusConflict, problem)
		}
	}
	return there(home + "approvals/" + url.PathEscape(v.PathValue("id")))
}

// answerSame gives the same answer to the acts which are the answered one again, and that
// were named beside it. Each is looked at once more: what has changed meanwhile stays.
func (v *visit) answerSame(answered *approval.Decision, q operator.ApprovalAnswer) (problem string) {
	list, err := v.same(answered)
	if err != nil {
		return "The others could not be read: " + sentence(err.Error())
	}
	for _, other := range list {
		if !slices.Contains(v.PostForm["same"], other.ID) {
			continue
		}
		var shown operator.ApprovalShown
		path := "/approvals/" + url.PathEscape(other.ID)
		if err = v.ask("GET", path, nil, &shown); err != nil || shown.State != approval.Held || !again(shown.Decision, answered) {
			continue
		}
		q.Seen, q.Decision = shown.Seen, shown.Decision.Decision
		if err := v.ask("POST", path, q, new(approval.Decision)); err != nil {
			problem = "Of those that are the same, one was not answered: " + sentence(err.Error())
		}
	}
	return problem
}
