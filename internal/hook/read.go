package hook

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/regular"
)

// agents are the agents that are understood. What their events are called and
// hold is their vendors' documentation; docs/hooks.md says of what date.
var agents = []*Agent{
	{
		ID: "claude-code", Name: "Claude Code", Provider: "Anthropic", URL: "https://code.claude.com",
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "SubagentStart": Start, "SubagentStop": Said, "Stop": Said,
			"UserPromptSubmit": Prompt, "PreToolUse": Call, "PostToolUse": Result, "PostToolUseFailure": Result,
			"PermissionRequest": Asking, "PermissionDenied": Ignored, "Notification": Ignored, "PreCompact": Ignored, "PostCompact": Ignored,
			"Setup": Ignored, "StopFailure": Ignored, "TeammateIdle": Ignored, "TaskCreated": Ignored, "TaskCompleted": Ignored,
			"ConfigChange": Configured, "CwdChanged": Ignored, "FileChanged": Ignored, "InstructionsLoaded": Loaded,
			"WorktreeRemove": Ignored, "PostToolBatch": Ignored, "MessageDisplay": Ignored,
		},
		read: readClaude, answer: answerClaude, asks: always, changes: always,
	},
	{
		ID: "codex", Name: "Codex", Provider: "OpenAI", URL: "https://developers.openai.com/codex",
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "SubagentStart": Start, "SubagentStop": Said, "Stop": Said,
			"UserPromptSubmit": Prompt, "PreToolUse": Call, "PostToolUse": Result,
			"PermissionRequest": Asking, "PreCompact": Ignored, "PostCompact": Ignored, "Interrupt": Ignored, "StopFailure": Ignored,
		},
		read: readClaude, answer: answerCodex, asks: never, changes: never,
	},
	{
		ID: "gemini", Name: "Gemini CLI", Provider: "Google", URL: "https://geminicli.com",
		events: map[string]Kind{
			"SessionStart": Start, "SessionEnd": End, "BeforeAgent": Prompt, "AfterAgent": Said, "BeforeTool": Call, "AfterTool": Result,
			"BeforeModel": Ignored, "AfterModel": Ignored, "BeforeToolSelection": Ignored, "Notification": Asking, "PreCompress": Ignored,
		},
		read: readGemini, answer: answerGemini, asks: never, changes: always,
	},
	{
		ID: "cursor", Name: "Cursor", Provider: "Anysphere", URL: "https://cursor.com",
		events: map[string]Kind{
			"sessionStart": Start, "sessionEnd": End, "subagentStart": Start, "afterAgentResponse": Said, "beforeSubmitPrompt": Prompt,
			"preToolUse": Call, "beforeShellExecution": Call, "beforeMCPExecution": Call, "beforeReadFile": Fetched, "beforeTabFileRead": Fetched,
			"postToolUse": Result, "postToolUseFailure": Result, "afterShellExecution": Result, "afterMCPExecution": Result,
			"afterFileEdit": Ignored, "afterTabFileEdit": Ignored, "afterAgentThought": Ignored, "stop": Ignored, "subagentStop": Ignored,
			"preCompact": Ignored, "workspaceOpen": Ignored,
		},
		// Cursor takes "ask" before commands and calls of MCP tools, and in a mode that reviews by
		// itself it runs such a call without asking anybody: so people are asked elsewhere.
		read: readCursor, answer: answerCursor, asks: never, changes: never,
	},
	{
		ID: "copilot", Name: "GitHub Copilot", Provider: "GitHub", URL: "https://github.com/features/copilot",
		events: map[string]Kind{
			"sessionStart": Start, "SessionStart": Start, "sessionEnd": End, "SessionEnd": End,
			"subagentStart": Start, "subagentStop": Said, "SubagentStop": Said,
			"userPromptSubmitted": Prompt, "UserPromptSubmit": Prompt, "preToolUse": Call, "PreToolUse": Call,
			"postToolUse": Result, "PostToolUse": Result, "postToolUseFailure": Result, "PostToolUseFailure": Result,
			"agentStop": Said, "Stop": Said, "errorOccurred": Ignored, "ErrorOccurred": Ignored, "preCompact": Ignored, "PreCompact": Ignored,
			"notification": Loaded, "Notification": Loaded, "permissionRequest": Ignored, "PermissionRequest": Ignored, "userPromptTransformed": Ignored,
		},
		read: readCopilot, answer: answerCopilot, asks: always, changes: always,
	},
	{
		ID: "opencode", Name: "OpenCode", Provider: "OpenCode", URL: "https://opencode.ai",
		events: map[string]Kind{
			"session.created": Start, "session.deleted": End, "chat.message": Prompt, "experimental.text.complete": Said, "tool.execute.before": Call, "tool.execute.after": Result,
			"experimental.chat.system.transform": Fetched,
		},
		read: readOpenCode, answer: answerOpenCode, asks: never, changes: always,
	},
	{
		ID: "amazon-q", Name: "Amazon Q Developer CLI", Provider: "Amazon", URL: "https://aws.amazon.com/q/developer",
		events: map[string]Kind{
			"agentSpawn": Start, "userPromptSubmit": Prompt, "preToolUse": Call, "postToolUse": Result, "stop": Ignored, "agentNeedsAttention": Ignored,
		},
		read: readAmazonQ, answer: answerAmazonQ, asks: never, changes: never,
	},
}

func always(*Event) bool { return true }
func never(*Event) bool  { return false }

var errNoTool = errors.New("it does not name its tool")

// first is the text of the first of several members that is a string.
func first(in rawjson.Value, names ...string) string {
	for _, name := range names {
		if s := in.Get(name).Text(); s != "" {
			return s
		}
	}
	return ""
}

// firstOf is the first of several members that is there.
func firstOf(in rawjson.Value, names ...string) rawjson.Value {
	for _, name := range names {
		if v := in.Get(name); v.Exists() {
			return v
		}
	}
	return rawjson.Value{}
}

// tool reads the tool's name and input of a call or a result.
func (e *Event) tool(name string, input rawjson.Value) error {
	if name == "" {
		return errNoTool
	}
	e.Tool, e.input = toolOf(name), unpacked(input)
	return nil
}

// unpacked is what a JSON text in a string stands for, as some agents send
// arguments and results; any other value is itself.
func unpacked(v rawjson.Value) rawjson.Value {
	if v.Kind() != rawjson.String {
		return v
	}
	if doc, err := rawjson.Parse([]byte(v.Text())); err == nil {
		if k := doc.Root().Kind(); k == rawjson.Object || k == rawjson.Array {
			return doc.Root()
		}
	}
	return v
}

// says adds a text that somebody wrote, if there is one.
func (e *Event) says(v rawjson.Value) {
	if v.Kind() == rawjson.String {
		e.texts = append(e.texts, text{text: v.Text(), at: v})
	} else if v.Exists() {
		e.gather(v, false)
	}
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// about describes a session's start or end.
func (e *Event) about(what, detail string) {
	e.About = what
	if detail != "" {
		e.About = fmt.Sprintf("%s (%s)", what, detail)
	}
	if e.Cwd != "" {
		e.About += " in " + e.Cwd
	}
}

// session checks that the event names its session.
func (e *Event) session(id string) error {
	if e.Session = id; id == "" {
		return errors.New("it does not name its session")
	}
	return nil
}

// readClaude reads Claude Code's events, and Codex's, which have the same form.
func readClaude(e *Event, in rawjson.Value) error {
	if err := e.session(in.Get("session_id").Text()); err != nil {
		return err
	}
	e.Child, e.Cwd, e.Model = in.Get("agent_id").Text(), in.Get("cwd").Text(), in.Get("model").Text()
	e.Turn, e.CallID = first(in, "turn_id", "prompt_id"), in.Get("tool_use_id").Text()
	switch e.Kind {
	case Start:
		if e.Name == "SubagentStart" {
			e.about("A sub-agent begins", in.Get("agent_type").Text())
		} else {
			e.about("The session begins", in.Get("source").Text())
		}
	case End:
		e.about("The session ends", in.Get("reason").Text())
	case Configured:
		e.About = in.Get("file_path").Text()
	case Prompt:
		e.says(in.Get("prompt"))
		if e.Agent.ID == "claude-code" {
			return e.claudeReads(in.Get("prompt").Text())
		}
	case Loaded:
		return e.claudeInstructions(in.Get("file_path").Text())
	case Said:
		e.says(in.Get("last_assistant_message"))
	case Asking:
		return e.tool(in.Get("tool_name").Text(), in.Get("tool_input"))
	case Call:
		if err := e.tool(in.Get("tool_name").Text(), in.Get("tool_input")); err != nil {
			return err
		}
		if e.Agent.ID == "claude-code" && (e.Tool.Given == "Skill" || e.Tool.Given == "SlashCommand") {
			return e.claudeSkill()
		}
	case Result:
		if e.gives(in, "tool_response", "error"); e.Name == "PostToolUseFailure" {
			e.Failed = true
		}
		if in.Get("tool_response").Get("is_error").Bool() || in.Get("tool_response").Get("isError").Bool() {
			e.Failed = true
		}
		return e.tool(in.Get("tool_name").Text(), in.Get("tool_input"))
	}
	return nil
}

func readGemini(e *Event, in rawjson.Value) error {
	if err := e.session(in.Get("session_id").Text()); err != nil {
		return err
	}
	e.Cwd = in.Get("cwd").Text()
	switch e.Kind {
	case Start:
		e.about("The session begins", in.Get("source").Text())
	case End:
		e.about("The session ends", in.Get("reason").Text())
	case Prompt:
		e.says(in.Get("prompt"))
		e.readsContents()
	case Said:
		e.says(in.Get("prompt_response"))
	case Asking:
		return e.geminiAsks(in)
	case Result:
		fault := in.Get("tool_response").Get("error")
		e.Failed = fault.Exists() && fault.Kind() != rawjson.Null
		e.gives(in, "tool_response")
	}
	if e.Kind != Call && e.Kind != Result {
		return nil
	}
	if err := e.tool(in.Get("tool_name").Text(), in.Get("tool_input")); err != nil {
		return err
	}
	if mcp := in.Get("mcp_context"); mcp.Kind() == rawjson.Object {
		e.Tool.MCP = true
		if s := mcp.Get("server_name").Text(); s != "" {
			e.Tool.Server = s
		}
		if s := mcp.Get("tool_name").Text(); s != "" {
			e.Tool.Name = s
		}
	}
	return nil
}

// geminiAsks reads what Gemini CLI's user is asked. It tells of the dialogue what that
// shows, and not the call.
func (e *Event) geminiAsks(in rawjson.Value) error {
	shown := in.Get("details")
	if in.Get("notification_type").Text() != "ToolPermission" {
		e.Kind = Ignored
		return nil
	}
	name := shown.Get("title").Text()
	switch shown.Get("type").Text() {
	case "exec":
		name = "run_shell_command"
	case "edit":
		name = "replace"
	case "mcp":
		e.Tool, e.input = Tool{Name: shown.Get("toolName").Text(), Server: shown.Get("serverName").Text(), MCP: true}, shown
		return nil
	}
	return e.tool(cmp.Or(name, "ask"), shown)
}

func readCursor(e *Event, in rawjson.Value) error {
	if err := e.session(first(in, "conversation_id", "session_id")); err != nil {
		return err
	}
	e.Turn, e.Model, e.Version, e.User = in.Get("generation_id").Text(), in.Get("model").Text(), in.Get("cursor_version").Text(), in.Get("user_email").Text()
	e.CallID, e.Cwd = in.Get("tool_use_id").Text(), in.Get("cwd").Text()
	if roots := in.Get("workspace_roots"); e.Cwd == "" && roots.Kind() == rawjson.Array {
		for _, root := range roots.Elems() {
			e.Cwd = root.Text()
			break
		}
	}
	switch e.Name {
	case "sessionStart":
		e.about("The session begins", in.Get("composer_mode").Text())
	case "subagentStart":
		e.Child = in.Get("subagent_id").Text()
		e.about("A sub-agent begins", in.Get("subagent_type").Text())
	case "sessionEnd":
		e.about("The session ends", in.Get("reason").Text())
	case "beforeSubmitPrompt":
		e.says(in.Get("prompt"))
	case "afterAgentResponse":
		e.says(in.Get("text"))
	case "beforeReadFile", "beforeTabFileRead":
		e.Tool = Tool{Given: "Read", Name: ReadFile}
		e.About = in.Get("file_path").Text()
		if in.Get("content").Kind() != rawjson.String || e.About == "" {
			return errors.New("it has no file_path and content")
		}
		e.gatherText(in.Get("content"), false)
	case "beforeShellExecution", "afterShellExecution":
		if in.Get("command").Kind() != rawjson.String {
			return errors.New("it has no command")
		}
		e.Tool = Tool{Given: "Shell", Name: Shell}
		e.input = shellInput(in.Get("command").Text())
		e.gives(in, "output")
	case "beforeMCPExecution", "afterMCPExecution":
		e.gives(in, "result_json")
		if err := e.tool(in.Get("tool_name").Text(), in.Get("tool_input")); err != nil {
			return err
		}
		e.Tool.MCP = true
		if e.Tool.Server == "" {
			e.Tool.Name, e.Tool.Server = mcpName(e.Tool.Given), first(in, "server", "url", "command")
		}
	case "preToolUse":
		return e.tool(in.Get("tool_name").Text(), in.Get("tool_input"))
	case "postToolUse":
		e.gives(in, "tool_output")
		return e.tool(in.Get("tool_name").Text(), in.Get("tool_input"))
	case "postToolUseFailure":
		e.Failed = true
		e.gives(in, "error_message", "error")
		return e.tool(in.Get("tool_name").Text(), in.Get("tool_input"))
	}
	if e.Kind == Call { // the texts of a result alone are judged
		e.texts, e.result = nil, rawjson.Value{}
	}
	return nil
}

// mcpName is an MCP tool's own name, without the mark that it is one.
func mcpName(given string) string {
	if t := toolOf(given); t.MCP {
		return t.Name
	}
	return given
}

// shellInput is the input of a call that came as a bare command.
func shellInput(command string) rawjson.Value {
	doc, err := rawjson.Parse(append(rawjson.AppendString([]byte(`{"command":`), command), '}'))
	if err != nil {
		return rawjson.Value{}
	}
	return doc.Root()
}

func readCopilot(e *Event, in rawjson.Value) error {
	if err := e.session(first(in, "sessionId", "session_id")); err != nil {
		return err
	}
	if parent := first(in, "parentAgentId", "parent_agent_id"); parent != "" {
		e.Session, e.Child = parent, first(in, "agentId", "agent_id")
	}
	e.Cwd = in.Get("cwd").Text()
	e.CallID = first(in, "toolCallId", "tool_use_id", "toolUseId")
	switch e.Kind {
	case Start:
		if e.Name == "subagentStart" {
			e.about("A sub-agent begins", in.Get("agentName").Text())
		} else {
			e.about("The session begins", in.Get("source").Text())
		}
	case End:
		e.about("The session ends", in.Get("reason").Text())
	case Prompt:
		e.says(in.Get("prompt"))
	case Said:
		switch e.Name {
		case "agentStop", "Stop":
			if e.Child != "" { // which subagentStop tells of, too
				e.Kind = Ignored
				return nil
			}
			e.texts = copilotSaid(first(in, "transcriptPath", "transcript_path"))
		default:
			e.says(firstOf(in, "response", "last_assistant_message"))
		}
	case Loaded:
		if !strings.HasPrefix(first(in, "notification_type", "notificationType"), "shell") {
			e.Kind = Ignored
			return nil
		}
		e.About = in.Get("message").Text()
		e.texts = []text{{text: "[" + e.Agent.Name + " gives its model what this command printed itself: not seen by reeve]"}}
	case Result:
		result := e.gives(in, "toolResult", "tool_result", "error")
		kind := first(result, "resultType", "result_type")
		e.Failed = kind != "" && kind != "success" || !firstOf(in, "toolResult", "tool_result").Exists()
	}
	if e.Kind == Call || e.Kind == Result {
		if err := e.tool(first(in, "toolName", "tool_name"), firstOf(in, "toolArgs", "tool_input")); err != nil {
			return err
		}
		// Of Copilot's own tools none has a hyphen in its name.
		if server, _, ok := strings.Cut(e.Tool.Given, "-"); ok {
			e.Tool.ofServer("-", append(copilotServers(e.Cwd), server))
		}
	}
	return nil
}

// maxTranscript is how much of the end of an agent's transcript is read.
const maxTranscript = 1 << 20

// copilotSaid is what Copilot's agent said last, by its transcript: the event that ends a
// turn does not tell it. The transcript is written behind the events, so that it is read
// until it tells of this very event.
func copilotSaid(transcript string) []text {
	const patience, pause = 2 * time.Second, 25 * time.Millisecond
	for began := time.Now(); time.Since(began) < patience; time.Sleep(pause) {
		end, err := endOf(transcript)
		if err != nil {
			return nil
		}
		if said, whole := lastWords(end); whole {
			return said
		}
	}
	return []text{{text: "[Copilot's words: not seen by reeve]"}}
}

// endOf reads the end of a transcript.
func endOf(transcript string) ([]byte, error) {
	f, err := regular.Open(transcript)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxTranscript), maxTranscript))
}

// lastWords are the main agent's last words in a part of a transcript, and whether the
// part tells that its turn has ended behind them.
func lastWords(transcript []byte) (said []text, ended bool) {
	for line := range bytes.Lines(transcript) { // of the first there may be a part only, which is no JSON
		doc, err := rawjson.Parse(line)
		if err != nil || doc.Root().Get("agentId").Exists() {
			continue
		}
		data := doc.Root().Get("data")
		switch doc.Root().Get("type").Text() {
		case "user.message":
			said, ended = nil, false
		case "assistant.message":
			if content := data.Get("content"); content.Text() != "" && !data.Get("parentToolCallId").Exists() {
				said, ended = []text{{text: content.Text()}}, false
			}
		case "hook.start":
			ended = ended || data.Get("hookType").Text() == "agentStop"
		}
	}
	return said, ended
}

// copilotServers lists the MCP servers that Copilot is configured with, for its user and
// for the folder it works in. A file that cannot be read names none.
func copilotServers(cwd string) (servers []string) {
	folder := Folder("copilot", os.Getenv)
	if home, err := os.UserHomeDir(); err == nil && folder == "" {
		folder = filepath.Join(home, ".copilot")
	}
	files := []string{filepath.Join(folder, "mcp-config.json")}
	for dir := cwd; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		for _, name := range []string{".mcp.json", ".github/mcp.json", ".vscode/mcp.json", ".copilot/mcp-config.json"} {
			files = append(files, filepath.Join(dir, filepath.FromSlash(name)))
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, file := range files {
		text, err := readConfig(file)
		if err != nil || text == nil {
			continue
		}
		doc, err := rawjson.Parse(bytes.TrimPrefix(text, mark))
		if err != nil {
			continue
		}
		for server := range firstOf(doc.Root(), "mcpServers", "servers").Members() {
			servers = append(servers, server)
		}
	}
	return servers
}

// readOpenCode reads what reeve's plugin for OpenCode sends.
func readOpenCode(e *Event, in rawjson.Value) error {
	if err := e.session(in.Get("sessionID").Text()); err != nil {
		return err
	}
	if parent := in.Get("parentID").Text(); parent != "" {
		e.Session, e.Child = parent, e.Session
	}
	e.Cwd, e.CallID = in.Get("directory").Text(), in.Get("callID").Text()
	switch e.Kind {
	case Start:
		e.about(either(e.Child != "", "A sub-agent begins", "The session begins"), "")
	case End:
		e.about(either(e.Child != "", "A sub-agent ends", "The session ends"), "")
	case Prompt, Said:
		e.says(in.Get("text"))
		for read := range in.Get("reads").Strings() {
			e.beside.texts = append(e.beside.texts, attachment{"what the prompt names", read.Text()})
		}
	case Fetched:
		e.About = in.Get("file").Text()
		e.gather(in.Get("text"), false)
	case Result:
		e.gives(in, "output")
	}
	if e.Kind != Call && e.Kind != Result {
		return nil
	}
	if err := e.tool(in.Get("tool").Text(), in.Get("args")); err != nil {
		return err
	}
	e.Tool.ofServer("_", textsOf(in.Get("servers")))
	return nil
}

// readAmazonQ reads Amazon Q's events. It names no session, so that the folder
// it works in stands for one.
func readAmazonQ(e *Event, in rawjson.Value) error {
	e.Cwd = in.Get("cwd").Text()
	if err := e.session(first(in, "session_id", "cwd")); err != nil {
		return errors.New("it has neither session_id nor cwd")
	}
	switch e.Kind {
	case Start:
		e.about("The session begins", "")
	case Prompt:
		e.says(in.Get("prompt"))
	case Result:
		if in.Get("hook_events").Exists() {
			return errors.New("it tells of several results at once: take only_when_turn_complete out of the configuration")
		}
		response := e.gives(in, "tool_response")
		if success := response.Get("success"); success.Kind() == rawjson.Bool {
			e.Failed = !success.Bool()
		}
		return e.tool(in.Get("tool_name").Text(), in.Get("tool_input"))
	case Call:
		return e.tool(in.Get("tool_name").Text(), in.Get("tool_input"))
	}
	return nil
}
