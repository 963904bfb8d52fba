package hazard

import (
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Many programs take the names of the files that they work on, or more of their own words, out of a file: tar -T,
// zip -@, ffmpeg's concat, curl -K. What stands there counts as if the command said it. Of a file that lay there and
// that no call is known to have written nothing is known here.

// nameLists are the options by which programs are told such a file of names, one a line.
var nameLists = map[string]string{
	"tar": "-T --files-from", "gtar": "-T --files-from", "bsdtar": "-T --files-from", "tarsnap": "-T", "star": "-list list", "cpio": "", "pax": "",
	"rsync": "--files-from", "restic": "--files-from --files-from-verbatim --files-from-raw", "rustic": "--files-from", "rclone": "--files-from --files-from-raw", "borg": "--paths-from-stdin",
	"duplicity": "--include-filelist --filelist", "zip": "", "7z": "", "7za": "", "7zz": "", "7zr": "", "rar": "", "arj": "", "zstd": "--filelist", "git": "--pathspec-from-file",
	"gsutil": "", "gcloud": "", "magick": "", "convert": "", "wget": "--post-file-list", "aws": "", "rdiff-backup": "--include-filelist --include-globbing-filelist", "attic": "", "upx": "",
}

// namesOnInput are the words with which programs read such names from what comes in, and markedList the programs
// to which @ before a name says that it is of such a file.
var (
	namesOnInput = map[string]string{
		"zip": "-@ -@-", "cpio": "-o --create -oa -ov -ovB -oB -oc -ocv -oH -o0 -p --pass-through", "pax": "-w -wf -wz -wd", "gsutil": "-I", "gcloud": "-I --read-paths-from-stdin", "borg": "--paths-from-stdin",
		"tar": "-T- --files-from=-", "gtar": "-T- --files-from=-", "bsdtar": "-T- --files-from=-", "rsync": "--files-from=-",
	}
	markedList = set("7z 7za 7zz 7zr rar arj magick convert montage")
)

// wordFiles are the options by which programs are told a file of more of their own words.
var wordFiles = map[string]string{"pandoc": "-d --defaults", "curl": "-K --config", "wget": "--config", "mosquitto_pub": "-o", "mosquitto_rr": "-o", "watchexec": "@"}

// ordersAtHome are the files of such words that programs find by themselves.
var ordersAtHome = map[string]string{"mosquitto_pub": "~/.config/mosquitto_pub", "mosquitto_rr": "~/.config/mosquitto_rr", "curl": "~/.curlrc"}

// maxListedNames is how many names of such a file are looked at.
const maxListedNames = 512

// takesNames puts what stands in files of names, or of further words, among the words of the command.
func (c *invocation) takesNames() {
	lists, reads := nameLists[c.name]
	orders, ordered := wordFiles[c.name]
	if !reads && !ordered && c.name != "ffmpeg" {
		return
	}
	var out []flow
	for i := 0; i < len(c.args); i++ {
		t := c.args[i].text
		option, value, joined := strings.Cut(t, "=")
		rest, marked := strings.CutPrefix(t, "@")
		switch {
		case marked && (markedList[c.name] || orders == "@"):
			out = append(out, c.namesIn(rest, orders == "@")...)
			continue
		case c.name == "ffmpeg" && t == "-i" && i+1 < len(c.args) && slices.ContainsFunc(c.args[:i], func(a flow) bool { return a.text == "concat" }):
			for _, name := range c.namesIn(c.args[i+1].text, false) {
				out = append(out, c.args[i], name)
			}
		case orders != "@" && listed(lists+" "+orders, option) && joined:
			out = append(out, c.namesIn(value, ordered)...)
		case orders != "@" && listed(lists+" "+orders, option) && i+1 < len(c.args):
			out = append(out, c.args[i], c.args[i+1])
			out = append(out, c.namesIn(c.args[i+1].text, ordered)...)
			i++
			continue
		case len(t) > 2 && t[0] == '-' && t[1] != '-' && listed(lists+" "+orders, t[:2]):
			out = append(out, c.namesIn(t[2:], ordered)...)
		case ordered && len(t) > 2 && t[0] == '-' && t[1] != '-' && strings.HasSuffix(t, "K") && c.name == "curl" && i+1 < len(c.args): // -sK file
			out = append(out, c.namesIn(c.args[i+1].text, true)...)
		case slices.ContainsFunc(strings.Fields(namesOnInput[c.name]), func(word string) bool { return word == t }):
			out = append(out, c.namesOf(c.in.text, false, "")...)
		}
		out = append(out, c.args[i])
	}
	if home := ordersAtHome[c.name]; home != "" {
		out = append(out, c.namesIn(home, true)...)
	}
	c.args = out
}

// namesIn are the names, or the further words, that stand in a file.
func (c *invocation) namesIn(file string, words bool) []flow {
	if file == "-" {
		return c.namesOf(c.in.text, words, "")
	}
	c.watchedFile(file, false, flow{})
	f, ok := c.getFile(file)
	if !ok || !f.known {
		return nil
	}
	if c.name == "pandoc" {
		return filtersIn(f.text)
	}
	base := ""
	if c.name == "rsync" || c.name == "rclone" { // below the folder that it copies
		for _, a := range c.args {
			if !strings.HasPrefix(a.text, "-") && a.text != file && strings.ContainsAny(a.text, "/.~") && !c.liesElsewhere(a.text) {
				base = a.text
				break
			}
		}
	} else if folders := c.valueOf("-C", "--directory"); len(folders) > 0 {
		base = folders[0].text
	}
	return c.namesOf(f.text, words, base)
}

// filtersIn are the words for the filters that defaults of pandoc name.
func filtersIn(text string) (words []flow) {
	list := pandocFilters.FindString(text)
	_, list, _ = strings.Cut(list, ":")
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(" \t\n[],'\"{}", r) }) {
		option := "--filter"
		if path.Ext(name) == ".lua" {
			option = "--lua-filter"
		}
		if strings.Trim(name, "-:") != "" && !strings.HasSuffix(name, ":") {
			words = append(words, flow{text: option, known: true}, flow{text: name, known: true})
		}
	}
	return words
}

// pandocFilters are the filters in such defaults, to the next key.
var pandocFilters = lazyregexp.New(`(?m)^filters:(?:[^\n]*)(?:\n(?:[ \t]+|-)[^\n]*)*`)

// namesOf are the names in a text, a line each, and those that are relative below a folder.
func (c *invocation) namesOf(text string, words bool, base string) (names []flow) {
	text = strings.NewReplacer("\x00", "\n", `\0`, "\n").Replace(text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || len(names) >= maxListedNames:
			continue
		case words:
			for _, word := range c.ordersOf(line) {
				names = append(names, flow{text: word, known: true})
			}
			continue
		case c.name == "ffmpeg":
			rest, is := strings.CutPrefix(line, "file ")
			if !is {
				continue
			}
			line = strings.TrimSpace(rest)
		}
		name := strings.Trim(line, `'"`)
		if base != "" && !strings.HasPrefix(name, "~") && (c.name == "rsync" || !strings.HasPrefix(name, "/")) {
			name = path.Join(base, name)
		}
		names = append(names, flow{text: name, known: true})
	}
	return names
}

// ordersOf are the words that a line of a program's own settings stands for: upload-file = x, -T x, --url: "y".
func (c *invocation) ordersOf(line string) []string {
	if c.name == "watchexec" {
		return []string{line}
	}
	m := settingLine.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	option := m[1]
	if !strings.HasPrefix(option, "-") {
		option = "--" + option
	}
	if m[2] == "" {
		return []string{option}
	}
	value := m[2]
	if value[0] == '"' {
		value = strings.ReplaceAll(strings.Trim(value, `"`), `\"`, `"`)
	}
	return []string{option, value}
}

var settingLine = lazyregexp.New(`^(-{0,2}[\w.-]+)\s*(?:[=:\s]\s*(.*))?$`)

// siteServers are programs that show others the folders which their settings say, and the options by which they are told
// the file of these; without them it lies where they run.
var siteServers = map[string]string{"caddy": "--config -c", "nginx": "-c", "lighttpd": "-f", "httpd": "-f", "apache2": "-f", "apachectl": "-f", "haproxy": "-f", "lighty": "-f", "static-web-server": "-w --config-file", "darkhttpd": ""}

// servedFolder is a folder that settings of such a server name.
var servedFolder = lazyregexp.New(`(?im)^[^#\n]*?\b(?:root|alias|document_?root|server\.document-root|Directory)\b[ \t=:]+(?:\*[ \t]+)?["']?([~/.$][^\s"';>]*)`)

// servesBySettings judges the folders that the settings of a server have it show to others.
func (c *invocation) servesBySettings() {
	options, is := siteServers[c.name]
	if !is || c.names("validate", "fmt", "adapt", "-t", "-T", "configtest", "stop", "version", "-v", "-V") {
		return
	}
	files := c.optionValues(options)
	if c.name == "caddy" && len(files) == 0 {
		files = []string{"Caddyfile"}
	}
	for _, file := range files {
		c.watchedFile(file, false, flow{})
		f, ok := c.getFile(file)
		if !ok || !f.known {
			continue
		}
		for _, m := range servedFolder.FindAllStringSubmatch(f.text, 64) {
			if c.asWhole(m[1]) != 0 || strings.HasPrefix(placeOf(normalPath(m[1]).text).reads, "secret.") {
				c.report("shell.serve", 0, c.at)
				return
			}
		}
	}
}
