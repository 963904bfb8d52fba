package guardian

import (
	"net"
	"net/netip"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
)

// process looks at a path below /proc: by it the guardian's memory, its open files
// and all that it sees can be reached.
func (e *examination) process(parts []string) {
	if len(parts) == 0 || parts[0] != "proc" || e.g.pid == "" {
		return
	}
	if len(parts) == 1 { // what lists it gives the numbers of all
		e.allProcesses = true
		return
	}
	if all, err := path.Match(parts[1], e.g.pid); len(parts) == 2 && err == nil && all {
		e.allProcesses = true
	}
	if len(parts) < 3 || slices.Contains([]string{"status", "stat", "cmdline", "comm"}, parts[2]) {
		return
	}
	switch {
	case parts[1] == e.g.pid:
		e.tampers("reach for the guardian's process")
	case strings.ContainsAny(parts[1], "*?$`["):
		e.someProcess = true // which may be sought only later in the act
	}
}

// seeks notes a search for the guardian's process: what is killed then is it.
func (e *examination) seeks(c *hazard.Command, name string) {
	switch name {
	case "lsof", "ss", "netstat", "fuser", "ps": // who has the node's port, or its files; or is called so
		e.psListed = e.psListed || name == "ps"
		e.sought = e.sought || slices.ContainsFunc(c.Words, func(w string) bool {
			return name != "ps" && e.port(w) || slices.ContainsFunc(strings.Split(strings.TrimLeft(w, "-cC="), ","), func(p string) bool {
				return slices.Contains(e.g.programs, base(p))
			})
		})
	case "get-process", "gps", "get-service", "gsv", "get-ciminstance", "get-wmiobject", "gcim", "gwmi", "get-nettcpconnection", "tasklist":
		e.sought = e.sought || slices.ContainsFunc(c.Words, func(w string) bool {
			w = strings.ToLower(w)
			return e.port(w) || slices.ContainsFunc(e.g.programs, func(p string) bool {
				return strings.Contains(w, p) || pattern(w, []string{p}) && strings.ContainsAny(w, "*?")
			})
		})
	case "pgrep", "pidof", "grep", "egrep", "awk", "gawk", "mawk", "sed", "rg", "perl":
		e.sought = e.sought || slices.ContainsFunc(c.Words, func(w string) bool {
			w = strings.ToLower(strings.Trim(w, "/{}"))
			if strings.Contains(w, " ") && slices.ContainsFunc(strings.Fields(w), func(f string) bool {
				return slices.Contains(e.g.programs, f) || strings.ContainsAny(f, "[.*") && len(f) < 32 && pattern(f, e.g.programs)
			}) {
				return true // pgrep -f 'reeve serve'
			}
			return slices.ContainsFunc(e.g.programs, func(p string) bool { return w == p || base(w) == p && name == "pidof" || strings.Contains(w, p+"/{") }) || strings.ContainsAny(w, "[.*") && len(w) < 32 && pattern(w, e.g.programs)
		})
		if name == "pgrep" {
			e.sought = e.sought || e.chooses(c, name)
		} else if e.psListed && name != "pidof" {
			e.sought = e.sought || slices.ContainsFunc(c.Words, func(w string) bool { return e.isStarted(w) || slices.ContainsFunc(betweenSlashes(w), e.isStarted) })
		}
	}
}

// chooses reports whether the guardian's process may be among those that pkill, pgrep or killall is told
// of. All that they are told must be true of a process: whose it is, and what it is called.
func (e *examination) chooses(c *hazard.Command, name string) bool {
	chosen := chosenBy(name, c.Words)
	if chosen.inverse {
		return true
	}
	if len(chosen.patterns) == 0 { // all that a user has started here
		return chosen.user && !e.elsewhere(c.On)
	}
	return slices.ContainsFunc(chosen.patterns, func(w string) bool {
		whole := chosen.whole || wholeLine(c.Words)
		holds := func(name string) bool { return strings.Contains(name, strings.ToLower(w)) }
		return strings.Trim(w, ".*^$[]()+?") == "" || pattern(w, e.g.programs) ||
			name != "killall" && (whole && (e.isStarted(w) || e.port(w)) || len(w) < 3 && (slices.ContainsFunc(e.g.programs, holds) || whole && slices.ContainsFunc(e.g.started, holds)))
	})
}

// chosen is which processes a command is told of.
type chosen struct {
	patterns []string // of their names, or of how they were started
	user     bool     // they are those of a user or of a group
	inverse  bool     // all others are meant
	whole    bool     // how they were started is compared
}

var (
	// choosing are the options of pkill, pgrep and killall that take the next word, and choosingUsers
	// those of them that name users and groups.
	choosing      = words("-u -U -g -G -P -s -t -F -d -r -q -O -o -y -n -Z --user --euid --uid --group --pgroup --parent --session --terminal --signal --pidfile --ns --nslist --queue --older --older-than --younger-than --runstates --delimiter --cgroup --env --context")
	choosingUsers = words("-u -U -G --user --euid --uid --group")
	// choosingFlags are letters that take the next word with one program, and none with another.
	choosingFlags = map[string]string{"pkill": "ony", "pgrep": "ony", "killall": "gPtFdrqOGUc"}
	signalName    = lazyregexp.New(`^-(?:\d+|(?:SIG)?(?:HUP|INT|QUIT|ILL|TRAP|ABRT|BUS|FPE|KILL|USR[12]|SEGV|PIPE|ALRM|TERM|STKFLT|CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|POLL|PWR|SYS|RTM(?:IN|AX)\S*))$`)
)

// chosenBy reads the words of pkill, pgrep or killall.
func chosenBy(program string, words []string) (is chosen) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			is.patterns = append(is.patterns, words[i+1:]...)
			return is
		case strings.HasPrefix(w, "--"):
			option, _, joined := strings.Cut(w, "=")
			is.user = is.user || choosingUsers[option]
			is.inverse = is.inverse || option == "--inverse"
			is.whole = is.whole || option == "--full"
			if !joined && choosing[option] {
				i++
			}
		case len(w) < 2 || w[0] != '-':
			is.patterns = append(is.patterns, w)
		case signalName.MatchString(w):
		default:
			for k := 1; k < len(w); k++ {
				letter := w[k : k+1]
				is.user = is.user || choosingUsers["-"+letter] && !strings.Contains(choosingFlags[program], letter)
				is.inverse = is.inverse || letter == "v" && program != "killall"
				is.whole = is.whole || letter == "f" && program != "killall"
				if choosing["-"+letter] && !strings.Contains(choosingFlags[program], letter) {
					if k == len(w)-1 {
						i++ // else its value stands in the same word
					}
					break
				}
			}
		}
	}
	return is
}

// elsewhere reports whether a machine or a container is another one than this.
func (e *examination) elsewhere(on string) bool {
	host := strings.ToLower(on)
	host = host[strings.LastIndexByte(host, '@')+1:]
	host = strings.Trim(strings.TrimPrefix(host, "ssh://"), "[]")
	if i := strings.LastIndexByte(host, ':'); i > 0 && strings.Count(host, ":") == 1 {
		host = host[:i]
	}
	own, _, _ := strings.Cut(e.g.host, ".")
	name, _, _ := strings.Cut(host, ".")
	switch {
	case host == "", host == "0", strings.HasPrefix(host, "localhost"), strings.HasSuffix(host, ".localhost"), strings.HasPrefix(host, "127."), strings.HasPrefix(host, "0.0.0."), strings.HasPrefix(host, "ip6-"), strings.Contains(host, "::"), host == "host.docker.internal":
		return false
	case own == "" || host == own || name == own || strings.HasPrefix(own, host): // a container's name is the beginning of its number
		return false
	}
	if _, err := strconv.Atoi(host); err == nil { // an address as one number
		return false
	}
	return !slices.ContainsFunc(e.g.programs, func(p string) bool { return strings.Contains(host, p) }) && !ownAddress(host)
}

// isFar reports whether the words of a command are meant for another machine: the whole of a folder there is
// none of this one. What names the guardian's files itself is looked at wherever it may run, since a name may
// lead back here.
func (e *examination) isFar(c *hazard.Command) bool {
	return c.Remote != "" && e.elsewhere(c.Remote) && e.elsewhere(e.g.called(c.Remote))
}

// called is the name of the machine to which ssh's own settings lead from another name.
func (g *Guarded) called(host string) string {
	host = host[strings.LastIndexByte(host, '@')+1:]
	text, err := regular.Read(filepath.FromSlash(g.home+"/.ssh/config"), maxScript)
	if err != nil {
		return host
	}
	matches := false
	for line := range strings.Lines(string(text)) {
		words := strings.FieldsFunc(line, func(r rune) bool { return r <= ' ' || r == '=' || r == '"' })
		if len(words) < 2 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "host":
			matches = slices.ContainsFunc(words[1:], func(pattern string) bool {
				ok, _ := path.Match(strings.ToLower(pattern), strings.ToLower(host))
				return ok
			})
		case "match", "include": // which may say anything
			return ""
		case "hostname", "proxycommand", "proxyjump":
			if matches {
				return words[1]
			}
		}
	}
	return host
}

// ownAddress reports whether an address is one of this machine.
func ownAddress(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		of, err := netip.ParsePrefix(a.String())
		return err == nil && of.Addr() == addr.Unmap()
	})
}

// wholeLine reports whether pgrep or pkill compares how processes were started, and not their
// names only.
func wholeLine(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "--full" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "f")
	})
}

// isStarted reports whether a regular expression matches how the node's process was started.
func (e *examination) isStarted(w string) bool {
	if len(w) < 2 || w[0] == '-' && w[1] != '-' {
		return false
	}
	re, err := regexp.Compile("(?i)" + w)
	if err != nil {
		re = regexp.MustCompile("(?i)" + regexp.QuoteMeta(w))
	}
	return slices.ContainsFunc(e.g.started, re.MatchString)
}

// betweenSlashes are the regular expressions in a program of awk, sed or perl.
func betweenSlashes(program string) (list []string) {
	parts := strings.Split(program, "/")
	for i := 1; i+1 < len(parts); i += 2 {
		list = append(list, parts[i])
	}
	return list
}

// port reports whether a word names the port that the node listens on.
func (e *examination) port(w string) bool { return number(w, e.g.port) }

// number reports whether a number stands in a text by itself.
func number(text, n string) bool {
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	for at := 0; n != ""; {
		i := strings.Index(text[at:], n)
		if i < 0 {
			return false
		}
		if i += at; !digit(i-1) && !digit(i+len(n)) {
			return true
		}
		at = i + 1
	}
	return false
}

// eachProcess names the folders of all processes, to go through them.
var eachProcess = lazyregexp.New(`/proc/+(?:\*|\[[^\]]*\]\*?)/?(?:[\s;)"'|]|$)`)

// ofWindows looks at a command of Windows: what it does to files is looked at by the tools that
// change them.
func (e *examination) ofWindows(c *hazard.Command) {
	name := strings.TrimLeft(base(c.Name), "(&")
	e.seeks(c, name)
	e.ends(c, name)
	if e.sought && (strings.HasSuffix(name, ".kill") || strings.HasSuffix(name, ".terminate")) { // $_.Kill()
		e.tampers("end the guardian")
	}
}

// which is where a guarding program lies that a command asks for by its name.
func (e *examination) which(name string) string {
	for _, p := range e.g.places {
		if p.kind == program && base(p.file) == base(name) {
			return p.file
		}
	}
	return ""
}

// ends looks for what ends the guardian.
func (e *examination) ends(c *hazard.Command, name string) {
	if (name == "xargs" || name == "parallel") && (e.sought || e.allProcesses || e.countsTo()) && slices.Contains(c.Words, "kill") {
		e.tampers("end the guardian")
	}
	if e.sought && pipedEnders[name] { // what was found before comes to it by the pipe
		e.tampers("end the guardian")
	}
	if e.holdsProcess(c, name) {
		e.tampers("take hold of the guardian's process")
	}
	if e.uninstalls(c, name) {
		e.tampers("take the guardian's program away")
	}
	if filters[name] {
		if e.filtersGuardian(c, name) {
			e.tampers("end the guardian")
		}
		return
	}
	if !killers[name] && !portRunners[name] {
		return
	}
	all := strings.Join(c.Words, " ")
	named := slices.ContainsFunc(c.Words, func(w string) bool {
		w = strings.ToLower(w)
		return slices.ContainsFunc(e.g.programs, func(p string) bool {
			return w == p || strings.HasPrefix(w, p+".") || strings.HasPrefix(w, p+"@") || strings.Contains(w, p) && !strings.ContainsAny(w, "/ ") ||
				strings.Contains(w, p) && e.names(w)
		})
	})
	at := func(w string) bool { // the guardian's process
		w = strings.TrimLeft(w, "-p=id")
		if all, err := path.Match(w, e.g.pid); e.g.pid != "" && err == nil && all {
			return true // each of /proc
		}
		return e.g.pid != "" && w == e.g.pid || (e.sought || e.allProcesses) && (w == "" || strings.ContainsAny(w, "$`*") || !c.Known)
	}
	switch name {
	case "gdb", "lldb", "strace", "ltrace", "gcore", "prlimit", "reptyr", "bpftrace":
		named = slices.ContainsFunc(c.Words, func(w string) bool { return e.g.pid != "" && strings.TrimLeft(w, "-p=id") == e.g.pid }) ||
			e.sought && slices.ContainsFunc(c.Words, func(w string) bool { return strings.ContainsAny(w, "$`") })
	case "ip", "ifconfig", "ifdown", "nmcli", "networkctl":
		named = e.closesLoopback(c, downing) || name == "ifdown" && e.closesLoopback(c, nil)
	case "loginctl": // all that the user runs
		named = slices.ContainsFunc(c.Words, func(w string) bool { return w == "terminate-user" || w == "kill-user" })
	case "ss":
		named = slices.ContainsFunc(c.Words, e.port) && slices.ContainsFunc(c.Words, func(w string) bool {
			return w == "--kill" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "K")
		})
	case "dbus-send", "busctl", "gdbus", "qdbus":
		named = named && unitEnd.MatchString(all)
	case "docker", "podman":
		if slices.Contains(c.Words, "--pid=host") || slices.Contains(c.Words, "--pid") {
			named = named || slices.ContainsFunc(c.Words, func(w string) bool { return e.g.pid != "" && w == e.g.pid })
			break
		}
		named = named && slices.ContainsFunc(c.Words[:min(1, len(c.Words))], func(w string) bool {
			return slices.Contains([]string{"stop", "kill", "rm", "pause", "restart"}, w)
		})
	case "systemctl", "service", "launchctl", "rc-service", "initctl", "supervisorctl":
		named = named || slices.ContainsFunc(c.Words, e.isUnit)
		named = named && !slices.ContainsFunc(c.Words, func(w string) bool {
			return slices.Contains([]string{"status", "is-active", "is-enabled", "show", "cat", "list", "list-units", "print", "start"}, w)
		})
	case "kill-port", "killport", "kill-port-process", "fkill", "fkill-cli", "portkill", "freeport", "npx", "bunx", "pnpx":
		named = (killers[name] || slices.ContainsFunc(c.Words, func(w string) bool { return portKillers[before(w, '@')] })) &&
			(named || slices.ContainsFunc(c.Words, e.port))
	case "taskkill", "tskill", "stop-process", "spps":
		named = named || slices.ContainsFunc(c.Words, func(w string) bool { return e.g.pid != "" && strings.TrimLeft(w, "-/id:p") == e.g.pid })
	case "wmic", "sc", "net", "remove-ciminstance", "invoke-cimmethod":
		named = named && winEnd.MatchString(all)
	case "kill", "skill":
		named = named || e.countsTo()
		e.allProcesses = e.allProcesses || slices.ContainsFunc(e.a.Content, func(l act.Leaf) bool { return eachProcess.MatchString(l.Text) })
		for i, w := range c.Words {
			if w == e.g.pid && e.g.pid != "" || w == "-1" && i > 0 || w == "-"+e.g.pid && e.g.pid != "" {
				named = true
			}
			named = named || at(w)
		}
	case "fuser":
		named = named || strings.Contains(all, "k") && e.g.port != "" && slices.ContainsFunc(c.Words, func(w string) bool {
			return w == e.g.port+"/tcp" || w == e.g.port
		})
	case "pkill", "killall":
		named = named || e.chooses(c, name)
	}
	if named {
		e.tampers("end the guardian")
	}
}

// countsTo reports whether a command that ends processes may be given the guardian's number by
// counting: by a sum of numbers that are written, or going through a range in which it lies.
func (e *examination) countsTo() bool {
	if e.counting == 0 { // which is looked at once, and not for each command
		e.counting = -1
		if pid, err := strconv.Atoi(e.g.pid); err == nil && slices.ContainsFunc(e.a.Content, func(l act.Leaf) bool { return countsIn(l.Text, pid) }) {
			e.counting = 1
		}
	}
	return e.counting > 0
}

// countsIn reports whether a text holds a sum, or a range, that leads to a process's number.
func countsIn(text string, pid int) bool {
	return slices.ContainsFunc(sums.FindAllString(text, maxTakers), func(sum string) bool { return sumOf(sum) == pid }) ||
		slices.ContainsFunc(ranges.FindAllStringSubmatchIndex(text, maxTakers), func(m []int) bool { return killsIn(text, m, pid) })
}

// sumOf is what a sum of written numbers gives.
func sumOf(sum string) (total int) {
	sign := 1
	for _, part := range sumParts.FindAllString(sum, -1) {
		switch n, err := strconv.Atoi(part); {
		case part == "-":
			sign = -1
		case part == "+":
			sign = 1
		case err == nil:
			total += sign * n
		}
	}
	return total
}

// killsIn reports whether a range that stands in a text goes over a process's number, and what it
// counts is what is ended: by its name, or as what comes by a pipe.
func killsIn(text string, m []int, pid int) bool {
	var numbers []int
	for i := 4; i+1 < len(m); i += 2 {
		if m[i] >= 0 {
			n, _ := strconv.Atoi(text[m[i]:m[i+1]])
			numbers = append(numbers, n)
		}
	}
	from, to := 1, numbers[len(numbers)-1]
	if len(numbers) > 1 {
		from = numbers[0]
	}
	if pid < min(from, to) || pid > max(from, to) {
		return false
	}
	behind := text[m[1]:]
	if m[2] < 0 {
		return pipedOn.MatchString(behind)
	}
	return slices.ContainsFunc(killed.FindAllStringSubmatch(behind, maxTakers), func(k []string) bool { return k[1] == text[m[2]:m[3]] }) || pipedOn.MatchString(behind)
}

var (
	// ranges are numbers that are counted through, with the name of what takes them in turn: {1..9},
	// seq 9, seq 1 9, seq 1 2 9, range(1, 9), ((i=1;i<9;i++)).
	ranges   = lazyregexp.New(`(?:\bfor\s*\(*\s*(\w+)\s*(?:in|=)\s*[^\n]{0,20}?)?(?:\{(\d+)\.\.(\d+)(?:\.\.\d+)?\}|\b(?:seq|jot|range)[\s(]+(?:-\S+\s+)*(\d+)(?:[\s,]+(\d+))?(?:[\s,]+(\d+))?|\b(\d+)\s*;[^;\n]*?(\d+)\s*;)`)
	killed   = lazyregexp.New(`\bkill\b[^;|&\n]*\$?\{?\b(\w+)\b`)
	pipedOn  = lazyregexp.New(`^[^\n]*\|[^\n]*\b(?:xargs|parallel|read)\b[\s\S]*\bkill\b`)
	sums     = lazyregexp.New(`\d+(?:\s*[-+]\s*\d+)+`)
	sumParts = lazyregexp.New(`\d+|[-+]`)
)

// isUnit reports whether a pattern matches the name of a service that is one of the programs.
func (e *examination) isUnit(w string) bool {
	return isPattern(w) && slices.ContainsFunc(e.g.programs, func(p string) bool {
		return same(w, p) || same(w, p+".service") || same(w, p+"@x.service")
	})
}

// uninstalls reports whether a package manager is told to take away the package of one of the
// programs, or to end its service.
func (e *examination) uninstalls(c *hazard.Command, name string) bool {
	if !packagers[name] {
		return false
	}
	removes := strings.HasSuffix(name, "-remove") || slices.ContainsFunc(c.Words, func(w string) bool {
		return removal[strings.ToLower(w)] || isShortOption(w) && strings.ContainsAny(w, removalOptions[name])
	})
	return slices.ContainsFunc(c.Words, func(w string) bool {
		pkg := base(w)
		if i := strings.IndexAny(pkg, "=:@~"); i > 0 {
			pkg = pkg[:i] // a version, an architecture
		}
		return slices.ContainsFunc(e.g.programs, func(p string) bool {
			return removes && (pkg == p || isPattern(pkg) && same(pkg, p)) || pkg == p+"-" // apt install reeve-
		})
	})
}

var (
	packagers = words(`apt apt-get aptitude dpkg dnf dnf5 microdnf yum rpm zypper urpme pacman yay paru apk xbps-remove emerge eopkg opkg swupd nix nix-env guix snap flatpak brew port pkg pkg_delete pkgin
		npm pnpm yarn bun pip pip3 pipx uv conda mamba cargo gem go asdf mise rtx aqua eget stew choco chocolatey winget scoop uninstall-package`)
	removal = words("remove purge autoremove autopurge uninstall erase delete del rm unlink unmerge deinstall --remove --purge --erase --uninstall --deselect --unmerge --depclean disable unpin stop")
	// removalOptions are the letters of options by which package managers take away.
	removalOptions = map[string]string{
		"dpkg": "rP", "rpm": "e", "pacman": "R", "yay": "R", "paru": "R", "emerge": "Cc", "nix-env": "e", "guix": "r",
	}
)

// isShortOption reports whether a word is options of one letter each: -Rns.
func isShortOption(w string) bool {
	return len(w) > 1 && w[0] == '-' && w[1] != '-'
}

// closesLoopback reports whether a command about networks names the way by which a machine
// speaks to itself, which is how the guardian is asked, and one of some words of closing it.
func (e *examination) closesLoopback(c *hazard.Command, closing map[string]bool) bool {
	if e.g.port == "" {
		return false
	}
	all := strings.FieldsFunc(strings.ToLower(strings.Join(c.Words, " ")+" "+c.Stdin), func(r rune) bool { return strings.ContainsRune(" \t\n\"'{};,", r) })
	return slices.ContainsFunc(all, isLoopback) && (closing == nil || slices.ContainsFunc(all, func(w string) bool { return closing[strings.TrimPrefix(w, "--")] }))
}

var (
	refusing = words("drop reject deny block prohibit blackhole loss tarpit")
	downing  = words("down disconnect del delete flush blackhole unreachable prohibit")
)

var (
	// pipedEnders end what the pipe before them found.
	pipedEnders = words("stop-process spps stop-service spsv remove-ciminstance suspend-service disable-netadapter")
	// portKillers end whoever listens on a port; portRunners start them.
	portKillers = words("kill-port killport kill-port-process fkill fkill-cli portkill freeport")
	portRunners = words("npx bunx pnpx")
	winEnd      = lazyregexp.New(`(?i)\b(?:delete|stop|call|terminate|pause|config|failure)\b`)
)

func before(s string, sep byte) string {
	if i := strings.IndexByte(s, sep); i > 0 {
		return s[:i]
	}
	return s
}

// holdsProcess reports whether a command is told the guardian's process by its number, to do
// something to it or in its place.
func (e *examination) holdsProcess(c *hazard.Command, name string) bool {
	if e.g.pid == "" || lookers[name] || printers[name] {
		return false
	}
	for i, w := range c.Words {
		option, value, said := strings.Cut(w, "=")
		if !said {
			option, value = "", w
			if i > 0 {
				option = c.Words[i-1]
			}
			if len(w) > 2 && w[0] == '-' && w[1] != '-' && holders[name] { // -p43210
				value = w[2:]
			}
		}
		names := strings.HasPrefix(option, "-") && (strings.Contains(option, "pid") || strings.Contains(option, "target") || strings.Contains(option, "process")) || strings.Contains(option, "attach")
		if value == e.g.pid && (names || holders[name]) || holders[name] && e.sought && strings.ContainsAny(value, "$`*") {
			return true
		}
	}
	return false
}

// holders are programs of which each number by itself is a process.
var holders = words("nsenter renice taskset chrt ionice criu cgclassify reptyr reredirect injcode jattach py-spy rbspy frida gdbserver dlv delve uftrace stap perf crash gcore pidfd choom schedtool oomctl")

// unitEnd is what systemd is asked to do to a unit that then does not run.
var unitEnd = lazyregexp.New(`(?i)(stop|kill|restart|disable|mask|reset|freeze)\w*`)

// names reports whether a text names the guarding node's own folder, or none at all.
func (e *examination) names(text string) bool {
	if i := strings.Index(text, "--data"); i >= 0 {
		data, _ := flag(strings.Fields(text[i:]), "--data")
		return e.isData(data, nil)
	}
	return true
}

// pattern reports whether a regular expression that is no plain word matches one
// of the programs' names.
func pattern(w string, programs []string) bool {
	if strings.HasPrefix(w, "-") || !strings.ContainsAny(w, "[]().*?|^$+") {
		return len(w) > 2 && slices.ContainsFunc(programs, func(p string) bool { return strings.Contains(p, strings.ToLower(w)) })
	}
	re, err := regexp.Compile("(?i)" + w)
	return err != nil || slices.ContainsFunc(programs, re.MatchString)
}
