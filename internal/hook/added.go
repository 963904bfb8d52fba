package hook

import (
	"bytes"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
)

// Hooks stand beside one another in an agent's settings, and each of them is heard. One that somebody adds beside
// reeve's leaves those as they are, and may all the same answer what the agent would ask its person, or give a call
// other arguments when it has been judged. Others run a program whenever something has happened.

// deciding are the events, of all agents and without the signs between their words, whose hooks may answer in a
// person's place or change what is done after others have judged it.
var deciding = map[string]bool{
	"pretooluse": true, "permissionrequest": true, "elicitation": true, "elicitationresult": true, // Claude Code, Codex, Copilot, Amazon Q
	"beforetool": true, "beforetoolselection": true, "beforemodel": true, "aftermodel": true, // Gemini CLI
	"beforeshellexecution": true, "beforemcpexecution": true, "beforereadfile": true, "beforetabfileread": true, // Cursor
	"toolexecutebefore": true, "permissionask": true, // OpenCode
}

// Decides reports whether a hook of an event may answer in a person's place, or change what is done.
func Decides(event string) bool { return deciding[plainEvent(event)] }

func plainEvent(event string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(event))
}

// Adds tells of which events a file of settings that becomes after has hooks that it does not have before. A hook
// that is changed is another one.
func Adds(before, after []byte) (events []string) {
	from, ok := hooksOf(before)
	to, same := hooksOf(after)
	if !ok && len(before) > 0 || !same {
		from, to = looseHooks(before), looseHooks(after)
	}
	had := map[anyHook]int{}
	for _, h := range from {
		had[h]++
	}
	for _, h := range to {
		if had[h]--; had[h] < 0 && !slices.Contains(events, h.event) {
			events = append(events, h.event)
		}
	}
	return events
}

// anyHook is a hook of whomever: its event, and what is run when.
type anyHook struct{ event, runs string }

// hooksOf are the hooks in a text of JSON; ok is false where it is none.
func hooksOf(text []byte) (list []anyHook, ok bool) {
	doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
	if err != nil {
		return nil, false
	}
	for event, entries := range doc.Root().Get("hooks").Members() {
		if entries.Kind() == rawjson.Object {
			list = append(list, anyHook{event, string(entries.AppendCanonical(nil))})
		}
		for _, e := range entries.Elems() {
			if e.Kind() != rawjson.Object { // a name, in a list of those that are switched off
				continue
			}
			if e.Get("hooks").Kind() != rawjson.Array {
				list = append(list, anyHook{event, string(e.AppendCanonical(nil))})
			}
			for _, h := range e.Get("hooks").Elems() {
				list = append(list, anyHook{event, e.Get("matcher").Text() + "\x00" + string(h.AppendCanonical(nil))})
			}
		}
	}
	return list, true
}

// looseEvent is the name of a deciding event in a text that is no JSON: TOML, a plugin's program, JSON with comments or
// a part of one. agentReplies is how a plugin of OpenCode answers its person's question by itself.
var (
	looseEvent   = lazyregexp.New(`(?i)\b(?:pre_?tool_?use|permission_?request|elicitation(?:_?result)?|before_?tool(?:_?selection)?|before_?model|after_?model|before_?shell_?execution|before_?mcp_?execution|before_?read_?file|before_?tab_?file_?read|tool\.execute\.before|permission\.ask)\b`)
	tomlHook     = lazyregexp.New(`(?m)^\s*\[\[?\s*hooks\s*\.\s*["']?(\w+)`)
	agentReplies = lazyregexp.New(`(?i)\bpost_?session(?:_?by)?_?id_?permissions|\bpermission\.(?:reply|respond)\b`)
)

// looseHooks are those of deciding events that a text names, as often as it does, and those of any in a text of TOML.
func looseHooks(text []byte) (list []anyHook) {
	for _, m := range looseEvent.FindAllString(string(text), -1) {
		list = append(list, anyHook{event: m})
	}
	for range agentReplies.FindAllString(string(text), -1) {
		list = append(list, anyHook{event: "permission.ask"})
	}
	for _, m := range tomlHook.FindAllStringSubmatch(string(text), -1) {
		list = append(list, anyHook{event: m[1]})
	}
	return list
}
