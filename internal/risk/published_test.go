package risk

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishedKeys: a key that stands in Go's own sources is an example, in each way that it
// is written; one that was made a moment ago is a key, whatever stands around it, and so is
// what somebody puts between the lines of a published one.
func TestPublishedKeys(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src/crypto/tls/testdata/example-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	known := strings.TrimSpace(string(text))
	made := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(key string) string { return "`" + strings.ReplaceAll(key, "\n", "\\n\" +\n\t\"") + "`" }
	first, rest, _ := strings.Cut(known, "\n")
	for name, c := range map[string]struct {
		text    string
		example bool
	}{
		"as a file":            {known + "\n", true},
		"with CRLF":            {strings.ReplaceAll(known, "\n", "\r\n"), true},
		"as JSON":              {`{"key":"` + strings.ReplaceAll(known, "\n", `\n`) + `"}`, true},
		"indented in YAML":     {"key: |\n  " + strings.ReplaceAll(known, "\n", "\n  "), true},
		"in a program":         {"var key = " + quoted(known), true},
		"a new key":            {made(curve), false},
		"another kind":         {made(edwards), false},
		"a new one quoted":     {"var key = " + quoted(made(curve)), false},
		"named an example":     {"// example-key.pem, testdata, published\n" + made(curve), false},
		"a header in it":       {first + "\nComment: AKIAQ3" + "EGRIM7QK4T7NSB\n\n" + rest, false},
		"with a checksum":      {strings.Replace(known, "\n-----END", "\n=aB3d\n-----END", 1), true},
		"behind a checksum":    {strings.Replace(known, "\n-----END", "\n=aB3d\n"+strings.Split(made(edwards), "\n")[1]+"\n-----END", 1), false},
		"said to be encrypted": {first + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,0123456789ABCDEF\n\n" + rest, true},
		"a key as a cipher":    {first + "\nDEK-Info: AES-256-CBC,AKIAQ3" + "EGRIM7QK4T7NSB\n\n" + rest, false},
		"another letter":       {strings.Replace(known, "MH", "MG", 1), false},
		"two keys in one":      {strings.Replace(known, "\n-----END", "\n"+strings.Split(made(edwards), "\n")[1]+"\n-----END", 1), false},
		"one after the other":  {known + "\n" + made(curve), false},
	} {
		worst := 0.0
		for _, f := range Scan(c.text, Secret, nil) {
			worst = max(worst, f.Score)
		}
		if worst == 0 || (worst < 0.5) != c.example {
			t.Errorf("%s: weighs %.2f", name, worst)
		}
	}
}
