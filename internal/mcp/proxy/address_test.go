package proxy

import (
	"strings"
	"testing"
)

// TestAddresses: nobody is asked by a server to open what is no page, as a request or before a call goes on.
func TestAddresses(t *testing.T) {
	p, _ := testProxy(t, nil)
	for address, page := range map[string]bool{
		"https://login.example/a?b=c#d": true, "http://127.0.0.1:8080/cb": true, "HTTPS://login.example": true,
		"javascript:alert(1)": false, "JaVaScRiPt:alert(1)": false, " javascript:alert(1)": false, "java\tscript:alert(1)": false, "\u200bjavascript:alert(1)": false,
		"data:text/html,x": false, "file:///etc/passwd": false, "vscode://x/y": false, "ms-msdt:/id": false, "//login.example": false, "login.example": false, "": false,
		"https:///x": false, "https:login.example": false, "https:\\\\login.example": false, "https://bank.example@evil.example/": false, "https://login.example/\u202egnp.": false,
	} {
		if isPage(address) != page {
			t.Errorf("%q: want %v", address, page)
		}
		quoted := strings.NewReplacer(`\`, `\\`, "\t", `\t`).Replace(address)
		asks := `{"mode":"url","elicitationId":"1","message":"Sign in","url":"` + quoted + `"}`
		asked := &scripted{answer: func(raw []byte) [][]byte {
			switch {
			case strings.Contains(string(raw), "tools/call"):
				return [][]byte{[]byte(`{"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":` + asks + `}`)}
			case strings.Contains(string(raw), `"decline"`):
				return [][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)}
			}
			return nil
		}}
		got := exchange(t, p, asked, 1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
		if reached := strings.Contains(got[0], `"elicitation/create"`); reached != page {
			t.Errorf("%q as a request: %s", address, got[0])
		}
		before := &scripted{answer: func(raw []byte) [][]byte {
			return [][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"Sign in first","data":{"elicitations":[` + asks + `]}}}`)}
		}}
		got = exchange(t, p, before, 1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)
		if reached := strings.Contains(got[0], `elicitationId`); reached != page {
			t.Errorf("%q in an error: %s", address, got[0])
		}
	}
}
