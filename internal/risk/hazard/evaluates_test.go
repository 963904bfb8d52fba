package hazard

import (
	"slices"
	"testing"
)

// TestEvaluatedFiles: a program has run what stands in a file that it evaluates, in whichever language; what it
// reads as data it does not.
func TestEvaluatedFiles(t *testing.T) {
	for _, test := range []struct {
		name, text string
		takes      bool
	}{
		{"a.test.ts", "import fs from 'fs';\nnew Function(fs.readFileSync('d/x.bin', 'utf8'))()\n", true},
		{"a.py", "import pickle\npickle.load(open('d/x.bin', 'rb'))\n", true},
		{"a.py", "import torch\ntorch.load('d/x.bin', weights_only=True)\n", false},
		{"a.rb", "eval File.read('d/x.bin')\n", true},
		{"a.rb", "puts Marshal.load(File.binread('d/x.bin'))\n", true},
		{"a.rb", "require 'json'\nputs JSON.parse(File.read('d/x.bin'))\nDotenv.load\n", false},
		{"a.php", "<?php include 'd/x.bin';\n", true},
		{"a.php", "<?php eval(file_get_contents('d/x.bin'));\n", true},
		{"a.php", "<?php require 'vendor/autoload.php';\n$a = json_decode(file_get_contents('d/x.bin'));\n", false},
		{"a.pl", "do './d/x.bin';\n", true},
		{"a.pl", "eval { open my $f, '<', 'd/x.bin'; };\n", false},
		{"a.lua", "dofile('d/x.bin')\n", true},
		{"a.lua", "print(io.open('d/x.bin'):read('*a'))\n", false},
	} {
		_, takes := Default().RunsFile(test.name, test.text, nil)
		if got := slices.Contains(takes, "x.bin"); got != test.takes {
			t.Errorf("%s %q: takes %q", test.name, test.text, takes)
		}
	}
}
