package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// What a program prints and a shell, or another interpreter, runs. What stands in a file can be
// read before; what a program will print cannot. Who writes one and hands its output to a shell
// has run a text that nobody saw. So the output of every program counts as unseen, but for those
// of which the table says that they print lines for a shell to run (ssh-agent -s, brew shellenv):
// that is what they are for, and how they are called everywhere.

// byCode is the taint of what code of somebody's own prints.
const byCode = fromProgram | fromAnything | fromCode

// silent are commands that print nothing, or nothing but what they are given or have been told to
// read: what is known of that is known of their output.
var silent = set(`cd pushd popd set unset export declare local readonly alias shopt trap ulimit umask true false : test [ [[ mkdir rmdir touch rm cp mv ln chmod chown chgrp sleep wait kill exit return
	source . eval read mapfile readarray command builtin exec hash shift break continue pwd echo print printf type which dd
	cat tac head tail less more nl sort uniq cut grep egrep fgrep rg ag ack zgrep sed gsed tr strings tee sponge bat paste column fold fmt rev shuf split iconv expand unexpand
	base64 base32 basenc b64decode b64encode gbase64 uudecode xxd od hexdump openssl gpg gunzip zcat gzip bzip2 bzcat xz xzcat zstd unxz uncompress dos2unix unix2dos env printenv`)

// filters are those that make another text of what they are given, or put together parts of it.
var filters = set(`sed gsed cut tr rev paste column fold fmt split iconv expand unexpand strings base64 base32 basenc b64encode gbase64 xxd od hexdump openssl dd dos2unix unix2dos shuf`)

// firstOption is the first word of a command if that is an option, without its value.
func firstOption(args []flow) string {
	if len(args) == 0 || !strings.HasPrefix(args[0].text, "-") {
		return ""
	}
	if t := args[0].text; len(t) > 2 && t[1] != '-' {
		return t[:2]
	}
	return before(args[0].text, '=')
}

// runners run code of somebody's own, by their names and their first words; empty for all that they run.
var runners = map[string]string{
	"go": "run generate tool", "cargo": "run xtask", "make": "", "gmake": "", "just": "", "task": "", "rake": "", "invoke": "", "npm": "run run-script exec start x", "npx": "", "pnpm": "run exec dlx start", "yarn": "run exec dlx start", "bunx": "", "bun": "run x",
	"java": "", "dotnet": "run script", "mvn": "exec:java exec:exec", "gradle": "run", "swift": "run", "zig": "run", "dart": "run", "stack": "run exec", "cabal": "run exec", "mix": "run", "docker": "run exec", "podman": "run exec", "composer": "run run-script exec",
	"tsx": "", "ts-node": "", "expect": "", "runghc": "", "runhaskell": "", "tcc": "", "kotlin": "", "elixir": "", "escript": "", "cpp": "", "m4": "", "envsubst": "", "gomplate": "", "jinja2": "", "j2": "", "mustache": "",
}

// printed says of what a command prints whether somebody can know it.
func (c *invocation) printed(out flow) flow {
	if out.known || out.taint&(fromNet|fromSocket|fromDecoder|fromVendor|fromShell) != 0 {
		return out
	}
	i, interprets := interpreters[c.name]
	switch o, ok := c.table.options[c.name]; {
	case ok && o.wraps >= 0, interprets && i.shell: // what they run prints it
		return out
	}
	if c.ofSystem() {
		if c.completes() {
			out.taint &^= byCode
			return out
		}
		for _, u := range c.table.programs[c.name] {
			switch {
			case !u.script && !u.path || !u.isOf(c.args):
			case u.script:
				out.taint &^= byCode
				return out
			default:
				out.taint = out.taint&^byCode | fromProgram
				return out
			}
		}
		if silent[c.name] {
			if filters[c.name] || listed("-c --bytes", firstOption(c.args)) && (c.name == "head" || c.name == "tail") || c.name == "cat" && len(c.args) > 1 {
				out.taint |= fromFilter
			}
			return out
		}
	}
	out.taint |= fromProgram | fromAnything
	if !c.tellsNothing() {
		out.taint |= fromOutput
	}
	if c.runsOwnCode() {
		out.taint |= fromCode
	}
	return out
}

// commonKnowledge are programs that print what is the same on many machines, or a number.
var commonKnowledge = set("date seq arch nproc uuidgen mcookie lsb_release sw_vers getconf dpkg-architecture uname expr bc sleep mktemp")

// tellsNothing reports whether what a command prints is nothing of one's own: a date, a kind of machine, a
// version, or what jq makes of what it is told in the line.
func (c *invocation) tellsNothing() bool {
	switch {
	case commonKnowledge[c.name]:
		return c.name != "uname" || c.asksKind()
	case c.name == "jq" || c.name == "gojq" || c.name == "jaq":
		return slices.ContainsFunc(c.args, func(a flow) bool {
			return a.text == "--null-input" || strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "n")
		}) && !slices.ContainsFunc(c.args, func(a flow) bool {
			return strings.Contains(a.text, "input") && a.text != "--null-input" || strings.Contains(a.text, "env") || strings.Contains(a.text, "ENV") || listed("--slurpfile --rawfile --argfile -f --from-file", a.text)
		})
	}
	return len(c.args) == 1 && c.ofSystem() && listed("--version -V -v version --print-architecture -dumpmachine -dumpversion", c.args[0].text)
}

// asksKind reports whether uname is asked for the kind of machine and system alone.
func (c *invocation) asksKind() bool {
	return !slices.ContainsFunc(c.args, func(a flow) bool {
		return !strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "--") && !listed("--kernel-name --machine --operating-system --processor --hardware-platform --kernel-release", a.text) || !strings.HasPrefix(a.text, "--") && strings.Trim(a.text[1:], "smopir") != ""
	})
}

// ofSystem reports whether a command is called by its name, or lies where programs are put: a
// file of the folder that somebody works in can have any name.
func (c *invocation) ofSystem() bool {
	if !strings.Contains(c.path, "/") {
		return true
	}
	p := normalPath(c.path).text
	return (strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, "$")) && !temporary(p) && !strings.HasPrefix(p, "$(")
}

// completes reports whether a command prints by what a shell completes its own words.
func (c *invocation) completes() bool {
	if slices.ContainsFunc(c.beside, func(name string) bool { return wild("_*_COMPLETE", name) }) {
		return !c.runsOwnCode()
	}
	i := slices.IndexFunc(c.args, func(a flow) bool { return !strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "+") })
	return i >= 0 && completing[c.args[i].text] && !c.runsOwnCode() && !readers[c.name]
}

// completing are the names that programs give this subcommand.
var completing = set("completion completions complete shell-completion shell-completions generate-completion generate-shell-completion gen-completions completion-script autocomplete autocomplete:script")

// runsOwnCode reports whether a command is, or runs, code of which its name says nothing.
func (c *invocation) runsOwnCode() bool {
	if i, ok := interpreters[c.name]; ok && i.language != "awk" && i.language != "vim" {
		return true
	}
	if first, ok := runners[c.name]; ok {
		return first == "" || len(c.args) > 0 && listed(first, c.args[0].text)
	}
	return !c.ofSystem()
}

// unknownParts are what stands in a text for what is not known of it, and what ends a command or
// quotes it.
var unknownParts = lazyregexp.New(`\$\(\)|\$\w+|\$\{\w+:\?\}|[\s"'` + "`" + `;&|(){}]`)

// nothingKnown reports whether nothing that a text says is known.
func nothingKnown(text string) bool {
	return text == "" || len(text) < 256 && unknownParts.ReplaceAllString(text, "") == ""
}

// runsPrinted judges that a text is run of which a program printed all, or a part. Until the function
// is called that it returns, it is remembered what the parts are that are not known.
func (s *shell) runsPrinted(f flow, language string) (restore func()) {
	before := s.unseen
	s.altersRun = s.altersRun || f.taint&fromFilter != 0 && (!f.known || f.taint&fromFile != 0)
	if f.taint&fromProgram == 0 {
		return func() {}
	}
	s.unseen = f.taint & byCode
	if nothingKnown(f.text) || f.taint&fromCode != 0 && language != "awk" {
		s.report("shell.printed_run", 0, s.at)
	}
	return func() { s.unseen = before }
}

// evaluates judges that a file which was written before runs a text as a shell of which nothing is
// known, neither from it nor from how it is called.
func (s *shell) evaluates(f flow) {
	if s.inFiles > 0 && s.declares == 0 && !f.known && f.taint == 0 && f.text != "" && nothingKnown(f.text) {
		s.report("shell.written_run", unreadEnd, s.at)
	}
}

// takesFromInput is code of a filter that runs what it reads.
var takesFromInput = lazyregexp.New(`\b(?:system|exec|popen|execute|spawn|shell_exec|passthru|loadstring)\b[\s(]*[$@<A-Za-z_]|\beval\b|` + "`\\s*[$#]" + `|\|\s*"(?:/bin/)?[a-z]*sh"`)

// runsPrintedLines judges that a filter runs the lines that a program printed, of a language of
// which only the words are read.
func (c *invocation) runsPrintedLines(i interpreter, code string) {
	if c.in.taint&fromProgram != 0 && !i.shell && i.language != "python" && i.language != "js" && len(code) < 16<<10 && takesFromInput.MatchString(code) {
		c.report("shell.printed_run", 0, c.at)
	}
}

// makers are programs whose files are commands for a shell of this machine.
var makers = set("make gmake bmake just task rake")

// obeysPrinted judges that a program is told what to run by what a program printed: by a file, or
// what comes in.
func (c *invocation) obeysPrinted(file string) {
	from, ok := c.getFile(file)
	if file == "-" || descriptor(file) == "/dev/fd/0" {
		from, ok = c.in, true
	}
	if ok && from.taint&fromProgram != 0 {
		c.report("shell.printed_run", 0, c.at)
	}
}

// namedByProgram judges that a program printed which command is run, if it is none that prints
// where programs lie. Behind env the words may be variables and their values.
func (s *shell) namedByProgram(args []flow, wrap int) {
	first := args[0]
	s.altersRun = s.altersRun || first.taint&fromFilter != 0 && !first.known && nothingKnown(first.text)
	if first.known || first.taint&fromAnything == 0 || !nothingKnown(first.text) {
		return
	}
	if wrap > 0 && s.around == "env" && len(args) > 1 && first.taint&fromCode == 0 {
		return
	}
	s.report("shell.printed_run", 0, s.at)
}
