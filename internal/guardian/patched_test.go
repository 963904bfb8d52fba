package guardian

import (
	"strings"
	"testing"
)

// TestTamperingPatches: a patch is what writes, or takes away, each of the files that it names, whatever
// tool or program is given it.
func TestTamperingPatches(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/proj"
	in := func(text string) string { return strings.ReplaceAll(text, "HOME", home) }
	const codex = "*** Begin Patch\n*** Delete File: HOME/.config/reeve/policy/mine.yaml\n*** End Patch\n"
	const updates = "*** Begin Patch\n*** Update File: HOME/.config/reeve/reeve.yaml\n@@\n+listen: x\n*** End Patch\n"
	for _, patch := range []string{codex, updates} {
		for _, arg := range []string{"patchText", "patch", "input", "diff", "x"} {
			if len(g.Tampering(call(work, "apply_patch", arg, in(patch)), nil)) == 0 {
				t.Errorf("apply_patch by %s: not found: %s", arg, patch)
			}
		}
		for _, line := range []string{"apply_patch <<'X'\n" + patch + "X", "applypatch '" + patch + "'", "apply_patch \"$(cat <<'X'\n" + patch + "X\n)\""} {
			if len(g.Tampering(call(work, "shell", "command", in(line)), nil)) == 0 {
				t.Errorf("%s: not found", line)
			}
		}
	}
	const unified = "--- a/policy/mine.yaml\n+++ b/policy/mine.yaml\n@@ -1 +1 @@\n-x\n+y\n"
	for _, line := range []string{
		"cd ~/.config/reeve && patch -p1 <<'X'\n" + unified + "X", "patch -d ~/.config/reeve -p1 <<'X'\n" + unified + "X", "git -C ~/.config/reeve apply <<'X'\n" + unified + "X", "cd ~/.config/reeve; git am <<'X'\n" + unified + "X",
		"patch -p0 <<'X'\n--- HOME/.config/reeve/reeve.yaml\n+++ HOME/.config/reeve/reeve.yaml\n@@ -1 +1 @@\n-x\n+y\nX", "cd / && patch -p1 <<'X'\n--- aHOME/.config/reeve/reeve.yaml\n+++ bHOME/.config/reeve/reeve.yaml\n@@ -1 +1 @@\n-x\n+y\nX",
	} {
		if len(g.Tampering(call(work, "shell", "command", in(line)), nil)) == 0 {
			t.Errorf("%s: not found", line)
		}
	}
	for _, line := range []string{"apply_patch <<'X'\n*** Begin Patch\n*** Update File: src/a.py\n@@\n+print(1)\n*** End Patch\nX", "patch -p1 <<'X'\n--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\nX"} {
		if r := g.Tampering(call(work, "shell", "command", line), nil); len(r) > 0 {
			t.Errorf("ordinary %s: %v", line, r)
		}
	}
}
