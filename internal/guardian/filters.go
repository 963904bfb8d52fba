package guardian

import (
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard"
)

// Hooks ask the node at its port. Who has what goes there dropped has them get no answer, and who has it led to
// another port answers in the node's place. Rules of packets say so for a port, for a range in which it lies, or for
// all that this machine says to itself; in words, in what comes in, or in a file that is loaded.

// filters are programs that say what becomes of packets.
var filters = words(`iptables ip6tables iptables-legacy ip6tables-legacy iptables-nft ip6tables-nft xtables-multi xtables-nft-multi iptables-restore ip6tables-restore iptables-legacy-restore ip6tables-legacy-restore
	iptables-nft-restore ip6tables-nft-restore iptables-apply ebtables nft ufw firewall-cmd pfctl ipfw ipf ipnat tc ipvsadm ipvsadm-restore netsh new-netfirewallrule set-netfirewallrule new-netnatstaticmapping add-netnatstaticmapping`)

// filtersGuardian reports whether a command has what is said to the guardian dropped, or led elsewhere.
func (e *examination) filtersGuardian(c *hazard.Command, name string) bool {
	if e.g.port == "" {
		return false
	}
	all := strings.ToLower(strings.Join(c.Words, " "))
	if slices.ContainsFunc(c.Words, e.port) || e.closesLoopback(c, refusing) || e.turns(all) || e.ruleset(c.Stdin) {
		return true
	}
	for _, file := range rulesIn(name, c.Words) {
		switch {
		case file == "-" || file == "/dev/stdin":
			e.loadsRules = true
		case slices.ContainsFunc(e.readings(file, c.Dirs), func(parts []string) bool {
			return slices.Contains(e.written, strings.ToLower("/"+strings.Join(parts, "/")))
		}): // as the act says it
			for _, l := range e.a.Content {
				if e.ruleset(l.Text) {
					return true
				}
			}
		default:
			if slices.ContainsFunc(e.readFiles(file, c.Dirs), e.ruleset) {
				return true
			}
		}
	}
	return false
}

// rulesIn are the files from which a program takes rules; - is what comes in.
func rulesIn(name string, words []string) (files []string) {
	plain := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") })
	switch {
	case strings.HasSuffix(name, "-restore"), name == "iptables-apply", name == "ipfw", name == "ipf", name == "ipnat":
		files = append(plain, "-")
	case name == "ipvsadm" && (slices.Contains(words, "-R") || slices.Contains(words, "--restore")):
		files = append(files, "-")
	}
	for i, w := range words {
		switch option, value, said := strings.Cut(w, "="); {
		case option == "--file" && said:
			files = append(files, value)
		case i+1 < len(words) && (option == "--file" || isShortOption(w) && strings.HasSuffix(w, "f")):
			files = append(files, words[i+1])
		}
	}
	return files
}

// rulesRead looks at the files that an act reads where one of its commands takes rules from what comes in.
func (e *examination) rulesRead() {
	if e.loadsRules && len(e.found) == 0 && slices.ContainsFunc(e.reads, func(file string) bool { return slices.ContainsFunc(e.readFiles(file, nil), e.ruleset) }) {
		e.tampers("end the guardian")
	}
}

// ruleset reports whether one of the rules in a text drops what is said to the guardian, or leads it elsewhere.
func (e *examination) ruleset(text string) bool {
	low := strings.ToLower(text)
	low = manyPorts.ReplaceAllStringFunc(low, func(set string) string { return strings.ReplaceAll(set, "\n", " ") })
	lines := strings.FieldsFunc(low, func(r rune) bool { return r == '\n' || r == ';' })
	turns := turning.MatchString(low)
	return slices.ContainsFunc(lines, func(line string) bool {
		return e.turns(line) || turns && namedPorts.MatchString(line) && e.covers(line)
	})
}

// turns reports whether a rule drops what is said to the guardian, or leads it elsewhere.
func (e *examination) turns(rule string) bool {
	if !turning.MatchString(rule) || strings.HasPrefix(strings.TrimSpace(rule), "#") {
		return false
	}
	to := otherPorts.ReplaceAllString(rule, " ")
	own := !notOwn.MatchString(rule) && slices.ContainsFunc(strings.FieldsFunc(rule, func(r rune) bool { return strings.ContainsRune(" \t\"'{},", r) }), isLoopback)
	return e.covers(to) || own && (!aboutPort.MatchString(to) || allBut.MatchString(to))
}

// covers reports whether a text names the guardian's port, by itself or in a range.
func (e *examination) covers(text string) bool {
	if e.port(text) {
		return true
	}
	port, err := strconv.Atoi(e.g.port)
	if err != nil {
		return false
	}
	for _, m := range portRanges.FindAllStringSubmatch(text, 256) {
		from, to := 0, 65535
		if m[1] != "" {
			from, _ = strconv.Atoi(m[1])
		}
		if m[2] != "" {
			to, _ = strconv.Atoi(m[2])
		}
		if from <= port && port <= to && (m[1] != "" || m[2] != "") {
			return true
		}
	}
	for _, m := range portsAbove.FindAllStringSubmatch(text, 256) {
		if from, _ := strconv.Atoi(m[1]); from <= port {
			return true
		}
	}
	return false
}

// isLoopback reports whether a word names the way by which a machine speaks to itself.
func isLoopback(w string) bool {
	return w == "lo" || w == "lo0" || w == "localhost" || strings.HasPrefix(w, "127.") || w == "::1" || strings.HasPrefix(w, "::1/")
}

var (
	// turning are the words of a rule by which packets do not arrive where they are sent.
	turning = lazyregexp.New(`\b(?:drop|reject|deny|block|redirect|dnat|tproxy|nfqueue|queue|rdr|rdr-to|divert|divert-to|fwd|unreachable|prohibit|blackhole|portproxy)\b`)
	// otherPorts are those of a rule to which it leads, and those from which something comes; and what it has counted.
	otherPorts = lazyregexp.New(`(?:--s(?:ource-)?ports?|--sports|\bsport|--to-\w+|--on-port|connectport)[\s=]+\S+|\b(?:to|->)\s+\S*:\S+|\[\d+:\d+\]`)
	// portRanges are two numbers of ports, or one with an open end.
	portRanges = lazyregexp.New(`(?:^|[^\d.:\w])(\d{1,5})?\s?(?:[-:]|><)\s?(\d{1,5})?(?:$|[^\d.:\w-])`)
	portsAbove = lazyregexp.New(`port\s*["']?>=?\s*(\d{1,5})`)
	notOwn     = lazyregexp.New(`!\s*(?:-[io]|=|on)?\s*["']?lo0?\b`)
	aboutPort  = lazyregexp.New(`port\b|ports\b`)
	allBut     = lazyregexp.New(`!\s*(?:--d|=)|\bport\s+!`)
	// namedPorts are a name that is given to ports, and manyPorts what is listed under one.
	namedPorts = lazyregexp.New(`\belements\s*=|^\s*define\s|^\s*\w+\s*=\s*["{]|^\s*table\s*<`)
	manyPorts  = lazyregexp.New(`\{[^{}]*\}`)
)
