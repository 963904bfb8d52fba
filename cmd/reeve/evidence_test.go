package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reeve.example/reeve"
	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/evidence"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/store/sqlite"
)

// TestEvidenceChanged: an archive in which a record, a proof or what is told of it was
// changed or left out does not hold, whoever made it.
func TestEvidenceChanged(t *testing.T) {
	dir := t.TempDir()
	c := reeve.Config{}
	c.Data, c.Ledger.Origin = filepath.Join(dir, "data"), "test.local"
	seedFile := filepath.Join(dir, "seed")
	if err := os.WriteFile(seedFile, []byte(strings.Repeat("2a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Ledger.Seed = "file:" + seedFile
	s, err := sqlite.Open(c.Data, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	log, err := ledger.Open(t.Context(), ledger.Config{Store: s, Origin: c.Ledger.Origin, Seed: bytes.Repeat([]byte{0x2a}, 32), Owner: "test"})
	if err != nil {
		t.Fatal(err)
	}
	policy := []byte("version: 1\ndefault: deny\n")
	hash := fmt.Sprintf("sha256:%x", sha256.Sum256(policy))
	if err := s.PutPolicy(t.Context(), hash, policy, time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		kind := string(act.ToolCall)
		if i == 3 {
			kind = "approval.approved"
		}
		ticket, err := log.Enqueue(log.Generation(), &ledger.Entry{
			Record:    ledger.Record{Kind: kind, Door: "aos", Effect: "deny", Policy: hash, Rules: []string{"<script>alert(1)</script>"}},
			Principal: []byte(`{"name":"key:k","method":"key","claims":{"agent":"a","user":"ann"}}`), Links: []byte(`{"digest":"d","session":"s"}`),
		})
		if err == nil {
			_, err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	log.Close()
	head, err := s.Head(t.Context(), 0)
	if err == nil { // the process log is nobody else's place
		err = s.PutAnchor(t.Context(), ledger.Anchor{Size: 5, Place: ledger.LogPlace, At: time.Now(), Checkpoint: head.Checkpoint})
	}
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(dir, "whole.zip")
	err = newArchive(whole, func(w io.Writer) error {
		_, err := evidence.Write(context.Background(), w, evidence.Of{Store: s, Keys: &c, Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour), Made: time.Now()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	key, err := c.LedgerKey(0)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(name string, text []byte) []byte{
		"as it was": func(name string, text []byte) []byte {
			if name == "index.html" && !bytes.Contains(text, []byte("no checkpoint of it was published elsewhere")) {
				t.Error("the page tells of checkpoints that are nowhere else")
			}
			return text
		},
		"another agent": func(_ string, text []byte) []byte {
			return bytes.ReplaceAll(text, []byte(`"agent":"a"`), []byte(`"agent":"b"`))
		},
		"another effect":      func(_ string, text []byte) []byte { return bytes.Replace(text, []byte(`"deny"`), []byte(`"allow"`), 1) },
		"a line is left out":  func(name string, text []byte) []byte { return cutLine(name, "decisions.jsonl", text) },
		"a proof is left out": func(name string, text []byte) []byte { return unless(name == "receipts/0/2.tlog-proof", text) },
		"a proof is changed": func(name string, text []byte) []byte {
			if name == "receipts/0/2.tlog-proof" {
				text = bytes.Replace(text, []byte("index 2"), []byte("index 3"), 1)
			}
			return text
		},
		"a proof proves less": func(name string, text []byte) []byte {
			if name == "receipts/0/2.tlog-proof" {
				lines := bytes.Split(text, []byte("\n"))
				all, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(lines[1]), "extra "))
				record, _, _ := strings.Cut(string(all), "\n")
				lines[1] = []byte("extra " + base64.StdEncoding.EncodeToString([]byte(record)))
				text = bytes.Join(lines, []byte("\n"))
			}
			return text
		},
		"who agreed":           changed("approvals.jsonl", `"agent":"a"`, `"agent":"b"`),
		"answers are left out": func(name string, text []byte) []byte { return unless(name == "approvals.jsonl", text) },
		"another policy":       changed("policies/"+strings.ReplaceAll(hash, ":", "-")+".yaml", "deny", "allow"),
		"a policy is left out": func(name string, text []byte) []byte {
			return unless(name == "policies/"+strings.ReplaceAll(hash, ":", "-")+".yaml", text)
		},
		"another page":              changed("index.html", "deny", "none"),
		"another key":               changed("keys.txt", "test.local", "best.local"),
		"another checkpoint":        changed("checkpoints/0.txt", "test.local", "best.local"),
		"a checkpoint is left out":  func(name string, text []byte) []byte { return unless(name == "checkpoints/0.txt", text) },
		"another time":              changed("manifest.txt", "since 2", "since 1"),
		"the manifest is left out":  func(name string, text []byte) []byte { return unless(name == "manifest.txt", text) },
		"the manifest is of no key": changed("manifest.txt", "— test", "— best"),
		"the last record is left out": func(name string, text []byte) []byte {
			return unless(name == "receipts/0/4.tlog-proof", cutLast(name, text))
		},
		"a file is added":       func(name string, text []byte) []byte { return text },
		"a file is there twice": func(name string, text []byte) []byte { return text },
	} {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".zip")
		rewrite(t, whole, file, change, map[string]string{"a file is added": "more.txt", "a file is there twice": "index.html"}[name])
		if python, err := exec.LookPath("python3"); err == nil {
			text, err := exec.Command(python, "../../docs/verify_ledger.py", file, "--key", key).CombinedOutput()
			if (err == nil) != (name == "as it was") {
				t.Errorf("%s: the other verifier says %v\n%s", name, err, text)
			}
		}
		var out bytes.Buffer
		if err := verifyEvidence(file, key, &out); (err == nil) != (name == "as it was") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	// Who reads an archive from its beginning finds what who reads its directory does, and no more.
	bytesOf, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	forged := new(bytes.Buffer)
	f := zip.NewWriter(forged)
	if w, err := f.Create("decisions.jsonl"); err != nil {
		t.Fatal(err)
	} else {
		io.WriteString(w, "{}\n")
	}
	f.Close()
	file, _, _ := bytes.Cut(forged.Bytes(), []byte("PK\x01\x02")) // without the directory
	for name, text := range map[string][]byte{
		"as it was":                  bytesOf,
		"another archive before it":  slices.Concat(forged.Bytes(), bytesOf),
		"a file before it":           slices.Concat(file, bytesOf),
		"another archive behind it":  slices.Concat(bytesOf, forged.Bytes()),
		"a word behind it":           slices.Concat(bytesOf, []byte("more")),
		"a comment":                  slices.Concat(bytesOf[:len(bytesOf)-2], []byte("\x04\x00more")),
		"a file by two names":        bytes.Replace(bytesOf, []byte("index.html"), []byte("indey.html"), 1),
		"a file before the contents": bytes.Replace(bytesOf, []byte("PK\x01\x02"), slices.Concat(file, []byte("PK\x01\x02")), 1),
	} {
		at := filepath.Join(dir, "bytes.zip")
		if err := os.WriteFile(at, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if python, err := exec.LookPath("python3"); err == nil {
			said, err := exec.Command(python, "../../docs/verify_ledger.py", at, "--key", key).CombinedOutput()
			if (err == nil) != (name == "as it was") || bytes.Contains(said, []byte("Traceback")) {
				t.Errorf("%s: the other verifier says %v\n%s", name, err, said)
			}
		}
		var out bytes.Buffer
		if err := verifyEvidence(at, key, &out); (err == nil) != (name == "as it was") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
	z, err := zip.OpenReader(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	page, err := z.Open("index.html")
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(page); bytes.Contains(text, []byte("<script")) || !bytes.Contains(text, []byte("5 records")) {
		t.Errorf("the page is\n%s", text)
	}
}

func unless(gone bool, text []byte) []byte {
	if gone {
		return nil
	}
	return text
}

// cutLine leaves out the third line of one file.
func cutLine(name, of string, text []byte) []byte {
	if name != of {
		return text
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(append(lines[:2:2], lines[3:]...), nil)
}

// cutLast leaves out the last line of what is told of the records.
func cutLast(name string, text []byte) []byte {
	if name != "decisions.jsonl" {
		return text
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[:len(lines)-2], nil)
}

// changed replaces a text in one file.
func changed(of, old, new string) func(name string, text []byte) []byte {
	return func(name string, text []byte) []byte {
		if name != of {
			return text
		}
		return bytes.ReplaceAll(text, []byte(old), []byte(new))
	}
}

// rewrite copies an archive, with each file as change makes it; nil leaves it out. more is
// a file that is added, if it is named.
func rewrite(t *testing.T, from, to string, change func(name string, text []byte) []byte, more string) {
	t.Helper()
	z, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	for _, file := range z.File {
		r, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if text = change(file.Name, text); err != nil || text == nil {
			continue
		}
		out, err := w.Create(file.Name)
		if err == nil {
			_, err = out.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if more != "" {
		out, err := w.Create(more)
		if err == nil {
			_, err = io.WriteString(out, "<h1>Nothing was denied</h1>")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
