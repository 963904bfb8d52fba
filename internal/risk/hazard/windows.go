package hazard

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/risk/hazard/effects"
)

// Commands of Windows are read by our own reader: cmd.exe and PowerShell have
// neither a common grammar nor a parser that is at hand. The text is brought to
// a plain form (marks that mean nothing removed, pieces put together, encoded
// commands decoded), cut into commands, and compared with tables.

// windowsPrograms are programs and cmdlets by which such commands are known.
var windowsPrograms = set(`cmd powershell pwsh reg regedit regsvr32 rundll32 mshta wmic certutil bitsadmin schtasks sc net net1 netsh vssadmin wbadmin bcdedit wevtutil fsutil cipher icacls takeown attrib
	cscript wscript msiexec installutil msbuild regasm regsvcs cmstp forfiles pcalua odbcconf control ieexec msxsl presentationhost hh makecab expand extrac32 findstr esentutl diskshadow ntdsutil dsquery nltest
	tasklist taskkill whoami systeminfo ipconfig nslookup query qwinsta dir del erase copy xcopy robocopy move ren type start assoc ftype setx runas psexec procdump mimikatz rubeus sdelete
	invoke-expression iex invoke-webrequest iwr invoke-restmethod irm invoke-command icm new-object start-process get-childitem get-content set-content add-content remove-item copy-item new-item set-itemproperty
	new-itemproperty get-itemproperty remove-itemproperty set-mppreference add-mppreference stop-service set-service new-service get-service get-process stop-process clear-eventlog register-scheduledtask new-localuser
	add-localgroupmember get-wmiobject invoke-wmimethod get-ciminstance invoke-cimmethod set-executionpolicy import-module get-aduser get-adcomputer import-certificate enable-psremoting get-credential wt winget choco explorer shutdown format diskpart chkdsk sfc dism gpupdate gpresult
	nbtstat arp route tracert winrm winrs cmdkey klist auditpol rd md mkdir rmdir echo set ver vol color cls title pause timeout where fc comp find sort more tree mklink subst`)

// looksWindows says whether a text is, or holds, a command of Windows.
func looksWindows(text string) bool {
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	low := strings.ToLower(text)
	for _, sign := range windowsMarks {
		if strings.Contains(low, sign) {
			return true
		}
	}
	return isWindowsOnly(text)
}

// windowsMarks are what hardly any other text holds.
var windowsMarks = []string{".exe", "powershell", "cmd /", ":\\", "%comspec%", "%temp%", "%appdata%", "%userprofile%", "%systemroot%", "%windir%", "%programdata%", "$env:", "hklm", "hkcu", "hkey_", "reg add", "reg delete", "reg query", "reg save", "new-object", "invoke-", "set-mppreference", "iex(", "iex (", "| iex", "|iex", "[system.", "[convert]", "[ref]", "wmic ", "net user ", "net localgroup", "net1 ", "schtasks", "vssadmin", "wbadmin", "bcdedit", "wevtutil", "netsh ", "rundll32", "regsvr32", "certutil", "bitsadmin", "mshta", "sc stop", "sc config", "sc create", "sc delete", "cscript", "wscript", "icacls", "takeown", "pwsh", "fsutil", "nltest", "procdump", "mimikatz", "ntdsutil", "diskshadow", "wmiobject", ".ps1", "rd /s", "del /", "msiexec", "esentutl", "auditpol", "cmdkey", "forfiles", "-encodedcommand", "[char]",
	"write-host", "write-output", "get-process", "stop-process", "stop-service", "get-childitem", "get-content", "set-content", "where-object", "foreach-object", "select-object", "test-path", "join-path", "out-file", "$_."}

// isWindowsOnly says whether a text looks as if it were for no Unix shell. It may be one's all
// the same: a shell says that it does not know the first word, and goes on.
func isWindowsOnly(text string) bool {
	t := strings.TrimSpace(text)
	first, _, _ := strings.Cut(t, "\n")
	word := first
	if i := strings.IndexAny(word, " \t|;&("); i >= 0 {
		word = word[:i]
	}
	low := strings.ToLower(strings.Trim(word, `"'@&`))
	raw := low
	if i := strings.LastIndexAny(low, `\/`); i >= 0 {
		low = low[i+1:]
	}
	switch {
	case strings.HasSuffix(low, ".exe") || strings.HasSuffix(low, ".bat") || strings.HasSuffix(low, ".ps1"):
		return !strings.HasPrefix(raw, "/") || strings.Contains(raw, `\`)
	case strings.Contains(raw, `:\`) || strings.HasPrefix(raw, `%`) || strings.HasPrefix(raw, "$env:") || strings.HasPrefix(raw, "["):
		return !strings.HasPrefix(t, "[ ") && !strings.HasPrefix(t, "[[")
	case strings.HasPrefix(t, "$") && strings.Contains(first, "=") && strings.Index(first, " =") > 0:
		return true // $x = …, which is no assignment in a Unix shell
	case verbs[before(low, '-')] && strings.Contains(low, "-"):
		return true
	case unixToo[low]:
		return strings.Contains(t, `:\`) || strings.Count(first, "%") > 1 && strings.Contains(strings.ToLower(first), "%\\")
	}
	return windowsPrograms[low]
}

func before(s string, c byte) string {
	if i := strings.IndexByte(s, c); i >= 0 {
		return s[:i]
	}
	return s
}

// verbs begin the names of cmdlets.
var verbs = set("get set new remove add clear start stop invoke import export out write read test enable disable copy move rename select where foreach convertto convertfrom register unregister install uninstall update restart suspend resume wait show hide send receive enter exit connect disconnect mount dismount format measure sort group compare join split resolve save restore compress expand checkpoint")

// unixToo are names that both systems know.
var unixToo = set("echo find sort more set route arp nslookup whoami hostname mkdir rmdir cd type start tree ftp curl tar ssh copy move format comp where net expand query dir timeout title color title ver pwsh powershell choco winget at shutdown explorer assoc control cmd cipher hh fc control")

// windows judges a text as commands of cmd.exe and PowerShell.
func (a *assessor) windows(text string, at span) {
	if a.depth >= maxDepth || !a.spend(len(text)) {
		a.starve(at)
		return
	}
	if len(text) > 64<<10 {
		a.starve(at)
		text = text[:64<<10]
	}
	a.depth++
	defer func() { a.depth-- }()
	plain := plainWindows(text)
	low := lower(plain)
	if n := hiding(text); n > 0 && (isWindowsOnly(text) || strings.Contains(low, "cmd") || strings.Contains(low, "powershell")) {
		a.report("shell.obfuscated", n, at)
	}
	for _, code := range encodedCommands(low, plain) {
		a.report("shell.encoded_run", 0.85, at)
		a.windows(code, at)
	}
	squeezed := strings.Join(strings.Fields(low), "_")
	spaced := strings.Join(strings.Fields(low), " ")
	for _, s := range a.table.scripts {
		if holds(s.parts, spaced, squeezed) {
			a.report(s.effect, s.weight, at)
		}
	}
	low = calledBy.ReplaceAllString(low, "$1")
	a.windowsPipes(low, at)
	for _, line := range windowsCommands(low) {
		a.windowsCommand(line, at)
	}
}

// Cmdlets that list what lies in a folder, that take away what they are given, that write, and
// that send.
var (
	writesItems  = set("set-content sc add-content ac out-file tee-object new-item ni copy-item cpi copy cp xcopy robocopy move-item mi move mv rename-item set-itemproperty")
	listsItems   = set("get-childitem gci ls dir get-item gi")
	takesItems   = set("remove-item ri rm del erase rd rmdir clear-content clc")
	asksAddress  = set("invoke-webrequest iwr invoke-restmethod irm curl wget")
	deletesPath  = lazyregexp.New(`\[(?:system\.)?io\.(?:directory|file)\]::delete\(\s*['"]([^'"]+)['"]`)
	joinedPlaces = lazyregexp.New(`join-path\s+(?:-path\s+)?([^\s'"]+|['"][^'"]*['"])\s+(?:-childpath\s+)?['"]?([^'")\s]+)`)
)

// windowsPipes follows what flows from one cmdlet to the next: what is listed is what is
// deleted, and the environment is what is sent.
func (a *assessor) windowsPipes(low string, at span) {
	for _, m := range deletesPath.FindAllStringSubmatch(low, 16) {
		if wideOnWindows(m[1]) {
			a.report("destroy.system", 0, at)
		}
	}
	for _, m := range takenItem.FindAllStringSubmatch(low, 16) {
		a.losesOnWindows(m[1]+m[2], at)
	}
	for _, m := range joinedPlaces.FindAllStringSubmatch(low, 16) {
		base := windowsHome(m[1])
		if pl := placeOf(normalPath(base + "/" + m[2]).text); pl.read >= 0.6 && pl.reads != "" {
			a.report(pl.reads, pl.read, at)
		}
	}
	for statement := range strings.FieldsFuncSeq(low, func(r rune) bool { return r == ';' || r == '\n' }) {
		parts := strings.Split(statement, "|")
		if words := strings.Fields(strings.TrimLeft(parts[0], " ({&'\"")); len(words) > 1 && takesItems[words[0]] {
			for _, w := range words[1:min(len(words), 64)] {
				if p := windowsHome(strings.Trim(w, ",")); strings.HasPrefix(p, "~/") && !wideOnWindows(p) {
					a.removes(p, true, at)
				}
			}
		}
		if len(parts) < 2 || len(parts) > 32 {
			continue
		}
		wide, all := false, false
		var listedHere []string
		for _, part := range parts {
			words := strings.Fields(strings.TrimLeft(part, " ({&'\""))
			for len(words) > 1 && (isCommandFlag(words[0]) || words[0] == "powershell" || words[0] == "pwsh" || words[0] == "powershell.exe") {
				words = words[1:]
			}
			if len(words) == 0 {
				continue
			}
			name := strings.Trim(words[0], `"'`)
			takes := takesItems[name] || strings.Contains(part, ".delete(") || forEachItem.MatchString(part) && slices.ContainsFunc(words, func(w string) bool { return takesItems[strings.Trim(w, "{}&;'\"")] })
			switch {
			case listsItems[name]:
				for _, w := range words[1:] {
					w = strings.Trim(w, `"')`)
					if wide, all = wide || wideOnWindows(w), all || w == "env:"; !strings.HasPrefix(w, "-") && w != "" && len(listedHere) < 16 {
						listedHere = append(listedHere, w)
					}
				}
			case !wide && takes:
				for _, w := range listedHere {
					a.losesOnWindows(w, at)
				}
			case writesItems[name] && len(words) > 1 && nothingIn.MatchString(parts[0]):
				a.removes(windowsHome(words[1]), false, at)
			case wide && (takesItems[name] || strings.Contains(part, ".delete()")):
				a.report("destroy.system", 0, at)
			case all && asksAddress[name] && (strings.Contains(part, "post") || strings.Contains(part, "put") || strings.Contains(part, "-body")):
				a.report("exfil.secret", 0.85, at)
			}
		}
	}
}

var (
	// takenItem is a folder or a file that is taken away, or moved, by what .NET has for it.
	takenItem   = lazyregexp.New(`(?:\(\s*(?:gi|get-item|gci|get-childitem|ls|dir)\s+['"]?([^\s'")]+)[^)]*\)\.(?:delete|moveto)\(|\[(?:system\.)?io\.(?:directory|file)\]::(?:delete|move)\(\s*['"]([^'"]+)['"])`)
	forEachItem = lazyregexp.New(`(?:^|[\s|])(?:foreach-object|foreach|%)\s*(?:-parallel\s*)?\{`)
	nothingIn   = lazyregexp.New(`^\s*(?:""|''|\$null)?\s*$`)
	calledBy    = lazyregexp.New(`&\s*\(\s*(?:gcm|get-command|get-alias|gal)\s+['"]?([\w-]+)['"]?\s*\)`)
)

// losesOnWindows judges that a folder, or what lies in it, is taken away.
func (a *assessor) losesOnWindows(p string, at span) {
	if wideOnWindows(p) {
		a.report("destroy.system", 0, at)
		return
	}
	a.removes(windowsHome(p), true, at)
}

// windowsHome writes the names of somebody's home as ~, and slashes as they are elsewhere.
func windowsHome(p string) string {
	p = slashed(strings.ToLower(strings.Trim(p, `"'() `)))
	for _, home := range []string{"$home", "${home}", "$env:home", "${env:home}", "$env:userprofile", "${env:userprofile}", "%userprofile%", "$env:homepath", "%homepath%"} {
		if rest, ok := strings.CutPrefix(p, home); ok {
			return "~" + rest
		}
	}
	return p
}

// wideOnWindows says whether a path is somebody's home, a system's folder or a whole drive.
func wideOnWindows(p string) bool {
	if p = windowsHome(p); p == "" || p[0] == '-' {
		return false
	}
	drive := len(p) > 1 && p[1] == ':'
	if drive {
		p = p[2:]
	}
	p = strings.TrimRight(strings.TrimSuffix(p, "*"), "/")
	if strings.HasPrefix(p, "/users/") && strings.Count(p, "/") == 2 {
		return true
	}
	return p == "" && drive || listed("~ ~/documents ~/desktop ~/appdata ~/onedrive /users /windows /programdata", p) || p == "/program files"
}

// lower is text in lower case, its places kept: strings.ToLower makes some
// characters, and every invalid byte, longer.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// holds says whether a text holds one alternative of every part. _ in a part
// stands for any white space.
func holds(parts, spaced, squeezed string) bool {
	for part := range strings.SplitSeq(parts, " ") {
		found := false
		for alternative := range strings.SplitSeq(part, "|") {
			in := spaced
			if strings.Contains(alternative, "_") {
				in = squeezed
			}
			if strings.Contains(in, alternative) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// windowsCommand judges one command, as its words.
func (a *assessor) windowsCommand(words []string, at span) {
	if a.commands--; a.commands < 0 {
		a.starve(at)
		return
	}
	for range 8 {
		if len(words) == 0 {
			return
		}
		name := strings.TrimSuffix(baseName(words[0]), ".exe")
		rest := words[1:]
		switch name {
		case "cmd", "%comspec%", "command.com":
			for len(rest) > 0 && strings.HasPrefix(rest[0], "/") {
				// /c may stand right before the command: /ccalc
				if len(rest[0]) > 2 && (rest[0][1] == 'c' || rest[0][1] == 'k') {
					rest[0] = rest[0][2:]
					break
				}
				rest = rest[1:]
			}
			if len(rest) == 1 && strings.Contains(rest[0], " ") {
				for _, line := range windowsCommands(rest[0]) {
					a.windowsCommand(line, at)
				}
				return
			}
			words = rest
			continue
		case "start", "call", "@", "&", "start-process", "saps", "if", "exist", "not", "do", "echo":
			if name == "echo" {
				return
			}
			for len(rest) > 0 && (strings.HasPrefix(rest[0], "/") || rest[0] == "" || strings.HasPrefix(rest[0], "-")) {
				rest = rest[1:]
			}
			words = rest
			continue
		case "powershell", "pwsh", "powershell_ise":
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				takes := len(rest) > 1 && !strings.HasPrefix(rest[1], "-") && !isCommandFlag(rest[0]) && valuedFlag(rest[0])
				flag := rest[0]
				rest = rest[1:]
				if takes {
					rest = rest[1:]
				}
				if isCommandFlag(flag) {
					break
				}
			}
			if len(rest) == 1 && strings.Contains(rest[0], " ") {
				for _, line := range windowsCommands(rest[0]) {
					a.windowsCommand(line, at)
				}
				return
			}
			words = rest
			continue
		case "for":
			for i, w := range rest {
				if w == "do" {
					a.windowsCommand(rest[i+1:], at)
					break
				}
			}
			return
		}
		args := make([]flow, 0, len(rest))
		for _, r := range rest {
			args = append(args, flow{text: strings.Trim(r, `"'`)})
		}
		if a.watch != nil && a.watch.Windows != nil {
			a.watch.Windows(&Command{Name: name, Words: plainWords(args), Known: true})
		}
		if strings.HasPrefix(name, "remove-az") || strings.HasPrefix(name, "remove-ec2") || strings.HasPrefix(name, "remove-s3") || strings.HasPrefix(name, "remove-rds") || strings.HasPrefix(name, "remove-gc") {
			a.report("destroy.cloud", 0.45, at)
		}
		if takesItems[name] {
			for _, w := range rest {
				if wideOnWindows(w) {
					a.report("destroy.system", 0, at)
				}
			}
		}
		for _, u := range a.table.windows[name] {
			if name == "set-executionpolicy" && u.effect == "defense.disable" && anyMatches([]string{"process"}, args) {
				continue // it ends with this shell
			}
			if u.words.among(args) {
				a.report(u.effect, u.weight, at)
			}
		}
		// A program with a stream behind its name, or one called by a path that
		// only a machine's shares have.
		for _, w := range words {
			if hasStream(w) {
				a.report("windows.stream", 0.8, at)
			}
			if isURL(w) {
				a.host(w, at)
			}
			if strings.ContainsAny(w, `\/`) && len(w) < 512 {
				pl := placeOf(normalPath(windowsHome(w)).text)
				if pl.read >= 0.8 && pl.reads != "" {
					a.report(pl.reads, pl.read, at)
				}
				if pl.write >= 0.5 && pl.writes != "" && writesItems[name] {
					a.report(pl.writes, pl.write, at)
				}
			}
			if strings.HasPrefix(w, `\\`) && strings.Contains(w, ".") && (strings.HasSuffix(w, ".exe") || strings.HasSuffix(w, ".dll")) {
				a.report("windows.remote", 0.6, at)
			}
		}
		return
	}
}

// hasStream says whether a word names a stream behind a file: C:\dir\file.txt:evil.exe
func hasStream(w string) bool {
	i := strings.LastIndexByte(w, ':')
	if i < 3 || i+2 >= len(w) || strings.ContainsAny(w[i:], `\/`) || strings.HasPrefix(w, "/") || strings.HasPrefix(w, "-") || strings.Contains(w, "::") {
		return false
	}
	file := w[strings.LastIndexAny(w[:i], `\/`)+1 : i]
	rooted := w[1] == ':' || w[0] == '%' || strings.HasPrefix(w, "$env:")
	return rooted && strings.Contains(w[:i], `\`) && file != "" && !isDigits(w[i+1:]) && !strings.Contains(w, "\n")
}

func isCommandFlag(f string) bool {
	f = strings.TrimLeft(f, "-/")
	return f != "" && (strings.HasPrefix("command", f) || strings.HasPrefix("file", f))
}

func valuedFlag(f string) bool {
	f = strings.TrimLeft(f, "-/")
	for _, v := range []string{"executionpolicy", "windowstyle", "version", "inputformat", "outputformat", "encodedcommand", "psconsolefile", "ep", "exec", "configurationname", "workingdirectory"} {
		if strings.HasPrefix(v, f) && len(f) > 0 && f != "e" || v == f {
			return true
		}
	}
	return false
}

// windowsCommands cuts a text into commands and their words.
func windowsCommands(text string) [][]string {
	const most = 2000
	var out [][]string
	var line []string
	var b strings.Builder
	started := false
	word := func() {
		if started {
			line = append(line, b.String())
			b.Reset()
			started = false
		}
	}
	end := func() {
		word()
		if len(line) > 0 {
			out = append(out, line)
			line = nil
		}
	}
	var open byte
	unclosed := [256]bool{}
	for i := 0; i < len(text) && len(out) < most; i++ {
		c := text[i]
		switch {
		case open != 0:
			if c == open {
				open = 0
				continue
			}
			b.WriteByte(c)
		case (c == '"' || c == '\'') && !unclosed[c]:
			if strings.IndexByte(text[i+1:], c) < 0 {
				unclosed[c] = true
				continue
			}
			open, started = c, true
		case c == ' ' || c == '\t' || c == ',' && started && !strings.Contains(b.String(), "."):
			word()
		case c == '\n' || c == '\r' || c == '|' || c == '&' || c == ';' || c == '(' || c == ')',
			c == '{' && (i+1 == len(text) || text[i+1] <= ' '), c == '}' && i > 0 && text[i-1] <= ' ':
			end()
		default:
			b.WriteByte(c)
			started = true
		}
	}
	end()
	return out
}

// backticks takes away the signs by which PowerShell escapes the one that follows.
var backticks = strings.NewReplacer("`\n", " ", "`r", "r", "`n", "n", "`", "")

// plainWindows removes what hides: carets, backticks, empty quotes, strings in
// pieces, characters by number.
func plainWindows(text string) string {
	if strings.Contains(text, "^") {
		text = strings.ReplaceAll(text, "^", "")
	}
	if strings.Contains(text, "`") {
		text = backticks.Replace(text)
	}
	text = joins.Replace(text)
	if strings.Contains(strings.ToLower(text), "[char]") {
		text = charNumbers(text)
	}
	return text
}

var joins = strings.NewReplacer("'+'", "", `"+"`, "", "' + '", "", `" + "`, "", `""`, "", "''", "", "'+ '", "", "' +'", "")

// charNumbers replaces [char]105 by i, at most many times.
func charNumbers(text string) string {
	var b strings.Builder
	low := lower(text)
	for i := 0; i < len(text); {
		if !strings.HasPrefix(low[i:min(len(low), i+6)], "[char]") {
			b.WriteByte(text[i])
			i++
			continue
		}
		j := i + 6
		for j < len(text) && (text[j] == '(' || text[j] == ' ') {
			j++
		}
		k := j
		if strings.HasPrefix(low[j:], "0x") {
			k += 2
		}
		for k < len(text) && effects.DigitOf(text[k]) < 16 && k-j < 6 && (text[k] <= '9' || k > j+1 && strings.HasPrefix(low[j:], "0x")) {
			k++
		}
		n, err := strconv.ParseInt(text[j:k], 0, 32)
		if err != nil || n < 32 || n > 126 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteByte(byte(n))
		i = k
		for i < len(text) && (text[i] == ')' || text[i] == '+' || text[i] == ' ') {
			i++
		}
	}
	return b.String()
}

// hiding weighs how much of a text only hides it.
func hiding(text string) float64 {
	marks := strings.Count(text, "^") + strings.Count(text, "`") - strings.Count(text, "`n") - strings.Count(text, "`\n") - strings.Count(text, "`r")
	low := strings.ToLower(text)
	chars := strings.Count(low, "[char]")
	substrings := strings.Count(text, ":~")
	formats := 0
	if strings.Contains(low, "\"{") && strings.Contains(low, "-f") {
		formats = 1
	}
	pieces := strings.Count(text, "'+'") + strings.Count(text, `"+"`)
	switch {
	case chars > 4 || substrings > 3 || pieces > 3 || formats > 0 && strings.Contains(low, "}{"):
		return 0.85
	case marks > 5 && len(text) < 40*marks && !strings.Contains(text, "```"):
		return 0.8
	case strings.Contains(low, "-join") && (strings.Contains(low, "[convert]") || strings.Contains(low, "[char")):
		return 0.8
	}
	return 0
}

// encodedCommands decodes what -EncodedCommand, in any of its short forms, is given.
func encodedCommands(low, plain string) []string {
	var out []string
	for i := 0; i < len(low) && len(out) < 4; {
		j := strings.IndexAny(low[i:], "-/")
		if j < 0 {
			return out
		}
		i += j + 1
		end := i
		for end < len(low) && low[end] >= 'a' && low[end] <= 'z' {
			end++
		}
		flag := low[i:end]
		if flag == "" || !(strings.HasPrefix("encodedcommand", flag) || flag == "ec" || flag == "enc") {
			continue
		}
		s := strings.TrimLeft(plain[end:], " \t\"'")
		stop := strings.IndexFunc(s, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '+' || r == '/' || r == '=')
		})
		if stop < 0 {
			stop = len(s)
		}
		i = end
		if stop < 16 {
			continue
		}
		if b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s[:stop], "=")); err == nil {
			if t, ok := readable(b); ok {
				out = append(out, t)
			}
		}
	}
	return out
}
