package hazard

import "strings"

// What runs later, or when something happens: cron, at, trap.

func isCrontab(p string) bool {
	return strings.Contains(p, "cron") && (strings.HasPrefix(p, "/etc/cron") || strings.HasPrefix(p, "/var/spool/cron")) || strings.HasSuffix(p, "crontab")
}

// cronCommands leaves of a crontab what its lines run.
func cronCommands(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		n := 0
		for n < len(f) && n < 5 && strings.Trim(f[n], "0123456789*/,-") == "" {
			n++
		}
		switch {
		case len(f) > 0 && strings.HasPrefix(f[0], "@"):
			n = 1
		case n == 5:
		default:
			out.WriteString(line)
			continue
		}
		rest := f[min(n, len(f)):]
		if len(rest) > 1 && (rest[0] == "root" || rest[0] == "www-data" || rest[0] == "nobody") {
			rest = rest[1:]
		}
		out.WriteString(strings.Join(rest, " ") + "\n")
	}
	return out.String()
}

func (c *invocation) trap() flow {
	if len(c.args) < 2 || c.args[0].text == "-" || c.args[0].text == "" || c.args[0].text == "-l" {
		return flow{}
	}
	code := c.args[0].text
	low := strings.ToLower(code)
	if strings.Contains(low, "nohup") || strings.Contains(low, "/tmp/") && strings.Contains(low, "sh ") || strings.Contains(low, "curl") || strings.Contains(low, ".sh") {
		c.report("persist.trap", 0, c.at)
	}
	return c.inside(code)
}

func (c *invocation) crontab() flow {
	options, rest := c.split()
	switch {
	case has(options, "-l"):
		return flow{text: "", known: false}
	case has(options, "-r"):
		c.report("persist.cron", 0.5, c.at)
	case has(options, "-e"):
		c.report("persist.cron", 0.3, c.at)
	case len(rest) > 0:
		f := c.in
		if rest[0].text != "-" {
			f, _ = c.getFile(rest[0].text)
			c.report("persist.cron", 0.5, c.at)
			if f.text == "" && f.taint == 0 {
				return flow{}
			}
		}
		c.schedules(f)
	case c.in.text != "" || c.in.taint != 0:
		c.schedules(c.in)
	}
	return flow{}
}

// schedules judges a text that becomes a crontab.
func (c *invocation) schedules(f flow) {
	w := 0.6
	for _, place := range []string{"/tmp/", "/dev/shm/", "/var/tmp/", "/."} {
		if strings.Contains(f.text, place) {
			w = 0.85
		}
	}
	if f.taint&(fromNet|fromDecoder) != 0 {
		w = 0.85
	}
	c.report("persist.cron", w, c.at)
	if f.text != "" {
		c.inside(cronCommands(f.text))
	}
}

func (c *invocation) schedule() flow {
	options, _ := c.split()
	if has(options, "-l", "-r", "-d") {
		return flow{}
	}
	if c.in.text != "" || c.in.taint != 0 || has(options, "-f") {
		c.report("persist.cron", 0.5, c.at)
		if c.in.text != "" {
			c.inside(c.in.text)
		}
	}
	return flow{}
}
