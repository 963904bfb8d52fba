package risk

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHeld: of a file of secrets the values are known that would be told, in whatever form it is
// written, and not what says where, who and which.
func TestHeld(t *testing.T) {
	for _, tc := range []struct {
		name, text    string
		values, hosts []string
	}{
		{"env", `
# of the shop
NODE_ENV=production
PORT=3000
DEBUG=true
APP_NAME=shop-frontend-2024
APP_VERSION=2024.10.1-rc1
AWS_REGION=eu-central-1
export TEAM_CODE="q8x7v2m4k9z1"
SESSION_SECRET=correct-Horse-battery
API_HOST=api.acme.example
DATABASE_URL=postgres://app:s3cr3t-pw-77@db.acme.example:5432/app
HOOK=https://hooks.acme.example/services/t8x7c6v5b4n3m2a1
TENANT_ID=7b0e6a52-94f1-4c1d-8a5e-1f2d3c4b5a69
NEXT_PUBLIC_KEY=pk8x7v2m4k9z1qq
EMPTY=
STRIPE_KEY=[Stripe key removed]
REF=${OTHER_SECRET}
`, []string{"q8x7v2m4k9z1", "correct-Horse-battery", "s3cr3t-pw-77", "t8x7c6v5b4n3m2a1"}, []string{"api.acme.example", "db.acme.example", "hooks.acme.example"}},
		{"json", `{"client": {"client_secret": "k3j4h5g6f7", "name": "shop"}, "token":"zz9yy8xx7ww"}` + "\n", []string{"k3j4h5g6f7", "zz9yy8xx7ww"}, nil},
		{"json lines", "{\n  \"password\": \"" + "Wq8-zz-71xx\",\n  \"port\": 5432\n}\n", []string{"Wq8-zz-71xx"}, nil},
		{"yaml", "db:\n  password: '" + "Wq8-zz-71xx'\n  host: db.acme.example\n", []string{"Wq8-zz-71xx"}, []string{"db.acme.example"}},
		{"ini", "[default]\nregion = us-east-1\nsecret_acc" + "ess = " + "k3j4" + "h5g6f7d8\n", []string{"k3j4" + "h5g6f7d8"}, nil},
		{"netrc", "machine api.acme.example login me password hunter22-xyz\n", []string{"hunter22-xyz"}, []string{"api.acme.example"}},
		{"pgpass", "db.acme.example:5432:app:me:Zt8-77-qqx1\n", []string{"Zt8-77-qqx1"}, []string{"db.acme.example"}},
		{"credentials", "https://me:Zt8-77-qqx1@git.acme.example\n", []string{"Zt8-77-qqx1"}, []string{"git.acme.example"}},
		{"a token", "k3j4h5g6f7d8s9a0\n", []string{"k3j4h5g6f7d8s9a0"}, nil},
		{"a JWT", "AUTH_TOK" + "EN=eyJhb" + "GciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.k3J4h5G6f7D8s9A0\n", []string{"k3J4h5G6f7D8s9A0"}, nil},
		{"a key in PEM", "-----BEG" + "IN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwgg\n-----END PRIVATE KEY-----\n", nil, nil},
		{"ordinary words", "the quick brown fox: jumps\nlog.level=debug\nbase_dir=/srv/app/2024\nimage=postgres:16.2-alpine\npassword=changeme\npassword=your-password-here\n", nil, nil},
	} {
		values, hosts := Held(tc.text)
		if diff := cmp.Diff(tc.values, values); diff != "" {
			t.Errorf("%s: values (-want +got)\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.hosts, hosts); diff != "" {
			t.Errorf("%s: hosts (-want +got)\n%s", tc.name, diff)
		}
	}
}

// TestHeldIsBounded: a file without end costs as much as its beginning.
func TestHeldIsBounded(t *testing.T) {
	values, hosts := Held(strings.Repeat("TOK"+"EN=k3j4h5g6f7d8\nHOST=a.acme.example\n", 100_000))
	if len(values) > maxHeld || len(hosts) > maxHeld {
		t.Errorf("%d values, %d hosts", len(values), len(hosts))
	}
	total := 0
	for _, s := range Spellings(strings.Repeat("azNqNGg1ZzZmN2Q4 ", 1<<20)) {
		total += len(s)
	}
	if total > 4*maxSpelled {
		t.Errorf("%d bytes are compared", total)
	}
}

// TestSpellings: a value is found whatever form it is told in.
func TestSpellings(t *testing.T) {
	for _, text := range []string{
		"token=" + "k3J4-h5G6/f7", "k3J4%2Dh5G6%2Ff7", `"k3J4" + "-h5" + "G6/f7"`, "k 3 J 4 - h 5 G 6 / f 7", "aWQ9azNKNC1oNUc2L2Y3", "x=azNKNC1oNUc2L2Y3&y",
		"6b334a342d683547362f6637", "7f/6G5h-4J3k", "YXpOS05DMW9OVWMyTDJZMw==", "K3J4H5G6F7",
	} {
		if !slices.ContainsFunc(Spellings(text), func(s string) bool { return strings.Contains(s, Squeeze("k3J4-h5G6/f7")) }) {
			t.Errorf("%q is not found", text)
		}
	}
}
