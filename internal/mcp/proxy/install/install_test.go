package install

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var proxy = []string{"/usr/bin/reeve", "mcp", "--data", "/home/ann/reeve"}

// TestWrap: configurations as the clients write them, and what becomes of them.
func TestWrap(t *testing.T) {
	const desktop = `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ann/Desktop"],
      "env": {"KEY": "1e400"}
    },
    "bare": {"command": "uvx"}
  },
  "globalShortcut": ""
}
`
	const wrapped = `"command": "/usr/bin/reeve",
      "args": ["mcp", "--data", "/home/ann/reeve", "--server", "files", "--", "npx", "-y", "@modelcontextprotocol/server-filesystem", "/Users/ann/Desktop"],`
	for _, tt := range []struct {
		name, client, text string
		want               string // a part of what it becomes
		changed, left      []string
	}{
		{"desktop", "claude-desktop", desktop, wrapped, []string{"files", "bare"}, nil},
		{"no arguments", "claude-desktop", desktop, `"bare": {"command": "/usr/bin/reeve", "args": ["mcp", "--data", "/home/ann/reeve", "--server", "bare", "--", "uvx"]}`, []string{"files", "bare"}, nil},
		{"code", "claude-code", `{"numStartups":12,"mcpServers":{"a":{"type":"stdio","command":"x","args":[],"env":{}},"web":{"type":"http","url":"https://a.example/mcp"}},"projects":{"/p":{"mcpServers":{"b":{"command":"y"}},"history":[]}}}`,
			`"projects":{"/p":{"mcpServers":{"b":{"command":"/usr/bin/reeve", "args": ["mcp", "--data", "/home/ann/reeve", "--server", "b", "--", "y"]}},"history":[]}}`, []string{"a", "b"}, []string{"web"}},
		{"vscode, with comments", "vscode", "{\n\t// what we use\n\t\"inputs\": [{\"id\": \"k\",}],\n\t\"servers\": {\n\t\t\"g\": {\"type\": \"stdio\", \"command\": \"docker\", \"args\": [\"run\", /* in */ \"-e\", \"K=${input:k}\",],},\n\t}\n}",
			"\t// what we use\n\t\"inputs\": [{\"id\": \"k\",}],\n\t\"servers\": {\n\t\t\"g\": {\"type\": \"stdio\", \"command\": \"/usr/bin/reeve\", \"args\": [\"mcp\", \"--data\", \"/home/ann/reeve\", \"--server\", \"g\", \"--\", \"docker\", \"run\", \"-e\", \"K=${input:k}\"],},", []string{"g"}, nil},
		{"cursor", "cursor", `{"mcpServers":{"a b":{"command":"C:\\x\\y.exe"},"s":{"url":"http://x"}}}`, `"--server", "a b", "--", "C:\\x\\y.exe"`, []string{"a b"}, []string{"s"}},
		{"windsurf", "windsurf", `{"mcpServers":{"a":{"serverUrl":"http://x"}}}`, `"a":{"serverUrl":"http://x"}`, nil, []string{"a"}},
		{"gemini", "gemini", `{"theme":"x","mcpServers":{"a":{"command":"python","args":["-m","m"],"timeout":5000,"trust":true}}}`, `"--", "python", "-m", "m"],"timeout":5000,"trust":true`, []string{"a"}, nil},
		{"empty", "cursor", "", "", nil, nil},
		{"nothing", "cursor", `{}`, `{}`, nil, nil},
		{"codex", "codex", "model = \"o\" # mine\n\n[mcp_servers.files]\ncommand = \"npx\"   # it's npx\nargs = [\n  \"-y\", # yes\n  \"server]\",\n]\nenv = {A = \"command = 1\"}\n\n[mcp_servers.\"a b\"]\n  command = 'uvx'\n\n[mcp_servers.web]\nurl = \"https://x\"\n\n[profiles.x]\ncommand = \"not a server\"\n",
			"[mcp_servers.files]\ncommand = \"/usr/bin/reeve\"   # it's npx\nargs = [\"mcp\", \"--data\", \"/home/ann/reeve\", \"--server\", \"files\", \"--\", \"npx\", \"-y\", \"server]\"]\nenv = {A = \"command = 1\"}\n\n[mcp_servers.\"a b\"]\n  command = \"/usr/bin/reeve\"\nargs = [\"mcp\", \"--data\", \"/home/ann/reeve\", \"--server\", \"a b\", \"--\", \"uvx\"]\n\n[mcp_servers.web]\n", []string{"a b", "files"}, []string{"web"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, done, err := Wrap(tt.client, []byte(tt.text), proxy)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), tt.want) {
				t.Errorf("got\n%s\nwithout\n%s", got, tt.want)
			}
			if diff := cmp.Diff(tt.changed, done.Changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.left, done.Left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			again, twice, err := Wrap(tt.client, got, proxy)
			if err != nil || len(twice.Changed) > 0 || !bytes.Equal(again, got) {
				t.Errorf("wrapped twice: %s, %v", again, err)
			}
			back, undone, err := Unwrap(tt.client, got)
			if err != nil || !slices.Equal(undone.Changed, done.Changed) || bytes.Contains(back, []byte("reeve")) {
				t.Errorf("unwrapped: %s, %v", back, err)
			}

			// In a folder, with a change of somebody else's in between or without.
			for _, changed := range []bool{false, true} {
				path := filepath.Join(t.TempDir(), "config")
				if err := os.WriteFile(path, []byte(tt.text), 0o640); err != nil {
					t.Fatal(err)
				}
				f := File{Client: tt.client, Path: path}
				done, err := f.Install(proxy)
				if err != nil {
					t.Fatal(err)
				}
				if len(done.Changed) == 0 {
					continue
				}
				want := tt.text
				if changed {
					text, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, append(text, '\n'), 0o640); err != nil {
						t.Fatal(err)
					}
					want = string(back) + "\n"
				}
				undone, err := f.Undo()
				if err != nil || undone.Exact == changed {
					t.Errorf("undone: %+v, %v", undone, err)
				}
				text, err := os.ReadFile(path)
				if err != nil || string(text) != want {
					t.Errorf("after it was undone:\n%s\nwant\n%s", text, want)
				}
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("mode %v, %v", info.Mode(), err)
				}
				files, _ := filepath.Glob(path + "*")
				if left := len(files) - 1; left != 0 && !changed || left != 1 && changed {
					t.Errorf("left behind: %v", files)
				}
			}
		})
	}
}

// TestInstallTwice: what was added later is wrapped, too, and all is undone.
func TestInstallTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	f := File{Client: "cursor", Path: path}
	const first, second = `{"mcpServers":{"a":{"command":"x"}}}`, `{"mcpServers":{"b":{"command":"y"},`
	if err := os.WriteFile(path, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Install(proxy); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Replace(string(text), `{"mcpServers":{`, second, 1)
	if err := os.WriteFile(path, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	done, err := f.Install(proxy)
	if err != nil || !slices.Equal(done.Changed, []string{"b"}) {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := f.Undo(); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "reeve") || !strings.Contains(string(text), `"b":{"command":"y"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestWrapRefuses: what cannot be edited for certain is left alone.
func TestWrapRefuses(t *testing.T) {
	for _, tt := range []struct{ client, text string }{
		{"cursor", `{"mcpServers":{"a":{"command":"x","command":"y"}}}`},
		{"cursor", `{"mcpServers":{"a":{"command":"x","args":"y"}}}`},
		{"cursor", `{"mcpServers":`},
		{"cursor", `{} /* `},
		{"codex", `mcp_servers = {a = {command = "x"}}`},
		{"codex", "mcp_servers.a.command = \"x\""},
		{"codex", "[mcp_servers]\na.command = \"x\""},
		{"codex", `= 1`},
	} {
		if got, _, err := Wrap(tt.client, []byte(tt.text), proxy); err == nil {
			t.Errorf("%s became %s", tt.text, got)
		}
	}
}

func TestFind(t *testing.T) {
	for _, client := range Clients {
		f, err := Find(client, false, "/home/ann", func(string) string { return "" })
		if err != nil || !strings.HasPrefix(filepath.ToSlash(f.Path), "/home/ann/") {
			t.Errorf("%+v, %v", f, err)
		}
	}
	if _, err := Find("nobody", false, "/", os.Getenv); err == nil {
		t.Error("a client that nobody knows was found")
	}
	if _, err := Find("windsurf", true, "/", os.Getenv); err == nil {
		t.Error("a configuration that there is not was found")
	}
}

// FuzzWrap: nothing panics, and what was wrapped can be unwrapped.
func FuzzWrap(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"x","args":["y",],},}} // c`, false)
	f.Add("[mcp_servers.a]\ncommand = \"x\"\nargs = [\"y\"]\n", true)
	f.Fuzz(func(t *testing.T, text string, isTOML bool) {
		client := "cursor"
		if isTOML {
			client = "codex"
		}
		got, done, err := Wrap(client, []byte(text), proxy)
		if err != nil {
			return
		}
		if _, undone, err := Unwrap(client, got); err != nil || len(undone.Changed) < len(done.Changed) {
			t.Errorf("%s was wrapped as %s: %v", text, got, err)
		}
	})
}
