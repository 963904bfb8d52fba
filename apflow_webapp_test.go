package reeve_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve/internal/chromium"
	"reeve.example/reeve/internal/identity"
)

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

	p := chromium.Open(t)
	p.Go(app.URL + "/settings/")
	p.Eval(fmt.Sprintf(`localStorage.setItem("auth_token", %q)`, r.keys[identity.Agent]))

	// The list, and what is under a task of it.
	p.Go(app.URL + "/tasks/")
	p.Says("Harvest")
	p.Says("Watering")
	p.Click("the arrow before Harvest", `[...document.querySelectorAll("tr")].find(r => r.innerText.includes("Harvest"))?.querySelector("button svg.tabler-icon-chevron-right")?.closest("button")`)
	p.Says("Apples")

	// Creation, which leads to the task's own page.
	p.Go(app.URL + "/tasks/create/")
	p.Click("Advanced Mode", `[...document.querySelectorAll("label")].find(l => l.innerText.includes("Advanced Mode"))`)
	p.Until("there is a field for JSON", `!!document.querySelector("form textarea")`)
	p.Eval(`(() => { const e = document.querySelector("form textarea");
		Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(e,
			JSON.stringify({name: "Orchard", schemas: {method: "system_info_executor"}, inputs: {resource: "memory"}}));
		e.dispatchEvent(new Event("input", {bubbles: true})) })()`)
	p.Eval(`document.querySelector("form").requestSubmit()`)
	p.Until("the new task's page is shown", `location.search.includes("id=") && document.body.innerText.includes("Orchard")`)

	// A tree, and its execution, whose events reach the page.
	p.Go(app.URL + "/tasks/?id=" + harvest)
	p.Click("the tree", `[...document.querySelectorAll("[role=tab]")].find(b => b.innerText.includes("Tree View"))`)
	p.Says("Apples")
	p.Eval(`window.said = ""; const f = window.fetch; window.fetch = async (...a) => { const r = await f(...a); r.clone().text().then(t => { window.said += t }); return r }`)
	p.Click("Execute Task", `[...document.querySelectorAll("button")].find(b => b.innerText.includes("Execute Task"))`)
	p.Until("the stream's events came", `window.said.includes('"type":"task_start"') && window.said.includes('"type":"task_completed"') && window.said.includes('"type":"final"')`)
	p.Click("its own page", `[...document.querySelectorAll("[role=tab]")][0]`)
	p.Says("completed")
	p.Click("its result", `[...document.querySelectorAll("[role=tab]")].find(b => b.innerText.includes("Result"))`)
	p.Says("1 of 1 tasks gave a result")

	// Schedules.
	p.Go(app.URL + "/scheduler/")
	p.Says("Watering")
	p.Click("its switch", `[...document.querySelectorAll("tr")].find(r => r.innerText.includes("Watering"))?.querySelector("input[type=checkbox]")`)
	for end := time.Now().Add(30 * time.Second); strings.Contains(rpc("tasks.scheduled.list", `{}`), "Watering"); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the schedule was switched off in the page, and goes on")
		}
	}

	// A page of another origin than the one that was named shows nothing.
	other := httptest.NewServer(app.Config.Handler)
	t.Cleanup(other.Close)
	p.Go(other.URL + "/settings/")
	p.Eval(fmt.Sprintf(`localStorage.setItem("auth_token", %q)`, r.keys[identity.Agent]))
	if said := p.Eval(fmt.Sprintf(`fetch(%q, {method: "POST", headers: {"Content-Type": "application/json", Authorization: "Bearer " + localStorage.getItem("auth_token")},
		body: '{"jsonrpc":"2.0","id":1,"method":"tasks.list","params":{}}'}).then(r => r.text(), e => "refused: " + e)`, node+"/tasks")); !strings.HasPrefix(said, "refused: ") {
		t.Errorf("a page of another origin was answered: %s", said)
	}
}
