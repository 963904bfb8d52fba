//go:build unix

package agent

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns is the width of the terminal that f is, 0 when it is none.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// prepare reports whether f is a terminal.
func prepare(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
