package reeve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/identity"

	"github.com/coder/websocket"
)

// page is a page in Chromium, driven over its own protocol.
type page struct {
	*testing.T
	ctx    context.Context
	socket *websocket.Conn
	last   int
	events []string // what the page complained about
}

// openPage starts Chromium, which ends with the test.
func openPage(t *testing.T) *page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	chromium := os.Getenv("REEVE_CHROMIUM")
	if chromium == "" {
		chromium = "chromium"
	}
	c := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--remote-debugging-port=0", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "about:blank")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
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
	resp, err := http.Get("http://" + at + "/json/list")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var pages []struct {
		Type string `json:"type"`
		URL  string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&pages); err != nil || len(pages) == 0 {
		t.Fatalf("Chromium has %d pages: %v", len(pages), err)
	}
	socket, _, err := websocket.Dial(ctx, pages[0].URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	socket.SetReadLimit(64 << 20)
	p := &page{T: t, ctx: ctx, socket: socket}
	p.do("Page.enable", nil)
	p.do("Runtime.enable", nil)
	return p
}

// do sends a command, and returns its result.
func (p *page) do(method string, params any) json.RawMessage {
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
		if answer.Method == "Runtime.exceptionThrown" || answer.Method == "Runtime.consoleAPICalled" && bytes.Contains(answer.Params, []byte(`"type":"error"`)) {
			p.events = append(p.events, string(answer.Params))
		}
		if answer.ID == p.last {
			if answer.Error != nil {
				p.Fatalf("%s: %s", method, answer.Error)
			}
			return answer.Result
		}
	}
}

// eval evaluates an expression to a string.
func (p *page) eval(expression string) string {
	p.Helper()
	var result struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
	}
	if err := json.Unmarshal(p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}), &result); err != nil {
		p.Fatal(err)
	}
	return fmt.Sprint(result.Result.Value)
}

// until waits until an expression is true.
func (p *page) until(what, expression string) {
	p.Helper()
	for end := time.Now().Add(45 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if p.eval(expression) == "true" {
			p.Logf("%s", what)
			return
		}
	}
	text := p.eval("document.body ? document.body.innerText : ''")
	p.Fatalf("not in time: %s\nthe page says:\n%s\nand complained: %s", what, text, strings.Join(p.events[max(0, len(p.events)-5):], "\n"))
}

// says waits until the page shows a text.
func (p *page) says(text string) {
	p.Helper()
	p.until(fmt.Sprintf("it says %q", text), fmt.Sprintf(`document.body !== null && document.body.innerText.toLowerCase().includes(%q)`, strings.ToLower(text)))
}

// click clicks on what an expression finds.
func (p *page) click(what, expression string) {
	p.Helper()
	p.until("to click: "+what, fmt.Sprintf(`(() => { const e = %s; if (!e) return false; e.click(); return true })()`, expression))
}

func (p *page) open(url string) {
	p.Helper()
	p.do("Page.navigate", map[string]any{"url": url})
	p.until("it is loaded: "+url, fmt.Sprintf(`location.href.startsWith(%q) && document.readyState === "complete"`, url))
}

// builtFor is the server's URL that the web application is built with. What serves it here puts
// the node's in its place.
const builtFor = "http://reeve.invalid/apflow"

// TestApflowWebApplication drives apflow's web application in Chromium against a node: its list
// of tasks, a tree, creation, execution with events, schedules. It is of another origin than the
// node, which has been told of it, and its user has a key. scripts/test-apflow-webapp builds the
// application and runs this.
func TestApflowWebApplication(t *testing.T) {
	built := os.Getenv("REEVE_APFLOW_WEBAPP")
	if built == "" {
		t.Skip("scripts/test-apflow-webapp CHECKOUT runs this")
	}
	var node string
	files := http.FileServer(http.Dir(built))
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".js") {
			files.ServeHTTP(w, r)
			return
		}
		text, err := os.ReadFile(filepath.Join(built, filepath.FromSlash(strings.TrimPrefix(filepath.Clean(r.URL.Path), "/"))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(bytes.ReplaceAll(text, []byte(builtFor), []byte(node)))
	}))
	t.Cleanup(app.Close)
	r := start(t, map[string]string{"origins": app.URL, "policy-text": "version: 1\ndefault: allow\nrules: [{name: n, tools: [nothing], effect: deny}]"})
	node = r.url + "/apflow"
	rpc := func(method, params string) string {
		t.Helper()
		q, err := http.NewRequest("POST", r.url+"/flow", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Authorization", "Bearer "+r.keys[identity.Agent])
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		b.ReadFrom(resp.Body)
		return b.String()
	}
	const harvest = "c0000000-0000-4000-8000-000000000001"
	rpc("tasks.create", `[{"id":"`+harvest+`","name":"Harvest","dependencies":["c"],"schemas":{"method":"aggregate_results_executor"}},{"id":"c","name":"Apples","parent_id":"`+harvest+`","schemas":{"method":"system_info_executor"},"inputs":{"resource":"cpu"}}]`)
	rpc("tasks.create", `{"name":"Watering","schemas":{"method":"system_info_executor"},"schedule_type":"interval","schedule_expression":"3600","schedule_enabled":true}`)

	p := openPage(t)
	p.open(app.URL + "/settings/")
	p.eval(fmt.Sprintf(`localStorage.setItem("auth_token", %q)`, r.keys[identity.Agent]))

	// The list, and what is under a task of it.
	p.open(app.URL + "/tasks/")
	p.says("Harvest")
	p.says("Watering")
	p.click("the arrow before Harvest", `[...document.querySelectorAll("tr")].find(r => r.innerText.includes("Harvest"))?.querySelector("button svg.tabler-icon-chevron-right")?.closest("button")`)
	p.says("Apples")

	// Creation, which leads to the task's own page.
	p.open(app.URL + "/tasks/create/")
	p.click("Advanced Mode", `[...document.querySelectorAll("label")].find(l => l.innerText.includes("Advanced Mode"))`)
	p.until("there is a field for JSON", `!!document.querySelector("form textarea")`)
	p.eval(`(() => { const e = document.querySelector("form textarea");
		Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(e,
			JSON.stringify({name: "Orchard", schemas: {method: "system_info_executor"}, inputs: {resource: "memory"}}));
		e.dispatchEvent(new Event("input", {bubbles: true})) })()`)
	p.eval(`document.querySelector("form").requestSubmit()`)
	p.until("the new task's page is shown", `location.search.includes("id=") && document.body.innerText.includes("Orchard")`)

	// A tree, and its execution, whose events reach the page.
	p.open(app.URL + "/tasks/?id=" + harvest)
	p.click("the tree", `[...document.querySelectorAll("[role=tab]")].find(b => b.innerText.includes("Tree View"))`)
	p.says("Apples")
	p.eval(`window.said = ""; const f = window.fetch; window.fetch = async (...a) => { const r = await f(...a); r.clone().text().then(t => { window.said += t }); return r }`)
	p.click("Execute Task", `[...document.querySelectorAll("button")].find(b => b.innerText.includes("Execute Task"))`)
	p.until("the stream's events came", `window.said.includes('"type":"task_start"') && window.said.includes('"type":"task_completed"') && window.said.includes('"type":"final"')`)
	p.click("its own page", `[...document.querySelectorAll("[role=tab]")][0]`)
	p.says("completed")
	p.click("its result", `[...document.querySelectorAll("[role=tab]")].find(b => b.innerText.includes("Result"))`)
	p.says("1 of 1 tasks gave a result")

	// Schedules.
	p.open(app.URL + "/scheduler/")
	p.says("Watering")
	p.click("its switch", `[...document.querySelectorAll("tr")].find(r => r.innerText.includes("Watering"))?.querySelector("input[type=checkbox]")`)
	for end := time.Now().Add(30 * time.Second); strings.Contains(rpc("tasks.scheduled.list", `{}`), "Watering"); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the schedule was switched off in the page, and goes on")
		}
	}

	// A page of another origin than the one that was named shows nothing.
	other := httptest.NewServer(app.Config.Handler)
	t.Cleanup(other.Close)
	p.open(other.URL + "/settings/")
	p.eval(fmt.Sprintf(`localStorage.setItem("auth_token", %q)`, r.keys[identity.Agent]))
	if said := p.eval(fmt.Sprintf(`fetch(%q, {method: "POST", headers: {"Content-Type": "application/json", Authorization: "Bearer " + localStorage.getItem("auth_token")},
		body: '{"jsonrpc":"2.0","id":1,"method":"tasks.list","params":{}}'}).then(r => r.text(), e => "refused: " + e)`, node+"/tasks")); !strings.HasPrefix(said, "refused: ") {
		t.Errorf("a page of another origin was answered: %s", said)
	}
}
