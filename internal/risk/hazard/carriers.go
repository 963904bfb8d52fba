package hazard

import (
	"path"
	"slices"
	"strings"
)

// What a call brings from elsewhere and another runs is code that nobody has seen. Of files it
// is remembered by their names, of folders by theirs: a repository that was cloned, an archive
// that was unpacked. How grave it is to run them says where they came from.

// carrierRow is where a program that brings files from elsewhere puts them: the value of an
// option, the last of its words, or the name under which they lie there.
type carrierRow struct {
	words  groups
	option string // options, separated by spaces
	last   bool
	folder bool // what comes is a folder
}

// carries remembers what the command brings from elsewhere.
func (c *invocation) carries() {
	for _, row := range c.table.carriers[c.name] {
		if !row.words.among(c.args) {
			continue
		}
		var words, addresses []string
		to := ""
		for i := 0; i < len(c.args); i++ {
			option, value, joined := strings.Cut(c.args[i].text, "=")
			switch {
			case joined && listed(row.option, option):
				to = value
			case listed(row.option, c.args[i].text) && i+1 < len(c.args):
				i++
				to = c.args[i].text
			case strings.HasPrefix(c.args[i].text, "-"):
			default:
				words = append(words, c.args[i].text)
				if strings.ContainsAny(c.args[i].text, ":/") {
					addresses = append(addresses, c.args[i].text)
				}
			}
		}
		var urls []string
		for _, a := range addresses {
			if strings.Contains(a, "://") || isLogin(a) {
				urls = append(urls, a)
			}
		}
		from := words[max(len(words)-1, 0):]
		switch {
		case to != "":
		case row.last && len(words) > 1:
			to, from = words[len(words)-1], words[len(words)-2:len(words)-1]
		case row.folder && len(words) > 1 && len(urls) > 0 && words[len(words)-1] != urls[len(urls)-1]:
			to = words[len(words)-1] // a folder named behind the address
		}
		if row.last && strings.Contains(to, ":") {
			continue // it goes there
		}
		names := []string{to}
		for _, f := range from {
			name := strings.TrimSuffix(f[strings.LastIndexAny(strings.TrimRight(f, "/"), "/:")+1:], ".git")
			switch {
			case to == "":
				names = append(names, name)
			case strings.HasSuffix(to, "/") || to == ".":
				names = append(names, path.Join(to, name))
			}
		}
		of, address := brought(urls), ""
		if len(urls) > 0 {
			address = urls[0]
		}
		for _, name := range names {
			switch {
			case name == "" || name == "." || name == "-" || strings.HasPrefix(name, "/dev/"):
			case row.folder:
				c.brings(foreignFolder{name: strings.TrimSuffix(name, "/"), known: of&(fromNobody|fromStranger) == 0, of: of, address: address})
			default:
				if _, there := c.getFile(name); !there {
					c.putFile(name, flow{taint: of})
				}
			}
		}
	}
}

// gets remembers the files that an order of FTP and its kin brings: get FROM [TO].
func (c *invocation) gets(words []string) {
	for _, w := range words {
		w = strings.Trim(w, `"'`)
		if name := path.Base(w); !strings.HasPrefix(w, "-") && name != "." && name != "/" {
			if _, there := c.getFile(name); !there {
				c.putFile(name, flow{taint: fromNet})
			}
		}
	}
}

// pulls remembers that the repository in which the command is gets what lies at an address.
func (c *invocation) pulls(args []flow) {
	for _, a := range args {
		if isURL(a.text) && !strings.HasPrefix(a.text, "file:") || isLogin(a.text) && strings.Contains(a.text, ":") {
			c.brings(foreignFolder{name: ".", known: !stranger(a.text), of: brought([]string{a.text}), address: a.text})
			return
		}
	}
}

// The folder that a call is made in, whichever it is: all of it, and the files alone that a
// command names.
const (
	hereAll  = "./"
	hereFile = "./*"
)

// foldersBrought are the folders that the call brings from elsewhere.
func (a *assessor) foldersBrought() (files []File) {
	for _, f := range a.foreign {
		if f.of&(fromNet|fromSocket) == 0 {
			continue // the folder that the script went to
		}
		one := File{Name: scriptName(f.name), Folder: true, Known: f.known, From: f.address, Path: f.name}
		switch {
		case one.Name != "":
		case f.went != "" && f.went != a.began:
			one.Name = scriptName(f.went)
		case f.address == "":
			one.Name = hereFile
		default:
			one.Name = hereAll
		}
		if !f.known {
			one.Weight = unseen(f.of)
		}
		if one.Name != "" {
			files = append(files, one)
		}
	}
	for _, pair := range a.unpacked {
		archive := path.Base(slashed(pair[0]))
		names := []string{scriptName(pair[1])}
		if names[0] == "" {
			// Most lie in a folder of the archive's name.
			stem, _, tape := strings.Cut(archive, ".tar")
			if !tape {
				stem = strings.TrimSuffix(stem, path.Ext(stem))
			}
			before, _, _ := strings.Cut(stem, "-")
			names = []string{stem, before, hereFile}
		}
		for _, name := range names {
			if name != "" {
				files = append(files, File{Name: name, Folder: true, Copy: archive})
			}
		}
	}
	return slices.Clip(files)
}
