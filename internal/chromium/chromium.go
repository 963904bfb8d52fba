// Package chromium is for tests of pages: a real Chromium, driven over its own protocol.
// It does what the tests of this repository need and no more.
//
//	p := chromium.Open(t)
//	p.Go(url)
//	p.Says("Approvals")
//	p.Click("the first act", `document.querySelector("a.act")`)
//	p.Clean() // nothing went wrong on the page, and nothing left its host
package chromium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/needs"

	"github.com/coder/websocket"
)

// Page is a page in a Chromium that ends with the test.
type Page struct {
	*testing.T
	ctx    context.Context
	at     string // where the browser answers
	socket *websocket.Conn
	last   int

	Said     []string // what the page complained about
	Requests []string // the addresses that it asked
	Received int      // the bytes that it was sent, as they came
}

// Open starts Chromium, with one empty page.
func Open(t *testing.T) *Page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	chromium := os.Getenv("REEVE_CHROMIUM")
	if chromium == "" {
		chromium = "chromium"
	}
	profile, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // its helpers outlive it for a moment, and write
		for range 100 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	c := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update",
		// A tab behind another one works as the one in front does.
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		"--remote-debugging-port=0", "--user-data-dir="+profile, "about:blank")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("Chromium is not installed (scripts/test-needs does it), or not under the name in $REEVE_CHROMIUM: %v", err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	at := ""
	for lines := bufio.NewScanner(stderr); at == "" && lines.Scan(); {
		if _, address, ok := strings.Cut(lines.Text(), "DevTools listening on ws://"); ok {
			at, _, _ = strings.Cut(address, "/")
		}
	}
	go func() { // nobody else reads what it says
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
		}
	}()
	return (&Page{T: t, ctx: ctx, at: at}).Tab()
}

// Tab opens another page of the same browser: who is logged in in one is in the other.
func (p *Page) Tab() *Page {
	p.Helper()
	ask, err := http.NewRequestWithContext(p.ctx, http.MethodPut, "http://"+p.at+"/json/new?about:blank", nil)
	if err != nil {
		p.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(ask)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct {
		URL string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil {
		p.Fatal(err)
	}
	socket, _, err := websocket.Dial(p.ctx, made.URL, nil)
	if err != nil {
		p.Fatal(err)
	}
	socket.SetReadLimit(64 << 20)
	tab := &Page{T: p.T, ctx: p.ctx, at: p.at, socket: socket}
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		tab.Do(domain+".enable", nil)
	}
	return tab
}

// Do sends a command, and returns its result.
func (p *Page) Do(method string, params any) json.RawMessage {
	p.Helper()
	result, err := p.ask(method, params)
	if err != nil {
		p.Fatal(err)
	}
	return result
}

// ask is Do for who goes on without an answer.
func (p *Page) ask(method string, params any) (json.RawMessage, error) {
	p.Helper()
	p.last++
	message, err := json.Marshal(map[string]any{"id": p.last, "method": method, "params": params})
	if err != nil {
		p.Fatal(err)
	}
	if err := p.socket.Write(p.ctx, websocket.MessageText, message); err != nil {
		p.Fatal(err)
	}
	for {
		_, data, err := p.socket.Read(p.ctx)
		if err != nil {
			p.Fatal(err)
		}
		var answer struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			p.Fatal(err)
		}
		p.note(answer.Method, answer.Params)
		if answer.ID == p.last {
			if answer.Error != nil {
				return nil, fmt.Errorf("%s: %s", method, answer.Error)
			}
			return answer.Result, nil
		}
	}
}

// note keeps what a page tells by itself, as far as tests ask for it.
func (p *Page) note(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown", "Page.javascriptDialogOpening":
		p.Said = append(p.Said, string(params))
	case "Runtime.consoleAPICalled":
		if bytes.Contains(params, []byte(`"type":"error"`)) {
			p.Said = append(p.Said, string(params))
		}
	case "Log.entryAdded": // what a Content Security Policy stopped comes here, too
		// A page that refuses something has a status of 4xx, which is no complaint.
		if bytes.Contains(params, []byte(`"level":"error"`)) && !bytes.Contains(params, []byte("responded with a status of 4")) {
			p.Said = append(p.Said, string(params))
		}
	case "Network.requestWillBeSent":
		var sent struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		if json.Unmarshal(params, &sent) == nil {
			p.Requests = append(p.Requests, sent.Request.URL)
		}
	case "Network.loadingFinished":
		var done struct {
			Bytes float64 `json:"encodedDataLength"`
		}
		if json.Unmarshal(params, &done) == nil {
			p.Received += int(done.Bytes)
		}
	}
}

// Clean fails the test if the page complained about anything, or asked another host than
// the one that it was opened from.
func (p *Page) Clean() {
	p.Helper()
	p.Eval("1") // so that what was said is read
	for _, said := range p.Said {
		p.Errorf("the page complained: %.600s", said)
	}
	own, err := url.Parse(p.Eval("location.href"))
	if err != nil {
		p.Fatal(err)
	}
	for _, request := range p.Requests {
		if u, err := url.Parse(request); err == nil && u.Host != own.Host && u.Scheme != "about" {
			p.Errorf("the page asked another host: %s", request)
		}
	}
}

// Look writes a picture of the page to the folder $REEVE_PICTURES, if that is set.
func (p *Page) Look(name string) {
	p.Helper()
	dir := os.Getenv("REEVE_PICTURES")
	if dir == "" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	if err := json.Unmarshal(p.Do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": false}), &shot); err != nil {
		p.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), text, 0o666)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// Accessible fails the test where axe finds something on the page that keeps people from
// using it: of WCAG 2.2, levels A and AA.
func (p *Page) Accessible() {
	p.Helper()
	axe, err := os.ReadFile(filepath.Join(needs.Dir(p.T, "axe"), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		p.Fatal(err)
	}
	p.Eval(string(axe) + "; 1")
	found := p.Eval(`axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
		r.violations.map(v => v.id + ": " + v.help + "\n" + v.nodes.slice(0, 4).map(n => "  " + n.html.slice(0, 200) + "\n  " + n.failureSummary.replaceAll("\n", " ")).join("\n")).join("\n"))`)
	if found != "" {
		p.Errorf("%s, as axe sees it:\n%s", p.Eval("location.pathname"), found)
	}
}

// Size gives the page another size, in CSS pixels, and its theme: light or dark.
func (p *Page) Size(width, height int, theme string) {
	p.Helper()
	p.Do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	p.Do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}})
}

// Press presses a key, as a person does.
func (p *Page) Press(key string) {
	p.Helper()
	event := map[string]any{"type": "keyDown", "key": key}
	switch {
	case key == "Enter":
		event["text"], event["windowsVirtualKeyCode"] = "\r", 13
	case key == "Tab":
		event["windowsVirtualKeyCode"] = 9
	case len(key) == 1:
		event["text"] = key
	}
	p.Do("Input.dispatchKeyEvent", event)
	p.Do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

// Eval evaluates an expression to a string.
func (p *Page) Eval(expression string) string {
	p.Helper()
	value, err := p.eval(expression)
	if err != nil {
		p.Fatal(err)
	}
	return value
}

func (p *Page) eval(expression string) (string, error) {
	p.Helper()
	var result struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
	}
	answer, err := p.ask("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true})
	if err == nil {
		err = json.Unmarshal(answer, &result)
	}
	return fmt.Sprint(result.Result.Value), err
}

// Until waits until an expression is true.
func (p *Page) Until(what, expression string) {
	p.Helper()
	for end := time.Now().Add(45 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		// A page that goes away while it is asked says nothing: the next one is asked.
		if value, err := p.eval(expression); err == nil && value == "true" {
			p.Logf("%s", what)
			return
		}
	}
	text := p.Eval("document.body ? document.body.innerText : ''")
	p.Fatalf("not in time: %s\nthe page says:\n%s\nand complained: %s", what, text, strings.Join(p.Said[max(0, len(p.Said)-5):], "\n"))
}

// Says waits until the page shows a text.
func (p *Page) Says(text string) {
	p.Helper()
	p.Until(fmt.Sprintf("it says %q", text), fmt.Sprintf(`document.body !== null && document.body.innerText.toLowerCase().includes(%q)`, strings.ToLower(text)))
}

// Click clicks on what an expression finds.
func (p *Page) Click(what, expression string) {
	p.Helper()
	p.Until("to click: "+what, fmt.Sprintf(`(() => { const e = %s; if (!e) return false; e.click(); return true })()`, expression))
}

// Go opens an address, and waits until its document stands. A form that the former page sent may
// be answered meanwhile and bring another document: the address is then opened again.
func (p *Page) Go(address string) {
	p.Helper()
	p.Do("Runtime.evaluate", map[string]any{"expression": "window.left = true"})
	p.Do("Page.navigate", map[string]any{"url": address})
	p.Until("it is loaded: "+address, fmt.Sprintf(`(() => {
		if (window.left || document.readyState !== "complete") return false;
		const there = location.pathname.replace(/\/$/, "") === new URL(%[1]q).pathname.replace(/\/$/, "");
		if (!there) { window.left = true; location.href = %[1]q }
		return there;
	})()`, address))
}
