package reeve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A configuration that came with a repository does not rule until the user has said
// so, and not when it, or what it names, has changed since.
func TestThreat24FoundConfigurationIsNotObeyed(t *testing.T) {
	dir := t.TempDir()
	trust := &Trust{filepath.Join(t.TempDir(), "reeve", "trusted")}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "reeve.yaml")
	base := func() {
		write("reeve.yaml", "policy: ./policy\njwt: {secret: 'file:keys/jwt', audience: x}\ncredentials: ['http://h.example=file:keys/h', 'https://i.example=X-Key: file:keys/i=1']\n"+
			"keys: ['me=admin@ann:file:"+filepath.ToSlash(dir)+"/keys/admin']\nacs: {keys: ['one=bot:file:keys/acs']}\n")
		write("policy/a.yaml", "one")
		write("keys/jwt", "one")
		write("keys/h", "one")
		write("keys/i=1", "one")
		write("keys/acs", "one")
		write("keys/admin", "sha256:"+strings.Repeat("a", 64))
		os.Remove(filepath.Join(dir, "policy/b.yaml"))
	}
	base()
	if err := trust.Check(file); !errors.Is(err, ErrUntrusted) {
		t.Fatalf("nobody has said anything: %v", err)
	}
	if err := trust.Add(file); err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		name, file, text string
		trusted          bool
	}{
		{"nothing", "keys/h", "one", true},
		{"another file", "src/main.go", "x", true},
		{"the file", "reeve.yaml", "policy: ./policy\nallow-commands: true\n", false},
		{"a policy", "policy/a.yaml", "two", false},
		{"a further policy", "policy/b.yaml", "one", false},
		{"a secret", "keys/jwt", "two", false},
		{"a credential", "keys/h", "two", false},
		{"a credential in a header of its own", "keys/i=1", "two", false},
		{"an agent's key", "keys/acs", "two", false},
		{"who is the admin", "keys/admin", "sha256:" + strings.Repeat("b", 64), false},
	} {
		base()
		write(change.file, change.text)
		err := trust.Check(file)
		if (err == nil) != change.trusted {
			t.Errorf("%s changes: %v", change.name, err)
		}
	}
	base()
	other := filepath.Join(t.TempDir(), "reeve.yaml") // the same text elsewhere
	text, _ := os.ReadFile(file)
	if err := os.WriteFile(other, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := trust.Check(other); !errors.Is(err, ErrUntrusted) {
		t.Errorf("a copy elsewhere: %v", err)
	}
	if was, err := trust.Remove(file); err != nil || !was {
		t.Errorf("%v %v", was, err)
	}
	if err := trust.Check(file); !errors.Is(err, ErrUntrusted) {
		t.Errorf("after it was removed: %v", err)
	}
}

// TestTrustOrganizations: what an organization's file names below the folder is trusted with
// the file that names the organization.
func TestTrustOrganizations(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "reeve.yaml"), "organizations: [acme.yaml]\n")
	write(t, filepath.Join(dir, "acme.yaml"), "organization: acme\nhosts: [acme.test]\ndata: acme-data\npolicy: acme-policy.yaml\n")
	seen := map[string]bool{}
	for _, text := range []string{"version: 1\ndefault: deny\n", "version: 1\ndefault: allow\n"} {
		write(t, filepath.Join(dir, "acme-policy.yaml"), text)
		_, hash, _, err := fingerprint(filepath.Join(dir, "reeve.yaml"), true)
		if err != nil {
			t.Fatal(err)
		}
		seen[hash] = true
	}
	if len(seen) != 2 {
		t.Error("another policy of the organization is trusted, too")
	}
}

// TestTrustRest: who names a policy needs no trust of the file's own, and of all else still.
func TestTrustRest(t *testing.T) {
	dir := withPolicyFolder(t)
	file := filepath.Join(dir, "reeve.yaml")
	write(t, file, "policy: policy\nmodel: {url: 'https://m.example', key: 'file:key'}\n")
	write(t, filepath.Join(dir, "policy", "a.yaml"), "version: 1\ndefault: deny\n")
	write(t, filepath.Join(dir, "key"), "secret")
	trust := &Trust{filepath.Join(t.TempDir(), "trusted")}
	if err := trust.CheckRest(file); !errors.Is(err, ErrUntrusted) {
		t.Fatalf("before it was trusted: %v", err)
	}
	if err := trust.Add(file); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "policy", "a.yaml"), "version: 1\ndefault: allow\n")
	if err := trust.CheckRest(file); err != nil {
		t.Errorf("all but the policy, after an edit of the policy: %v", err)
	}
	if err := trust.Check(file); !errors.Is(err, ErrUntrusted) {
		t.Errorf("all, after an edit of the policy: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "policy")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "policy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := trust.Check(file); !errors.Is(err, ErrUntrusted) {
		t.Errorf("all, without a file of the policy: %v", err)
	}
	write(t, filepath.Join(dir, "key"), "another")
	if err := trust.CheckRest(file); !errors.Is(err, ErrUntrusted) {
		t.Errorf("all but the policy, after an edit of a key: %v", err)
	}
}

// TestTrustKeep: what a person has written to a policy keeps its trust, and nothing else does.
func TestTrustKeep(t *testing.T) {
	const text = "version: 1\ndefault: allow\n"
	for name, c := range map[string]struct {
		before, meanwhile func(t *testing.T, dir string)
		trusted           bool
	}{
		"alone":                {trusted: true},
		"not trusted before":   {before: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "policy", "b.yaml"), "rules: []\n") }},
		"another file besides": {meanwhile: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "policy", "b.yaml"), "rules: []\n") }},
		"another text": {meanwhile: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "policy", "exceptions.yaml"), text+"rules: []\n")
		}},
		"the configuration": {meanwhile: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "reeve.yaml"), "policy: policy\nlisten: 0.0.0.0:80\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := withPolicyFolder(t)
			config, file := filepath.Join(dir, "reeve.yaml"), filepath.Join(dir, "policy", "exceptions.yaml")
			write(t, config, "policy: policy\n")
			write(t, filepath.Join(dir, "policy", "a.yaml"), "version: 1\ndefault: deny\n")
			trust := &Trust{filepath.Join(t.TempDir(), "trusted")}
			if err := trust.Add(config); err != nil {
				t.Fatal(err)
			}
			if c.before != nil {
				c.before(t, dir)
			}
			err := trust.Keep(config, file, text, func() error {
				write(t, file, text)
				if c.meanwhile != nil {
					c.meanwhile(t, dir)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := trust.Check(config); (err == nil) != c.trusted {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func withPolicyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "policy"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
