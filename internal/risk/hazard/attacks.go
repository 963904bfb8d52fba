package hazard

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Programs that look for holes in a host, guess its passwords, or ask it more than it can answer, are work where
// the host is one's own: what runs here, in a network of one's own, or where people try things out. Of any other
// only its owner can allow it, and a call does not say that somebody did.

var (
	// attackers are programs that do nothing else to a host.
	attackers = set(`sqlmap sqlmap.py commix xsstrike dalfox wapiti arachni skipfish nikto nikto.pl nuclei wpscan joomscan droopescan feroxbuster gobuster ffuf wfuzz dirb dirsearch dirsearch.py kiterunner
		hydra medusa ncrack patator crowbar kerbrute masscan zmap rustscan slowloris slowloris.py slowhttptest goldeneye goldeneye.py hulk hulk.py torshammer mhddos zap-full-scan.py zap-api-scan.py`)
	// scans are options by which nmap does more than ask whether a host is there.
	scans = lazyregexp.New(`^(?:-s[SUATFXNMWIY].*|-p-|-A|-O|-T[45]|--script(?:=.*)?|-sC|-p(?:1|0)-\d+|--min-rate.*|-iR)$`)
	// floods are those by which hping3 and its like send as fast as they can.
	floods = lazyregexp.New(`^(?:--flood|--faster|-i|-iu\d+|u\d+|--rand-source)$`)
	// loads are programs that ask a host many times over, and crowds what says how many at once, or in all.
	loads  = set("wrk wrk2 ab siege hey bombardier oha vegeta k6 locust artillery autocannon h2load plow ali cassowary drill rewrk boom loadtest gatling jmeter tsung")
	crowds = lazyregexp.New(`^(?:-c|-k|-u|-z|--connections?|--concurrency|--concurrent|--vus|--users|--rate|-rate|--clients|--rps|-q|--workers|-w)[= ]?(\d+)`)
	totals = lazyregexp.New(`^(?:-n|-r|--requests|--iterations|--amount|--num|--count|--max-requests)[= ]?(\d+)`)
	// hostLike is a name, or a number, of a host, as such programs are told one.
	hostLike = lazyregexp.New(`^(?:[a-z]+://)?(?:[\w.~%-]+@)?([a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+)(?::\d+)?(?:/\S*)?$`)
	// forPractice are hosts that their owners have put up for it.
	forPractice = set("scanme.nmap.org vulnweb.com httpbin.org badssl.com owasp-juice.shop altoromutual.com zero.webappsecurity.com google-gruyere.appspot.com")
)

// manyAtOnce and manyInAll are how many requests are more than a look at how fast a host is.
const (
	manyAtOnce = 200
	manyInAll  = 20_000
)

// attacksOthers judges that a command does such a thing to a host that is none of one's own.
func (c *invocation) attacksOthers() {
	does := ""
	switch {
	case attackers[c.name], listed("docker podman nerdctl python python3 perl ruby", c.name) && slices.ContainsFunc(c.args[:min(len(c.args), 32)], func(a flow) bool { return attackers[baseName(a.text)] }):
		does = "A host that is none of one's own is searched for holes, or its passwords are guessed"
	case c.name == "nmap" && slices.ContainsFunc(c.args, func(a flow) bool { return scans.MatchString(a.text) }):
		does = "The ports of a host that is none of one's own are searched"
	case listed("hping3 hping nping", c.name) && slices.ContainsFunc(c.args, func(a flow) bool { return floods.MatchString(a.text) }):
		does = "A host that is none of one's own is flooded"
	case loads[c.name] && c.isHeavy():
		does = "A host that is none of one's own is put under a load that others would feel"
	default:
		return
	}
	if slices.ContainsFunc(c.args, func(a flow) bool {
		return listed("--help -h -V --version version --wizard --update -update", a.text) && len(c.args) == 1
	}) {
		return
	}
	words := looseWords(c.in.text, 16) // as vegeta reads whom it asks
	own := c.args
	if i := slices.IndexFunc(own, func(a flow) bool { return attackers[baseName(a.text)] }); !attackers[c.name] && i >= 0 { // behind what starts it
		own = own[i+1:]
	}
	for _, a := range own {
		words = append(words, a.text)
		if _, value, joined := strings.Cut(a.text, "="); joined {
			words = append(words, value)
		}
	}
	for _, w := range words[:min(len(words), 256)] {
		if target := c.targeted(w); target != "" {
			c.reportSaying("code.attack_others", 0, c.at, does+": "+target+".")
			return
		}
	}
}

// targeted is the host that a word names, if that is of others.
func (c *invocation) targeted(word string) string {
	m := hostLike.FindStringSubmatch(word)
	if m == nil || !strings.Contains(word, "://") && fileEnds[strings.ToLower(strings.TrimPrefix(path.Ext(m[1]), "."))] || strings.Trim(m[1], "0123456789.") == "" && strings.Count(m[1], ".") != 3 {
		return ""
	}
	for name, ok := strings.ToLower(m[1]), true; ok; _, name, ok = strings.Cut(name, ".") {
		if forPractice[name] {
			return ""
		}
	}
	if !ofOthers(m[1]) {
		return ""
	}
	return m[1]
}

// isHeavy reports whether a command asks a host for more than a look at how fast it is.
func (c *invocation) isHeavy() bool {
	for i, a := range c.args {
		text := a.text
		if i+1 < len(c.args) && strings.HasPrefix(text, "-") && !strings.Contains(text, "=") {
			text += " " + c.args[i+1].text
		}
		for _, of := range []struct {
			found []string
			most  int
		}{{crowds.FindStringSubmatch(text), manyAtOnce}, {totals.FindStringSubmatch(text), manyInAll}} {
			if of.found == nil {
				continue
			}
			if n, err := strconv.Atoi(of.found[1]); err != nil || n >= of.most {
				return true
			}
		}
	}
	return false
}
