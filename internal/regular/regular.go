// Package regular reads files that others have named: regular ones alone, no more of them than
// is said, and without waiting for anybody.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrTooLarge says that a file has more bytes than are read.
var ErrTooLarge = errors.New("the file is too large to be read")

// ErrNot says that what stands there is no regular file, but a folder, a pipe or a device.
var ErrNot = errors.New("it is no regular file")

// Open opens a regular file for reading. What is none is not even opened where that can be
// seen before, since opening a device may do something; and where it becomes one meanwhile,
// opening it does not wait. Nor does reading it.
func Open(name string) (*os.File, error) {
	if err := check(name, os.Stat); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := check(name, func(string) (fs.FileInfo, error) { return f.Stat() }); err != nil {
		f.Close()
		return nil, err
	}
	// Some of the kernel's say that they are regular, and have readers wait for what is to
	// come. Others have no deadline.
	if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		f.Close()
		return nil, err
	}
	return f, nil
}

// patience is for how long what has nothing to say is waited for.
const patience = 10 * time.Millisecond

func check(name string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: name, Err: ErrNot}
	}
	return err
}

// Read is what a regular file holds. What it says of its size is not believed: one that grows,
// and those of /proc, are read so far only, too.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLarge := &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)}
	if info.Size() > most {
		return nil, tooLarge
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, tooLarge
	}
	return text, err
}

// OpenFolder opens a folder, so that the names in it can be read; a pipe in its place is not
// waited for.
func OpenFolder(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
