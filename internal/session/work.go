package session

import (
	"path"

	"reeve.example/reeve/act"
)

// A work is what sessions do together in one folder: a session, its sub-agents, and those that
// the same agent begins there after it. A file that one of them writes another one runs. So what
// they know of files, but for what was masked in them, is remembered in a State of its own,
// beside what each of them remembers.

// factWork is the fact of which work a session is a part.
const factWork = 'W'

// WorkOf names the work that a session is a part of which no other session began: that of the
// agent in the folder, or the session's own where it does not say in which folder it is.
func WorkOf(a *act.Action) uint64 {
	if a.Folder != "" {
		return hash(factWork, "folder", a.Principal.Name, a.Agent.ID, path.Clean(a.Folder))
	}
	return hash(factWork, "session", a.Principal.Name, a.Agent.ID, a.Door, a.Session)
}

// Work is the work that the session is a part of; 0 where it does not remember one.
func (s *State) Work() uint64 {
	name, _ := s.other(factOf(factWork, "", relates))
	return name
}

// Strayed reports whether an act's folder is neither the one in which its work began nor one below that:
// what lies there belongs to another work.
func (s *State) Strayed(a *act.Action) bool {
	began, in := s.Work(), *a
	if began == 0 || !path.IsAbs(a.Folder) {
		return false
	}
	for in.Folder = path.Clean(a.Folder); ; in.Folder = path.Dir(in.Folder) {
		if WorkOf(&in) == began {
			return false
		}
		if in.Folder == "/" {
			break
		}
	}
	in.Folder = ""
	return WorkOf(&in) != began // which began in no folder
}

// Works has a step that was let through remember of which work its session is a part. It is said
// again now and then, so that it is known to whoever reads the newest writes alone.
func (s *State) Works(st *Step, name uint64) {
	if st.effect == act.Deny || st.effect == act.Escalate || s.Work() != 0 && st.steps%wholeEvery != 0 {
		return
	}
	st.facts = append(st.facts, factOf(factWork, "", relates), name)
}

// Share gives a session what the sessions of its work remember of files, until it is given nil.
func (s *State) Share(work *State) { s.shared = work }

// work is the memory in which what is known of files stands.
func (s *State) work() *State {
	if s.shared != nil {
		return s.shared
	}
	return s
}

// Shared is the work's own step by a step of one of its sessions; nil where that says nothing of
// files.
func (st *Step) Shared(work *State) *Step {
	if len(st.files) == 0 {
		return nil
	}
	own := work.unchanged(work.Last)
	own.at, own.effect, own.facts = st.at, act.Allow, st.files
	return own
}
