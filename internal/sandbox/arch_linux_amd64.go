package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var deniedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_CREATE_MODULE, unix.SYS_USELIB, unix.SYS__SYSCTL}

var metadataHere = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}

var modeCallsHere = []modeCall{
	{number: unix.SYS_CHMOD, mode: 1, bits: setID},
	{number: unix.SYS_MKDIR, mode: 1, bits: setID},
	{number: unix.SYS_MKNOD, mode: 1, bits: setID | device},
	{number: unix.SYS_CREAT, mode: 1, bits: setID},
	{number: unix.SYS_OPEN, mode: 2, bits: setID, flags: 1, onlyWith: creates},
}
