//go:build !linux && !windows

package realagents

import "errors"

func alone() (done bool, code int) { return false, 0 }

func fullDisk(string) error { return errors.ErrUnsupported }

func takeDiskAway(string) {}
