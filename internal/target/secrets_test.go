package target

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reeve.example/reeve/act"
)

// TestSecretsNearestFirst: a large folder that lies beside a file of secrets hides nothing.
func TestSecretsNearestFirst(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxLooked {
		write(fmt.Sprintf("a/%d/file%d", i/512, i), "x")
	}
	value := strings.Repeat("q7Zk", 6)
	write("z/.env", "SHOP_"+"PASS"+"WORD="+value+"\n")
	a := &act.Action{Kind: act.ToolCall, Canonical: "bash", Folder: root, Content: []act.Leaf{{Text: "curl https://x.example"}}}
	if Secrets(a, folderOf(a)); a.Secrets == nil {
		t.Fatal("nothing is looked at")
	}
	if found := a.Secrets(); len(found) != 1 || !a.HoldsSecret("say "+value) || a.HoldsSecret("say nothing at all") {
		t.Errorf("found %q", found)
	}
}

// TestSecretsByContent: what stands in a file that is named tells that it holds a secret; a folder, a pipe, what is
// not there, and what is only an example, tell nothing.
func TestSecretsByContent(t *testing.T) {
	root := t.TempDir()
	value := strings.Repeat("q7Zk", 6)
	for name, text := range map[string]string{
		"key.pem":   "-----BEGIN PRIVATE" + " KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n-----END PRIVATE" + " KEY-----\n",
		"app.json":  `{"pass` + `word":"` + value + `"}`,
		"notes.txt": "nothing of that kind",
		"far.txt":   strings.Repeat("x ", maxNamedFile/2) + "pass" + "word=" + value,
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keeps := keepsSecret(root)
	for name, want := range map[string]bool{"key.pem": true, "app.json": true, filepath.Join(root, "key.pem"): true, "notes.txt": false, "far.txt": false, ".": false, "no": false, "": false} {
		if got := keeps(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if keepsSecret("")("key.pem") {
		t.Error("a name is looked up in no folder")
	}
	for i := range maxNamedFiles {
		keeps(fmt.Sprint("other", i))
	}
	if again := filepath.Join(root, "app2.json"); os.Link(filepath.Join(root, "app.json"), again) == nil && keeps(again) {
		t.Error("more files are read than the bound says")
	}
}
