package risk

import (
	"slices"
	"strings"
	"testing"

	"reeve.example/reeve/internal/linear"
)

// TestFormed: a secret that only a program or a format tells is found, and not
// found again when it is masked; references and what is none are left.
func TestFormed(t *testing.T) {
	for _, marked := range []string{
		"mysql -u root -p‹Wq7pZ4k› shop", "mysqldump -uroot -p'‹a b›' shop", "curl -s -u ada:‹Wq7pZ4k› https://h", "curl --user 'ada:‹Wq7pZ4k›' https://h",
		"sshpass -p ‹Wq7pZ4k› ssh h", "docker login -u a -p ‹Wq7pZ4k› r.example", "redis-cli -h h -a ‹Wq7pZ4k› ping", "openssl enc -k ‹Wq7pZ4k› -in x", "openssl enc -pass pass:‹Wq7pZ4k›",
		"echo root:‹Wq7pZ4k› | chpasswd", "echo 'root:‹Wq7pZ4k›' | sudo chpasswd", "echo ‹Wq7pZ4k› | sudo -S ls", "ConvertTo-SecureString '‹Wq7pZ4k›' -AsPlainText",
		"password: |\n  ‹Wq7pZ4k›\nport: 80", "password: >-\n    ‹Wq7pZ4k›\n", "db_password:\n  ‹Wq7pZ4k›\n", "env:\n- name: DB_PASSWORD\n  value: ‹Wq7pZ4k›\n", `<add key="password" value="‹Wq7pZ4k›"/>`,
		"Content-Disposition: form-data; name=\"password\"\r\n\r\n‹Wq7pZ4k›\r\n--b", "machine h\nlogin a\npassword ‹Wq7pZ4k›\n", "https://h.example/c?sv=1&sig=‹Wq7pZ4kWq7›&x=1", "https://h.example/?u=x%26password%3D‹Wq7pZ4k›",
		"mysql -u root -p shop", "mysql -p$PASS shop", "curl -u $USER:$PASS https://h", "curl -u \"$U:$P\" https://h", "curl https://h:80/x", "docker run -p 8080:80 x", "ssh -p 2222 h", "openssl s_client -connect h:443",
		"password:\n  min: 8\n", "tokens:\n  - a\n", "password:\n  see the notes\n", "- name: PATH\n  value: /usr/bin\n", "- name: DB_PASSWORD\n  value: ${DB_PASSWORD}\n", "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: {name: db}\n",
		"echo yes | sudo tee /etc/x", "git log --format=sig=1", "the machine is off; log in with the password below",
	} {
		text := strings.NewReplacer("‹", "", "›", "").Replace(marked)
		found := Formed(text, Assigned(text, nil))
		slices.SortStableFunc(found, func(a, b Finding) int { return a.Start - b.Start })
		got, at := "", 0
		for _, f := range found {
			if f.Start < at {
				continue
			}
			got += text[at:f.Start] + "‹" + text[f.Start:f.End] + "›"
			at = f.End
		}
		if got += text[at:]; got != marked {
			t.Errorf("got  %s\nwant %s", got, marked)
		}
		masked := Mask(text, found)
		if again := Formed(masked, Assigned(masked, nil)); len(again) > 0 {
			t.Errorf("%s: found again: %v", masked, again)
		}
	}
}

// TestTellsInOtherLanguages: so do names of other languages, and MayTell lets none out.
func TestTellsInOtherLanguages(t *testing.T) {
	for _, name := range []string{
		"passord", "lösenord", "adgangskode", "salasana", "hasło", "haslo", "şifre", "jelszó", "parolă", "κωδικός", "סיסמה", "كلمة المرور", "पासवर्ड", "รหัสผ่าน", "clave", "user_clave", "passw", "pw", "Password textbox", "input[type=password]",
	} {
		if Tells(name) == Nothing || !MayTell(`{"`+name+`":"x"}`) {
			t.Errorf("%s tells nothing", name)
		}
	}
	for _, name := range []string{"enclave", "bypass", "paroles", "target", "keyboard_input", "Password help link"} {
		if Tells(name) != Nothing {
			t.Errorf("%s tells", name)
		}
	}
}

// Hostile text costs time in proportion to its length here, too.
func TestFormedLinear(t *testing.T) {
	for _, unit := range []string{"mysql ", "curl -u ", "curl a:", "password:\n  a\n", "name: password value ", "form-data; name=\"password\"\n", "machine login ", "echo a | ", "a%3d", "sig=", "openssl -k ", "echo a:b | chpasswd ", "'", "name=\"password\"\na\n", "value login x password y machine "} {
		linear.Check(t, unit, 25_000, func(n int) func() {
			text := strings.Repeat(unit, n/len(unit))
			return func() { Formed(text, nil) }
		})
	}
}
