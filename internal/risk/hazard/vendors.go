package hazard

import (
	"path"
	"slices"
	"strings"
)

// Makers of tools tell everybody to run their installer straight from its address. Whoever does so
// takes code unseen, but of somebody whom people take the program from anyway: a person is asked, as
// for a package of which one knows only the name. It is the maker's text alone for as long as nothing
// stands between the address and the shell, and nobody tells the download another way, or the
// installer another place to take the program from.

// comesFromVendor reports whether a download holds the text of a vendor's installer, as the vendor's
// own manual has it fetched, and nothing else.
func (c *invocation) comesFromVendor() bool {
	address := ""
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		option, value, joined := strings.Cut(a.text, "=")
		switch {
		case !a.known || a.taint != 0:
			return false
		case !strings.HasPrefix(a.text, "-"):
			if address != "" {
				return false
			}
			address = a.text
		case plainFetching(c.name, option) && !joined, listed("-o- -O- -qO- -sSfLo- -fsSLo- -sLo-", a.text):
		case listed("--proto --retry --retry-delay --connect-timeout --max-time -m --tries --timeout -o -O -qO", option):
			if !joined {
				if i++; i == len(c.args) {
					return false
				}
				value = c.args[i].text
			}
			switch {
			case option == "--proto" && value != "=https", listed("-o -O -qO", option) && value != "-":
				return false
			}
		default:
			return false
		}
	}
	for name := range c.vars {
		name = strings.ToUpper(name)
		if name == "PATH" || name == "HOME" || slices.ContainsFunc([]string{"PROXY", "CURL", "WGET", "SSL", "LD_", "XDG_"}, func(w string) bool { return strings.Contains(name, w) }) {
			return false
		}
	}
	for name := range c.files { // what the call wrote, and the download obeys
		if base := path.Base(name); listed(".curlrc curlrc .wgetrc wgetrc hosts resolv.conf", base) {
			return false
		}
	}
	return (c.name == "curl" || c.name == "wget") && c.path == c.name && c.table.isInstaller(address)
}

// plainFetching reports whether an option of curl or wget changes nothing of what is fetched, and
// from where.
func plainFetching(program, option string) bool {
	if strings.HasPrefix(option, "--") {
		return listed("--fail --silent --show-error --location --compressed --tlsv1.2 --tlsv1.3 --progress-bar --no-progress-meter --quiet --https-only --no-verbose --http1.1 --http2 --ipv4", option)
	}
	letters := "fsSL#4" // of curl
	if program == "wget" {
		letters = "q4"
	}
	return len(option) > 1 && strings.Trim(option[1:], letters) == ""
}

// isInstaller reports whether an address is one of those at which vendors keep their installers.
func (t *Table) isInstaller(address string) bool {
	rest, ok := strings.CutPrefix(address, "https://")
	if !ok {
		return false
	}
	words := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	words[0] = strings.ToLower(words[0])
	return slices.ContainsFunc(t.installers, func(installer []string) bool {
		return slices.EqualFunc(installer, words, func(want, word string) bool {
			if want == "VERSION" {
				return isVersion(word)
			}
			return want == word
		})
	})
}

// isVersion reports whether a word names a version that a vendor made: a number, or the newest. A
// commit's name is none, since those of everybody's copies answer under the vendor's name, too.
func isVersion(word string) bool {
	if listed("HEAD main master latest", word) {
		return true
	}
	number := strings.ReplaceAll(strings.TrimPrefix(word, "v"), ".", "")
	return isDigits(number) && len(number) < 7 && strings.Contains(word, ".")
}

// runsVendors reports whether a command hands what it gets from a vendor to the shell alone, and
// names no place of its own from which the program would come.
func (c *invocation) runsVendors() bool {
	passes := listed("sudo doas env", c.name)
	if !passes && !listed("sh bash zsh dash ash python python3", c.name) || !listed(". /bin /usr/bin", path.Dir(c.path)) || strings.HasPrefix(c.path, ".") {
		return false
	}
	for i, a := range c.args {
		text := a.text
		if name, value, ok := strings.Cut(text, "="); ok && !strings.HasPrefix(name, "-") {
			text = value
		}
		if i > 0 && c.args[i-1].text == "-c" || a.taint&fromVendor != 0 {
			continue // the text itself, which is read by itself
		}
		if namesPlace(flow{text: text, known: a.known, taint: a.taint}) {
			return false
		}
	}
	for name, v := range c.vars {
		if listed("PATH HOME BASH_ENV ENV", name) || namesPlace(v) {
			return false
		}
	}
	return true
}

// namesPlace reports whether a value may name a host: neither a path nor a version.
func namesPlace(v flow) bool {
	text := v.text
	if i := strings.IndexByte(text, '='); strings.HasPrefix(text, "-") && i > 0 {
		text = text[i+1:]
	}
	switch {
	case v.taint != 0:
		return true
	case strings.Contains(text, "//"):
		return true
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "~"), strings.HasPrefix(text, "$"), strings.HasPrefix(text, "./"):
		return false
	}
	return strings.ContainsAny(text, ".:") && !isVersion(text)
}
