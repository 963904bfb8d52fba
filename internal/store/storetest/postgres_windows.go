package storetest

import (
	"errors"
	"syscall"
)

// serverAttributes refuses: the server's keeper is a shell script.
func serverAttributes(...string) (*syscall.SysProcAttr, error) {
	return nil, errors.New("the tests with PostgreSQL run on Unix only")
}
