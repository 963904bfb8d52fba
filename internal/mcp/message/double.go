package message

import (
	"strings"
	"unicode"

	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/content"
	"reeve.example/reeve/internal/rawjson"
)

// grammar is the members of the protocol's objects, of every published version.
// What is the caller's own is not looked into: arguments, structuredContent, _meta,
// schemas, what a person filled in, data of errors but for their elicitations, of log messages, metadata,
// and what is experimental.
var grammar = content.NewGrammar(map[string]string{
	"message": "jsonrpc id method params:params result:result error:error",
	"error":   "code message data:refused",
	// An error that asks a person first (-32042) lists what; the rest of data is the caller's own.
	"refused":     "elicitations:elicitation",
	"elicitation": "_meta mode message elicitationId url requestedSchema",
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
// none of the message's own. The method's name is looked at like a member's: a
// server that cuts spaces off, or routes names without case, takes "Tools/Call " for
// the call that reeve does not see. So it is with the params of a call under a method
// that is not known.
func Double(v rawjson.Value, base string, beside ...string) *content.Double {
	if method := v.Get("method").Text(); method != "" && !defined[method] {
		like := alike[letters(method)]
		if like == "" && callsByAnyName(method, v.Get("params")) {
			like = "tools/call"
		}
		if like != "" {
			return &content.Double{Pointer: content.Join(base, "method"), What: "method", Name: method, For: like}
		}
	}
	return grammar.Double(v, "message", base, beside...)
}

// callsByAnyName reports whether a message of a method that is not the protocol's
// can be the call of a tool to a server that takes a prefix off the method, such as
// "rpc.", or has a name of its own for it: its params are a call's.
func callsByAnyName(method string, params rawjson.Value) bool {
	return params.Get("name").Exists() && (params.Get("arguments").Exists() || strings.Contains(letters(method), letters("tools/call")))
}

// defined are the methods of the protocol in every published version, and alike the
// same by their letters.
var defined, alike = func() (map[string]bool, map[string]string) {
	defined, alike := map[string]bool{}, map[string]string{}
	for name := range strings.FieldsSeq("initialize ping server/discover logging/setLevel completion/complete " +
		"tools/list tools/call prompts/list prompts/get " +
		"resources/list resources/templates/list resources/read resources/subscribe resources/unsubscribe subscriptions/listen " +
		"tasks/get tasks/list tasks/cancel tasks/result tasks/update sampling/createMessage elicitation/create roots/list " +
		"notifications/initialized notifications/cancelled notifications/progress notifications/message " +
		"notifications/roots/list_changed notifications/tools/list_changed notifications/prompts/list_changed " +
		"notifications/resources/list_changed notifications/resources/updated notifications/elicitation/complete " +
		"notifications/tasks notifications/tasks/status notifications/subscriptions/acknowledged") {
		defined[name], alike[letters(name)] = true, name
	}
	return defined, alike
}()

// letters is what is left of a method's name for readers that are not strict: its
// letters and digits, in the form in which look-alikes and cases are one.
func letters(method string) string {
	name, _ := canon.Name(method)
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name)
}
