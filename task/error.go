package task

// Codes of the protocol's errors (Error Codes; Common Error Scenarios), and
// those of its public upstream.
const (
	CodeNotFound     = -32001
	CodeCircular     = -32002
	CodeExecutor     = -32003
	CodeUnauthorized = -32004
	CodeSchema       = -32005
	CodeTransition   = -32006
	CodeDependency   = -32007
	CodeExecuting    = -32008
	CodeDelete       = -32009
	CodeParent       = -32010
	CodeNeeds        = -32011
	CodeTree         = -32012
	CodeInvalid      = -32602
)

var messages = map[int]string{
	CodeNotFound: "Task not found", CodeCircular: "Circular dependency detected", CodeExecutor: "Executor not found",
	CodeUnauthorized: "Unauthorized", CodeSchema: "Invalid task schema", CodeTransition: "Invalid state transition",
	CodeDependency: "Dependency not satisfied", CodeExecuting: "Task already executing", CodeDelete: "Cannot delete task",
	CodeParent: "Invalid parent reference", CodeNeeds: "Invalid dependency reference", CodeTree: "Task tree validation failed",
	CodeInvalid: "Invalid params",
}

// Error is what a client did wrong, in the protocol's words.
type Error struct {
	Code     int
	Field    string   // the name in dots, such as tasks[1].priority; may be empty
	Reason   string   // a sentence
	Expected string   // may be empty
	Task     string   // the task's id as the client knows it; may be empty
	Cycle    []string // of a circular dependency: ids as the client wrote them, the first again at the end
}

// Message is the protocol's words for the code.
func (e *Error) Message() string { return messages[e.Code] }

func (e *Error) Error() string {
	s := e.Message()
	if e.Field != "" {
		s += ": " + e.Field
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}
