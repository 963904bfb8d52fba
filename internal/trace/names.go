package trace

// The names of what spans say, all in one place, since most of them are others' and still
// change: OpenTelemetry's conventions for GenAI, MCP and A2A have no release, and all of
// them have the status Development. These are of November 2026, from the repository
// semantic-conventions-genai, which names the core conventions 1.42.0. See docs/telemetry.md.
const (
	operation      = "gen_ai.operation.name"
	agentID        = "gen_ai.agent.id"
	agentName      = "gen_ai.agent.name"
	agentVersion   = "gen_ai.agent.version"
	conversation   = "gen_ai.conversation.id"
	toolName       = "gen_ai.tool.name"
	toolCallID     = "gen_ai.tool.call.id"
	toolArguments  = "gen_ai.tool.call.arguments" // opt-in
	toolResult     = "gen_ai.tool.call.result"    // opt-in
	dataSource     = "gen_ai.data_source.id"
	mcpMethod      = "mcp.method.name"
	mcpSession     = "mcp.session.id"
	a2aMethod      = "a2a.method.name"
	errorType      = "error.type"
	guardComponent = "gen_ai.guardrail.component.name" // proposed: semantic-conventions-genai#427
	guardPolicy    = "gen_ai.guardrail.policy.version"
	guardRule      = "gen_ai.guardrail.policy.rule.id"
	guardValue     = "gen_ai.guardrail.result.value"
	guardReason    = "gen_ai.guardrail.result.reason"
	guardScore     = "gen_ai.guardrail.risk.score"
	guardCategory  = "gen_ai.guardrail.risk.category"

	opInvokeAgent    = "invoke_agent"
	opInvokeWorkflow = "invoke_workflow"
	opExecuteTool    = "execute_tool"
	opRetrieval      = "retrieval"
	opUpsertMemory   = "upsert_memory"
	opSearchMemory   = "search_memory"
	opCreateAgent    = "create_agent"
	opGuardrail      = "apply_guardrail"

	// OpenInference's, which Phoenix, Langfuse and MLflow read.
	spanKind    = "openinference.span.kind"
	inputValue  = "input.value"  // opt-in
	outputValue = "output.value" // opt-in
	kindAgent   = "AGENT"
	kindTool    = "TOOL"
	kindFinds   = "RETRIEVER"
	kindGuard   = "GUARDRAIL"
	kindChain   = "CHAIN"
	sessionID   = "session.id"
	userID      = "user.id"

	// Langfuse's own.
	langfuseLevel  = "langfuse.observation.level"
	langfuseStatus = "langfuse.observation.status_message"

	// reeve's.
	decisionID   = "reeve.decision.id"
	decision     = "reeve.decision"
	would        = "reeve.would" // if rules that only watch were enforced
	ruleIDs      = "reeve.rule.ids"
	codes        = "reeve.reason.codes"
	policyHash   = "reeve.policy.version"
	receipt      = "reeve.receipt"
	door         = "reeve.door"
	kindOf       = "reeve.kind"
	principal    = "reeve.principal"
	organization = "reeve.organization"
	onBehalfOf   = "reeve.on_behalf_of"
	actors       = "reeve.actors"
	client       = "reeve.client"
	turnID       = "reeve.turn.id"
	stepID       = "reeve.step.id"
	treeID       = "reeve.task.root"
	serverName   = "reeve.server"
	resultID     = "reeve.result.decision.id"
	outcome      = "reeve.outcome"
	approvalID   = "reeve.approval.id"
	approvalSaid = "reeve.approval.answer"
	riskScore    = "reeve.risk.score"
	riskLevel    = "reeve.risk.level"
	threats      = "reeve.risk.threats"

	eventDecision = "reeve.decision"
)
