package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var deniedHere, metadataHere []uint32

var modeCallsHere []modeCall // there are only those that take a directory
