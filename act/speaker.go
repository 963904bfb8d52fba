package act

// Who the text of an act comes from.
const (
	FromUser   = "user"   // a person
	FromAgent  = "agent"  // the agent's model, or the program around it
	FromSystem = "system" // who set the agent up
	FromTool   = "tool"   // a tool, or the executor of a task
	FromSource = "source" // a source of knowledge
	FromMemory = "memory" // what was remembered before
	FromEvent  = "event"  // what woke the agent
	FromPeer   = "peer"   // another agent
	FromClient = "client" // an MCP client
	FromServer = "server" // an MCP server
)

// Speaker says who the text of the act comes from, so that a rule can trust it as
// far as its speaker. Of an MCP message whose direction is not known, a request is
// the client's and an answer the server's.
func (a *Action) Speaker() string {
	if a.From != "" {
		return a.From
	}
	switch a.Kind {
	case MessageUser:
		return FromUser
	case MessageSystem:
		return FromSystem
	case ToolResult, TaskResult:
		return FromTool
	case KnowledgeRetrieve:
		return FromSource
	case MemoryRetrieve:
		return FromMemory
	case Trigger:
		return FromEvent
	case A2AReceive:
		return FromPeer
	case MCPRequest:
		return FromClient
	case MCPResponse:
		return FromServer
	}
	return FromAgent
}
