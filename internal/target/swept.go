package target

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
)

// Bounds of what is looked at of a folder that git clean would sweep.
const (
	maxSwept      = 8192 // entries
	maxNamesInGit = 50_000
)

// Swept is what git clean would take of the folder where a call works and no build makes again; nil
// where that is not known, or the call does no such thing.
func Swept(a *act.Action, folder string) *act.Swept {
	if !slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return strings.Contains(l.Text, "clean") && strings.Contains(l.Text, "git") }) {
		return nil
	}
	at, git, common := repositoryOf(folder)
	if git == "" || git != common || filepath.Dir(git) != at { // of a part of a repository nothing is said
		return nil
	}
	index, err := regular.Read(filepath.Join(git, "index"), maxIndex)
	if err != nil && !os.IsNotExist(err) {
		return nil
	}
	kept, ok := indexed(index)
	if !ok {
		return nil
	}
	exclude, _ := regular.Read(filepath.Join(git, "info", "exclude"), maxGitFile)
	ignored := strings.Split(string(exclude), "\n")
	left, swept := maxSwept, new(act.Swept)
	err = filepath.WalkDir(at, func(name string, e fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 || len(swept.Ignored)+len(swept.Untracked) > 64 {
			return fs.ErrInvalid
		}
		below, err := filepath.Rel(at, name)
		if err != nil || below == ".git" {
			return fs.SkipDir
		}
		below = filepath.ToSlash(below)
		switch {
		case e.IsDir():
			text, _ := regular.Read(filepath.Join(name, ".gitignore"), maxGitFile)
			ignored = append(ignored, strings.Split(string(text), "\n")...)
			if below != "." && e.Name() != ".git" && builtFolder.MatchString(e.Name()) && !kept[below+"/"] {
				return fs.SkipDir
			}
			if e.Name() != ".git" { // else a repository in it
				return nil
			}
		case kept[below], builtFile.MatchString(e.Name()):
			return nil
		}
		if ignoresPath(ignored, below) {
			swept.Ignored = append(swept.Ignored, below)
		} else {
			swept.Untracked = append(swept.Untracked, below)
		}
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return swept
}

// What builds, package managers and tests make again, by its names.
var (
	builtFolder = lazyregexp.New(`^(?:node_modules|bower_components|dist|build|_build|target|out|obj|\.next|\.nuxt|\.output|\.svelte-kit|\.angular|\.turbo|\.vite|\.parcel-cache|\.cache|\.gradle|\.dart_tool|\.eggs|.*\.egg-info|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis|\.tox|\.nox|\.venv|venv|coverage|htmlcov|\.nyc_output|\.ipynb_checkpoints|cmake-build-.*|CMakeFiles|DerivedData|Pods|\.stack-work|dist-newstyle|elm-stuff|zig-cache|zig-out|\.zig-cache|storybook-static|\.docusaurus|_site|\.jekyll-cache|\.sass-cache|test-results|playwright-report)$`)
	builtFile   = lazyregexp.New(`^(?:.*\.(?:o|obj|a|so|dylib|dll|exe|lib|pdb|pyc|pyo|class|rlib|beam|gcda|gcno|gcov|tsbuildinfo|log|tmp|swp|swo|test|prof|coverprofile|min\.js|js\.map|css\.map)|\.eslintcache|\.stylelintcache|\.DS_Store|Thumbs\.db|desktop\.ini|\.coverage|coverage\.(?:xml|json|lcov|out)|lcov\.info|npm-debug\.log.*|yarn-error\.log)$`)
)

// ignoresPath reports whether lines of .gitignore may name a path, or a folder above it.
func ignoresPath(lines []string, below string) bool {
	for p := below; p != "." && p != "/"; p = path.Dir(p) {
		if ignores(lines, path.Base(p)) {
			return true
		}
		for _, line := range lines {
			pattern := strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "**/"), "/")
			if strings.ContainsRune(pattern, '/') && pattern[0] != '#' {
				// Which of the folders a line stands in is not asked: one that may be meant is.
				if ok, err := path.Match(path.Base(pattern), path.Base(p)); ok || err != nil {
					return true
				}
			} else if ok, _ := path.Match(pattern, path.Base(p)); ok && pattern != "" {
				return true
			}
		}
	}
	return false
}

// indexed are the paths that Git's index names, with the folders that they lie in, which end in /. ok is
// false for an index of another version, or one that names too many.
func indexed(index []byte) (names map[string]bool, ok bool) {
	const header, fixed = 12, 62
	names = map[string]bool{}
	if len(index) == 0 {
		return names, true
	}
	if len(index) < header || string(index[:4]) != "DIRC" || binary.BigEndian.Uint32(index[4:]) > 3 {
		return nil, false
	}
	count := binary.BigEndian.Uint32(index[8:])
	if count > maxNamesInGit {
		return nil, false
	}
	for at := header; count > 0; count-- {
		if at+fixed > len(index) {
			return nil, false
		}
		start := at + fixed
		if binary.BigEndian.Uint16(index[at+60:])&0x4000 != 0 {
			start += 2
		}
		length := -1
		if start <= len(index) {
			length = slices.Index(index[start:], 0)
		}
		if length < 0 {
			return nil, false
		}
		name := string(index[start : start+length])
		names[name] = true
		for dir := path.Dir(name); dir != "." && dir != "/" && !names[dir+"/"]; dir = path.Dir(dir) {
			names[dir+"/"] = true
		}
		at += (start - at + length + 8) &^ 7
	}
	return names, true
}
