package reeve

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
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

// TestThreat24NamedElsewhere: what a configuration names is trusted with it also where a link, or a way up,
// leads to it, and wherever in its repository it lies. What is the machine's own is not.
func TestThreat24NamedElsewhere(t *testing.T) {
	others := t.TempDir()
	for name, c := range map[string]struct {
		config          string // of sub/reeve.yaml, with REPO and OTHERS in it
		changed, link   string // a file that changes; and a link, as FROM to TO
		before, trusted bool   // whether the file is there at first; and whether the trust lasts
	}{
		"a link to the policy's folder":     {"policy: ./policy", "REPO/rules/p.yaml", "REPO/sub/policy ../rules", true, false},
		"a link to a folder outside":        {"policy: ./policy", "OTHERS/p.yaml", "REPO/sub/policy OTHERS", true, false},
		"a new file behind a link":          {"policy: ./policy", "REPO/rules/q.yaml", "REPO/sub/policy ../rules", false, false},
		"a link on the way":                 {"policy: ./conf/policy", "REPO/rules/policy/p.yaml", "REPO/sub/conf ../rules", true, false},
		"a link in the folder":              {"tasks: {modules: ./wasm}", "REPO/rules/p.wasm", "REPO/sub/wasm/more ../../rules", true, false},
		"a link to the policy's file":       {"policy: ./p.yaml", "REPO/rules/p.yaml", "REPO/sub/p.yaml ../rules/p.yaml", true, false},
		"a link that leads nowhere":         {"policy: ./policy", "REPO/sub/policy/p.yaml", "REPO/sub/policy/a nowhere", true, false},
		"a folder beside it":                {"policy: ../policy", "REPO/policy/p.yaml", "", true, false},
		"a folder beside it, later":         {"policy: ../policy", "REPO/policy/p.yaml", "", false, false},
		"up and down again":                 {"policy: ../sub/../policy", "REPO/policy/p.yaml", "", true, false},
		"its own folder":                    {"policy: .", "REPO/sub/p.yaml", "", true, false},
		"the folder above":                  {"policy: ..", "REPO/p.yaml", "", true, false},
		"a key beside it":                   {"model: {url: 'https://m.example', key: 'file:../key'}", "REPO/key", "", true, false},
		"a path of the repository":          {"policy: REPO/policy", "REPO/policy/p.yaml", "", true, false},
		"a link of the machine's, changed":  {"policy: OTHERS/policy", "OTHERS/policy/p.yaml", "", true, true},
		"what lies deep in a folder around": {"policy: ..", "REPO/node_modules/x/p.yaml", "", true, true},
		"another folder of the repository":  {"policy: ../policy", "REPO/rules/p.yaml", "", true, true},
		"what reeve writes beside it":       {"events: {file: ../events.jsonl}\ndata: ../data", "REPO/events.jsonl", "", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			repo, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			named := strings.NewReplacer("REPO", filepath.ToSlash(repo), "OTHERS", filepath.ToSlash(others))
			put := func(name, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, name, text)
			}
			file, changed := filepath.Join(repo, "sub", "reeve.yaml"), filepath.FromSlash(named.Replace(c.changed))
			put(filepath.Join(repo, ".git", "HEAD"), "ref: refs/heads/main\n")
			put(filepath.Join(repo, "rules", "a.yaml"), "one")
			put(file, named.Replace(c.config)+"\n")
			if from, to, ok := strings.Cut(named.Replace(c.link), " "); ok {
				if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, from); runtime.GOOS == "windows" && err != nil {
					t.Skip(err) // which lets few users make links
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if c.before {
				put(changed, "one")
			}
			trust := &Trust{filepath.Join(t.TempDir(), "trusted")}
			if err := trust.Add(file); err != nil {
				t.Fatal(err)
			}
			if err := trust.Check(file); err != nil {
				t.Fatalf("as it was: %v", err)
			}
			put(changed, "two")
			if err := trust.Check(file); (err == nil) != c.trusted {
				t.Errorf("after the change: %v", err)
			}
		})
	}
}

// TestTrustAs: what changed while a person read is not trusted.
func TestTrustAs(t *testing.T) {
	dir := withPolicyFolder(t)
	file := filepath.Join(dir, "reeve.yaml")
	write(t, file, "policy: policy\n")
	write(t, filepath.Join(dir, "policy", "a.yaml"), "version: 1\ndefault: deny\n")
	named, err := Named(file)
	if err != nil {
		t.Fatal(err)
	}
	trust := &Trust{filepath.Join(t.TempDir(), "trusted")}
	write(t, filepath.Join(dir, "policy", "b.yaml"), "version: 1\ndefault: allow\n")
	if err := trust.AddAs(file, named); err == nil || trust.Check(file) == nil {
		t.Errorf("with another policy: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "policy", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := trust.AddAs(file, named); err != nil || trust.Check(file) != nil {
		t.Errorf("as it was shown: %v", err)
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
