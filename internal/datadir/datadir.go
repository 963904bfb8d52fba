// Package datadir is what a running node leaves in its data folder for the programs
// of its machine: the operator's socket, and the URL at which everybody else may ask.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Socket is the name of the operator's socket: what is asked there comes from
// whoever may read the data folder.
const Socket = "reeve.sock"

// Restored is the name of the file that says, until a node has recorded it, that the
// database came from a backup.
const Restored = "restored"

// NewLog is what that file holds where the seed is lost, and the node is to sign with another.
const NewLog = "new log\n"

// urlFile is the name of the file with the node's URL, and longestURL how many bytes
// of it are read.
const (
	urlFile    = "reeve.url"
	longestURL = 4 << 10
)

// ErrNotRunning says that no node runs on a data folder.
var ErrNotRunning = errors.New("no node is running")

// WriteURL notes at which URL the node of a data folder listens; empty for nowhere
// but on its socket. The file is a new one: somebody may be reading the old one, and
// what stands in its place could be a link, or another's.
func WriteURL(dir, url string) error {
	name := filepath.Join(dir, urlFile)
	if url == "" {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	f, err := os.CreateTemp(dir, urlFile+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(url + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// URL is where the node listens that runs on a data folder; empty if nowhere but on
// its socket. It does not trust the file alone, which a node that was killed leaves
// behind, nor one that somebody else has put there: what is asked at the URL is told
// contents, and a key. The error is ErrNotRunning when no node runs.
func URL(ctx context.Context, dir string) (string, error) {
	conn, err := Dial(ctx, dir)
	if err != nil {
		return "", ErrNotRunning
	}
	conn.Close()
	name := filepath.Join(Find(dir), urlFile)
	text, err := read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("where the node listens is not known: %w", err)
	}
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", fmt.Errorf("where the node listens is not known: %s holds no URL", name)
	}
	return text, nil
}

// read reads the file with the URL, if a node of this user, or of the system's
// administrator, has written it.
func read(name string) (string, error) {
	before, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !before.Mode().IsRegular() { // opening a pipe would wait
		return "", fmt.Errorf("%s is no file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(before, info) || !trusted(info) {
		return "", fmt.Errorf("%s is not of the user who asks", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, longestURL+1))
	if err == nil && len(text) > longestURL {
		err = fmt.Errorf("%s is larger than %d bytes", name, longestURL)
	}
	return strings.TrimSpace(string(text)), err
}

// Dial connects to the operator's socket of the node that runs on a data folder. What
// listens in a folder that others can write is no node.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	dir = Find(dir)
	if err := private(dir, false); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: time.Second}
	return d.DialContext(ctx, "unix", filepath.Join(dir, Socket))
}
