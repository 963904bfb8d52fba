package hazard

import (
	"path"
	"strings"
)

// taint says where a text comes from or what it is.
type taint uint32

const (
	fromNet      taint = 1 << iota // was downloaded
	fromSocket                     // comes over a bare connection
	fromSecret                     // holds passwords or keys
	fromDecoder                    // was decoded or decrypted
	fromFile                       // the content of some file
	fromShell                      // is what a shell answers whose orders nobody sees
	fromSystem                     // a directory of the system
	fromVoid                       // is zeros or noise
	fromHost                       // what this machine is: its name, its environment
	tooLong                        // a part was left out: it was too long to be followed
	fromKeeper                     // a program gave it out that keeps secrets
	fromStranger                   // came from an address that is no usual place for code
	fromNobody                     // came from an address of which nobody can say whose it is
	fromShelf                      // was saved as a file, from where people keep what they give to others
	fromStore                      // is all of a database, or of what somebody works on
	fromPlace                      // is what a place of secrets holds as it is, and not one secret that was taken out of it
	recoded                        // what a place of secrets holds, in a form that hides it
	fromKeys                       // such a place is one of keys, of which each line is secret
	fromTree                       // the names of what lies in the folder that somebody works in
	fromVendor                     // is a vendor's installer, as it came, and instead of fromNet
	fromProgram                    // a program printed it, and what it prints cannot be known
	fromAnything                   // such a program, of which nobody has said that it prints paths alone
	fromCode                       // such a program, which is code of somebody's own, and no tool that people know
	fromTyped                      // is a value of a place of secrets, which a model has read there and typed: see Held
	fromAlong                      // holds a folder with files of secrets that nothing named
	fromFilter                     // a filter has made another text of it, which is not known
	fromOutput                     // a program printed it that may tell what is nobody else's
	fromIssuer                     // the client of a service gave it out, and only that service takes it: see issued
	namesAlong                     // the names of files, among them such of secrets that nothing named
	fromOwn                        // a whole folder of somebody's own, as ~/Documents
)

// flow is what passes through a pipe, lies in a file or a variable. The zero
// flow is nothing.
type flow struct {
	text  string
	known bool // text is all of it
	taint taint
}

// fetched is the flow as one of which only is known that it was downloaded.
func (f flow) fetched() flow {
	if f.taint&fromVendor != 0 {
		f.taint = f.taint&^fromVendor | fromNet
	}
	return f
}

// files are what the commands of a call wrote so far, by the names that they used.
type files map[string]flow

func (f files) get(name string) (flow, bool) {
	content, ok := f[path.Clean(descriptor(name))] // ./x is x
	return content, ok
}

func (f files) put(name string, content flow) {
	if len(f) < 256 {
		f[path.Clean(name)] = content
	}
}

// getFile is what a file holds that the commands of a call wrote, as it is named from where cd led.
func (a *assessor) getFile(name string) (flow, bool) {
	if len(a.lies) > 0 {
		if f, ok := a.lies[a.liesAt(name)]; ok {
			return f, true
		}
	}
	return a.written.get(name)
}

// putFile remembers what is written into a file, under the name that was used, and under the one that
// it has wherever cd leads.
func (a *assessor) putFile(name string, content flow) {
	if a.written.put(name, content); strings.HasPrefix(name, "/dev/") {
		return
	}
	if a.lies == nil {
		a.lies = files{}
	}
	a.lies.put(a.liesAt(name), content)
}

// liesAt is where a file lies by its name, as it is seen from where cd led.
func (a *assessor) liesAt(name string) string {
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") && !strings.HasPrefix(name, "$") {
		name = path.Join(a.went, name)
	}
	return a.asPath(name).text
}

// both is what two commands print, one after the other.
func both(a, b flow) flow {
	f := flow{known: a.known && b.known, taint: a.taint | b.taint}
	switch {
	case a.text == "" || b.text == "" || len(a.text)+len(b.text) < 64<<10:
		f.text = a.text + b.text
	default:
		f.text, f.known = a.text, false
		f.taint |= tooLong
	}
	return f
}

// sends judges that a text goes to a host: also one of which only this is known, that it lies
// in files, or that some program prints it. Which host it is matters more than that.
func (s *shell) sends(f flow, at span) {
	s.sent(f, at)
	if f.taint&(fromFile|fromOutput) != 0 || !f.known && s.fed {
		s.report("exfil.upload", passing, at)
	}
}

// sentOwn reports that a whole folder of somebody's own leaves the machine. To a store of their own network it goes
// as a backup does, and they can say whether it should.
func (s *shell) sentOwn(at span) {
	weight := 0.0
	if s.within {
		weight = 0.6
	}
	s.reportSaying("exfil.bulk", weight, at, "A whole folder of somebody's own is sent to another host.")
}

// passing is how much it weighs that something is sent: it is what these programs are for.
const passing = 0.15

// sent judges that a text leaves the machine.
func (s *shell) sent(f flow, at span) {
	switch {
	case f.taint&fromSecret != 0, f.taint&fromTyped != 0 && !s.toOwn:
		s.report("exfil.secret", 0, at)
	case f.taint&fromAlong != 0 && !s.near:
		s.report("exfil.secret", 0.6, at)
	case f.taint&fromSystem != 0:
		s.report("exfil.bulk", 0, at)
	case f.taint&fromOwn != 0:
		s.sentOwn(at)
	case f.taint&fromStore != 0 && s.bare:
		s.report("exfil.bulk", 0.5, at)
	case f.taint&fromHost != 0:
		s.report("exfil.upload", 0.6, at)
	}
}
