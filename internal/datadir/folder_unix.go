//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// An owner is whose a file is, and what others may do with it.
type owner struct {
	uid, gid uint32
	mode     fs.FileMode
}

func ownerOf(info fs.FileInfo) (owner, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}, errors.New("whose it is cannot be told")
	}
	return owner{stat.Uid, stat.Gid, info.Mode()}, nil
}

// othersWrite reports whether somebody beside the owner can write a folder. A group
// that is a user's own, as many systems make one for each user, is nobody else.
func (o owner) othersWrite(uid, gid uint32) bool {
	perm := o.mode.Perm()
	return perm&0o002 != 0 || perm&0o020 != 0 && !(o.gid == gid && ownGroup(uid, gid))
}

// ownGroup reports whether a group is that of one user alone, by its number or name.
func ownGroup(uid, gid uint32) bool {
	if uid == gid {
		return true
	}
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return false
	}
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(gid), 10))
	return err == nil && g.Name == u.Username
}

// folder is nil if a data folder is this user's, and nobody else can write it.
func folder(dir string, info fs.FileInfo, writes bool) error {
	o, err := ownerOf(info)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return o.folder(dir, uint32(os.Geteuid()), uint32(os.Getegid()), writes)
}

func (o owner) folder(dir string, uid, gid uint32, writes bool) error {
	switch {
	case o.uid != uid && o.uid != 0 && (writes || uid != 0):
		return fmt.Errorf("the data folder %s is of another user (%d): run this as that user, or name a folder of your own with --data", dir, o.uid)
	case o.othersWrite(uid, gid):
		return fmt.Errorf("others can write the data folder %s (mode %04o): look at what is in it, and take that from them with chmod go-w %s", dir, o.mode.Perm(), quoted(dir))
	}
	return nil
}

// above is nil if nobody else can put another folder in the place of the one below.
func above(dir, below string, info fs.FileInfo, writes bool) error {
	o, err := ownerOf(info)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return o.above(dir, below, uint32(os.Geteuid()), uint32(os.Getegid()), writes)
}

func (o owner) above(dir, below string, uid, gid uint32, writes bool) error {
	switch {
	case o.uid != uid && o.uid != 0 && (writes || uid != 0) && mapped(o.uid):
		return fmt.Errorf("%s lies in a folder of another user (%s, of %d), who could put another in its place: name a data folder elsewhere with --data", below, dir, o.uid)
	case o.mode&fs.ModeSticky == 0 && o.othersWrite(uid, gid):
		return fmt.Errorf("others can write %s (mode %04o), and put another folder in the place of %s: take that from them with chmod go-w %s, or name a data folder elsewhere with --data",
			dir, o.mode.Perm(), below, quoted(dir))
	}
	return nil
}

// mapped reports whether a user's number means somebody here. In a user namespace all
// whom it does not know have one number, the system's administrator among them.
func mapped(uid uint32) bool {
	const nobody = 65534
	if uid != nobody {
		return true
	}
	text, err := os.ReadFile("/proc/self/uid_map")
	return err != nil || len(strings.Fields(string(text))) >= 3 && strings.Fields(string(text))[2] == "4294967295"
}

// mounted reports whether a folder is where a file system is mounted.
func mounted(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	var at, parent syscall.Stat_t
	if syscall.Stat(dir, &at) != nil || syscall.Stat(filepath.Dir(dir), &parent) != nil {
		return false
	}
	return at.Dev != parent.Dev
}

func quoted(name string) string { return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'" }
