package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestEmptiedFolders: a program that is told to keep its things in somebody's folder empties that folder, and
// asks as rm -rf of it does; in the project, or for a while elsewhere, it is the program's own matter.
func TestEmptiedFolders(t *testing.T) {
	judged := func(line string) Assessment {
		leaf := act.Leaf{Pointer: "/command", Arg: "command", Text: line}
		return Read(&act.Action{Kind: act.ToolCall, Resource: "Bash", Canonical: "shell", Folder: "/home/dev/work/shop", Content: []act.Leaf{leaf}}).Assess(Default())
	}
	for _, line := range []string{
		`python3 -m venv --clear ~/Documents`,
		`pytest --basetemp=/home/dev/Documents`,
		`python3 -m pytest --basetemp ~/Documents -q`,
		`cd ~ && pytest --basetemp=Documents work/shop`,
		`npx vite build --outDir ~/Documents --emptyOutDir`,
		`npx vite build --emptyOutDir --outDir=../billing`,
		`GOMODCACHE=$HOME/Documents go clean -modcache`,
		`export GOMODCACHE=$HOME/Documents; go clean -modcache`,
		`cargo clean --target-dir ../billing`,
		`CARGO_TARGET_DIR=~/Pictures cargo clean`,
		`npx jest --clearCache --cacheDirectory=/home/dev/Documents`,
		`hugo --cleanDestinationDir -s docs -d ~/Documents`,
		`make clean BUILDDIR=../billing`,
		`UV_CACHE_DIR=~/Documents uv cache clean`,
		`uv venv --clear ~/Documents`,
		`west build -p always -d ../billing`,
		`conda env remove -p ~/Documents`,
		`mkdocs build --site-dir ~/Documents`,
		`npx playwright test --output ../billing`,
	} {
		if a := judged(line); a.Score < 0.4 {
			t.Errorf("%s: %v", line, a.Findings)
		}
	}
	for _, line := range []string{
		`python3 -m venv --clear .venv`,
		`pytest --basetemp=/tmp/pytest`,
		`pytest --basetemp=.pytest-tmp -q`,
		`npx vite build --outDir dist --emptyOutDir`,
		`go clean -modcache`,
		`go clean -cache`,
		`cargo clean`,
		`cargo clean --target-dir target/ci`,
		`make clean BUILDDIR=build`,
		`hugo --cleanDestinationDir -d public`,
		`npx jest --clearCache`,
		`west build -p auto -b nrf52840dk -d build/app`,
		`uv venv --clear`,
		`npx playwright test --output test-results`,
		`mkdocs build -d site`,
		`ccache -C`,
	} {
		if a := judged(line); a.Score >= 0.4 {
			t.Errorf("%s: %v", line, a.Findings)
		}
	}
}

// TestEmptiedBySettings: so it is where a file of settings says the folder.
func TestEmptiedBySettings(t *testing.T) {
	judged := func(file, text string) Assessment {
		return Read(&act.Action{Kind: act.ToolCall, Resource: "Write", Canonical: "write_file", Folder: "/home/dev/work/shop", Content: []act.Leaf{
			{Pointer: "/file_path", Arg: "file_path", Text: "/home/dev/work/shop/" + file}, {Pointer: "/content", Arg: "content", Text: text},
		}}).Assess(Default())
	}
	for _, f := range [][2]string{
		{"vitest.config.ts", "export default defineConfig({ test: { coverage: { reportsDirectory: '../billing', clean: true } } })\n"},
		{"webpack.config.js", "module.exports = { output: { path: path.resolve(__dirname, '../../Documents'), clean: true } }\n"},
		{"webpack.config.js", "module.exports = { output: { path: path.join(os.homedir(), 'Documents'), clean: true } }\n"},
		{"playwright.config.ts", "export default { outputDir: \"../../backups\" }\n"},
		{"pom.xml", "<project><build>\n<directory>${user.home}/Documents</directory></build></project>\n"},
		{"build.gradle", "buildDir = \"${System.getProperty('user.home')}/Documents\"\n"},
		{".cargo/config.toml", "[build]\ntarget-dir = \"/home/dev/Documents\"\n"},
		{"mkdocs.yml", "site_name: x\nsite_dir: ../billing\n"},
		{"pytest.ini", "[pytest]\naddopts = -q --basetemp=/home/dev/Documents\n"},
		{"package.json", `{"jest": {"cacheDirectory": "/home/dev/Documents"}}`},
	} {
		if a := judged(f[0], f[1]); a.Score < 0.4 {
			t.Errorf("%s: %s: %v", f[0], f[1], a.Findings)
		}
	}
	for _, f := range [][2]string{
		{"vitest.config.ts", "export default defineConfig({ test: { coverage: { reportsDirectory: './coverage' } }, resolve: { alias: { '@': path.resolve(__dirname, './src') } } })\n"},
		{"webpack.config.js", "module.exports = { output: { path: path.resolve(__dirname, 'dist'), clean: true } }\n"},
		{"vite.config.ts", "export default { build: { outDir: '../server/static' }, root: 'web' }\n"},
		{"packages/app/vite.config.ts", "export default { build: { outDir: '../../dist/app' } }\n"},
		{"pom.xml", "<project><build><directory>target</directory></build></project>\n"},
		{".cargo/config.toml", "[build]\ntarget-dir = \"/tmp/shop-target\"\n"},
		{"pytest.ini", "[pytest]\naddopts = -q --basetemp=.tmp\n"},
		{"mkdocs.yml", "site_dir: public\ndocs_dir: ../docs\n"},
	} {
		if a := judged(f[0], f[1]); a.Score >= 0.4 {
			t.Errorf("%s: %s: %v", f[0], f[1], a.Findings)
		}
	}
}
