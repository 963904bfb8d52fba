package hazard

import "testing"

// TestShellsAndLanguagesOfLines: what takes people's work away asks in whatever shell or language a line of it
// is written; and their ordinary lines do not.
func TestShellsAndLanguagesOfLines(t *testing.T) {
	for _, line := range []string{
		`pwsh -c 'ls ~/work | %{ rm -r -fo $_ }'`,
		`pwsh -c 'Get-ChildItem ~/work -Directory | ForEach-Object { $_.Delete($true) }'`,
		`pwsh -c '(gi ~/Documents).Delete($true)'`,
		`pwsh -c '& (gcm rm) -rf ~/Documents'`,
		`pwsh -c 'Remove-Item $env:HOME/work/* -Exclude shop -Recurse'`,
		`pwsh -c '[IO.Directory]::Move("$HOME/Documents","/tmp/r")'`,
		`pwsh -c '"" | sc ~/Documents/thesis.tex'`,
		`fish -c 'test -d ~/work; and rm -rf ~/work'`,
		`fish -c 'rm -rf (path resolve ~/Documents)'`,
		`bb -e '(babashka.fs/delete-tree "/home/dev/Documents")'`,
		`racket -e '(require racket/file) (delete-directory/files "/home/dev/Documents")'`,
		`sbcl --eval '(uiop:delete-directory-tree #p"/home/dev/Documents/" :validate t)'`,
		`erl -noshell -eval 'file:del_dir_r("/home/dev/Documents"),halt().'`,
		`swipl -g 'delete_directory_and_contents("/home/dev/Documents")' -t halt`,
		`v -e 'os.rmdir_all("/home/dev/Documents")!'`,
		`octave --eval 'rmdir("/home/dev/Documents","s")'`,
		`matlab -batch "rmdir('/home/dev/Documents','s')"`,
		`wolframscript -code 'DeleteDirectory["/home/dev/Documents",DeleteContents->True]'`,
		`puppet apply -e 'file{"/home/dev/Documents": ensure=>absent, force=>true}'`,
		`chef-apply -e 'directory("/home/dev/Documents"){action :delete;recursive true}'`,
	} {
		if a := assessed(line); a.Score < 0.4 {
			t.Errorf("passes: %s: %.2f %+v", line, a.Score, a.Findings)
		}
	}
	for _, line := range []string{
		`pwsh -c 'ls ~/work | %{ $_.Name }'`,
		`pwsh -c 'Get-ChildItem build | Remove-Item -Recurse'`,
		`pwsh -c 'Remove-Item -Recurse bin, obj'`,
		`pwsh -c '(gi x.txt).Length'`,
		`fish -c 'test -d build; and rm -rf build'`,
		`fish -c 'cd (path resolve .); and ls'`,
		`bb -e '(println (slurp "deps.edn"))'`,
		`racket -e '(displayln (file-exists? "/home/dev/Documents/a"))'`,
		`sbcl --eval '(print 1)'`,
		`octave --eval 'disp(1)'`,
		`v -e 'println(1)'`,
		`puppet apply -e 'notice("x")'`,
	} {
		if a := assessed(line); a.Score >= 0.4 {
			t.Errorf("is asked: %s: %.2f %+v", line, a.Score, a.Findings)
		}
	}
}
