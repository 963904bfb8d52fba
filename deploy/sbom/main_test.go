package main

import (
	"os"
	"strings"
	"testing"
)

// TestLicencesOf: each module of the table of licences is known, also where its path is longer than its column.
func TestLicencesOf(t *testing.T) {
	text, err := os.ReadFile("../../cmd/reeve/licenses.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := licencesOf(text)
	_, table, _ := strings.Cut(string(text), "\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		if module := strings.Fields(row)[0]; len(known[module]) == 0 {
			t.Errorf("the licences of %s are not read: %q", module, row)
		}
	}
	if len(known) < 50 {
		t.Errorf("%d modules", len(known))
	}
}
