package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func TestSeal(t *testing.T) {
	plain, passphrase := []byte("0123456789abcdef0123456789abcdef"), []byte("correct horse battery")
	text, err := Seal(plain, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, plain) {
		t.Error("the secret is readable")
	}
	if got, err := Unseal(text, passphrase); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := Unseal(text, []byte("correct horse batterz")); !errors.Is(err, ErrPassphrase) {
		t.Errorf("another passphrase: %v", err)
	}
	if again, err := Seal(plain, passphrase); err != nil || bytes.Equal(again, text) {
		t.Error("the same secret is sealed the same way twice")
	}
	if _, err := Seal(plain, []byte("short")); err == nil {
		t.Error("a passphrase that is soon guessed was taken")
	}
}

// What is not sealed, was changed, or would cost hours to try, is refused.
func TestUnsealRefuses(t *testing.T) {
	passphrase := []byte("correct horse battery")
	s := sealed{Form: sealForm, Iterations: 1, Salt: []byte("salt")}
	aead, err := s.aead(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	s.Text = aead.Seal(nil, nil, []byte("plain"), []byte(s.Form))
	for name, change := range map[string]func(*sealed){
		"form":       func(s *sealed) { s.Form = "none" },
		"iterations": func(s *sealed) { s.Iterations = mostIterations + 1 },
		"none":       func(s *sealed) { s.Iterations = 0 },
		"salt":       func(s *sealed) { s.Salt = []byte("salz") },
		"text":       func(s *sealed) { s.Text = append(bytes.Clone(s.Text[1:]), 0) },
		"cut":        func(s *sealed) { s.Text = s.Text[:5] },
		"empty":      func(s *sealed) { s.Text = nil },
	} {
		changed := s
		change(&changed)
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := Unseal(text, passphrase); err == nil {
			t.Errorf("%s: %q", name, plain)
		}
	}
	for _, text := range []string{"", "{}", "null", "[]", "x"} {
		if _, err := Unseal([]byte(text), passphrase); err == nil {
			t.Errorf("%q was opened", text)
		}
	}
}
