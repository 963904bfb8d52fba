package datadir

import (
	"crypto/rand"
	"fmt"
	"os"
)

// Claim names a run of the program on a data folder to the nodes that share its database.
// A later run on the same folder has the same name, and only once this one is certainly
// over: it then goes on with its log at once. Where that cannot be made certain, such as
// for a second process on the folder, or after the machine was started anew, the name is
// like no other. release must be called when the run is over.
func Claim(dir string) (owner string, release func()) {
	host, _ := os.Hostname()
	if owner, release, err := claim(dir); err == nil {
		return host + ":" + owner, release
	}
	// The host and the process do not tell two containers apart, which both can be "reeve", 1.
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()), func() {}
}
