package guardian

import "testing"

// TestEmptiedBySettings: who writes into a build's settings that it may empty the guardian's folder has it
// emptied by the next build.
func TestEmptiedBySettings(t *testing.T) {
	g, home := aGuarded(t)
	work := home + "/src/shop"
	for _, f := range [][2]string{
		{"vitest.config.ts", "export default { test: { coverage: { reportsDirectory: '" + home + "/.config/reeve' } } }\n"},
		{"webpack.config.js", "module.exports = { output: { path: path.join(os.homedir(), '.config'), clean: true } }\n"},
		{"pom.xml", "<project><build>\n<directory>${user.home}/.config/reeve</directory></build></project>\n"},
	} {
		if len(g.Tampering(call(work, "write", "file_path", work+"/"+f[0], "content", f[1]), nil)) == 0 {
			t.Errorf("%s: %s passes", f[0], f[1])
		}
	}
}
