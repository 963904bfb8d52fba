package proxy

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/rawjson"
)

// Headers of the protocol.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	eventHeader   = "Last-Event-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
	paramHeader   = "Mcp-Param-"
)

// firstStateless is the first version of the protocol without sessions, in which
// headers say what the body says.
const firstStateless = "2026-07-28"

// metaVersion is the member of _meta that names the version of a request.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// binding is an argument of a tool that is also a header.
type binding struct {
	header string // without Mcp-Param-
	path   []string
}

// bindings are the arguments that a schema says are headers, too.
func bindings(schema rawjson.Value) (list []binding) {
	const deepest = 16
	var walk func(v rawjson.Value, path []string)
	walk = func(v rawjson.Value, path []string) {
		for name, property := range v.Get("properties").Members() {
			deeper := append(path[:len(path):len(path)], name)
			if header := property.Get("x-mcp-header"); header.Text() != "" {
				list = append(list, binding{header.Text(), deeper})
			}
			if len(deeper) < deepest {
				walk(property, deeper)
			}
		}
	}
	walk(schema, nil)
	return list
}

// disagreement says which header says something else than the message, empty if
// none does. Whatever stands between a client and a server goes by the headers,
// and the server by the body. Of an older version headers that are there must
// agree as well: an old version is no way round the check.
func disagreement(h http.Header, m *message, tools *toolbox) string {
	if m.method == "" {
		for name := range h {
			if name == methodHeader || name == nameHeader || strings.HasPrefix(name, paramHeader) {
				return fmt.Sprintf("The header %s is of a request, and the body is an answer.", name)
			}
		}
		return ""
	}
	params := m.root().Get("params")
	version := h.Get(versionHeader)
	for name, values := range h {
		if strings.HasPrefix(name, "Mcp-") && len(values) > 1 {
			return fmt.Sprintf("The header %s is there twice.", name)
		}
	}
	if said := params.Get("_meta").Get(metaVersion); said.Exists() && version != "" && said.Text() != version {
		return fmt.Sprintf("The header %s is %.40q, and the body names the version %.40q.", versionHeader, version, said.Text())
	}
	required := max(version, versionOf(m)) >= firstStateless
	if method, there := h[methodHeader]; there && method[0] != m.method || required && !there {
		return fmt.Sprintf("The header %s must be %.80q, as in the body.", methodHeader, m.method)
	}
	named := m.method == "tools/call" || m.method == "prompts/get" || m.method == "resources/read"
	name, there := h[nameHeader]
	if there {
		decoded, ok := decodeHeader(name[0])
		if want := resourceOf(m.root()); !ok || want != "" && decoded != want || want == "" && named {
			return fmt.Sprintf("The header %s must be %.80q, as in the body.", nameHeader, want)
		}
	} else if required && named {
		return fmt.Sprintf("The header %s is missing.", nameHeader)
	}
	return paramsDisagree(h, m, tools, required)
}

// paramsDisagree says which header of an argument does not agree with it.
func paramsDisagree(h http.Header, m *message, tools *toolbox, required bool) string {
	bound := map[string]bool{}
	if m.method == "tools/call" {
		found, _ := tools.find(resourceOf(m.root()))
		if found == nil {
			return "" // such a call is denied
		}
		for _, b := range found.params {
			header := http.CanonicalHeaderKey(paramHeader + b.header)
			bound[header] = true
			want, there := argument(m.root(), b.path)
			got, given := h[header]
			switch {
			case !there && given:
				return fmt.Sprintf("The header %s is there, and the argument %s is not.", header, strings.Join(b.path, "."))
			case there && !given && required:
				return fmt.Sprintf("The header %s is missing.", header)
			case there && given:
				if decoded, ok := decodeHeader(got[0]); !ok || !sameValue(decoded, want) {
					return fmt.Sprintf("The header %s does not agree with the argument %s.", header, strings.Join(b.path, "."))
				}
			}
		}
	}
	for header := range h {
		if strings.HasPrefix(header, paramHeader) && !bound[header] {
			return fmt.Sprintf("The header %s stands for no argument of this tool.", header)
		}
	}
	return ""
}

// argument returns an argument that can stand in a header; null is none.
func argument(root rawjson.Value, path []string) (rawjson.Value, bool) {
	v := root.Get("params").Get("arguments")
	for _, name := range path {
		v = v.Get(name)
	}
	return v, v.Exists() && v.Kind() != rawjson.Null
}

// sameValue compares a header with an argument. A whole number can be spelled in
// several ways.
func sameValue(header string, v rawjson.Value) bool {
	text, ok := headerText(v)
	if !ok {
		return false
	}
	if v.Kind() == rawjson.Number {
		a, err1 := strconv.ParseFloat(header, 64)
		b, err2 := strconv.ParseFloat(text, 64)
		return err1 == nil && err2 == nil && a == b
	}
	return header == text
}

func headerText(v rawjson.Value) (string, bool) {
	switch v.Kind() {
	case rawjson.String:
		return v.Text(), true
	case rawjson.Bool, rawjson.Number:
		return string(v.Raw()), true
	}
	return "", false
}

// encodeHeader writes a text as the value of a header: in Base64 where it could
// not stand there as it is.
func encodeHeader(s string) string {
	plain := s == strings.TrimSpace(s) && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func decodeHeader(s string) (string, bool) {
	encoded, ok := strings.CutPrefix(s, "=?base64?")
	if encoded, ok2 := strings.CutSuffix(encoded, "?="); ok && ok2 {
		text, err := base64.StdEncoding.DecodeString(encoded)
		return string(text), err == nil
	}
	return s, true
}

// setHeaders has the headers say what a message says, as its version wants it.
func setHeaders(h http.Header, m *message, tools *toolbox) {
	for name := range h {
		if strings.HasPrefix(name, paramHeader) {
			h.Del(name)
		}
	}
	h.Del(methodHeader)
	h.Del(nameHeader)
	if said := m.root().Get("params").Get("_meta").Get(metaVersion); said.Text() != "" {
		h.Set(versionHeader, said.Text())
	}
	if m.method == "" || h.Get(versionHeader) < firstStateless {
		return
	}
	h.Set(methodHeader, m.method)
	if name := resourceOf(m.root()); name != "" {
		h.Set(nameHeader, encodeHeader(name))
	}
	if m.method != "tools/call" {
		return
	}
	found, _ := tools.find(resourceOf(m.root()))
	if found == nil {
		return
	}
	for _, b := range found.params {
		if v, there := argument(m.root(), b.path); there {
			if text, ok := headerText(v); ok {
				h.Set(paramHeader+b.header, encodeHeader(text))
			}
		}
	}
}
