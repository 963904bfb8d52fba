package identity

import "golang.org/x/sys/unix"

// peerUser is the user at the other end of a UNIX socket.
func peerUser(fd int) (uint32, bool) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, false
	}
	return c.Uid, true
}
