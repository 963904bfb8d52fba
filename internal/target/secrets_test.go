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
