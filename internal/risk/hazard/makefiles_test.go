package hazard

import "testing"

func TestExpanded(t *testing.T) {
	for text, want := range map[string]string{
		"A = b\nx:\n\techo $(A) $$HOME ${C} $@\n": "A = b\nx:\n\techo b $HOME ${C} ${@}\n",
		"A := $(B)c\nB = d\nx:\n\t$(A)\n":         "A := dc\nB = d\nx:\n\tdc\n",
		"A ?= b\nA += c\nx:\n\t$A\n":              "A ?= b\nA += c\nx:\n\tb c\n",
		"x:\n\ta \\\n\t| b\n":                     "x:\n\ta  | b\n",
		"A != git x\n":                            "A != git x\n\n.shell:\n\tgit x\n",
		"x: $(shell ls (a))\n\t$(shell ls (b))\n": "x: \n\t$(ls (b))\n\n.shell:\n\tls (a)\n\tls (b)\n",
		"A = $(A)\nx:\n\t$(A)\n":                  "A = ${A}\nx:\n\t${A}\n",
	} {
		if got := Expanded(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
