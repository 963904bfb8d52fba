package canon

import "strings"

// The names that rules call the tools of all agents by. Other tools keep the
// names that the agents give them.
const (
	Shell      = "shell"
	ReadFile   = "read_file"
	WriteFile  = "write_file"
	EditFile   = "edit_file"
	DeleteFile = "delete_file"
	ListFiles  = "list_files"
	SearchText = "search_text"
	WebFetch   = "web_fetch"
	WebSearch  = "web_search"
	Subagent   = "subagent"
)

// toolNames are the agents' names, in lower case and without separators. One
// table does for all: where two agents have the same name they mean the same.
var toolNames = func() map[string]string {
	m := map[string]string{}
	for name, given := range map[string]string{
		Shell:      "bash shell runshellcommand executebash executecmd execcommand localshell shellcommand powershell runterminalcmd runterminalcommand runinterminal unifiedexec",
		ReadFile:   "read readfile view fsread readmanyfiles notebookread viewimage",
		WriteFile:  "write writefile create createfile",
		EditFile:   "edit multiedit notebookedit editnotebook replace editfile strreplace strreplaceeditor applypatch patch fswrite searchreplace",
		DeleteFile: "delete deletefile",
		ListFiles:  "glob ls list listdirectory listdir listfiles globfilesearch",
		SearchText: "searchtext grep rg searchfilecontent grepsearch search codebasesearch",
		WebFetch:   "webfetch fetch",
		WebSearch:  "websearch googlewebsearch",
		Subagent:   "subagent task agent",
	} {
		for word := range strings.FieldsSeq(given) {
			m[word] = name
		}
	}
	return m
}()

// argumentNames are the agents' names of the arguments that rules look at.
var argumentNames = map[string]string{
	"file_path": "path", "filePath": "path", "absolute_path": "path", "target_file": "path", "notebook_path": "path", "filename": "path",
	"cmd":       "command",
	"file_text": "content", "contents": "content", "new_source": "content",
	"old_string": "old", "oldString": "old", "old_str": "old",
	"new_string": "new", "newString": "new", "new_str": "new",
	"uri": "url",
}

// CommonTool is the name that rules know a tool of a coding agent by, which calls it so; false for one that
// keeps its name.
func CommonTool(given string) (name string, ok bool) {
	name, ok = toolNames[strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(given))]
	return name, ok
}

// CommonArgument is the name that rules know an argument of such a tool by, which an agent calls so.
func CommonArgument(given string) (name string, ok bool) {
	name, ok = argumentNames[given]
	return name, ok
}
