//go:build unix && !linux

package datadir

import "errors"

func tmpfs(string) error { return errors.ErrUnsupported }
