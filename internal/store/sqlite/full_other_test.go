//go:build !linux

package sqlite

var systemChildren map[string]func(dir string) error
