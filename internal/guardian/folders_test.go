package guardian

import (
	"strings"
	"testing"
)

// TestFoldersByPrograms: a program in whatever language that takes away, copies or serves a folder in which
// what is guarded lies, named from the folder that it runs in or in full.
func TestFoldersByPrograms(t *testing.T) {
	g, home := aGuarded(t)
	denied := func(line string) bool {
		return len(g.Tampering(call(home, "shell", "command", strings.ReplaceAll(line, "HOME", home)), nil)) > 0
	}
	for line := range strings.Lines(strings.TrimSpace(`
perl -e 'rename ".config/reeve","/tmp/x"'
perl -e 'rename ".config", "/tmp/x"'
perl -e 'rename("HOME/.config","/tmp/x")'
perl -e 'rename "HOME/.config/" => "/tmp/x"'
perl -MFile::Copy -e 'move ".config/reeve","/tmp/x"'
perl -MFile::Copy::Recursive=dircopy -e 'dircopy ".config","/tmp/x"'
ruby -e 'File.rename(".config","/tmp/x")'
ruby -rfileutils -e 'FileUtils.mv(".config","/tmp/x")'
ruby -rfileutils -e 'FileUtils.mv ".config", "/tmp/x"'
ruby -rfileutils -e 'FileUtils.cp_r ".config","/tmp/x"'
lua -e 'os.rename(".config","/tmp/x")'
luajit -e 'os.rename("HOME/.config/reeve","/tmp/x")'
python3 -c 'import os; os.rename(".config","/tmp/x")'
node -e 'require("fs").cpSync(".config","/tmp/x",{recursive:true})'
python3 -c "import glob; print(open(glob.glob('HOME/**/seed',recursive=True)[0]).read())"
python3 -c "import pathlib; print(next(pathlib.Path('/').glob('**/se*d')).read_text())"
ruby -e 'puts File.read(Dir.glob("/**/seed")[0])'
python3 -m http.server --directory ~/.config/reeve
python3 -m http.server -d ~ 8000
python3 -mhttp.server --directory=HOME/.config
cd ~/.config/reeve && python3 -m http.server
python2 -m SimpleHTTPServer
php -S 0.0.0.0:8000 -t ~/.config/reeve
cd ~/.config && php -S localhost:8000
ruby -run -e httpd ~/.config/reeve -p 8000
busybox httpd -h ~/.config/reeve
npx http-server ~/.config/reeve
`)) {
		if line = strings.TrimSpace(line); !denied(line) {
			t.Errorf("passes: %s", line)
		}
	}
	for line := range strings.Lines(strings.TrimSpace(`
perl -e 'rename "a.txt","b.txt"'
perl -e 'rename ".config/nvim","/tmp/x"'
perl -MFile::Copy -e 'move "out/a","HOME/.config"'
ruby -rfileutils -e 'FileUtils.mv("nvim", ".config")'
ruby -rfileutils -e 'FileUtils.cp_r "src/proj", "/tmp/x"'
lua -e 'os.rename("init.lua", ".config/nvim/init.lua")'
python3 -c 'import shutil; shutil.move("nvim", "HOME/.config")'
python3 -c 'import shutil; shutil.copytree("nvim", "HOME/.config/nvim")'
python3 -c "import glob; print(glob.glob('HOME/src/**/*.go', recursive=True))"
python3 -c "import glob; print(glob.glob('src/**/seed.sql', recursive=True))"
python3 -m http.server -d src/proj 8000
php -S localhost:8000 -t src/proj/public
ruby -run -e httpd src/proj -p 8000
python3 -m pytest -d src
php -l index.php
npx http-server src/proj
`)) {
		if line = strings.TrimSpace(line); denied(line) {
			t.Errorf("is denied: %s", line)
		}
	}
	for _, line := range []string{"python3 -m http.server", "cd web && python3 -m http.server 8000", "php -S localhost:8000", "ruby -run -e httpd"} {
		if len(g.Tampering(call(home+"/src/proj", "shell", "command", line), nil)) > 0 {
			t.Errorf("is denied in a project: %s", line)
		}
	}
}
