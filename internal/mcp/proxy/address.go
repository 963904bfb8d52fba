package proxy

import (
	"net/url"
	"strings"
	"unicode"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// badAddress is why nobody may be asked to open the address that a server gives with what it
// asks of a person (elicitation/create of mode url); nil where it is a page's, or there is none.
// A client opens it where its user is signed in: javascript:, data:, file: and the schemes of
// programs of theirs would do more than show a page.
func badAddress(params rawjson.Value) []act.Reason {
	address := params.Get("url")
	if !address.Exists() || isPage(address.Text()) {
		return nil
	}
	return []act.Reason{{
		Rule: toolsRule, Code: "mcp.address", Effect: act.Deny,
		Message: "The server asks a person to open what is no page of http or https.", Instead: "Ask whoever runs the server for the page's address.",
	}}
}

// badAddresses is badAddress for all that an error asks of a person, before the call can go on.
func badAddresses(failure rawjson.Value) []act.Reason {
	for _, asked := range failure.Get("data").Get("elicitations").Elems() {
		if r := badAddress(asked); r != nil {
			return r
		}
	}
	return nil
}

// isPage reports whether every reader takes a text for the address of a page. Browsers pass over
// spaces and what is not seen, so that none may stand there.
func isPage(address string) bool {
	if strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '\\' }) {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
}
