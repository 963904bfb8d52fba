package reeve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/store/storetest"
)

// organized starts a node of everybody's, beside which two organizations have theirs, and
// returns it and what it listens at. Both take tokens of one issuer for one audience.
func organized(t *testing.T) (n *Node, url string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret"), tokenSecret)
	files := []string{}
	for name, effect := range map[string]string{"acme": "deny", "birch": "allow"} {
		write(t, filepath.Join(dir, name+"-policy.yaml"), "version: 1\ndefault: allow\nrules:\n  - name: of-"+name+"\n    effect: "+effect+"\n    on: message.user\n")
		file := filepath.Join(dir, name+".yaml")
		write(t, file, fmt.Sprintf("organization: %[1]s\nhosts: [%[1]s.test, \"www.%[1]s.test:443\"]\ndata: %[2]s/%[1]s\npolicy: %[2]s/%[1]s-policy.yaml\njwt: {secret: 'file:%[2]s/secret', audience: reeve}\n", name, dir))
		files = append(files, file)
	}
	n = openNode(t, "listen", "127.0.0.1:0", "organizations", strings.Join(files, ","))
	ctx, stop := context.WithCancel(t.Context())
	served, ready := make(chan error, 1), make(chan string, 1)
	go func() { served <- n.Serve(ctx, func(url string) { ready <- url }) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	select {
	case url = <-ready:
	case err := <-served:
		served <- err
		t.Fatal(err)
	}
	return n, url
}

// askAt sends a request under a host's name.
func askAt(t *testing.T, method, url, host, credential, body string, header ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, "" // it goes on; what has come by now is told by other routes
	}
	if _, err := io.Copy(&b, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

func memberOf(organization, role string) string {
	claim := ""
	if organization != "" {
		claim = `,"organization":` + organization
	}
	return tokenOf(fmt.Sprintf(`"sub":"ada","role":%q%s`, role, claim))
}

// TestThreat15Organizations: of what an organization's node knows, decides and keeps,
// nobody of another one learns anything, whatever name the request has, whatever the
// credential says, and whatever the agent says of itself.
func TestThreat15Organizations(t *testing.T) {
	n, url := organized(t)
	var acme, birch *Node
	for _, o := range n.Organizations() {
		if o.Organization() == "acme" {
			acme = o
		} else {
			birch = o
		}
	}
	for o, want := range map[*Node]string{acme: "acme.reeve.local/0", birch: "birch.reeve.local/0", n: "reeve.local/0"} {
		if o.LogName() != want {
			t.Errorf("the log is %s, want %s", o.LogName(), want)
		}
	}

	// Each is judged by its own policy, and says so in its own records. What the agent says
	// of the user's organization is birch.
	const marker = "pay-MARKER-7"
	for name, want := range map[string]string{"acme": `"deny"`, "birch": `"allow"`} {
		status, answer := askAt(t, "POST", url, name+".test", memberOf(`"`+name+`"`, "agent"), message("u-"+name, "1", map[string]string{"acme": marker, "birch": "pay"}[name]))
		if status != 200 || !strings.Contains(answer, `"decision":`+want) {
			t.Errorf("%s: %d %s, want %s", name, status, answer, want)
		}
	}

	// A key of one is nothing at the others.
	_, made := ask(acme.Admin(), identity.Operator, identity.Admin, "POST", "/admin/keys", `{"name":"bot","role":"admin"}`)
	key := regexp.MustCompile(`"secret":"([^"]+)"`).FindStringSubmatch(made)
	if key == nil {
		t.Fatal(made)
	}
	if _, made := ask(acme.Admin(), identity.Operator, identity.Admin, "POST", "/admin/keys", `{"name":"other","role":"admin","organization":"birch"}`); !strings.Contains(made, "secret") {
		t.Fatal(made)
	} else if status, _ := askAt(t, "GET", url+"/agents", "acme.test", regexp.MustCompile(`"secret":"([^"]+)"`).FindStringSubmatch(made)[1], ""); status != 401 {
		t.Errorf("a key that says to be of birch is let in: %d", status)
	}
	for _, tt := range []struct {
		what, host, credential string
		want                   int
	}{
		{"a member", "acme.test", memberOf(`"acme"`, "admin"), 200},
		{"a list of one", "acme.test", memberOf(`["acme"]`, "admin"), 200},
		{"the other name, in other letters, with a port", "WWW.Acme.Test:9", memberOf(`"acme"`, "admin"), 200},
		{"a full name", "acme.test.", memberOf(`"acme"`, "admin"), 200},
		{"the key", "acme.test", key[1], 200},
		{"of another one", "acme.test", memberOf(`"birch"`, "admin"), 401},
		{"of two", "acme.test", memberOf(`["acme","birch"]`, "admin"), 401},
		{"of none", "acme.test", memberOf("", "admin"), 401},
		{"in other letters", "acme.test", memberOf(`"ACME"`, "admin"), 401},
		{"with a space", "acme.test", memberOf(`"acme "`, "admin"), 401},
		{"nobody", "acme.test", "", 401},
		{"the key at another's", "birch.test", key[1], 401},
		{"the key at everybody's", "127.0.0.1", key[1], 401},
		{"a token at everybody's", "localhost", memberOf(`"acme"`, "admin"), 401},
		{"a name below", "x.acme.test", memberOf(`"acme"`, "admin"), 403},
		{"a name beyond", "acme.test.evil", memberOf(`"acme"`, "admin"), 403},
		{"two names", "acme.test, birch.test", memberOf(`"acme"`, "admin"), 403},
	} {
		if status, answer := askAt(t, "GET", url+"/agents", tt.host, tt.credential, ""); status != tt.want {
			t.Errorf("%s: %d %s, want %d", tt.what, status, answer, tt.want)
		}
	}
	// Who asks without a credential is somebody at everybody's address only, also where a
	// header of the caller names another host.
	for host, want := range map[string]int{"127.0.0.1": 200, "birch.test": 401} {
		status, answer := askAt(t, "POST", url, host, "", message("v", "1", "hello"), "X-Forwarded-Host", "acme.test")
		if want == 200 && status == 401 && strings.Contains(answer, "passed on") {
			continue // and even there a request that was passed on is nobody's
		}
		if status != want {
			t.Errorf("%s: %d %s, want %d", host, status, answer, want)
		}
	}

	// Whatever a role of birch looks at, nothing of acme's is in it; and nothing changes in it
	// when acme does more.
	ids := regexp.MustCompile(`"(?:decision_id|id|session_id|session)":"([^"]+)"`)
	_, known := askAt(t, "GET", url+"/api/v1/decisions", "acme.test", memberOf(`"acme"`, "admin"), "")
	if !strings.Contains(known, "of-acme") {
		t.Fatal(known)
	}
	walked := 0
	for _, role := range []string{"agent", "approver", "auditor", "admin"} {
		for _, route := range birch.serverConfig().Routes {
			method, path, ok := strings.Cut(route.Pattern, " ")
			if !ok {
				method, path = "GET", route.Pattern
			}
			if method != "GET" {
				continue
			}
			paths := []string{path}
			if strings.Contains(path, "{") {
				paths = nil
				for _, id := range ids.FindAllStringSubmatch(known, -1) {
					paths = append(paths, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, id[1]))
				}
			}
			for _, path := range paths {
				for _, host := range []string{"birch.test", "acme.test"} {
					status, answer := askAt(t, "GET", url+path, host, memberOf(`"birch"`, role), "")
					public := host == "birch.test" || len(route.Roles) == 0 && route.Who == nil || strings.HasPrefix(path, "/console")
					if strings.Contains(answer, marker) || strings.Contains(answer, "of-acme") || status < 400 && !public {
						t.Errorf("%s of birch at %s gets %s: %d %.300s", role, host, path, status, answer)
					}
					walked++
				}
			}
		}
	}
	if walked < 300 {
		t.Errorf("only %d requests were made", walked)
	}

	// A member who rules a node does not rule the machine that it shares.
	file := filepath.Join(t.TempDir(), "backup")
	if status, answer := askAt(t, "GET", url+"/api/v1/running", "acme.test", memberOf(`"acme"`, "admin"), ""); status != 200 || strings.Contains(answer, `"disk"`) {
		t.Errorf("an organization's admin is told of the machine: %d %s", status, answer)
	}
	if status, answer := askAt(t, "POST", url+"/admin/backup", "acme.test", memberOf(`"acme"`, "admin"), `{"file":"`+file+`"}`); status != 403 || exists(file) {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := ask(acme.Admin(), identity.Operator, identity.Admin, "POST", "/admin/backup", `{"file":"`+file+`"}`); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	// A WebSocket is opened under the same law.
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
	if status, answer := askAt(t, "GET", url+"/", "acme.test", memberOf(`"birch"`, "agent"), "", upgrade...); status != 401 {
		t.Errorf("%d %s", status, answer)
	}
	// Nor do agents of one reach for what the others have on the disk.
	for _, o := range []*Node{n, birch} {
		for _, touched := range []string{acme.cfg.Data, filepath.Join(acme.cfg.Data, "seed"), acme.cfg.file} {
			if len(o.cfg.Tampering(reads(touched))) == 0 {
				t.Errorf("an agent of %q may read %s", o.Organization(), touched)
			}
		}
	}
}

// TestOrganizationsRefused: two organizations that would share something do not start, nor
// does a file that says what is not an organization's to say.
func TestOrganizationsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("BIRCH", strings.Repeat("0b", 32))
	other := filepath.Join(dir, "birch.yaml")
	write(t, other, "organization: birch\nhosts: [birch.test]\ndata: "+dir+"/birch\nledger: {seed: env:BIRCH, file: "+dir+"/checkpoints}\nevents: {file: "+dir+"/events}\ntasks: {scratch: "+dir+"/scratch}\npasskeys: {origin: \"https://console.birch.test\"}\n")
	if err := os.Symlink(filepath.Join(dir, "birch"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "birch"), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"hosts: [acme.test]\ndata: DIR/acme\n":                                                                                    "organization is required",
		"organization: \"a b\"\nhosts: [acme.test]\ndata: DIR/acme\n":                                                             "no name of letters",
		"organization: acme\ndata: DIR/acme\n":                                                                                    "hosts is required",
		"organization: acme\nhosts: [acme.test]\n":                                                                                "data is required",
		"organization: acme\nhosts: [localhost]\ndata: DIR/acme\n":                                                                "one organization's alone",
		"organization: acme\nhosts: [\"127.0.0.1:8080\"]\ndata: DIR/acme\n":                                                       "one organization's alone",
		"organization: acme\nhosts: [\"[::1]\"]\ndata: DIR/acme\n":                                                                "one organization's alone",
		"organization: acme\nhosts: [äcme.test]\ndata: DIR/acme\n":                                                                "xn--",
		"organization: acme\nhosts: [Birch.test.]\ndata: DIR/acme\n":                                                              "the same host",
		"organization: acme\nhosts: [\"node.test:99\"]\ndata: DIR/acme\n":                                                         "the same host",
		"organization: Birch\nhosts: [acme.test]\ndata: DIR/acme\n":                                                               "the same name",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/link\n":                                                                "the same data folder",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/x/../birch\n":                                                          "the same data folder",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/node\n":                                                                "the same data folder",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ndatabase: \"sqlite:DIR/birch\"\n":                                "the same data folder",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nledger: {origin: birch.reeve.local}\n":                           "the same ledger.origin",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nlisten: \"127.0.0.1:9\"\n":                                       "listen is set at the node that listens",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ntls: {cert: a, key: b}\n":                                        "tls.cert is set at the node that listens",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nproxies: {trusted: [10.0.0.1]}\n":                                "proxies.trusted is set",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nanonymous: loopback\n":                                           "anonymous is set",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ninsecure-anonymous: true\n":                                      "insecure-anonymous is set",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\norganizations: [DIR/birch.yaml]\n":                               "organizations is set",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\na2a: {grpc: \"127.0.0.1:9\"}\n":                                  "a2a.grpc",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nallow-commands: true\n":                                          "a node, and a user, of its own",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ntasks: {allow-private: true}\n":                                  "a node, and a user, of its own",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nspiffe: {bundles: [a=DIR/b], roles: [\"spiffe://a/*=agent\"]}\n": "tls.cert at the node that listens",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nallow-private-callbacks: true\n":                                 "a node, and a user, of its own",
		"organization: acme\nhosts: [\"*.test\"]\ndata: DIR/acme\n":                                                               "one organization's alone",
		"organization: acme\nhosts: [\"https://acme.test\"]\ndata: DIR/acme\n":                                                    "one organization's alone",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nledger: {seed: env:BIRCH}\n":                                     "the same ledger.seed",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nledger: {file: DIR/checkpoints}\n":                               "the same ledger.file",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nevents: {file: DIR/birch/../events}\n":                           "the same events.file",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\npolicy: DIR/none.yaml\n":                                         "none.yaml",
		// Nor does one lie in what is another's.
		"organization: acme\nhosts: [acme.test]\ndata: DIR/birch/deep/acme\n":                                               "the data folder of acme lies in the data folder of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/link/acme\n":                                                     "the data folder of acme lies in the data folder of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/node/acme\n":                                                     "the data folder of acme lies in the data folder of (everybody)",
		"organization: acme\nhosts: [acme.test]\ndata: DIR\n":                                                               "the data folder of birch lies in the data folder of acme",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ndatabase: \"sqlite:DIR/birch/db\"\n":                       "the data folder of acme lies in the data folder of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nevents: {file: DIR/birch/events}\n":                        "the events.file of acme lies in the data folder of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nevents: {file: DIR/checkpoints}\n":                         "the events.file of acme lies in the ledger.file of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\nledger: {seed: \"file:DIR/node/seed\"}\n":                  "the ledger.seed of acme lies in the data folder of (everybody)",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ntasks: {scratch: DIR/scratch}\n":                           "have the same tasks.scratch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ntasks: {scratch: DIR/scratch/acme}\n":                      "the tasks.scratch of acme lies in the tasks.scratch of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\ntasks: {scratch: DIR/birch/tmp}\n":                         "the tasks.scratch of acme lies in the data folder of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/scratch/x\n":                                                     "the data folder of acme lies in the tasks.scratch of birch",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\npasskeys: {origin: \"https://birch.test\"}\n":              "the same host: birch.test",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\npasskeys: {origin: \"https://console.birch.test:8443\"}\n": "the same host: console.birch.test",
		"organization: acme\nhosts: [acme.test]\ndata: DIR/acme\npasskeys: {origin: \"https://pages.test:1\"}\n":            "the same host: pages.test",
		"organization: acme\nhosts: [acme.test, console.birch.test]\ndata: DIR/acme\n":                                      "the same host: console.birch.test",
	} {
		file := filepath.Join(dir, "acme.yaml")
		write(t, file, strings.ReplaceAll(text, "DIR", dir))
		cfg, err := Load("", func(string) string { return "" }, map[string]string{"data": dir + "/node", "hosts": "node.test", "passkeys-origin": "https://pages.test", "organizations": other + "," + file})
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.CheckServing(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		n, err := Open(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if n != nil {
			n.Close()
		}
	}
	// The process's variables are not the organizations'.
	cfg, err := Load("", func(name string) string {
		return map[string]string{"REEVE_POLICY": dir + "/none", "REEVE_DATA": dir + "/env"}[name]
	}, map[string]string{"organizations": other, "policy": ""})
	if err != nil {
		t.Fatal(err)
	}
	list, err := cfg.organizations()
	if err != nil || list[0].Data != dir+"/birch" || list[0].Policy != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestOrganizationsDatabase: one database under two addresses is one database.
func TestOrganizationsDatabase(t *testing.T) {
	dir, url := t.TempDir(), storetest.Postgres(t)
	join := "?"
	if strings.Contains(url, "?") {
		join = "&"
	}
	var files []string
	for i, name := range []string{"acme", "birch"} {
		file := filepath.Join(dir, name+".yaml")
		write(t, filepath.Join(dir, name+".seed"), strings.Repeat(fmt.Sprint(5+i), 64))
		write(t, file, fmt.Sprintf("organization: %[1]s\nhosts: [%[1]s.test]\ndata: %[2]s/%[1]s\ndatabase: %[3]q\nledger: {seed: 'file:%[2]s/%[1]s.seed'}\n", name, dir, url+join+fmt.Sprint("application_name=n", i)))
		files = append(files, file)
	}
	cfg, err := Load("", func(string) string { return "" }, map[string]string{"data": dir + "/node", "organizations": strings.Join(files, ",")})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "same database") && !strings.Contains(err.Error(), "under another origin") {
		t.Errorf("it opens: %v", err)
	}
	n.Close()
}
