package identity

import (
	"fmt"
	"net"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"reeve.example/reeve/act"
)

// Peer is the principal of whoever opened a connection to the operator's socket: the
// user of the operating system, as the kernel tells it, such as socket:ada(1000). Where
// it tells nothing it is Operator.
func Peer(c net.Conn) act.Principal {
	s, ok := c.(syscall.Conn)
	if !ok {
		return Operator
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return Operator
	}
	p := Operator
	raw.Control(func(fd uintptr) {
		if uid, ok := peerUser(int(fd)); ok {
			p = LocalUser(uid)
		}
	})
	return p
}

// LocalUser is the principal of a user of this machine.
func LocalUser(uid uint32) act.Principal {
	id := strconv.FormatUint(uint64(uid), 10)
	name := "uid"
	if u, err := user.LookupId(id); err == nil && u.Username != "" && !strings.ContainsAny(u.Username, "()* \t\r\n\x00") {
		name = u.Username
	}
	return act.Principal{Name: fmt.Sprintf("socket:%s(%s)", name, id), Method: Operator.Method}
}
