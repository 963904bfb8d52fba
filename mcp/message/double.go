package message

import (
	"reeve/internal/content"
	"reeve/internal/rawjson"
)

// grammar is the members of the protocol's objects, of every published version.
// What is the caller's own is not looked into: arguments, structuredContent, _meta,
// schemas, what a person filled in, data of errors and of log messages, metadata,
// and what is experimental.
var grammar = content.NewGrammar(map[string]string{
	"message": "jsonrpc id method params:params result:result error:error",
	"error":   "code message data",
	"params": "_meta name arguments uri cursor level protocolVersion capabilities:capabilities clientInfo:named " +
		"ref:named argument:argument context:context task:task taskId requestId reason progressToken progress total message " +
		"logger data messages:content systemPrompt includeContext temperature maxTokens stopSequences metadata " +
		"modelPreferences:preferences tools:tool toolChoice:choice mode requestedSchema elicitationId url notifications:filter " +
		"inputResponses:*result requestState status statusMessage createdAt lastUpdatedAt ttl pollInterval",
	"result": "_meta content:content@role structuredContent isError contents:content messages:content description tools:tool " +
		"prompts:prompt resources:content resourceTemplates:content nextCursor completion:completion capabilities:capabilities " +
		"protocolVersion serverInfo:named instructions supportedVersions resultType inputRequests:*message requestState ttlMs " +
		"cacheScope role model stopReason action roots:named task:task tasks:task taskId status statusMessage createdAt " +
		"lastUpdatedAt ttl pollInterval",
	// Pieces of content, messages that hold them, and resources.
	"content": "_meta type text data mimeType blob uri uriTemplate name title description size icons:icon annotations:annotations " +
		"resource:content role content:content id input toolUseId structuredContent isError",
	"tool":        "_meta name title description inputSchema outputSchema annotations:annotations execution:execution icons:icon",
	"prompt":      "_meta name title description arguments:named icons:icon",
	"named":       "_meta type name title description version websiteUrl uri required icons:icon",
	"icon":        "src mimeType sizes theme",
	"annotations": "audience priority lastModified title readOnlyHint destructiveHint idempotentHint openWorldHint",
	"execution":   "taskSupport",
	"argument":    "name value",
	"context":     "arguments",
	"completion":  "values total hasMore",
	"preferences": "hints:named costPriority speedPriority intelligencePriority",
	"choice":      "mode",
	"filter":      "toolsListChanged promptsListChanged resourcesListChanged resourceSubscriptions",
	"task":        "_meta taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval",
	"capabilities": "experimental extensions roots:capability sampling:capability elicitation:capability tasks:capability " +
		"logging:capability completions:capability prompts:capability resources:capability tools:capability",
	"capability": "listChanged subscribe context:capability tools:capability form:capability url:capability list:capability " +
		"cancel:capability requests:capability sampling:capability elicitation:capability call:capability create:capability createMessage:capability",
})

// Double looks for a member that some readers take for another one of the
// protocol, where v is a message at the JSON Pointer base: what such a message does
// depends on who reads it. nil when there is none. The members named in beside are
// none of the message's own.
func Double(v rawjson.Value, base string, beside ...string) *content.Double {
	return grammar.Double(v, "message", base, beside...)
}
