package hazard

import (
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Who types into a terminal where a person sits answers for that person: the question of an agent
// that asks before it acts, or a command by which people decide. What is typed there is judged by
// what it says; that a server is started in another window is none of this.

// typers are the programs that type into terminals and windows, with the subcommands by which they
// do; empty for one that does nothing else.
var typers = map[string]struct{ texts, keys string }{
	"tmux":    {texts: "set-buffer setb", keys: "send-keys send send-k send-ke send-key"}, // a word that is no key is typed as it stands
	"tmate":   {texts: "set-buffer setb", keys: "send-keys send send-k send-ke send-key"},
	"byobu":   {texts: "set-buffer setb", keys: "send-keys send send-k send-ke send-key"},
	"screen":  {texts: "stuff"},
	"xdotool": {texts: "type", keys: "key"},
	"ydotool": {texts: "type", keys: "key"},
	"wtype":   {texts: ""},
	"wlrctl":  {texts: "type"},
	"kitty":   {texts: "send-text", keys: "send-key"},
	"kitten":  {texts: "send-text", keys: "send-key"},
	"wezterm": {texts: "send-text"},
	"zellij":  {texts: "write-chars", keys: "write"},
	"vim":     {texts: vimSends},
	"gvim":    {texts: vimSends},
	"nvim":    {texts: vimSends},
	"mvim":    {texts: vimSends},
	"vimr":    {texts: vimSends},
	"xvkbd":   {texts: "-text"},
	"ttyecho": {texts: ""},
	"writevt": {texts: ""},
}

// vimSends is how an editor that runs already is given keys.
const vimSends = "--remote-send"

// typing are their options behind which stands a value.
var typing = set("-t -N -b -c -p -S -X -d -D -w -m --match -to --to --pane-id --pane --delay --window --file --target --key-delay --key-hold -M -k -P -s -n")

// typedKeys are names of keys, in lower case, that stand for a character; others move about.
var typedKeys = map[string]string{
	"enter": "\n", "return": "\n", "kp_enter": "\n", "kpenter": "\n", "c-m": "\n", "c-j": "\n", "ctrl+m": "\n", "ctrl+j": "\n", "linefeed": "\n", "13": "\n", "10": "\n", "28:1": "\n", "space": " ",
	"up": "", "down": "", "left": "", "right": "", "tab": "", "btab": "", "escape": "", "bspace": "", "backspace": "",
}

var (
	// control is a key that is held with another, or one of a number.
	control = lazyregexp.New(`(?i)^(?:(?:c|m|s|ctrl|alt|shift|super|control)[-+].+|f\d+|\d+:[01])$`)
	// newlines are the ways in which programs are told of the key that ends a line.
	newlines = strings.NewReplacer("<CR>", "\n", "<cr>", "\n", "<Enter>", "\n", "<Return>", "\n", "<NL>", "\n", `\n`, "\n", `\r`, "\n", "\r", "\n", `\015`, "\n", `\012`, "\n", `\x0d`, "\n", `\x0a`, "\n", "^M", "\n", "^J", "\n", `\u000d`, "\n")
	// agreeing is a line that answers a question, or chooses one of some answers.
	agreeing = lazyregexp.New(`(?i)^/?(?:y|yes|yep|j|ja|o|oui|s[ií]|ok|okay|sure|a|all|always|allow(?: .{0,40})?|approved?(?: .{0,60})?|accept(?:ed)?|agreed?|confirm(?:ed)?|proceed|continue|go ahead|do it|i agree|true|\d)[.!]?$`)
	// orderly is a command of the guardian's own.
	orderly = lazyregexp.New(`(?im)(?:^|[;&|!({'"` + "`" + `]|\$\()\s*(?:(?:sudo|doas|exec|env|command|time|nohup|\w+=\S*)\s+)*(?:\S*/)?reeve(?:-hook)?(?:\.exe)?\s+[a-z-]`)
	// keyboards are how a program presses keys for everybody who reads them, and pressed the keys that answer.
	keyboards = lazyregexp.New(`\bpyautogui\b|\bpydirectinput\b|\bpynput\b[\s\S]*\bController\b|(?m:^|[^.\w])keyboard\.(?:press|press_and_release|send|write|type|pressKey)\s*\(|\bUInput\b|\buinput\b|\bfake_input\b|XTestFakeKey|\brobotjs\b|@nut-tree|\bnut\.?js\b|\benigo\b|\brobotgo\b|java\.awt\.Robot|CGEventCreateKeyboardEvent|\bkeybd_event\b|(?:user32|windll)[\s\S]*\bSendInput\b|Forms\.SendKeys|SendKeys\]?(?:::|\.)Send|(?i:wscript\.shell)|hs\.eventtap|\bpywinauto\b|\bautopy\b|\bdogtail\b|\bxdo_send`)
	pressed   = lazyregexp.New(`["'](?i:enter|return|\\r|\\n|\\r\\n|~|y|yes|j|ja|1|\{enter\}|\{return\}|[^"'\n]{0,40}(?:\{enter\}|\\n|\\r))["']|\bKEY_(?:ENTER|KPENTER|Y|1)\b|\bKey\.(?i:enter|return)\b|\bVK_(?:RETURN|ENTER|Y)\b|\bXK_Return\b|(?i)key\.?code\s*[=:(]\s*(?:36|76|0x24)\b`)
	// sent is how AutoHotkey and AutoIt do.
	sent = lazyregexp.New(`(?mi)^\s*(?:control)?send(?:input|event|play|text|raw)?\b[^\n]*(?:\{enter\}|\{return\}|\{numpadenter\})`)
	// driving is how a program types into another that it has started, and attaching what is started to be at a
	// terminal of somebody's.
	driving   = lazyregexp.New(`\bpexpect\b|\bptyprocess\b|\bpty\.(?:spawn|fork)\b|\bnode-pty\b|(?m)^\s*spawn\b|;\s*spawn\b|^spawn\b`)
	attaching = lazyregexp.New(`\b(?:tmux|tmate|byobu)\b['",\s\[\]]+(?:-\S+['",\s]+)*(?:a|at|att|attach|attach-session)\b|\bscreen\b['",\s\[\]]+-(?:x|r|rx|dr|RR|S)\b|\bzellij\b['",\s\[\]]+(?:a|attach)\b|\b(?:dtach|abduco)\b['",\s\[\]]+-a\b`)
	// sendsText are the methods of terminals, and of a desktop, by which a program that speaks to them types.
	sendsText = lazyregexp.New(`(?i)(?:^|[./=])(?:(sendText|sendInput|feedChild|typeText)|(runCommand|runCommandInTerminal|execute_command)|(NotifyKeyboardKey(?:sym|code)|GenerateKeyboardEvent))$`)
	// keystrokes are those that a script of macOS types; pushed is how a program puts keys into a terminal.
	keystrokes = lazyregexp.New(`(?i)\b(?:keystroke|key code|do script|write text)\s*(?:"([^"]*)"|(return|enter|36|76)\b)`)
	pushed     = lazyregexp.New(`\bTIOCSTI\b|\b0x5412\b`)
)

// asTyped is a text as a terminal gets it from a tool that types: some write the key that ends a line, and
// others, as names in braces. It is as long as before, so that places in it stay what they are.
func (c *call) asTyped(text string) string {
	if !strings.Contains(text, "{") || !anyOf(c.words, terminals) || !anyOf(c.words, typingTools) {
		return text
	}
	return bracedKey.ReplaceAllStringFunc(text, func(key string) string {
		stands := typedKeys[strings.ToLower(key[1:len(key)-1])]
		return stands + strings.Repeat(" ", len(key)-len(stands))
	})
}

var (
	terminals   = set("bash sh shell zsh powershell pwsh cmd terminal tty pty console stdin session process pane")
	typingTools = set("write send type input keys press stuff feed interact")
	bracedKey   = lazyregexp.New(`(?i)\{(?:enter|return|linefeed|space|tab|up|down|left|right|escape|esc|backspace|home|end|c-[mj]|ctrl\+[mj])\}`)
)

// answers judges what a command types into a terminal.
func (c *invocation) answers() {
	if c.name == "osascript" || c.name == "expect" || c.name == "hs" {
		for _, a := range c.args {
			c.answersIn(a.text, c.at)
		}
		return
	}
	if c.name == "emacsclient" || listed(typers[c.name].texts, vimSends) {
		for _, a := range c.args {
			c.typed(c.name, typedByEditor(a.text))
		}
	}
	if buses[c.name] {
		c.answersByBus()
		return
	}
	if keyLines[c.name] {
		c.answersInLines()
		return
	}
	if c.name == "script" && attaching.MatchString(asLine(c.args)) {
		c.typed(c.name, newlines.Replace(c.in.text))
		return
	}
	if c.name == "tmux" && c.in.known && len(c.args) > 0 && strings.HasPrefix(c.args[0].text, "-C") { // which is told its commands there
		for line := range strings.Lines(c.in.text) {
			c.inside("tmux " + strings.TrimSpace(line))
		}
	}
	if c.name == "dtach" && len(c.args) > 0 && c.args[0].text == "-p" { // what comes in is typed
		c.typed(c.name, newlines.Replace(c.in.text))
		c.dynamic = c.dynamic || !c.in.known
		return
	}
	t, ok := typers[c.name]
	if !ok {
		return
	}
	c.dynamic = c.dynamic || slices.ContainsFunc(c.args, func(a flow) bool { return a.taint&fromFile != 0 })
	to, text, hex := c.name, "", false
	types, asKeys := t.texts == "" && t.keys == "", false
	for i := 0; i < len(c.args); i++ {
		w := c.args[i].text
		switch {
		case !types && (w == "-t" || w == "--match" || w == "-p") && i+1 < len(c.args):
			i++
			to += " " + c.args[i].text
		case listed(t.keys, w) && (!types || c.name == "xdotool"):
			types, asKeys = true, true
		case listed(t.texts, w) && (!types || c.name == "xdotool"):
			types, asKeys = true, false
		case !types:
		case w == "-H" && asKeys:
			hex = true
		case w == ";" || w == `\;`:
			types = false
		case len(w) > 2 && w[0] == '-' && w[1] != '-' && strings.HasSuffix(w, "t") && c.name == "tmux" && i+1 < len(c.args): // -lt
			i++
			to += " " + c.args[i].text
		case len(w) > 1 && w[0] == '-' && typing[w] && i+1 < len(c.args):
			if i++; w == "-t" || w == "-k" && c.name == "wtype" {
				if w == "-k" {
					text += typedKey(c.args[i].text)
				} else {
					to += " " + c.args[i].text
				}
			}
		case len(w) > 1 && w[0] == '-':
		case strings.HasPrefix(w, "/dev/") && (c.name == "ttyecho" || c.name == "writevt"):
		case hex:
			if key, err := strconv.ParseUint(strings.TrimPrefix(w, "0x"), 16, 8); err == nil {
				text += newlines.Replace(string(rune(key)))
			}
		case asKeys && c.name == "zellij": // bytes, as numbers
			if key, err := strconv.ParseUint(w, 10, 8); err == nil {
				text += newlines.Replace(string(rune(key)))
			}
		case asKeys:
			text += typedKey(w)
		case t.texts == vimSends:
			text += vimMode.ReplaceAllString(newlines.Replace(w), "")
		default:
			text += newlines.Replace(w)
		}
	}
	if types && c.in.known {
		text += newlines.Replace(c.in.text)
	}
	if types {
		c.typed(to, text)
		if c.unseen&fromAnything != 0 && strings.Contains(text, "\n") && nothingKnown(text) { // a shell may be what reads it
			c.report("shell.printed_run", 0, c.at)
		}
	}
}

var (
	// buses are programs that speak to others by a desktop's bus, and keyLines those that are told a key, or a text, in
	// each line or word.
	buses    = set("qdbus qdbus6 qdbus-qt5 qdbus-qt6 dbus-send gdbus busctl guake")
	keyLines = set("dotool dotoolc xte cliclick evemu-event")
)

// answersByBus judges what a command has a terminal, or a desktop, type by a method of its own.
func (c *invocation) answersByBus() {
	for i, a := range c.args {
		w := a.text
		if c.name == "guake" && listed("-e --execute-command", w) {
			w = "runCommand"
		}
		m := sendsText.FindStringSubmatch(w)
		if m == nil {
			continue
		}
		if m[3] != "" {
			c.report("defense.answered", 0, c.at)
			return
		}
		if i+1 == len(c.args) {
			return
		}
		given := c.args[len(c.args)-1] // behind the number of a terminal, or the kinds of values
		text := newlines.Replace(strings.Trim(strings.TrimPrefix(given.text, "string:"), `"'`))
		c.dynamic = c.dynamic || !given.known
		if m[2] != "" {
			text += "\n"
		}
		c.typed(c.name, text)
		return
	}
}

// answersInLines judges what a command is told to type line by line, or word by word: key enter, type y, kp:return.
func (c *invocation) answersInLines() {
	if c.name == "evemu-event" {
		if pressed.MatchString(asLine(c.args)) {
			c.report("defense.answered", 0, c.at)
		}
		return
	}
	lines := strings.Split(c.in.text, "\n")
	for _, a := range c.args {
		lines = append(lines, a.text)
	}
	text := ""
	for _, line := range lines {
		order, what, ok := strings.Cut(strings.TrimSpace(line), " ")
		if short, rest, colon := strings.Cut(order, ":"); colon && !ok {
			order, what = short, rest
		}
		switch order {
		case "type", "str", "t":
			text += newlines.Replace(what)
		case "key", "keydown", "kp", "kd":
			for key := range strings.FieldsSeq(what) {
				text += typedKey(strings.TrimPrefix(key, "k:"))
			}
		}
	}
	c.typed(c.name, text)
}

// asLine is a command's words as one text.
func asLine(args []flow) string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.text
	}
	return strings.Join(all, " ")
}

var (
	// editorTypes are the functions by which an editor types into a terminal that it shows, or presses keys of its
	// own, and editorEnters those that press the key that ends a line there.
	editorTypes = lazyregexp.New(`(?i)\b(vterm-send-string|vterm-insert|vterm-send-key|term-send-raw-string|term-send-string|comint-send-string|process-send-string|eat-term-send-string(?:-as-yank)?|eat--send-string|eshell-send-string|claude-code[\w-]*-send[\w-]*|execute-kbd-macro|chansend|jobsend|ch_sendraw|nvim_chan_send|term_sendkeys|feedkeys|nvim_feedkeys|nvim_input|nvim_paste)\b([^()]*(?:\([^()]*\)[^()]*)*)|\b(vterm-send-return|term-send-input|term-send-return|comint-send-input|eat-self-input|claude-code[\w-]*-send-return)\b`)
	editorText  = lazyregexp.New(`"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'`)
	vimMode     = lazyregexp.New(`^(?:<[^<>\s]+>)*[iaIAoO]?`)
	escapedCR   = strings.NewReplacer(`\<`, "<", `\C-m`, "\n", `\C-j`, "\n")
)

// typedByEditor is what a script that a running editor is given types into a terminal that it shows.
func typedByEditor(script string) string {
	typed := ""
	for _, m := range editorTypes.FindAllStringSubmatch(script, 64) {
		if m[3] != "" {
			typed += "\n"
			continue
		}
		texts := editorText.FindAllStringSubmatch(m[2], 8)
		if len(texts) == 0 {
			continue
		}
		last := texts[0]                                                   // of feedkeys, whose last word says how
		if strings.Contains(m[1], "-") || strings.Contains(m[1], "send") { // whose first may be the terminal
			last = texts[len(texts)-1]
		}
		text := newlines.Replace(escapedCR.Replace(last[1] + last[2]))
		if strings.HasPrefix(strings.ToLower(m[1]), "vterm-send-key") {
			text = typedKey(strings.Trim(text, "<>"))
		} else if strings.HasSuffix(m[1], "feedkeys") || strings.HasSuffix(m[1], "_input") {
			text = vimMode.ReplaceAllString(text, "")
		}
		typed += text
	}
	return typed
}

var (
	// peoplesTerminals are words in the names of servers and tools that type into terminals, and windows, that people
	// sit at; a terminal that a tool opened for itself is none.
	peoplesTerminals = set("tmux tmate byobu zellij iterm iterm2 kitty wezterm ghostty konsole alacritty xdotool ydotool")
	desktops         = set("desktop computer")
	ownProcesses     = set("commander process session sandbox browser page")
	// typingVerbs are what such tools are called, and typedArguments what they call the text.
	typingVerbs    = set("send type write keys key press stuff feed interact input paste execute run hotkey keystroke")
	typedArguments = set("keys key text input command commands data content string chars characters keystrokes keystroke value")
)

// answersByTool judges what a tool types into a terminal, or a window, of somebody's: as the programs that do.
func (a *assessor) answersByTool(c *call) {
	verbs := append(slices.Clip(c.words), c.names...)
	for _, said := range c.saidVerbs() {
		verbs = append(verbs, said...)
	}
	whose := append(slices.Clip(verbs), c.server...)
	if !anyOf(whose, peoplesTerminals) && (!anyOf(whose, desktops) || anyOf(whose, ownProcesses)) || !anyOf(verbs, typingVerbs) {
		return
	}
	s := a.apart(span{})
	for i := range c.leaves {
		l := &c.leaves[i]
		if l.Fixed || !typedArguments[c.nameOf(l)] && !typedArguments[l.Arg] {
			continue
		}
		a.pointer, a.size = l.Pointer, len(l.Text)
		s.at = span{0, len(l.Text)}
		s.typed(c.tool, typedWords(l.Text))
	}
}

// typedWords is a text as a tool types it: names of keys at its end are pressed.
func typedWords(text string) string {
	keys := ""
	for {
		rest, word := "", text
		if i := strings.LastIndexAny(strings.TrimRight(text, " "), " +"); i >= 0 {
			rest, word = text[:i], strings.TrimSpace(text[i+1:])
		}
		key, ok := typedKeys[strings.ToLower(strings.Trim(word, "{}<>"))]
		if !ok || isDigits(word) {
			return newlines.Replace(text) + keys
		}
		if text, keys = rest, key+keys; rest == "" {
			return keys
		}
	}
}

// typedKey is what a key types, by its name; a word that names no key is typed as it stands.
func typedKey(w string) string {
	if s, ok := typedKeys[strings.ToLower(w)]; ok {
		return s
	}
	if control.MatchString(w) {
		return ""
	}
	return newlines.Replace(w)
}

// maxTyped is how much of what is typed into one terminal is kept.
const maxTyped = 4096

// typed judges what is typed into a terminal, behind what the call typed there before: a command
// may be typed in pieces, and the key that ends it by itself.
func (s *shell) typed(to, text string) {
	if s.typedInto == nil {
		s.typedInto = map[string]string{}
	}
	if text == "" || len(s.typedInto) > maxRan {
		return
	}
	all := s.typedInto[to] + text
	for line := range strings.SplitAfterSeq(all, "\n") {
		whole := strings.HasSuffix(line, "\n")
		line = strings.TrimSpace(line)
		if whole && s.depth < maxDepth/2 { // a shell may be what reads it
			s.kept(1, asksFrom, func() { s.inside(line) })
		}
		if agreeing.MatchString(line) || orderly.MatchString(line) || line == "" && whole && to != "/dev/tty" {
			s.report("defense.answered", 0, s.at)
		}
	}
	if i := strings.LastIndexByte(all, '\n'); i >= 0 {
		all = all[i+1:]
	}
	s.typedInto[to] = all[max(0, len(all)-maxTyped):]
}

// answersIn judges a program that types: AppleScript's keystrokes, the system's call for it, the libraries that press
// keys, and those that drive what is attached to somebody's terminal.
func (a *assessor) answersIn(code string, at span) {
	if pushed.MatchString(code) || keyboards.MatchString(code) && pressed.MatchString(code) || driving.MatchString(code) && attaching.MatchString(code) || sent.MatchString(code) {
		a.report("defense.answered", 0, at)
	}
	for _, m := range keystrokes.FindAllStringSubmatch(code, 64) {
		if line := strings.TrimSpace(newlines.Replace(m[1])); m[2] != "" || agreeing.MatchString(line) || orderly.MatchString(line) {
			a.report("defense.answered", 0, at)
		}
	}
}

// terminal is the file of a terminal of somebody, or what a process reads.
var terminal = lazyregexp.New(`^/dev/(?:pts/[\d*?\[]+.*|tty[\dSs]\S*|ttys\d+|vcs\S*|tty)$|^/proc/[^/]+/fd/0$`)

// answersAt judges what is written to a terminal's file.
func (s *shell) answersAt(file string, content flow) {
	if terminal.MatchString(file) && content.text != "" {
		s.typed(file, content.text)
	}
}
