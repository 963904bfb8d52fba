//go:build !linux

package datadir

import "errors"

// claim is for systems that tell when they were started.
func claim(string) (string, func(), error) { return "", nil, errors.ErrUnsupported }
