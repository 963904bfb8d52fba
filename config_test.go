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
		{name: "half of TLS", flags: map[string]string{"tls-cert": "c.pem"}, want: "cert and key"},
		{name: "keep", flags: map[string]string{"keep": "some"}, want: "keep"},
		{name: "detector", flags: map[string]string{"redact": "secrets"}, want: "detector"},
		{name: "database", flags: map[string]string{"database": "mysql://x"}, want: "database"},
		{name: "JWT without audience", flags: map[string]string{"jwt-secret": "env:X"}, want: "audience"},
		{name: "JWT with both", flags: map[string]string{"jwt-secret": "env:X", "jwt-jwks": "f", "jwt-audience": "a"}, want: "exclude"},
		{name: "role that there is not", flags: map[string]string{"jwt-secret": "env:X", "jwt-audience": "a", "jwt-roles": "bots=agent,king=emperor"}, want: `"emperor" is no role`},
		{name: "role without a value", flags: map[string]string{"jwt-secret": "env:X", "jwt-audience": "a", "jwt-roles": "=agent"}, want: "VALUE=ROLE"},
		{name: "value with two roles", flags: map[string]string{"jwt-secret": "env:X", "jwt-audience": "a", "jwt-roles": "x=agent,x=admin"}, want: "twice"},
		{name: "roles without JWT", flags: map[string]string{"jwt-roles": "x=agent"}, want: "jwt.roles"},
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
