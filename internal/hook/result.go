package hook

import (
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
)

// What a tool gave stands in one member of an event, by the agents' documentation, and their
// versions and the tools themselves do not always keep to that. So whatever of an event is
// not known to be something else is taken for what the model will read, and is judged.

// envelope are the members of the agents' events that no tool writes: who tells of what.
var envelope = memberSet(`session_id sessionId sessionID conversation_id generation_id turn_id prompt_id
	transcript_path transcriptPath agent_transcript_path cwd directory workspace_roots permission_mode hook_event_name event timestamp
	tool_name toolName tool tool_input toolInput toolArgs args tool_use_id toolUseId toolCallId callID
	agent_id agentId agent_type agentType agentName parentAgentId parent_agent_id parentID servers
	model model_id cursor_version user_email mcp_context original_request_name command url server`)

// ownForms are those of the agents whose results tell what their model reads from what is
// beside it.
var ownForms = map[string]ownForm{
	"gemini": {model: []string{"llmContent", "error"}, user: []string{"returnDisplay"}},
	"copilot": {
		model: []string{"textResultForLlm", "text_result_for_llm"},
		user:  []string{"sessionLog", "session_log", "toolTelemetry", "tool_telemetry"},
	},
}

// ownForm is an agent's own form of results: the members that its model reads, the first of
// them in each, and those that only its user sees.
type ownForm struct{ model, user []string }

func memberSet(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// gives reads what a tool gave, and returns it: the first of the members that the agent is
// known to put it in, or else the one other that holds anything. All else that the event
// holds and that is no part of its envelope is judged beside it.
func (e *Event) gives(in rawjson.Value, usual ...string) rawjson.Value {
	given := firstOf(in, usual...)
	if !holdsAnything(given) {
		given = e.onlyOther(in, given)
	}
	e.result = given
	if e.Agent.ID == "cursor" { // which sends JSON in a string, and takes back what stands there
		e.result = unpacked(given)
	}
	e.gatherResult()
	at, _ := given.Span()
	for name, v := range in.Members() {
		if from, _ := v.Span(); envelope[name] || from == at {
			continue
		}
		e.gatherName(name, true)
		e.gather(unpacked(v), true)
	}
	return e.result
}

// onlyOther is the one member that holds anything, where the usual one holds nothing;
// else the usual one.
func (e *Event) onlyOther(in, usual rawjson.Value) rawjson.Value {
	var other rawjson.Value
	for name, v := range in.Members() {
		if envelope[name] || !holdsAnything(v) {
			continue
		}
		if other.Exists() {
			return usual
		}
		other = v
	}
	if other.Exists() {
		return other
	}
	return usual
}

// holdsAnything reports whether there is anything in a value that a model could follow.
func holdsAnything(v rawjson.Value) bool {
	switch v.Kind() {
	case rawjson.String:
		return !content.Word(v) && len(v.Raw()) > 2
	case rawjson.Array, rawjson.Object:
		return v.Len() > 0
	}
	return false
}

// gatherResult notes the texts of the result. Where the agent's own form says what its model
// reads, all else but what its user alone sees is judged beside it.
func (e *Event) gatherResult() {
	form := ownForms[e.Agent.ID]
	if !slices.ContainsFunc(form.model, func(name string) bool { return e.result.Get(name).Kind() > rawjson.Null }) {
		e.gather(e.result, false)
		return
	}
	for name, v := range e.result.Members() {
		if slices.Contains(form.user, name) {
			continue
		}
		beside := !slices.Contains(form.model, name)
		e.gatherName(name, beside)
		e.gather(v, beside)
	}
}

// gather notes the texts in a value: every string, what strings hold in base64, and
// long numbers and unusual names, which cannot be changed.
func (e *Event) gather(v rawjson.Value, aside bool) {
	const longNumber = 12 // as in a card's
	switch v.Kind() {
	case rawjson.String:
		e.gatherText(v, aside)
	case rawjson.Number:
		if len(v.Raw()) >= longNumber {
			e.texts = append(e.texts, text{text: string(v.Raw()), aside: aside})
		}
	case rawjson.Array:
		for _, el := range v.Elems() {
			e.gather(el, aside)
		}
	case rawjson.Object:
		for name, member := range v.Members() {
			e.gatherName(name, aside)
			if !fixedMember(name, member) {
				e.gather(member, aside)
			}
		}
	}
}

// gatherText notes a string, and what it holds in base64, which a model reads as well. Beside
// the result the words of protocols are left out.
func (e *Event) gatherText(v rawjson.Value, aside bool) {
	if aside && content.Word(v) {
		return
	}
	t := text{text: v.Text(), at: v, aside: aside}
	if aside {
		t.at = rawjson.Value{}
	}
	e.texts = append(e.texts, t)
	for _, decoded := range content.Encoded(t.text) {
		e.texts = append(e.texts, text{text: decoded, aside: aside, again: true})
	}
}

func (e *Event) gatherName(name string, aside bool) {
	if !content.PlainName(name) {
		e.texts = append(e.texts, text{text: name, aside: aside})
	}
}

// fixedMember reports whether a member holds one of a protocol's own words,
// which a notice in its place would make unreadable.
func fixedMember(name string, v rawjson.Value) bool {
	switch name {
	case "type", "role", "mimeType", "media_type":
		return content.Word(v)
	}
	return false
}

// dropped reports whether a text is left out of what the agent is given back: with what
// stands beside the result nothing comes back where the answer is the texts alone.
func (e *Event) dropped(t *text) bool {
	return t.aside && e.Agent.ID != "claude-code" && e.Agent.ID != "cursor"
}

// text is what the model may read of a result, in one text.
func (e *Event) text(o *outcome) string {
	if o.effect != act.Modify {
		return o.reason
	}
	var given []string
	for i, t := range e.texts {
		if !t.aside && !t.again {
			given = append(given, o.texts[i])
		}
	}
	return strings.Join(given, "\n")
}

// kept is a result as the model may read it, in the form in which it came: with its texts
// changed, or made anew with a notice.
func (e *Event) kept(o *outcome) []byte {
	if o.effect != act.Modify {
		return e.withheld("[withheld by reeve: " + o.reason + "]")
	}
	var changes []rawjson.Replacement
	for i, t := range e.texts {
		if t.at.Exists() && o.texts[i] != t.text {
			changes = append(changes, rawjson.Replacement{At: t.at, With: rawjson.Quote(o.texts[i])})
		}
	}
	raw, ok := splice(e.result, changes)
	if !ok || !e.result.Exists() {
		return e.withheld("[withheld by reeve]")
	}
	return raw
}

// stays reports whether what was taken out of a result's texts stands in it a second time,
// where nobody looked for it: in a name that is too plain to be judged, a protocol's word, a
// number. It would come back with the changed result.
func (e *Event) stays(texts []string) bool {
	taken := map[string]bool{}
	for i, t := range e.texts {
		if texts[i] != t.text {
			takenOut(t.text, texts[i], taken)
		}
	}
	return len(taken) > 0 && e.Kind == Result && repeats(e.result, taken)
}

// Bounds of a word that is looked for, and of what it is looked for in.
const shortestTaken, longestTaken = 6, 40

// takenOut adds the words that a text has lost. Of a sentence only those count that look as if
// they were no language: the words of an order are in many names.
func takenOut(before, after string, taken map[string]bool) {
	const few = 4
	var words []string
	for word := range strings.FieldsFuncSeq(before, betweenWords) {
		if len(word) >= shortestTaken && len(word) <= longestTaken && !strings.Contains(after, word) {
			words = append(words, word)
		}
	}
	for _, word := range words {
		if len(words) <= few || strings.ContainsAny(word, "0123456789") || strings.ToLower(word[1:]) != word[1:] {
			taken[strings.ToLower(word)] = true
		}
	}
}

func betweenWords(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`=:,;()[]{}<>|&", r) }

// repeats reports whether a value holds one of these words in what is not judged.
func repeats(v rawjson.Value, words map[string]bool) bool {
	switch v.Kind() {
	case rawjson.Number:
		return repeatsIn(string(v.Raw()), words)
	case rawjson.Array:
		for _, el := range v.Elems() {
			if repeats(el, words) {
				return true
			}
		}
	case rawjson.Object:
		for name, member := range v.Members() {
			if !formNames[name] && repeatsIn(name, words) || fixedMember(name, member) && repeatsIn(member.Text(), words) || repeats(member, words) {
				return true
			}
		}
	}
	return false
}

func repeatsIn(text string, words map[string]bool) bool {
	if len(text) > longestTaken { // which is judged
		return false
	}
	text = strings.ToLower(text)
	for from := range len(text) {
		for to := from + shortestTaken; to <= len(text); to++ {
			if words[text[from:to]] {
				return true
			}
		}
	}
	return false
}

// formNames are the names of the forms themselves.
var formNames = memberSet("content structuredContent annotations resource resource_link mimeType isError audience stdout stderr interrupted isImage " +
	"filePath filenames numLines startLine totalLines originalFile structuredPatch oldString newString results")

// withheld is what stands in the place of a result that must not be read: made anew, and
// nothing of it is from the result.
func (e *Event) withheld(notice string) []byte {
	said := rawjson.Quote(notice)
	block := obj(nil).str("type", "text").raw("text", said).end()
	kind := e.result.Kind()
	switch form := claudeForms[e.Tool.Name]; {
	case e.Tool.MCP && kind == rawjson.Object:
		return obj(nil).raw("content", list(block)).end()
	case e.Tool.MCP && kind == rawjson.Array:
		return list(block)
	case e.Tool.MCP || kind == rawjson.String || e.Agent.ID != "claude-code":
		return said
	case claudeForms[e.Tool.Given] != "":
		return []byte(strings.ReplaceAll(claudeForms[e.Tool.Given], "NOTICE", string(said)))
	case form != "":
		return []byte(strings.ReplaceAll(form, "NOTICE", string(said)))
	case e.result.Exists():
		return likeness(e.result, said)
	}
	return said
}

func list(el []byte) []byte { return append(append([]byte{'['}, el...), ']') }

// claudeForms are the results of Claude Code's own tools, with nothing but a notice in them.
// Claude Code shows its model the result as it was where what is to stand in its place has
// not the form of that tool's results (sdk-tools.d.ts in its package).
var claudeForms = map[string]string{
	Shell:          `{"stdout":NOTICE,"stderr":"","interrupted":false,"isImage":false}`,
	ReadFile:       `{"type":"text","file":{"filePath":"","content":NOTICE,"numLines":1,"startLine":1,"totalLines":1}}`,
	"Edit":         `{"filePath":"","oldString":"","newString":NOTICE,"originalFile":"","structuredPatch":[],"userModified":false,"replaceAll":false}`,
	WriteFile:      `{"type":"update","filePath":"","content":NOTICE,"structuredPatch":[],"originalFile":null}`,
	"NotebookEdit": `{"new_source":NOTICE,"cell_type":"code","language":"","edit_mode":"replace","notebook_path":"","original_file":"","updated_file":""}`,
	"Glob":         `{"durationMs":0,"numFiles":1,"filenames":[NOTICE],"truncated":false}`,
	SearchText:     `{"mode":"content","numFiles":0,"filenames":[],"content":NOTICE,"numLines":1}`,
	WebFetch:       `{"bytes":0,"code":200,"codeText":"","result":NOTICE,"durationMs":0,"url":""}`,
	WebSearch:      `{"query":"","results":[NOTICE],"durationSeconds":0}`,
	Subagent: `{"status":"completed","agentId":"","content":[{"type":"text","text":NOTICE}],"totalToolUseCount":0,"totalDurationMs":0,"totalTokens":0,` +
		`"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,"server_tool_use":null,"service_tier":null,"cache_creation":null},"prompt":""}`,
	"ReadMcpResource":      `{"contents":[{"uri":"","text":NOTICE}]}`,
	"ReadMcpResourceTool":  `{"contents":[{"uri":"","text":NOTICE}]}`,
	"ListMcpResources":     `[{"uri":"","name":NOTICE,"server":""}]`,
	"ListMcpResourcesTool": `[{"uri":"","name":NOTICE,"server":""}]`,
	"REPL":                 `{"code":"","result":{},"stdout":NOTICE,"stderr":""}`,
}

// likeness is a value of the same form with none of its contents, for a tool whose form is not
// known: a notice for each text, words of protocols as they are, and names only that are a
// program's own.
func likeness(v rawjson.Value, said []byte) []byte {
	switch v.Kind() {
	case rawjson.String:
		return said
	case rawjson.Number:
		return []byte("0")
	case rawjson.Bool:
		return []byte("false")
	case rawjson.Array:
		for _, el := range v.Elems() {
			return list(likeness(el, said))
		}
		return []byte("[]")
	case rawjson.Object:
		var out obj
		for name, member := range v.Members() {
			switch {
			case !identifier(name):
			case stateWords[member.Text()]:
				out = out.raw(name, member.Raw())
			default:
				out = out.raw(name, likeness(member, said))
			}
		}
		return out.end()
	}
	return []byte("null")
}

// stateWords are those by which tools tell the forms of their results apart.
var stateWords = memberSet("text image pdf notebook parts resource success error completed running failed killed pending in_progress created updated create update " +
	"async_launched remote_launched file_unchanged local_bash local_agent not_ready timeout")

// identifier reports whether a name is one that a program's author chose: letters only, and
// few of them.
func identifier(name string) bool {
	for i := range len(name) {
		if c := name[i] | 0x20; (c < 'a' || c > 'z') && name[i] != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 24
}
