package hook

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxProcesses is how many processes are looked at.
const maxProcesses = 100_000

// Processes lists the coding agents' processes of this user, as /proc tells of them.
func Processes() (list []Process) {
	boot, err := booted()
	if err != nil {
		return nil
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxProcesses)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		at := filepath.Join("/proc", name)
		info, err := os.Stat(at)
		if err != nil {
			continue
		}
		if own, ok := info.Sys().(*syscall.Stat_t); !ok || int(own.Uid) != os.Geteuid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join(at, "cmdline"))
		if err != nil {
			continue
		}
		var words []string
		for w := range bytes.SplitSeq(bytes.TrimRight(line, "\x00"), []byte{0}) {
			words = append(words, string(w))
		}
		if agent := agentOf(words); agent != "" {
			folder, _ := os.Readlink(filepath.Join(at, "cwd"))
			began, err := os.ReadFile(filepath.Join(at, "stat"))
			if err != nil {
				continue // it has ended
			}
			list = append(list, Process{agent, pid, folder, beganAt(boot, string(began))})
		}
	}
	slices.SortFunc(list, func(a, b Process) int { return a.Began.Compare(b.Began) })
	return list
}

// booted is when the machine was started.
func booted() (time.Time, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, err
	}
	_, after, _ := strings.Cut(string(text), "\nbtime ")
	after, _, _ = strings.Cut(after, "\n")
	at, err := strconv.ParseInt(after, 10, 64)
	return time.Unix(at, 0), err
}

// beganAt reads from a process's stat when it began: the 22nd field, in hundredths of a
// second after the start of the machine. The second field may hold anything, in brackets.
func beganAt(boot time.Time, stat string) time.Time {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return time.Time{}
	}
	after, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return boot.Add(time.Duration(after) * 10 * time.Millisecond)
}

// agentOf tells which agent a command line starts to work; empty if none.
func agentOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	program := filepath.Base(words[0])
	rest := words[1:]
	if slices.Contains([]string{"node", "bun", "deno"}, program) {
		i := slices.IndexFunc(rest, func(w string) bool { return !strings.HasPrefix(w, "-") })
		if i < 0 {
			return ""
		}
		program, rest = filepath.Base(rest[i]), rest[i+1:]
	}
	if slices.ContainsFunc(rest, func(w string) bool {
		return slices.Contains([]string{"app-server", "mcp", "mcp-server", "--version", "login", "update"}, w)
	}) {
		return ""
	}
	for agent, name := range programNames {
		if program == name && name != "q" { // that is many programs' name
			return agent
		}
	}
	return ""
}
