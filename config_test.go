package reeve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "reeve.yaml")
	text := "listen: 127.0.0.1:9001\nretention:\n  age: 48h\nredact: [secret]\nkeep: none\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"REEVE_KEEP": "not-allowed", "REEVE_RETENTION_AGE": "24h"}
	c, err := Load(file, func(k string) string { return env[k] }, map[string]string{"retention-age": "12h", "hosts": "a.example, b.example"})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.Listen, c.Keep, c.Retention.Age, c.Redact, c.Hosts, c.Data, c.Limits.Body}
	want := []any{"127.0.0.1:9001", "not-allowed", 12 * time.Hour, []string{"secret"}, []string{"a.example", "b.example"}, "./reeve-data", int64(4 << 20)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags over environment over file over defaults (-want +got):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, file, want string
		flags            map[string]string
	}{
		{name: "unknown key", file: "lissten: x\n", want: "lissten"},
		{name: "wrong type", file: "limits:\n  body: many\n", want: "body"},
		{name: "address", flags: map[string]string{"listen": "8080"}, want: "listen"},
		{name: "duration", flags: map[string]string{"retention-age": "long"}, want: "--retention-age"},
		{name: "mistyped key", file: "retentoin: {age: 1h}\n", want: `1:1: there is no setting "retentoin" (did you mean retention?)`},
		{name: "mistyped key in a section", file: "retention:\n  agee: 1h\n", want: `2:3: there is no setting "retention.agee"`},
		{name: "number for a time", file: "retention: {age: 90}\n", want: `retention.age: "90" is no length of time: write 90d`},
		{name: "list for a text", file: "listen: [a, b]\n", want: "listen: it is one value, not a list"},
		{name: "mapping for a list", file: "hosts: {a: b}\n", want: "hosts: it is one value, not a mapping"},
		{name: "mapping in a list", file: "hosts: [{a: b}]\n", want: "a list of texts, and one of them is a mapping"},
		{name: "text for a section", file: "tls: cert.pem\n", want: "tls: it is a mapping of settings, not a text"},
		{name: "text for a number", file: "limits: {body: large}\n", want: `limits.body: "large" is no whole number`},
		{name: "text for a truth value", file: "log-denials: maybe\n", want: `log-denials: "maybe" is neither true nor false`},
		{name: "a list as the file", file: "- a\n", want: "it is a mapping of settings, not a list"},
		{name: "the same key twice", file: "listen: a:1\nlisten: b:2\n", want: "2:1"},
		{name: "flag for a truth value", flags: map[string]string{"log-denials": "maybe"}, want: "neither true nor false"},
		{name: "half of TLS", flags: map[string]string{"tls-cert": "c.pem"}, want: "cert and key"},
		{name: "keep", flags: map[string]string{"keep": "some"}, want: "keep"},
		{name: "detector", flags: map[string]string{"redact": "secrets"}, want: "detector"},
		{name: "database", flags: map[string]string{"database": "mysql://x"}, want: "database"},
		{name: "JWT without audience", flags: map[string]string{"jwt-secret": "env:X"}, want: "audience"},
		{name: "JWT with both", flags: map[string]string{"jwt-secret": "env:X", "jwt-jwks": "f", "jwt-audience": "a"}, want: "exclude"},
		{name: "role that there is not", flags: map[string]string{"jwt-secret": "env:X", "jwt-audience": "a", "jwt-roles": "bots=agent,king=emperor"}, want: `"emperor" is no role`},
		{name: "anonymous", flags: map[string]string{"anonymous": "yes"}, want: "until-first-key, loopback or never"},
		{name: "open to everybody", flags: map[string]string{"anonymous": "loopback", "listen": "0.0.0.0:80"}, want: "listens on loopback and nowhere else"},
		{name: "open to everybody by gRPC", flags: map[string]string{"anonymous": "loopback", "a2a-grpc": "0.0.0.0:50051"}, want: "listens on loopback and nowhere else"},
		{name: "open and closed", flags: map[string]string{"anonymous": "never", "insecure-anonymous": "true"}, want: "exclude"},
		{name: "key without a hash", flags: map[string]string{"keys": "a=agent"}, want: "NAME=ROLE:HASH"},
		{name: "role without a value", flags: map[string]string{"jwt-secret": "env:X", "jwt-audience": "a", "jwt-roles": "=agent"}, want: "VALUE=ROLE"},
		{name: "value with two roles", flags: map[string]string{"jwt-secret": "env:X", "jwt-audience": "a", "jwt-roles": "x=agent,x=admin"}, want: "twice"},
		{name: "roles without JWT", flags: map[string]string{"jwt-roles": "x=agent"}, want: "jwt.roles"},
		{name: "SPIFFE without TLS", flags: map[string]string{"spiffe-bundles": "a=f", "spiffe-roles": "spiffe://a/*=agent"}, want: "tls.cert"},
		{name: "SPIFFE without roles", flags: map[string]string{"spiffe-bundles": "a=f"}, want: "no roles"},
		{name: "SPIFFE role without a bundle", flags: map[string]string{"spiffe-roles": "spiffe://a/*=agent"}, want: "no bundle"},
		{name: "SPIFFE bundle without a domain", flags: map[string]string{"spiffe-bundles": "f"}, want: "TRUST-DOMAIN=FILE"},
		{name: "SPIFFE role of every domain", flags: map[string]string{"spiffe-bundles": "a=f", "spiffe-roles": "spiffe://*=agent"}, want: "one trust domain"},
		{name: "client certificates without TLS", flags: map[string]string{"tls-client-certificates": "true"}, want: "tls.cert"},
		{name: "proofs without tokens", flags: map[string]string{"jwt-require-proof": "true"}, want: "jwt.require-proof"},
		{name: "port", flags: map[string]string{"listen": "127.0.0.1:99999"}, want: "a port from 0 to 65535"},
		{name: "port of gRPC", flags: map[string]string{"a2a-grpc": "127.0.0.1:99999"}, want: "a2a.grpc"},
		{name: "port of syslog", flags: map[string]string{"events-syslog": "siem.test:99999"}, want: "events.syslog"},
		{name: "a host that is none", file: "hosts: [\"a b\"]\n", want: `hosts: "a b" is no name of a host`},
		{name: "a URL as host", flags: map[string]string{"hosts": "ok.test,https://reeve.test"}, want: `hosts: "https://reeve.test" is no name of a host`},
		{name: "a pattern as host", flags: map[string]string{"hosts": "*.reeve.test"}, want: "hosts"},
		{name: "origin of the ledger", flags: map[string]string{"ledger-origin": "a b"}, want: "ledger.origin"},
		{name: "witness's key", flags: map[string]string{"ledger-witness": "https://x.test", "ledger-witness-key": "k"}, want: "ledger.witness-key"},
		{name: "address for agents", flags: map[string]string{"a2a-url": "reeve"}, want: "a2a.url"},
		{name: "bytes", flags: map[string]string{"retention-bytes": "-1"}, want: "not negative"},
		{name: "witness", flags: map[string]string{"ledger-witness": "ftp://x", "ledger-witness-key": "k"}, want: "witness"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := ""
			if tt.file != "" {
				file = filepath.Join(t.TempDir(), "reeve.yaml")
				if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Load(file, func(string) string { return "" }, tt.flags)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// TestCheckServing: what is wrong in the files that settings name is said before anything is made.
func TestCheckServing(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, flags := range map[string]map[string]string{
		"":                  {"hosts": "reeve.test,10.0.0.1:8080,[fe80::1]:80,a_b.test."},
		"tls.cert":          {"tls-cert": bad, "tls-key": bad},
		"32 to withstand":   {"jwt-secret": "file:" + bad, "jwt-audience": "a"},
		"jwt.secret":        {"jwt-secret": "file:" + bad + "x", "jwt-audience": "a"},
		"JWKS":              {"jwt-jwks": bad, "jwt-audience": "a", "jwt-issuer": "i"},
		"acs.keys":          {"acs-keys": "a=b:file:" + bad},
		"credentials":       {"credentials": "api.test=file:" + bad + "x"},
		"model:":            {"model-url": "ftp://x"},
		"a2g.secrets":       {"a2g-secrets": "did:a=file:" + bad},
		"seed":              {"ledger-seed": "file:" + bad},
		"database URL":      {"database": "postgres://h:99999999/x"},
		"llm.key":           {"llm-key": "file:" + bad + "x"},
		"a2a.key":           {"a2a-key": "file:" + bad},
		"a2a.workflow":      {"a2a-workflow": bad},
		"a2a.peers":         {"a2a-peers": "x"},
		"tasks.push-secret": {"tasks-push-secret": "hunter2"},
		"login.secret":      {"login-issuer": "https://x.test", "login-client": "c", "login-secret": "file:" + bad + "x"},
		"events.headers":    {"events-url": "https://x.test", "events-headers": "a=file:" + bad + "x"},
		"events.ca":         {"events-syslog": "x.test:6514", "events-ca": bad},
		"telemetry.headers": {"telemetry-url": "https://x.test", "telemetry-headers": "a=file:" + bad + "x"},
		"telemetry.ca":      {"telemetry-url": "https://x.test", "telemetry-ca": bad},
	} {
		flags["data"] = filepath.Join(dir, "data")
		cfg, err := Load("", func(string) string { return "" }, flags)
		if err != nil {
			t.Fatalf("%v: %v", flags, err)
		}
		if err := cfg.CheckServing(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want one that says %q", flags, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("the data folder was made")
	}
}

// TestConfigFile: sections that are empty or commented out change nothing, and days are a
// unit of time, in a file as in a flag.
func TestConfigFile(t *testing.T) {
	load := func(text string, flags map[string]string) Config {
		t.Helper()
		file := filepath.Join(t.TempDir(), "reeve.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(file, func(string) string { return "" }, flags)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return c
	}
	for _, text := range []string{"", "# nothing\n\n", "tls:\n  # cert: a\nlisten: 127.0.0.1:8080\n"} {
		if c := load(text, nil); c.Listen != "127.0.0.1:8080" || c.TLS.Cert != "" {
			t.Errorf("%q: %+v", text, c)
		}
	}
	c := load("retention: {age: 30d}\nhosts: [a.example, b.example]\nledger: {public: true}\nproxies:\n  trusted: 10.0.0.5\nlog-denials: true\n", map[string]string{"retention-tasks": "1d12h"})
	if c.Retention.Age != 30*24*time.Hour || c.Retention.Tasks != 36*time.Hour || len(c.Hosts) != 2 || c.Ledger.Public != "true" || len(c.Proxies.Trusted) != 1 || !c.LogDenials {
		t.Errorf("%+v", c)
	}
}

// Two agents with one secret could each sign as the other; one agent may have two labels.
func TestACSKeysAreOnesOwn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": strings.Repeat("a", 32), "again": strings.Repeat("a", 32) + "\n", "b": strings.Repeat("b", 32)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ref := func(label, file string) string { return label + ":file:" + filepath.Join(dir, file) }
	for _, tt := range []struct {
		keys []string
		ok   bool
	}{
		{[]string{ref("1=one", "a"), ref("2=two", "b")}, true},
		{[]string{ref("1=one", "a"), ref("2=one", "b"), ref("3=one", "again")}, true},
		{[]string{ref("1=one", "a"), ref("2=two", "a")}, false},
		{[]string{ref("1=one", "a"), ref("2=two", "again")}, false},
	} {
		var c Config
		c.ACS.Keys = tt.keys
		if _, err := c.acsKeys(); (err == nil) != tt.ok {
			t.Errorf("%v: %v", tt.keys, err)
		}
	}
}
