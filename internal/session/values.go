package session

import (
	"slices"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/words"
)

// Bounds of what is read into a session's values.
const (
	maxUsed      = 256  // values of an act that the agent may have made up
	maxUsedText  = 1024 // bytes of each: a longer text is no target
	maxCallNames = 256  // names of tools that are remembered for their results
	maxCallName  = 200  // bytes of each
	wholeEvery   = MaxReplay / 2
)

// Brings reports whether an act brings text to the agent that somebody wrote. What an
// MCP server lists of itself is agreed to otherwise (see mcp/pins), and says nothing
// that was asked for.
func Brings(a *act.Action) bool {
	switch a.Kind {
	case act.MessageUser, act.MessageSystem, act.ToolResult, act.TaskResult, act.KnowledgeRetrieve, act.MemoryRetrieve, act.Trigger, act.A2AReceive:
		return true
	case act.MCPRequest:
		return a.Speaker() == act.FromServer && a.ID != ""
	case act.MCPResponse:
		return a.Listed == nil && !slices.Contains(housekeeping, a.InnerMethod)
	}
	return false
}

// housekeeping are the methods of MCP whose answers tell of the server, and not of
// what was asked.
var housekeeping = []string{
	"initialize", "server/discover", "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
	"logging/setLevel", "resources/subscribe", "resources/unsubscribe", "completion/complete",
}

// CalledBy is the canonical name of the tool whose result an act is, or of the executor
// or peer that it comes from; empty when that is not known. What a session remembers of
// the call counts before what the result says of itself.
func (s *State) CalledBy(a *act.Action) string {
	if s != nil {
		switch {
		case a.Answers == "":
		case a.Kind == act.ToolResult:
			if seen := s.find(hash('x', a.Answers)); seen != nil {
				return s.callName(seen)
			}
			return ""
		case a.Kind == act.MCPResponse:
			if seen := s.find(requestOf(a, a.Answers)); seen != nil && seen.tool > 0 {
				return s.callName(seen)
			}
		}
	}
	if a.Door == "a2g" { // whose reports name their tools as they please
		return ""
	}
	return a.Canonical
}

func (s *State) callName(seen *Seen) string {
	if seen.tool == 0 {
		return ""
	}
	return strings.TrimPrefix(s.names[seen.tool-1], localMark)
}

// localMark stands before the name of a tool whose call names files or runs a command,
// and goes to no address. No tool's canonical name begins so.
const localMark = " "

// Local reports whether an act brings what was read from the machine itself, as the
// session knows it: the result of such a call, or files that were looked up by their
// paths. What a result says of itself does not count.
func (s *State) Local(a *act.Action) bool {
	var seen *Seen
	switch {
	case a.Kind == act.KnowledgeRetrieve:
		return len(a.Retrieved) > 0 && !slices.ContainsFunc(a.Retrieved, func(id string) bool { return !strings.HasPrefix(id, "/") || strings.HasPrefix(id, "//") })
	case s == nil || a.Answers == "":
	case a.Kind == act.ToolResult:
		seen = s.find(hash('x', a.Answers))
	case a.Kind == act.MCPResponse:
		seen = s.find(requestOf(a, a.Answers))
	}
	return seen != nil && seen.tool > 0 && strings.HasPrefix(s.names[seen.tool-1], localMark)
}

// nameOf is the place of a tool's name from 1; 0 when there is no more room.
func (s *State) nameOf(tool string) uint16 {
	if tool == "" {
		return 0
	}
	i := slices.Index(s.names, tool)
	if i < 0 {
		if len(s.names) == maxCallNames {
			return 0
		}
		i = len(s.names)
		s.names = append(s.names, tool)
	}
	return uint16(i + 1)
}

// Read adds to a step what the session's values gain by an act that was let through:
// the texts that it brings, from the source that the policy says, or what it uses. It
// must be the state's next step. endorsed are the values that a person has just agreed
// to, by what they are used as. A step that it is not called for is one whose texts nobody
// has read: what the session does not know may be foreign from then on.
func (s *State) Read(st *Step, a *act.Action, from provenance.Source, endorsed []provenance.Use) {
	if st.effect == act.Deny || st.effect == act.Escalate {
		s.bound(st)
		return
	}
	if a.Kind == act.MessageUser && s.Inherits() { // what began the session says it, and not the user
		st.values = s.Values.Uses(textsOf(a)...)
		s.bound(st)
		return
	}
	var texts []provenance.Text
	if Brings(a) {
		st.called = words.Cut(s.CalledBy(a), maxCallName)
		for i := range a.Content {
			if Returns(a) && s.Wrote(a.Content[i].Text) {
				continue
			}
			one := from
			if i < len(from.Each) {
				one.By = max(from.By, from.Each[i])
			}
			texts = appendTexts(texts, a, &a.Content[i], one)
		}
	}
	st.values = s.Values.Read(texts...)
	if !s.Values.Foreign && !s.Values.Lost {
		st.values.Plan(planned(a)...)
		for _, tool := range a.Declared { // before the session began, so before anything foreign, too
			if !slices.Contains(s.Values.Planned, tool) {
				st.values.Plan(tool)
			}
		}
	}
	if Brings(a) {
		s.Values.Tag(st.values, from.Tags...)
		if from.By == provenance.Foreign && from.Each == nil && !s.own(a) || slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return l.Foreign }) {
			st.values.Taint()
		}
	} else if used := uses(a); used != nil {
		st.values.Join(s.Values.Uses(used...))
	}
	for _, u := range endorsed {
		s.Values.Endorse(st.values, u)
	}
	s.bound(st)
}

// Labels are the tags of what the session has read, and foreign where it read anything
// that is not one's own, or where that is not known.
func (s *State) Labels() []string {
	labels := slices.Clone(s.Values.Tags)
	if s.Values.Foreign || s.Values.Lost || s.taintedTurn != 0 {
		labels = append(labels, provenance.Foreign.String())
	}
	return labels
}

// LabelsWith are the labels that the session has with its next step.
func (s *State) LabelsWith(st *Step) []string {
	labels := s.Labels()
	if st.values == nil {
		return labels
	}
	tags, foreign := st.values.Labels()
	for _, t := range tags {
		if !slices.Contains(labels, t) {
			labels = append(labels, t)
		}
	}
	if f := provenance.Foreign.String(); foreign && !slices.Contains(labels, f) {
		labels = append(labels, f)
	}
	return labels
}

// Clear is the step by which a person takes labels away that the session has: who vouches
// for what it has read takes away that it is foreign. It must be the state's next step.
func (s *State) Clear(at time.Time, labels []string) *Step {
	st := s.unchanged(at)
	st.effect = act.Allow
	vouched := slices.Contains(labels, provenance.Foreign.String())
	if vouched {
		st.taintedTurn = 0
	}
	st.values = s.Values.Read()
	s.Values.Bound(st.values, true, st.steps) // so that nothing before it is looked for
	st.values.Clear(vouched, slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == provenance.Foreign.String() })...)
	return st
}

// taken are labels that a session has of another one's.
type taken struct {
	tags    []string
	foreign bool
}

// Takes gives a session the labels of one that it is a part of, whatever has been read in
// that since. The session's next step keeps them. What a part has read the whole has by the same
// entry: so a label that only the part has was taken away from the whole by a person, and holds
// for no part.
func (s *State) Takes(from *State) {
	for _, t := range from.Values.Tags {
		if !slices.Contains(s.Values.Tags, t) && len(s.Values.Tags) < provenance.MaxTags {
			s.Values.Tags, s.taken.tags = append(s.Values.Tags, t), append(s.taken.tags, t)
		}
	}
	if (from.Values.Foreign || from.Values.Lost) && !s.Values.Foreign {
		s.Values.Foreign, s.taken.foreign = true, true
	}
	if !from.Known || from.Steps == 0 {
		return // it has forgotten what it was told
	}
	s.Values.Tags = slices.DeleteFunc(slices.Clone(s.Values.Tags), func(t string) bool { return !slices.Contains(from.Values.Tags, t) })
	if s.Values.Foreign && !from.Values.Foreign && !from.Values.Lost {
		s.Values.Foreign, s.taintedTurn = false, 0
	}
}

// Begins is the first step of a session that knows what this one does after a step of it.
// name is this one's. Of the acts with these keys, which are all that the policy asks for,
// the new one has done none.
func (s *State) Begins(st *Step, name [16]byte, keys []uint64) *Step {
	begun := State{Known: true}
	begun.Inherit(s, name)
	if st.values != nil {
		begun.Values.Apply(st.values, 0)
	}
	first := begun.unchanged(time.UnixMilli(st.at))
	first.effect = act.Allow
	begun.DidNone(first, keys)
	begun.bound(first)
	return first
}

// DidNone has a step say that the session has done none of the acts with these keys.
func (s *State) DidNone(st *Step, keys []uint64) {
	if keys != nil {
		s.Counts(st, &act.Action{}, keys, func(uint64) bool { return false }, false)
	}
}

// bound makes a step whole now and then, so that a session's values can be rebuilt
// from its newest writes.
func (s *State) bound(st *Step) {
	if st.values == nil {
		st.values = s.Values.Read()
	}
	if s.taken.foreign || s.taken.tags != nil {
		st.values.Takes(s.taken.tags, s.taken.foreign)
	}
	s.Values.Bound(st.values, s.sinceWhole+1 >= wholeEvery || s.Steps == 0 && s.Inherits(), st.steps)
}

// Inherit has a session that has no step yet know what the one knows that began it. name
// is that one's.
func (s *State) Inherit(from *State, name [16]byte) { s.Values = *from.Values.Inherited(name) }

// Inherits reports whether the session knows what another one knew that began it.
func (s *State) Inherits() bool { return s.Values.Under != [16]byte{} }

// Labels are what the session has read by the step: foreign, and tags that it had not before.
func (st *Step) Labels() []string {
	if st.values == nil {
		return nil
	}
	tags, foreign := st.values.Labels()
	labels := slices.Clone(tags)
	if foreign {
		labels = append(labels, provenance.Foreign.String())
	}
	return labels
}

// Gains are the labels that a session has with a step and that another one has not.
func (s *State) Gains(st *Step, other *State) (labels []string) {
	if st.values == nil {
		return nil
	}
	tags, foreign := st.values.Labels()
	for _, t := range append(slices.Clone(s.Values.Tags), tags...) {
		if !slices.Contains(other.Values.Tags, t) && !slices.Contains(labels, t) {
			labels = append(labels, t)
		}
	}
	if (foreign || s.Values.Foreign || s.Values.Lost) && !other.Values.Foreign {
		labels = append(labels, provenance.Foreign.String())
	}
	return labels
}

// Label is the step by which a session gets labels that another one has which it has to do
// with, and texts that come with them. It must be the state's next step.
func (s *State) Label(at time.Time, labels []string, texts ...provenance.Text) *Step {
	st := s.unchanged(at)
	st.effect = act.Allow
	st.values = s.Values.Read(texts...)
	for _, l := range labels {
		if l == provenance.Foreign.String() {
			st.values.Taint()
		} else {
			s.Values.Tag(st.values, l)
		}
	}
	s.bound(st)
	return st
}

// appendTexts adds the texts of one leaf of what comes in.
func appendTexts(texts []provenance.Text, a *act.Action, leaf *act.Leaf, from provenance.Source) []provenance.Text {
	one := provenance.Text{Said: leaf.Text, By: from.By, At: within(a, leaf), Fields: from.Fields}
	if leaf.Foreign {
		one.By, one.Fields = provenance.Foreign, nil
		return append(texts, one)
	}
	if a.Kind != act.MessageUser {
		return append(texts, one)
	}
	if part := partOf(leaf); part != saidPart {
		one.By, one.Fields = from.Files, nil
		if part == besidePart {
			if one.By = from.Beside; one.By == provenance.Foreign && (leaf.Fixed || isWord(leaf)) {
				return texts // a name, an id, a time: nobody's, and no text that somebody has read
			}
		}
		return append(texts, one)
	}
	own, quoted := unquote(leaf.Text)
	one.Said = own
	if quoted != "" {
		texts = append(texts, provenance.Text{Said: quoted, By: from.Quotes})
	}
	return append(texts, one)
}

// The parts of a user's message.
const (
	saidPart   = iota // the user's words
	filePart          // a file, with its name and address
	besidePart        // what a program put beside them: data, metadata, citations
)

// partOf says what part of a user's message a leaf is. Words are what stands in a part that is
// a text; whatever else came with them a host has put there, of which nobody knows who wrote it.
func partOf(leaf *act.Leaf) int {
	rest, within := strings.CutPrefix(leaf.Pointer, leaf.Item)
	switch {
	case leaf.File || leaf.Base64 || within && leaf.Item != "" && strings.HasPrefix(rest, "/file"):
		return filePart
	case !leaf.Fixed && within && leaf.Item != "" && (rest == "/text" || rest == "/value"):
		return saidPart
	}
	for _, of := range []string{"/params/message", "/params/citation", "/params/payload"} { // of protocols that have parts
		if leaf.Item != "" || strings.HasPrefix(leaf.Pointer, of) {
			return besidePart
		}
	}
	return saidPart
}

// isWord reports whether a leaf of what a host tells beside a message is one word: what tells a
// model nothing. What stands in data and citations is meant to be read.
func isWord(leaf *act.Leaf) bool {
	rest, _ := strings.CutPrefix(leaf.Pointer, leaf.Item)
	return !strings.ContainsAny(leaf.Text, " \t\r\n") && !strings.HasPrefix(rest, "/data") && !strings.HasPrefix(leaf.Pointer, "/params/citation")
}

// results are the places at which the result of a call stands in a request, the longest
// first. Own fields are counted from there.
var results = []string{
	"/params/message/result/structuredContent", "/params/result/structuredContent", "/result/structuredContent",
	"/params/message/result", "/params/result", "/result",
}

// within is where a leaf stands in the result that it is a part of; empty for a text
// that is a result by itself.
func within(a *act.Action, leaf *act.Leaf) string {
	if leaf.Item != "" { // a part, which is a text or data
		rest, is := strings.CutPrefix(leaf.Pointer, leaf.Item+"/data")
		if is {
			return rest
		}
		return ""
	}
	for _, base := range results {
		if rest, is := strings.CutPrefix(leaf.Pointer, base); is && !strings.HasPrefix(rest, "/content/") {
			return rest
		}
	}
	return ""
}

// forwarded begins a message that somebody passes on.
var forwarded = []string{"-----original message", "---------- forwarded message", "begin forwarded message", "----- forwarded"}

// unquote tells what a user says apart from what they quote: lines that begin with > or |, what
// a line "… wrote:" introduces, a block of mark-up that quotes, a mail with its headers, and a
// message that is passed on. From the last three on all is somebody else's: who pastes a mail
// says what they want before it.
func unquote(text string) (own, quoted string) {
	if !strings.ContainsAny(text, ">|:-") {
		return text, ""
	}
	var said, cited strings.Builder
	passed, introduced, block := false, false, 0
	var headers mailParts
	from := 0 // where in said the headers of a mail began
	for line := range strings.Lines(strings.ReplaceAll(text, "<blockquote", "\n<blockquote")) {
		trimmed := strings.TrimSpace(line)
		lower := strings.ToLower(trimmed)
		passed = passed || slices.ContainsFunc(forwarded, func(begin string) bool { return strings.HasPrefix(lower, begin) })
		block += strings.Count(lower, "<blockquote")
		quotes := strings.HasPrefix(trimmed, ">") || strings.HasPrefix(trimmed, "|")
		if introduced && trimmed != "" { // without marks, or with them
			passed, introduced = passed || !quotes, false
		}
		if part := mailHeader(lower); part != 0 {
			if headers == 0 {
				from = said.Len()
			}
			headers |= part
		} else if trimmed != "" {
			headers = 0
		}
		if !passed && headers&fromHeader != 0 && headers&(mailsHeader|otherHeader) == mailsHeader|otherHeader { // a journey has a from and a to as well
			passed = true
			all := said.String()
			cited.WriteString(all[from:])
			said.Reset()
			said.WriteString(all[:from])
		}
		if passed || block > 0 || quotes {
			cited.WriteString(line)
		} else {
			said.WriteString(line)
		}
		block = max(0, block-strings.Count(lower, "</blockquote"))
		introduced = strings.HasSuffix(lower, "wrote:") || strings.HasSuffix(lower, "schrieb:") || strings.HasSuffix(lower, "a écrit :") || introduced && trimmed == ""
	}
	return said.String(), cited.String()
}

// mailParts are the kinds of headers that a mail has.
type mailParts uint8

const (
	fromHeader  mailParts = 1 << iota // who wrote it
	otherHeader                       // another one
	mailsHeader                       // what only mails have: a subject, an address
)

// mailHeader tells what header of a mail a line is, in lower case; 0 for none.
func mailHeader(line string) (part mailParts) {
	name, value, ok := strings.Cut(strings.Trim(line, "*_ "), ":")
	if !ok || strings.Trim(value, "*_ ") == "" {
		return 0
	}
	switch strings.Trim(name, "*_ ") {
	case "from", "von", "de":
		part = fromHeader
	case "subject", "betreff", "objet":
		part = otherHeader | mailsHeader
	case "to", "cc", "sent", "date", "reply-to", "an", "gesendet":
		part = otherHeader
	default:
		return 0
	}
	if part == fromHeader && strings.Contains(value, "@") {
		part |= mailsHeader
	}
	return part
}

// uses are the values that an act uses, which are short: of a call, its arguments, and
// of a message to others, what it says.
func uses(a *act.Action) (values []string) {
	if !a.IsCall() && a.Kind != act.A2ASend && a.Kind != act.MCPRequest && a.Kind != act.MemoryStore {
		return nil
	}
	for i := range a.Content {
		if l := &a.Content[i]; len(l.Text) <= maxUsedText && len(values) < maxUsed {
			values = append(values, l.Text)
		}
	}
	return values
}

// textsOf are the texts of an act.
func textsOf(a *act.Action) (texts []string) {
	for i := range a.Content {
		texts = append(texts, a.Content[i].Text)
	}
	return texts
}

// planned are the tools that an act plans or uses: the one that it calls, and those that
// the agent says it will call, in data with a member plan beside its words.
func planned(a *act.Action) (tools []string) {
	if a.IsCall() {
		return []string{a.Canonical}
	}
	if a.Kind != act.MessageAgent {
		return nil
	}
	for i := range a.Content {
		l := &a.Content[i]
		if rest, is := strings.CutPrefix(l.Pointer, l.Item+"/data/plan/"); is && l.Item != "" && !strings.Contains(rest, "/") {
			name, _ := canon.Name(l.Text)
			tools = append(tools, name)
		}
	}
	return tools
}

// At is the position of the record of one of the session's steps, as far as that is
// remembered, and the tool whose result it was, if it was one.
func (s *State) At(step int64) (at act.Position, tool string, ok bool) {
	for i := range s.ids {
		if seen := &s.ids[i]; seen.Step == step && seen.Placed {
			return seen.At, s.callName(seen), true
		}
	}
	return act.Position{}, "", false
}
