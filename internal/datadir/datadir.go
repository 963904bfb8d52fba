// Package datadir is what a running node leaves in its data folder for the programs
// of its machine: the operator's socket, and the URL at which everybody else may ask.
package datadir

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Socket is the name of the operator's socket: what is asked there comes from
// whoever may read the data folder.
const Socket = "reeve.sock"

// urlFile is the name of the file with the node's URL.
const urlFile = "reeve.url"

// ErrNotRunning says that no node runs on a data folder.
var ErrNotRunning = errors.New("no node is running")

// WriteURL notes at which URL the node of a data folder listens; empty for nowhere
// but on its socket.
func WriteURL(dir, url string) error {
	name := filepath.Join(dir, urlFile)
	if url == "" {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(name, []byte(url+"\n"), 0o600)
}

// URL is where the node listens that runs on a data folder; empty if nowhere but on
// its socket. It does not trust the file alone, which a node that was killed leaves
// behind. The error is ErrNotRunning when no node runs.
func URL(ctx context.Context, dir string) (string, error) {
	conn, err := Dial(ctx, dir)
	if err != nil {
		return "", ErrNotRunning
	}
	conn.Close()
	text, err := os.ReadFile(filepath.Join(dir, urlFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

// Dial connects to the operator's socket of the node that runs on a data folder.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Second}
	return d.DialContext(ctx, "unix", filepath.Join(dir, Socket))
}
