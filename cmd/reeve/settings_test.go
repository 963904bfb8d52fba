package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestServeHelp: the help of reeve serve is read on one screen or two, and names every flag.
func TestServeHelp(t *testing.T) {
	c := serveCommand()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	if err := c.Usage(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, "\n"); n > 80 {
		t.Errorf("the help has %d lines", n)
	}
	_, further, _ := strings.Cut(text, "Further flags")
	groups := map[string][]string{}
	subject := ""
	for line := range strings.Lines(further) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		if len(fields) > 0 && strings.HasPrefix(fields[0], "--") && strings.HasSuffix(fields[0], "-") {
			subject, fields = fields[0], fields[1:]
		}
		groups[subject] = append(groups[subject], fields...)
	}
	for _, s := range settings() {
		if s.Of != "" {
			continue
		}
		subject, name, _ := strings.Cut(s.Flag, "-")
		if !strings.Contains(text, "--"+s.Flag) && !slices.Contains(groups["--"+subject+"-"], name) {
			t.Errorf("the help does not name --%s", s.Flag)
		}
	}
}
