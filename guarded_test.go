package reeve

import (
	"os"
	"path/filepath"
	"testing"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/rawjson"
)

// reads is an act that reads a file.
func reads(file string) *act.Action {
	return &act.Action{
		Door: "aos", Kind: act.ToolCall, Resource: "read_file", Canonical: "read_file",
		Arguments: []act.Argument{{Name: "path", Value: rawjson.Quote(file), Pointer: "/path"}},
		Content:   []act.Leaf{{Pointer: "/path", Arg: "path", Text: file}},
	}
}

// Whatever setting names a file with a secret, also one that is not thought of yet, and
// whatever stands before the reference: no act reads that file.
func TestSecretFilesAreGuarded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "one", "secret.txt")
	if r := (Config{}).Tampering(reads(file)); len(r) > 0 {
		t.Fatalf("a file that no setting names: %v", r)
	}
	seen := 0
	for i, s := range new(Config).Settings() {
		switch s.value.Interface().(type) {
		case string, []string:
			seen++
		default:
			continue
		}
		for _, before := range []string{
			"", "NAME=", "NAME=agent:", "NAME=approver@ann:", "LABEL=AGENT:", "did:web:a.example=", "api.example.com/v1=",
			"https://api.example.com=X-API-Key: ", "slack=", "file:/elsewhere=file:/other=",
		} {
			var c Config
			if err := c.Settings()[i].Set(before + "file:" + file); err != nil {
				t.Fatal(err)
			}
			if len(c.Tampering(reads(file))) == 0 {
				t.Errorf("%s: %sfile:PATH is read", s.Key, before)
			}
			if r := c.Tampering(reads(filepath.Join(filepath.Dir(file), "notes.txt"))); len(r) > 0 {
				t.Errorf("%s: what lies beside it is not: %v", s.Key, r)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d settings were tried", seen)
	}
	// A list has as many as it has.
	c := Config{Credentials: []string{"a.example=env:A", "b.example=file:" + file}}
	if len(c.Tampering(reads(file))) == 0 {
		t.Error("the second of a list is read")
	}
}

// The database is guarded where it lies outside the data folder, and so are the keys by
// which tokens are checked: who writes them is whoever they like.
func TestDatabaseAndKeysAreGuarded(t *testing.T) {
	dir := t.TempDir()
	for _, database := range []string{"sqlite:" + dir, "sqlite://" + dir} {
		if len((Config{Database: database}).Tampering(reads(filepath.Join(dir, "reeve.db")))) == 0 {
			t.Errorf("%s is read", database)
		}
	}
	var c Config
	c.JWT.JWKS = filepath.Join(dir, "jwks.json")
	a := reads(c.JWT.JWKS)
	if r := c.Tampering(a); len(r) > 0 {
		t.Errorf("public keys are not read: %v", r)
	}
	a.Resource, a.Canonical = "write_file", "write_file"
	a.Arguments = append(a.Arguments, act.Argument{Name: "content", Value: []byte(`"{}"`), Pointer: "/content"})
	a.Content = append(a.Content, act.Leaf{Pointer: "/content", Arg: "content", Text: "{}"})
	if len(c.Tampering(a)) == 0 {
		t.Error("the keys of tokens are written")
	}
}

// TestThreat24DevicesAreNoLaw: who has no configuration says so with a device, and what others
// write there changes nothing.
func TestThreat24DevicesAreNoLaw(t *testing.T) {
	writes := func(file string) *act.Action {
		a := reads(file)
		a.Resource, a.Canonical = "write_file", "write_file"
		return a
	}
	c := Config{file: "/dev/null"}
	c.Ledger.File, c.Events.File = filepath.Join(t.TempDir(), "checkpoints"), filepath.Join(t.TempDir(), "events.jsonl")
	if r := c.Tampering(writes("/dev/null")); len(r) > 0 {
		t.Errorf("a device is guarded: %v", r)
	}
	for _, file := range []string{c.Ledger.File, c.Events.File} {
		if len(c.Tampering(writes(file))) == 0 {
			t.Errorf("%s is written", file)
		}
		if r := c.Tampering(writes(filepath.Join(filepath.Dir(file), "others.log"))); len(r) > 0 {
			t.Errorf("what lies beside %s is not: %v", file, r)
		}
		if r := c.Tampering(reads(file)); len(r) > 0 {
			t.Errorf("%s is not read: %v", file, r)
		}
	}
}

// TestOwnSettingsAreGuarded: the user's own settings and policy rule from the moment that they are there.
func TestOwnSettingsAreGuarded(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	own, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, denied := range map[string]bool{"reeve.yaml": true, "policy/mine.yaml": true, "trusted": true, "../other/reeve.yaml": false} {
		a := reads(filepath.Join(own, "reeve", name))
		a.Resource, a.Canonical = "write_file", "write_file"
		if got := len((Config{Data: t.TempDir()}).Tampering(a)) > 0; got != denied {
			t.Errorf("%s is written: denied %v, want %v", name, got, denied)
		}
	}
}
