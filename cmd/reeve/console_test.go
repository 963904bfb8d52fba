package main

import (
	"strings"
	"testing"

	"reeve.example/reeve"
)

// TestConsoleAt: a browser is sent to the node that made the code, or the user is told how.
func TestConsoleAt(t *testing.T) {
	acme := &reeve.Config{Organization: "acme", Hosts: []string{"acme.example", "acme.internal:8443"}}
	for _, tt := range []struct {
		cfg              *reeve.Config
		listens, reached string
		want, fault      string
	}{
		{&reeve.Config{}, "http://127.0.0.1:8080", "", "http://127.0.0.1:8080", ""},
		{&reeve.Config{}, "", "", "", "--listen"},
		{&reeve.Config{}, "http://127.0.0.1:8080", "https://reeve.example/", "https://reeve.example", ""},
		{acme, "", "", "", "--url https://acme.example"},
		{acme, "", "https://acme.example", "https://acme.example", ""},
		{acme, "", "https://ACME.internal:8443/console", "https://ACME.internal:8443", ""},
		{acme, "", "https://other.example", "", "none of the hosts of acme"},
		{acme, "", "http://127.0.0.1:8080", "", "none of the hosts of acme"},
		{acme, "", "acme.example", "", "no address"},
		{acme, "", "javascript://acme.example", "", "no address"},
		{acme, "", "https://acme.example@other.example", "", "no address"},
		{acme, "http://127.0.0.1:9090", "", "http://127.0.0.1:9090", ""}, // it listens itself
	} {
		got, err := consoleAt(tt.cfg, tt.listens, tt.reached)
		if got != tt.want || (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q %q: %q, %v", tt.listens, tt.reached, got, err)
		}
	}
}
