package risk

import (
	"fmt"
	"strings"
	"testing"
)

// TestBeside: a value beside a name that tells is found whatever stands between them.
func TestBeside(t *testing.T) {
	const v = "q8Rt2LmZ9xWv4KpB7nYc"
	for _, shape := range []string{
		`System.setProperty("MY_TOKEN", "%s")`, `$api_token .= "%s"`, `API_TOKEN ?= "%s"`, "API_TOKEN ?= %s", "<apiToken>\n  %s\n</apiToken>", `var apiToken string = "%s"`, `const apiToken: string = "%s"`, `os.Setenv("API_TOKEN", "%s")`,
		"setx API_TOKEN %s", `api_token<-"%s"`, `apiToken = new String("%s")`, `let apiToken: &str = "%s";`, `define('API_TOKEN', '%s');`, `setApiToken("%s")`, `(setq api-token "%s")`, "password %s", "| API token | `%s` |", `api_token[0] = "%s"`, "ENV API_TOKEN %s",
		`api_token = r"%s"`, `api_token = b'%s'`, `NSString *apiToken = @"%s";`, `process.env.API_TOKEN || "%s"`, `os.environ.get("API_TOKEN", "%s")`, `getenv("API_TOKEN") ?: "%s"`, `.withToken("%s")`,
	} {
		text := fmt.Sprintf("x = 1;\n"+shape+"\ny = 2", v)
		found := Formed(text, Assigned(text, nil))
		if masked := Mask(text, found); strings.Contains(masked, v) || !strings.HasPrefix(masked, "x = 1;") || !strings.HasSuffix(masked, "y = 2") {
			t.Errorf("%q is kept as %q", text, masked)
		}
	}
	for _, text := range []string{
		"the password is kept in /etc/app/v1.2.3/x9y8", "token: https://h.example/a1b2c3d4e5f6", "token count 123456789012", "tokens = tokenizer.encode_plus_v2", "password_reset_token_expires_in_3600s",
		"checksum q8Rt2LmZ9xWv4KpB7nYc", "secret:\n  name: db\nimage: q8Rt2LmZ9xWv4KpB7nYc",
	} {
		if f := Formed(text, nil); len(f) > 0 {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

// TestParted: a card's number is found between whatever its groups stand.
func TestParted(t *testing.T) {
	for _, between := range []string{" ", "-", ".", "_", "\n", "\t", " - ", ":", ",", ", ", "|", " | ", "/", "\r\n", "*"} {
		for _, groups := range [][]string{{"4111", "1111", "1111", "1111"}, {"5500", "0000", "0000", "0004"}, {"3782", "822463", "10005"}} {
			text := "card " + strings.Join(groups, between) + " end"
			if f := Parted(text, nil); len(f) != 1 || Mask(text, f) != "card **** end" {
				t.Errorf("%q: %+v", text, f)
			}
		}
	}
	if f := Parted("row 7,4111,1111,1111,1111", nil); len(f) != 1 { // behind another number
		t.Errorf("%+v", f)
	}
	for _, text := range []string{"4111,1111,1111,1112", "2024-11-22 10:11:12", "1234 5678 9012 3456", "v4111.1111.1111.1111", "10.0.0.1", ""} {
		if f := Parted(text, nil); len(f) != 0 {
			t.Errorf("%q: %+v", text, f)
		}
	}
}
