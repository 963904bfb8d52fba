package proxy

import (
	"context"
	"errors"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// errorAnswer is a JSON-RPC error. id is JSON; data, where not nil, too.
func errorAnswer(id string, code int, text string, data []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = append(b, itoa(code)...)
	b = append(b, `,"message":`...)
	b = rawjson.AppendString(b, text)
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	return append(b, `}}`...)
}

// noteAmbiguous has a message recorded that was refused since readers understand it
// in different ways, and reports whether err says so: nobody sends that by mistake.
// It does not pass, whatever the guardian says.
func (p *Proxy) noteAmbiguous(ctx context.Context, raw []byte, err error) bool {
	if _, ambiguous := errors.AsType[*errAmbiguous](err); !ambiguous {
		return false
	}
	p.logger().Warn("a message that readers understand in different ways was not passed on", "server", p.Server)
	if _, err := p.Guardian.Judge(ctx, &Question{Message: raw, Server: p.Server}); err != nil {
		p.logger().Error("a refused message was not recorded", "server", p.Server, "error", err)
	}
	return true
}

// denial answers a message that does not pass: a tool's call with a result that
// a model can act on, anything else with an error. done, where not empty, says
// what has happened already.
func denial(id, method string, a *Answer, err error, done string) []byte {
	text := whyNot(a, err)
	if done != "" {
		text = done + " " + text
	}
	if err != nil || a == nil {
		if method == "tools/call" {
			return toolResult(id, text, nil)
		}
		return errorAnswer(id, codeInternal, text, nil)
	}
	if method == "tools/call" {
		return toolResult(id, text, details(a))
	}
	return errorAnswer(id, codeDenied, text, details(a))
}

// refusal answers what a server asked of the client, and may not, as a client would
// whose user said no. It is not told how to have somebody agree.
func refusal(m *message, a *Answer, err error) []byte {
	if a == nil || err != nil {
		return errorAnswer(m.id, codeInternal, whyNot(a, err), nil)
	}
	switch m.method {
	case "elicitation/create":
		return []byte(`{"jsonrpc":"2.0","id":` + m.id + `,"result":{"action":"decline"}}`)
	case "sampling/createMessage":
		return errorAnswer(m.id, codeDeclined, whyNot(a, err), nil)
	}
	return errorAnswer(m.id, codeDenied, whyNot(a, err), nil)
}

// toolResult is a result that says that the tool failed. Clients of the protocol
// without sessions want to be told that it is complete; the others pass over that.
func toolResult(id, text string, details []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"result":{"content":[{"type":"text","text":`...)
	b = rawjson.AppendString(b, text)
	b = append(b, `}],"isError":true,"resultType":"complete"`...)
	if details != nil {
		b = append(append(b, `,"_meta":{"reeve/decision":`...), details...)
		b = append(b, '}')
	}
	return append(b, `}}`...)
}

// heeded is an answer with what its reader should be told of it: in a tool's result as its first text, and in an
// error before its sentence, which models read; in any other for the program that takes it.
func heeded(raw []byte, method string, conditions []string) []byte {
	if len(conditions) == 0 {
		return raw
	}
	doc, err := rawjson.Parse(raw)
	if err != nil {
		return raw
	}
	result, sentence := doc.Root().Get("result"), doc.Root().Get("error").Get("message")
	said := "reeve, the guardian of these tools: " + strings.Join(conditions, " ")
	at, text := result, []byte(nil)
	switch content := result.Get("content"); {
	case sentence.Kind() == rawjson.String:
		at, text = sentence, rawjson.Quote(said+"\n"+sentence.Text())
	case result.Kind() != rawjson.Object:
		return raw
	case method == "tools/call" && content.Kind() == rawjson.Array:
		note := rawjson.AppendString([]byte(`{"type":"text","text":`), said)
		at, text = content, begun(content, append(note, '}'))
	default:
		told := rawjson.AppendStrings([]byte(`"reeve/conditions":`), conditions)
		switch meta := result.Get("_meta"); {
		case !meta.Exists():
			text = begun(result, append(append([]byte(`"_meta":{`), told...), '}'))
		case meta.Kind() != rawjson.Object:
			return raw
		case meta.Get("reeve/conditions").Exists(): // the server's own, which is no word of the guardian's
			at, text = meta.Get("reeve/conditions"), rawjson.AppendStrings(nil, conditions)
		default:
			at, text = meta, begun(meta, told)
		}
	}
	if said, err := doc.Splice([]rawjson.Replacement{{At: at, With: text}}); err == nil {
		return said
	}
	return raw
}

// begun is a list or an object with one more part before all others.
func begun(v rawjson.Value, part []byte) []byte {
	raw := v.Raw()
	b := append([]byte{raw[0]}, part...)
	if v.Len() > 0 {
		b = append(b, ',')
	}
	return append(b, raw[1:]...)
}

// whyNot is what a model or a person is told: why, and what to do instead.
func whyNot(a *Answer, err error) string {
	if err != nil || a == nil {
		return "This could not be decided and recorded, so it was not passed on. Nothing was allowed."
	}
	var b strings.Builder
	b.WriteString("Denied by policy: ")
	b.WriteString(a.Why)
	if a.Approval != "" {
		b.WriteString(" A person is asked. When they have agreed, ask for exactly the same again.")
	} else if a.Effect == act.Escalate.String() {
		b.WriteString(" A person must agree first.")
	}
	for _, s := range a.Instead {
		b.WriteString(" Instead: ")
		b.WriteString(s)
	}
	return b.String()
}

// details are a decision for a program. Some show it to the model, so it does not
// say under which id people are asked.
func details(a *Answer) []byte {
	b := append([]byte(`{"effect":`), rawjson.Quote(a.Effect)...)
	if a.Decision != "" {
		b = append(append(b, `,"id":`...), rawjson.Quote(a.Decision)...)
	}
	b = rawjson.AppendStrings(append(b, `,"codes":`...), a.Codes)
	return append(b, '}')
}
