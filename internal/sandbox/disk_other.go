//go:build !linux

package sandbox

// onlyDirectory is no flag on this system, where a module cannot make a FIFO or follow
// a symlink out of its directories.
const onlyDirectory = 0

// disksOf tells of no file system here: what a module may write to is looked through.
func disksOf([]string) []disk { return nil }

func barred(string) bool { return false }

func holds(string) disk { return disk{} }
