package target

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
)

// Bounds of the look for files of secrets.
const (
	maxLooked      = 4096 // entries of all folders
	maxLookedBelow = 4    // folders below one
	maxRoots       = 4
	maxSecretFiles = 16
	maxSecretFile  = 64 << 10
	maxNamedFiles  = 32 // that an act names, and of which what stands in them is looked at
	maxNamedFile   = 128 << 10
)

// passedOver are folders of which nobody means the keys that lie in them: of packages, of tests.
var passedOver = map[string]bool{".git": true, "node_modules": true, "vendor": true, ".venv": true, "venv": true, "site-packages": true, "testdata": true, "fixtures": true, "__fixtures__": true, "__pycache__": true}

// Secrets notes in an act how to learn which files of secrets lie where it works, and what stands in them,
// where it may send something: a folder takes them along that is sent as a whole, and what they hold is
// secret however the agent has come to know it. Most calls turn out to send nothing, so the disk is read
// only when that is asked.
func Secrets(a *act.Action, folder string) {
	a.Secrets, a.HoldsSecret, a.SecretFor, a.KeepsSecret = nil, nil, nil, nil
	if !a.IsCall() || !hazard.MaySend(a) {
		return
	}
	look := sync.OnceValue(func() *lookOut {
		l := &lookOut{left: maxLooked}
		for _, root := range rootsOf(a, folder) {
			l.below(root)
		}
		return l
	})
	a.Secrets = func() []string { return look().found }
	a.HoldsSecret = func(text string) bool {
		if len(text) < risk.MinHeld || len(look().values) == 0 {
			return false
		}
		for _, spelled := range risk.Spellings(text) {
			if slices.ContainsFunc(look().values, func(piece string) bool { return strings.Contains(spelled, piece) }) {
				return true
			}
		}
		return false
	}
	a.SecretFor = func(host string) bool { return slices.Contains(look().hosts, strings.ToLower(host)) }
	a.KeepsSecret = keepsSecret(folder)
}

// keepsSecret reports, of files that are named as seen from a folder, whether something stands in them whose
// form says surely that it is a secret: a private key, a token of a provider, a password by its name. Each is
// read once, and only its beginning.
func keepsSecret(folder string) func(name string) bool {
	known := map[string]bool{}
	return func(name string) bool {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(homeFolder(), rest)
		}
		if !filepath.IsAbs(name) {
			if folder == "" {
				return false
			}
			name = filepath.Join(folder, name)
		}
		keeps, seen := known[name]
		if !seen && len(known) < maxNamedFiles {
			keeps = holdsSurely(name)
			known[name] = keeps
		}
		return keeps
	}
}

// holdsSurely reports whether such a form stands in the beginning of a file.
func holdsSurely(name string) bool {
	f, err := regular.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxNamedFile))
	return err == nil && slices.ContainsFunc(risk.Scan(string(data), risk.Secret, nil), func(f risk.Finding) bool { return f.Score >= surely })
}

// surely is how much a finding weighs that no example, and nothing that only looks drawn at random, has.
const surely = 0.7

// rootsOf are the folder of a call, and those that its words name.
func rootsOf(a *act.Action, folder string) (roots []string) {
	if folder == "" {
		return nil
	}
	roots = []string{filepath.Clean(folder)}
	for i := range a.Content {
		for _, word := range hazard.Names(a.Content[i].Text[:min(len(a.Content[i].Text), maxSecretFile)]) {
			if len(roots) == maxRoots || !strings.Contains(word, "/") && word != ".." {
				continue
			}
			if rest, ok := strings.CutPrefix(word, "~/"); ok {
				word = filepath.Join(homeFolder(), rest)
			}
			if !filepath.IsAbs(word) {
				word = filepath.Join(roots[0], word)
			}
			word = filepath.Clean(word)
			if strings.Count(word, string(filepath.Separator)) < 3 || slices.ContainsFunc(roots, func(r string) bool { return word == r || strings.HasPrefix(word, r+string(filepath.Separator)) }) {
				continue
			}
			if info, err := os.Stat(word); err == nil && info.IsDir() {
				roots = append(roots, word)
			}
		}
	}
	return roots
}

var homeFolder = sync.OnceValue(func() string { home, _ := os.UserHomeDir(); return home })

// lookOut looks for files of secrets.
type lookOut struct {
	left          int
	found         []string
	values, hosts []string
}

// below looks in a folder and in those below it, the nearest first: a large one far down keeps nothing from
// being seen that lies above.
func (l *lookOut) below(root string) {
	folders := []string{root}
	for depth := 0; depth <= maxLookedBelow && len(folders) > 0; depth++ {
		var deeper []string
		for _, dir := range folders {
			deeper = append(deeper, l.in(dir)...)
		}
		folders = deeper
	}
}

// in looks at the files of a folder, and gives the folders in it.
func (l *lookOut) in(dir string) (folders []string) {
	if l.left <= 0 {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	entries, _ := folder.ReadDir(l.left)
	folder.Close()
	l.left -= len(entries)
	for _, e := range entries {
		switch at := filepath.Join(dir, e.Name()); {
		case e.IsDir() && !passedOver[e.Name()]:
			folders = append(folders, at)
		case e.Type()&fs.ModeType == 0 && len(l.found) < maxSecretFiles && hazard.InProjects(e.Name()):
			l.file(at)
		}
	}
	return folders
}

// file notes one that holds something: an example of one, or one of which all values are usual words,
// holds no secret.
func (l *lookOut) file(at string) {
	data, err := regular.Read(at, maxSecretFile)
	if err != nil {
		return
	}
	text := string(data)
	values, hosts := risk.Held(text)
	sure := slices.ContainsFunc(risk.Scan(text, risk.Secret, nil), func(f risk.Finding) bool { return f.Score >= 0.5 })
	if len(values) == 0 && !sure {
		return
	}
	l.found, l.hosts = append(l.found, at), append(l.hosts, hosts...)
	for _, v := range values {
		l.values = append(l.values, risk.Pieces(v)...)
	}
}
