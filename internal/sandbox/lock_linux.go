package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock's that are given: below what may be written, no devices
// can be made; linking and renaming between two directories needs the same
// rights in both (REFER), which what may only be read does not have.
const (
	landlockRead     = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockOnFiles  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	landlockResolve  = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	landlockReadings = landlockRead | landlockResolve
	landlockWritings = landlockReadings | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// landlockHandled is what each ABI can hold.
func landlockHandled(abi int) (files, scoped uint64) {
	files = 1<<13 - 1
	for _, later := range []struct {
		abi   int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi >= later.abi {
			files |= later.right
		}
	}
	if abi >= landlockScopes {
		scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return files, scoped
}

// restrictFiles holds this thread, and what it starts, to the grants, and keeps
// its signals and its abstract sockets among themselves.
func restrictFiles(abi int, grants []grant) error {
	files, scoped := landlockHandled(abi)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: files, Scoped: scoped}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	for _, g := range grants {
		if err := landlockRule(int(fd), files, g); err != nil {
			return fmt.Errorf("%s: %w", g.Path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func landlockRule(ruleset int, handled uint64, g grant) error {
	fd, err := openGrant(g)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	allowed := uint64(landlockReadings)
	if g.Write {
		allowed = landlockWritings
	}
	if !g.Dir {
		allowed &= landlockOnFiles | landlockResolve
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: allowed & handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// openGrant opens what is granted. Its path was resolved before: when a symlink
// is in it now, somebody put it there to be given something else.
func openGrant(g grant) (int, error) {
	flags := uint64(unix.O_PATH | unix.O_CLOEXEC)
	if g.Dir {
		flags |= unix.O_DIRECTORY
	}
	return unix.Openat2(unix.AT_FDCWD, g.Path, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// dropCapabilities drops them from every set, so that root, too, has none after
// the start of a program.
func dropCapabilities() error {
	for c := uintptr(0); c <= 63; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			break // the last that this kernel has was the one before
		}
		if err != nil {
			if unix.Geteuid() != 0 {
				break // has none to drop, and no_new_privs keeps it so
			}
			return fmt.Errorf("bounding set: %w", err)
		}
	}
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

func seccomp(op, flags uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, op, flags, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// denied are the system calls that no command needs and that widen what a hole
// in the kernel could be reached through, or that reach around what holds the
// command. They fail with EPERM.
var denied = []uint32{
	// Other processes' memory.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// Namespaces and mounts. clone is looked at, and clone3 does not exist.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// io_uring does by itself what filters look for in system calls.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// The kernel's own affairs.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_MEMFD_SECRET,
}

// metadata are the calls that change a file's mode, owner, times or attributes,
// which Landlock lets pass wherever the file is.
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// setID are the bits with which a program runs as its owner or its group. The
// scope is a place of the host's: a command that could set them there would
// leave behind a program that makes whoever starts it the node's user.
const setID = unix.S_ISUID | unix.S_ISGID

// device is in the type of character and of block devices, and of no other that
// can be made. (Of character devices the one that hides files in an overlay needs
// no capability.)
const device = unix.S_IFCHR & unix.S_IFBLK

// creates are the flags with which opening makes a file: else its mode is whatever
// was in the register.
const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// modeCall is a system call that gives a file a mode. It is refused where the mode
// has one of the bits, and, if it has flags, one of those stands there, too.
type modeCall struct {
	number   uint32
	mode     int // which argument, from 0
	bits     uint32
	flags    int // which argument, where onlyWith is not 0
	onlyWith uint32
}

var modeCalls = append([]modeCall{
	{number: unix.SYS_FCHMOD, mode: 1, bits: setID},
	{number: unix.SYS_FCHMODAT, mode: 2, bits: setID},
	{number: unix.SYS_FCHMODAT2, mode: 2, bits: setID},
	{number: unix.SYS_MKDIRAT, mode: 2, bits: setID},
	{number: unix.SYS_MKNODAT, mode: 2, bits: setID | device},
	{number: unix.SYS_OPENAT, mode: 3, bits: setID, flags: 2, onlyWith: creates},
	{number: unix.SYS_MQ_OPEN, mode: 2, bits: setID, flags: 1, onlyWith: creates},
	// Not a mode, but flags of which one leaves a device where the file was.
	{number: unix.SYS_RENAMEAT2, mode: 4, bits: unix.RENAME_WHITEOUT},
}, modeCallsHere...)

// lastNumber is of the last system call that was looked at when this was written.
// What a later kernel adds may set a mode, or reach around what is held, in ways
// that nobody has looked at: programs are told that it does not exist.
const lastNumber = unix.SYS_RSEQ_SLICE_YIELD

// hidden are the calls that make memory which belongs to no process's size.
var hidden = []uint32{unix.SYS_MEMFD_CREATE, unix.SYS_SHMGET}

// namespaceFlags are those of clone that make namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Offsets in struct seccomp_data, whose arguments are looked at in their low
// half: the kernel, too, takes these as 32 bits.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArg0   = 16
	offsetArg1   = 24
	offsetArg2   = 32
	argSize      = 8
)

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retKill  = unix.SECCOMP_RET_KILL_PROCESS
	retErrno = unix.SECCOMP_RET_ERRNO
)

// seccompProgram is the filter for an order. It allows what it does not name:
// it stands beside what holds files and the network, not in its place.
func seccompProgram(o *order) *unix.SockFprog {
	var p []unix.SockFilter
	load := func(offset uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
	}
	ret := func(value uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}) }
	// skipUnless jumps over the next n instructions unless the loaded value
	// compares so.
	skipUnless := func(compare uint16, value uint32, n uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: value, Jf: n})
	}
	load(offsetArch)
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1})
	ret(retKill) // another set of numbers, to which this filter says nothing
	load(offsetNumber)
	skipUnless(unix.BPF_JGT, lastNumber, 1) // x32, too
	ret(retErrno | uint32(unix.ENOSYS))

	refuse := append(append([]uint32{}, denied...), deniedHere...)
	if o.NoMetadata {
		refuse = append(append(refuse, metadata...), metadataHere...)
	}
	if o.NoHidden {
		refuse = append(refuse, hidden...)
	}
	for _, number := range refuse {
		skipUnless(unix.BPF_JEQ, number, 1)
		ret(retErrno | uint32(unix.EPERM))
	}
	// Their flags and modes lie in memory, where no filter sees them; libraries then
	// use clone and openat.
	for _, number := range []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2} {
		skipUnless(unix.BPF_JEQ, number, 1)
		ret(retErrno | uint32(unix.ENOSYS))
	}
	for _, c := range modeCalls {
		n := uint8(4)
		if c.onlyWith != 0 {
			n += 2
		}
		skipUnless(unix.BPF_JEQ, c.number, n)
		if c.onlyWith != 0 {
			load(offsetArg0 + uint32(c.flags)*argSize)
			skipUnless(unix.BPF_JSET, c.onlyWith, 3)
		}
		load(offsetArg0 + uint32(c.mode)*argSize)
		skipUnless(unix.BPF_JSET, c.bits, 1)
		ret(retErrno | uint32(unix.EPERM))
		ret(retAllow)
	}

	skipUnless(unix.BPF_JEQ, unix.SYS_CLONE, 4)
	load(offsetArg0)
	skipUnless(unix.BPF_JSET, namespaceFlags, 1)
	ret(retErrno | uint32(unix.EPERM))
	ret(retAllow)

	// Typing into the terminal that reeve was started from.
	skipUnless(unix.BPF_JEQ, unix.SYS_IOCTL, 6)
	load(offsetArg1)
	skipUnless(unix.BPF_JEQ, unix.TIOCSTI, 1)
	ret(retErrno | uint32(unix.EPERM))
	skipUnless(unix.BPF_JEQ, unix.TIOCLINUX, 1)
	ret(retErrno | uint32(unix.EPERM))
	ret(retAllow)

	families := []uint32{}
	if o.Unix {
		families = append(families, unix.AF_UNIX)
	}
	if o.Network != noNetwork {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jt: 1})
	ret(retAllow)
	load(offsetArg0)
	for _, family := range families {
		skipUnless(unix.BPF_JEQ, family, 1)
		ret(retAllow)
	}
	if o.Network != noNetwork { // and to list the interfaces
		skipUnless(unix.BPF_JEQ, unix.AF_NETLINK, 3)
		load(offsetArg2)
		skipUnless(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1)
		ret(retAllow)
	}
	ret(retErrno | uint32(unix.EACCES))
	return &unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
}
