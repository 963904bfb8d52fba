package hazard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Where a shell takes input from and puts output.

func isNetworkDevice(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// numberOf is which descriptor a redirection says; empty if it says none.
func numberOf(r *syntax.Redirect) string {
	if r.N == nil {
		return ""
	}
	return r.N.Value
}

// inputs gives what a command reads by its redirections.
func (s *shell) inputs(redirs []*syntax.Redirect, in flow) (flow, bool) {
	sock := false
	for _, r := range redirs {
		if s.commands <= 0 {
			break
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if r.Hdoc != nil {
				s.feeds(numberOf(r), s.retyped(s.word(r.Hdoc)), &in)
			}
		case syntax.WordHdoc:
			f := s.retyped(s.word(r.Word))
			f.text += "\n"
			s.feeds(numberOf(r), f, &in)
		case syntax.RdrIn, syntax.RdrInOut:
			w := s.word(r.Word)
			s.mentions(w.text)
			if isNetworkDevice(w.text) {
				s.opened(r)
				sock = true
				in = flow{taint: fromSocket}
				continue
			}
			if r.Op == syntax.RdrInOut {
				s.watchedFile(w.text, false, flow{})
			} else {
				s.at = s.nodeSpan(r)
				s.feeds(numberOf(r), s.readFile(w), &in)
			}
		case syntax.DplIn:
			w := s.word(r.Word)
			if f, ok := s.opens[w.text]; ok {
				in = f
			} else if isDigits(w.text) && w.text > "2" { // which was opened before, by whatever
				in = flow{taint: fromProgram | fromAnything}
			}
			if w.taint != 0 {
				in = flow{taint: w.taint}
			}
			if s.socket && w.text != "" && w.text != "-" {
				in, sock = flow{taint: fromSocket}, true
			}
		}
	}
	return in, sock
}

// opened notes a connection made by the shell itself.
func (s *shell) opened(n *syntax.Redirect) {
	to := s.word(n.Word).text
	s.watchedFile(to, true, flow{})
	if parts := strings.Split(to, "/"); len(parts) > 4 {
		s.host(parts[3], s.nodeSpan(n))
		if n.Op == syntax.RdrInOut && hostOf(parts[3]).kind() == "public" {
			s.report("shell.remote_access", 0.5, s.nodeSpan(n)) // both ways, for whatever the shell is told next
		}
	}
	s.socket = true
	s.report("shell.socket", 0, s.nodeSpan(n))
}

// outputs gives what is left of a command's output after its redirections.
func (s *shell) outputs(redirs []*syntax.Redirect, out flow, sock, alone bool) flow {
	for _, r := range redirs {
		if s.commands--; s.commands < 0 {
			s.starve(s.nodeSpan(r))
			break
		}
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
			w := s.word(r.Word)
			at := s.nodeSpan(r)
			if isNetworkDevice(w.text) {
				s.opened(r)
				s.sends(out, at)
				if out.taint&fromShell != 0 {
					s.report("shell.reverse_shell", 0, at)
				}
				out = flow{}
				continue
			}
			if r.N != nil && r.N.Value == "2" || r.Op == syntax.RdrInOut {
				s.watchedFile(w.text, true, flow{})
				continue
			}
			s.at = at
			content := out
			if alone {
				content = flow{known: true}
			}
			s.writeFile(w, content, r.Op == syntax.AppOut || r.Op == syntax.AppAll)
			out = flow{}
		case syntax.DplOut:
			w := s.word(r.Word)
			// >& with a name is a file.
			if isNetworkDevice(w.text) {
				at := s.nodeSpan(r)
				s.opened(r)
				s.sends(out, at)
				if out.taint&fromShell != 0 {
					s.report("shell.reverse_shell", 0, at)
				}
				out = flow{}
				continue
			}
			if r.N == nil && w.text != "" && w.text != "-" && !isDigits(w.text) && w.text[0] != '$' {
				s.at = s.nodeSpan(r)
				s.writeFile(w, out, false)
				out = flow{}
				continue
			}
			if s.socket && w.text != "-" && w.text != "1" && w.text != "2" || sock {
				at := s.nodeSpan(r)
				s.sends(out, at)
				if out.taint&fromShell != 0 {
					s.report("shell.reverse_shell", 0, at)
				}
			}
		}
	}
	if sock && out.taint&fromShell != 0 {
		s.report("shell.reverse_shell", 0, s.spanOf(0, 0))
	}
	return out
}
