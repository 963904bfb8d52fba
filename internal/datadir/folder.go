package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Whoever can write the data folder, or put another one in its place, can answer as
// the node and forge what it remembers. So the folder is this user's, and nobody else
// can write it or rename it. Where it is a mount that is not so, as in containers, the
// node has a folder of its own in it.

// own is the folder within a mount that others can write.
const own = "reeve-data"

// leftBehind are files by which a folder is known that a node has used as it is.
var leftBehind = []string{"seed", "reeve.db"}

// Make makes the data folder of a name, if it is not there, and returns the folder to
// use: the one of that name, or the node's own within it. It is an error if somebody
// else could write there.
func Make(dir string) (string, error) {
	err := private(dir, true)
	if err != nil && mounted(dir) && filepath.Base(dir) != own {
		within := filepath.Join(dir, own)
		if _, missing := os.Lstat(within); missing != nil {
			for _, name := range leftBehind {
				if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
					return "", fmt.Errorf("others can write the mount %s: make the folder %s with mode 0700, and move the node's files (%s and what is beside it) into it", dir, within, name)
				}
			}
		}
		dir, err = within, private(within, true)
	}
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, private(dir, true) // somebody may have been quicker
}

// Find returns the folder that a node of a data folder's name uses. Nothing is made.
func Find(dir string) string {
	if within := filepath.Join(dir, own); private(dir, true) != nil && mounted(dir) && filepath.Base(dir) != own {
		if _, err := os.Lstat(within); err == nil {
			return within
		}
	}
	return dir
}

// private is nil if nobody else can write a folder or put another in its place. Only
// the owner writes there; the administrator may look into the folders of others.
func private(dir string, writes bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	ways := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		ways = append(ways, real)
	}
	for _, way := range ways {
		for at, from := way, ""; ; at, from = filepath.Dir(at), at {
			info, err := os.Stat(at)
			switch {
			case errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at:
				continue
			case err != nil:
				return err
			case filepath.Base(from) == own && mounted(at):
				// Within a mount that others can write there is nobody's folder but this
				// user's: another one in its place would not be.
			case from == "":
				if !info.IsDir() {
					return fmt.Errorf("%s is no folder", at)
				}
				if err := folder(at, info, writes); err != nil {
					return err
				}
			default:
				if err := above(at, from, info, writes); err != nil {
					return err
				}
			}
			if filepath.Dir(at) == at {
				break
			}
		}
	}
	return nil
}
