package reeve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/internal/regular"
)

// A configuration that lies in the folder where a command is run may have come with
// a repository that somebody else wrote, and it can name what is run and where
// secrets go. So it rules only when the user has said so, and only as it was then:
// with every file that it names and that may have come with it.

// ErrUntrusted says that nobody has said to trust a file as it is now.
var ErrUntrusted = errors.New("nobody has said to trust this file as it is now")

// Trust is what the user said to trust.
type Trust struct{ file string }

// UserTrust is what the user said to trust, kept in the user's configuration folder.
func UserTrust() (*Trust, error) {
	own, err := os.UserConfigDir()
	if err != nil {
		return nil, err
	}
	return &Trust{filepath.Join(own, "reeve", "trusted")}, nil
}

// A TrustedFile is one configuration that the user said to trust.
type TrustedFile struct {
	Hash string // of the file and of what it names; in the list also, after a space, of all but its policy
	Path string
}

// Check is nil when the file is trusted as it is now, and ErrUntrusted when not.
func (t *Trust) Check(file string) error { return t.check(file, true) }

// CheckRest is Check of all but the policy that the file names, for who judges by
// another one, or by none: whoever edits a policy need not trust each step of it.
func (t *Trust) CheckRest(file string) error { return t.check(file, false) }

func (t *Trust) check(file string, policy bool) error {
	name, hash, _, err := fingerprint(file, policy)
	if err != nil {
		return err
	}
	list, err := t.List()
	if err != nil {
		return err
	}
	for _, f := range list {
		known, rest, _ := strings.Cut(f.Hash, " ")
		if !policy {
			known = rest
		}
		if f.Path == name && known == hash {
			return nil
		}
	}
	return ErrUntrusted
}

// Keep writes a text to a file that a configuration names, as a person said, and has the
// configuration trusted as before: if it was, and if nothing else changed meanwhile.
func (t *Trust) Keep(config, file, text string, write func() error) error {
	trusted := t.Check(config) == nil
	before, unread := Named(config)
	if err := write(); err != nil || unread != nil || !trusted {
		return err
	}
	after, err := Named(config)
	if err != nil {
		return err
	}
	written, err := os.Stat(file)
	if err != nil {
		return err
	}
	is := func(f TrustedFile) bool {
		info, err := os.Stat(f.Path)
		return err == nil && os.SameFile(info, written)
	}
	others := func(list []TrustedFile) []TrustedFile { return slices.DeleteFunc(slices.Clone(list), is) }
	kept := slices.ContainsFunc(after, func(f TrustedFile) bool { return f.Hash == hashOf([]byte(text)) && is(f) })
	if !kept || !slices.Equal(others(before), others(after)) {
		return nil
	}
	return t.Add(config)
}

// Add says to trust a file as it is now.
func (t *Trust) Add(file string) error { return t.add(file, nil) }

// AddAs says to trust a file if it and what it names are what Named gave, for who has shown that
// to a person and waited for an answer.
func (t *Trust) AddAs(file string, named []TrustedFile) error { return t.add(file, named) }

func (t *Trust) add(file string, as []TrustedFile) error {
	name, hash, named, err := fingerprint(file, true)
	if err != nil {
		return err
	}
	if as != nil && !slices.Equal(named, as) {
		return errors.New("it has changed meanwhile, or what it names has")
	}
	_, rest, _, err := fingerprint(file, false)
	if err != nil {
		return err
	}
	return t.change(name, func(list []TrustedFile) []TrustedFile { return append(list, TrustedFile{hash + " " + rest, name}) })
}

// Remove says to trust a file no more. It reports whether it was trusted.
func (t *Trust) Remove(file string) (was bool, err error) {
	name, err := filepath.Abs(file)
	if err != nil {
		return false, err
	}
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	list, err := t.List()
	if err != nil {
		return false, err
	}
	was = slices.ContainsFunc(list, func(f TrustedFile) bool { return f.Path == name })
	return was, t.change(name, func(list []TrustedFile) []TrustedFile { return list })
}

// List is all that is trusted.
func (t *Trust) List() (list []TrustedFile, err error) {
	text, err := os.ReadFile(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		if hash, name, ok := strings.Cut(strings.TrimRight(line, "\n"), "  "); ok {
			list = append(list, TrustedFile{hash, name})
		}
	}
	return list, err
}

// change writes the list anew, without a file and with what is added.
func (t *Trust) change(name string, add func([]TrustedFile) []TrustedFile) error {
	if strings.ContainsAny(name, "\n\r") {
		return errors.New("its path has a line end")
	}
	list, err := t.List()
	if err != nil {
		return err
	}
	list = add(slices.DeleteFunc(list, func(f TrustedFile) bool { return f.Path == name }))
	var text bytes.Buffer
	for _, f := range list {
		fmt.Fprintf(&text, "%s  %s\n", f.Hash, f.Path)
	}
	if err := os.MkdirAll(filepath.Dir(t.file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(t.file), "trusted.*")
	if err != nil {
		return err
	}
	_, err = f.Write(text.Bytes())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), t.file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Bounds of what one configuration names.
const (
	maxNamed      = 2000
	maxNamedBytes = 256 << 20
)

// Named are a configuration and the files that are trusted with it since it names them, each
// with the hash of what is in it now.
func Named(file string) ([]TrustedFile, error) {
	_, _, files, err := fingerprint(file, true)
	return files, err
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// fingerprint is a file's path without links, and a hash over it and over all files
// that it names and that may have come with it; files are each of them, with its own. Without
// the policy, the files of the file's own policy are left out.
func fingerprint(file string, policy bool) (name, hash string, files []TrustedFile, err error) {
	if name, err = filepath.Abs(file); err != nil {
		return "", "", nil, err
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return "", "", nil, err
	}
	text, err := regular.Read(name, maxNamedBytes)
	if err != nil {
		return "", "", nil, err
	}
	c, err := Load(name, func(string) string { return "" }, nil)
	if err != nil {
		return "", "", nil, err
	}
	base := filepath.Dir(name)
	files = []TrustedFile{{hashOf(text), name}}
	h := sha256.New()
	if !policy {
		io.WriteString(h, "all but the policy\n") // never the same as a hash of all
	}
	fmt.Fprintf(h, "%d\n%s", len(text), text)
	count, size := 0, int64(0)
	// look adds a file, or what lies in a folder, by whatever links it is reached: it rules as what it
	// is read as. Of a folder in which the configuration itself lies only the files count that lie in it
	// directly, since no setting reads further there.
	var look func(p string) error
	look = func(p string) error {
		if count++; count > maxNamed {
			return fmt.Errorf("it names more than %d files", maxNamed)
		}
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(h, "\n%d %s -", len(p), p) // one that is put there later is another
			return nil
		case err != nil:
			return err
		case info.IsDir():
			real, err := filepath.EvalSymlinks(p)
			if err != nil {
				return err
			}
			inside, err := os.ReadDir(p)
			for _, d := range inside {
				if at := filepath.Join(p, d.Name()); err == nil && !(isBelow(base, real) && isFolder(at)) {
					err = look(at)
				}
			}
			return err
		case !info.Mode().IsRegular():
			return nil
		}
		if size += info.Size(); size > maxNamedBytes {
			return fmt.Errorf("what it names has more than %d MiB", maxNamedBytes>>20)
		}
		text, err := regular.Read(p, maxNamedBytes)
		if err == nil {
			files = append(files, TrustedFile{hashOf(text), p})
			fmt.Fprintf(h, "\n%d %s %d\n%s", len(p), p, len(text), text)
		}
		return err
	}
	if !policy {
		c.Policy = ""
	}
	named := c.names(base)
	for _, file := range c.Organizations { // what they name rules, too
		if !filepath.IsAbs(file) {
			file = filepath.Join(base, file)
		}
		o, err := load(file, func(string) string { return "" }, nil, &c)
		if err != nil {
			return "", "", nil, err
		}
		named = append(named, o.names(base)...)
	}
	slices.Sort(named)
	for _, p := range slices.Compact(named) {
		if err := look(p); err != nil {
			return "", "", nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return name, "sha256:" + hex.EncodeToString(h.Sum(nil)), files, nil
}

// isFolder reports whether a folder stands at a path, or a link to one.
func isFolder(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

// isBelow reports whether a path is a folder, or lies below it.
func isBelow(p, folder string) bool {
	rel, err := filepath.Rel(folder, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// repositoryOf is the folder of the repository in which a folder lies; the folder itself if in none.
func repositoryOf(base string) string {
	for dir := base; ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return base
		}
	}
}

// names are the files and folders that a configuration in a folder names and that may have come with
// it: what it names from its own folder, wherever that leads, and what lies in its repository.
// What reeve itself writes is not among them.
func (c *Config) names(base string) (list []string) {
	repository := repositoryOf(base)
	for _, s := range c.Settings() {
		if s.Key == "data" || s.Key == "database" || s.Key == "tasks.scratch" || s.Key == "ledger.file" || s.Key == "events.file" {
			continue
		}
		var texts []string
		switch v := s.value.Interface().(type) {
		case string:
			texts = []string{v}
		case []string:
			texts = v
		}
		for _, text := range texts {
			for _, piece := range append(referredFiles(text), text, text[strings.LastIndexByte(text, '=')+1:]) {
				piece = strings.TrimPrefix(piece, fileReference)
				if piece == "" || strings.Contains(piece, "://") || strings.ContainsAny(piece, "\n\x00") {
					continue
				}
				p := filepath.Clean(piece)
				if !filepath.IsAbs(p) {
					p = filepath.Join(base, p)
				} else if !isBelow(p, repository) {
					continue // the machine's, or the user's own
				}
				if slices.Contains(list, p) {
					continue
				}
				// What is no path but a word, such as a format's name, is no file either.
				if exists(p) || strings.ContainsAny(piece, `/\.`) || s.Key == "policy" {
					list = append(list, p)
				}
			}
		}
	}
	return list
}
