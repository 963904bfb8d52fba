package sandbox

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupTree is where cgroups can be made. A nil tree has nothing.
type cgroupTree struct {
	v2 string            // the directory in which to make a cgroup, or empty
	v1 map[string]string // the same by controller: memory, cpu, pids
	// on are the controllers of v2 that cgroups made there have; "kill" is
	// among them when they have cgroup.kill.
	on []string
}

func (t *cgroupTree) has(controller string) bool {
	return t != nil && (slices.Contains(t.on, controller) || t.v1[controller] != "")
}

// name says which file holds a limit.
func (t *cgroupTree) name(controller, v2, v1 string) string {
	if slices.Contains(t.on, controller) {
		return "cgroup v2 " + v2
	}
	return "cgroup v1 " + v1
}

// findCgroups finds where this process may make cgroups, by making one.
func findCgroups() *cgroupTree {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return cgroupsAmong(string(own), string(mounts), os.Getpid())
}

func cgroupsAmong(own, mounts string, self int) *cgroupTree {
	t := &cgroupTree{v1: map[string]string{}}
	mounted := cgroupMounts(mounts)
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "" {
			if mounted[""] != "" {
				t.findV2(mounted[""], parts[2], self)
			}
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if !slices.Contains([]string{"memory", "cpu", "cpuacct", "pids"}, controller) || mounted[controller] == "" {
				continue
			}
			dir := filepath.Join(mounted[controller], parts[2])
			if tryCgroup(dir) {
				t.v1[controller] = dir
			}
		}
	}
	if t.v2 == "" && len(t.v1) == 0 {
		return nil
	}
	t.sweep()
	return t
}

// sweep removes what programs left that were killed. One that has processes, or
// whose maker lives, stays.
func (t *cgroupTree) sweep() {
	for _, dir := range append(slices.Collect(maps.Values(t.v1)), t.v2) {
		left, _ := filepath.Glob(filepath.Join(dir, "reeve-*-*"))
		for _, cgroup := range left {
			maker, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(cgroup), "reeve-"), "-")
			if pid, err := strconv.Atoi(maker); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
				os.Remove(cgroup)
			}
		}
	}
}

// cgroupMounts finds where the hierarchies are mounted, by controller, and
// that of v2 by the empty name.
func cgroupMounts(mountinfo string) map[string]string {
	mounted := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(rest) < 3 {
			continue
		}
		switch rest[0] {
		case "cgroup2":
			mounted[""] = fields[4]
		case "cgroup":
			for option := range strings.SplitSeq(rest[2], ",") {
				mounted[option] = fields[4]
			}
		}
	}
	return mounted
}

// findV2 finds where in a v2 hierarchy a cgroup with controllers can be made. A
// cgroup that has processes cannot give controllers to those in it. So it is
// beside our own, where a service manager has put us into a part of what it
// delegates, or else inside our own, after moving ourselves into a part of it,
// which is done only if no other process is there.
func (t *cgroupTree) findV2(mount, own string, self int) {
	dir := filepath.Join(mount, own)
	if below(filepath.Dir(dir), mount) && dir != mount && tryCgroup(filepath.Dir(dir)) {
		if on := giveControllers(filepath.Dir(dir)); slices.Contains(on, "memory") {
			t.v2, t.on = filepath.Dir(dir), on
			return
		}
	}
	if !tryCgroup(dir) {
		return
	}
	on := giveControllers(dir)
	if !slices.Contains(on, "memory") && onlyProcess(dir, self) && offers(dir, "memory") {
		leaf := filepath.Join(dir, "reeve-self")
		if err := os.Mkdir(leaf, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
			if writeCgroup(leaf, "cgroup.procs", strconv.Itoa(self)) == nil {
				on = giveControllers(dir)
			}
		}
	}
	t.v2, t.on = dir, on
}

// tryCgroup is whether a cgroup can be made in a directory.
func tryCgroup(dir string) bool {
	try := filepath.Join(dir, cgroupName())
	if os.Mkdir(try, 0o755) != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(try, "cgroup.procs"))
	return os.Remove(try) == nil && err == nil
}

func cgroupName() string { return "reeve-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:8] }

// giveControllers gives what controllers it can to the cgroups in a directory,
// and returns what they then have.
func giveControllers(dir string) (on []string) {
	for _, controller := range []string{"memory", "cpu", "pids"} {
		if offers(dir, controller) && (listed(dir, "cgroup.subtree_control", controller) || writeCgroup(dir, "cgroup.subtree_control", "+"+controller) == nil) {
			on = append(on, controller)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err == nil {
		return append(on, "kill")
	}
	// The root of the hierarchy has none, and cgroups in it do.
	try := filepath.Join(dir, cgroupName())
	if os.Mkdir(try, 0o755) == nil {
		if _, err := os.Stat(filepath.Join(try, "cgroup.kill")); err == nil {
			on = append(on, "kill")
		}
		os.Remove(try)
	}
	return on
}

func offers(dir, controller string) bool { return listed(dir, "cgroup.controllers", controller) }

func listed(dir, file, word string) bool {
	b, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}

func onlyProcess(dir string, pid int) bool {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	return err == nil && strings.TrimSpace(string(b)) == strconv.Itoa(pid)
}

func writeCgroup(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0)
}

// cgroup is one command's.
type cgroup struct {
	v2   string            // its directory, or empty
	v1   map[string]string // its directories by controller
	made []string          // to be removed
	on   []string
}

// make makes a command's cgroup with its limits. Memory that is swapped out
// counts, so that none is.
func (t *cgroupTree) make(memory int64, cpuPercent int) (_ *cgroup, err error) {
	if t == nil {
		return nil, nil
	}
	c := &cgroup{v1: map[string]string{}, on: t.on}
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	name := cgroupName()
	if t.v2 != "" && len(t.on) > 0 {
		c.v2 = filepath.Join(t.v2, name)
		if err := os.Mkdir(c.v2, 0o755); err != nil {
			return nil, err
		}
		c.made = append(c.made, c.v2)
	}
	for controller, dir := range t.v1 {
		if slices.Contains(t.on, controller) {
			continue
		}
		dir = filepath.Join(dir, name)
		// Controllers that are mounted together share a directory.
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		} else if err == nil {
			c.made = append(c.made, dir)
		}
		c.v1[controller] = dir
	}
	quota := strconv.Itoa(cpuPercent * 1000) // of each 100 ms, in microseconds
	set := func(controller, v2file, v2value, v1file, v1value string, must bool) {
		dir, file, value := c.v1[controller], v1file, v1value
		if slices.Contains(c.on, controller) {
			dir, file, value = c.v2, v2file, v2value
		}
		if dir == "" || file == "" || err != nil {
			return
		}
		if e := writeCgroup(dir, file, value); e != nil && must {
			err = fmt.Errorf("cgroup: %w", e)
		}
	}
	bytes := strconv.FormatInt(memory, 10)
	set("memory", "memory.max", bytes, "memory.limit_in_bytes", bytes, true)
	set("memory", "memory.swap.max", "0", "memory.memsw.limit_in_bytes", bytes, false) // absent where nothing is swapped
	set("memory", "memory.oom.group", "1", "", "", false)
	set("cpu", "cpu.max", quota+" 100000", "cpu.cfs_quota_us", quota, true)
	set("pids", "pids.max", strconv.Itoa(maxProcesses), "pids.max", strconv.Itoa(maxProcesses), true)
	return c, err
}

// join returns what a process needs to put itself into the cgroup: the
// directory of v2, into which it is started, and cgroup.procs of v1's, into
// which it writes 0. They must be closed.
func (c *cgroup) join() (dir *os.File, procs []*os.File, err error) {
	if c == nil {
		return nil, nil, nil
	}
	if c.v2 != "" {
		if dir, err = os.Open(c.v2); err != nil {
			return nil, nil, err
		}
	}
	for _, d := range c.made {
		if d == c.v2 {
			continue
		}
		f, err := os.OpenFile(filepath.Join(d, "cgroup.procs"), os.O_WRONLY, 0)
		if err != nil {
			return nil, nil, err
		}
		procs = append(procs, f)
	}
	return dir, procs, nil
}

func (c *cgroup) dir(controller string) (dir string, v2 bool) {
	if slices.Contains(c.on, controller) {
		return c.v2, true
	}
	return c.v1[controller], false
}

// memoryPeak is the most memory it had, in bytes, or 0 when not known.
func (c *cgroup) memoryPeak() int64 {
	if c == nil {
		return 0
	}
	dir, v2 := c.dir("memory")
	if v2 {
		return readNumber(dir, "memory.peak", "")
	}
	return readNumber(dir, "memory.max_usage_in_bytes", "")
}

// outOfMemory is whether something was killed for its memory.
func (c *cgroup) outOfMemory() bool {
	if c == nil {
		return false
	}
	dir, v2 := c.dir("memory")
	if v2 {
		return readNumber(dir, "memory.events", "oom_kill ") > 0
	}
	return readNumber(dir, "memory.oom_control", "oom_kill ") > 0
}

// cpu is the CPU time it used, or 0 when not known.
func (c *cgroup) cpu() time.Duration {
	if c == nil {
		return 0
	}
	if dir, v2 := c.dir("cpu"); v2 {
		return time.Duration(readNumber(dir, "cpu.stat", "usage_usec ")) * time.Microsecond
	}
	return time.Duration(readNumber(c.v1["cpuacct"], "cpuacct.usage", ""))
}

// readNumber reads a file's number, or that of the line with a prefix.
func readNumber(dir, file, prefix string) int64 {
	if dir == "" {
		return 0
	}
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(prefix)); ok {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
			return n
		}
	}
	return 0
}

// kill ends every process in it, if the kernel can do that at once.
func (c *cgroup) kill() {
	if c != nil && slices.Contains(c.on, "kill") {
		writeCgroup(c.v2, "cgroup.kill", "1")
	}
}

// remove removes it. A process that was killed leaves it a moment later.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	for _, dir := range c.made {
		for wait := time.Millisecond; wait < time.Second; wait *= 2 {
			if err := os.Remove(dir); err == nil || !errors.Is(err, unix.EBUSY) {
				break
			}
			time.Sleep(wait)
		}
	}
}
