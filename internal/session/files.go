package session

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/canon"
	"reeve.example/reeve/internal/provenance"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/risk/hazard"
)

// What a session knows of files are facts: a class and a name, hashed, of which the lowest
// bits hold what is so. A fact of the kind relates is followed by what it relates to. A
// newer fact of the same class and name takes the place of an older one. Names are those
// that files lie under, without their folders, which are spelled in many ways.
const (
	factRuns     = 'f' // how grave it would be to run a file that the session wrote: a tier
	factInside   = 'i' // how grave it would be to run what stands in a file that the session wrote: a tier
	factHolds    = 'h' // a file that the session wrote holds a notice in the place of something
	factMasked   = 'w' // something was masked in what was shown of a file; the name "": of any
	factCopy     = 'c' // the file is a copy, or has the name of, another
	factShows    = 'p' // a call shows something of a file
	factAt       = 'a' // something was masked in what was shown of the file at this place
	factLost     = 'l' // the same, of a file of this name; and where it lies is not known, or it is a copy (1), or is known (2)
	factSecret   = 'k' // the session put what a place of secrets holds into the file
	factFolder   = 'd' // how grave it would be to run what lies in a folder that came from elsewhere: a tier
	factShelf    = 'g' // the session saved the file from where people keep what they give to others
	factPlace    = 'q' // where the file of a name lies that would do harm
	factTakes    = 'u' // a file takes in another
	factValue    = 'v' // the session wrote this value, which looks like a secret, into a file
	factAwaits   = 'b' // something that goes on runs what stands in a file, or will
	factWrote    = 't' // the session wrote to the file: what it said itself (1), or what it brought from elsewhere (2)
	factTunnel   = 'U' // a port of this machine leads to another one
	factMounted  = 'M' // a folder is mounted from another machine
	factStray    = 'S' // a shell may have taken variables that say where a program's data is
	factHeld     = 'V' // a value that was read in a place of secrets; of a call, that it shows such a place; the name "": any
	factHeldHost = 'X' // a host that such a place names
	factText     = 'o' // the session wrote exactly this text into a file, or gave that this path; the name "": any
)

const (
	tiers     = 4
	relates   = 3   // a tier: the next value is the fact's other side
	askedFrom = 0.4 // below, to run it is ordinary
	graveFrom = 0.8
)

func factOf(class byte, name string, tier uint64) uint64 {
	return hash(class, name)&^(tiers-1) | tier
}

// learn remembers facts.
func (s *State) learn(facts []uint64, seen Seen) {
	for i := 0; i < len(facts); i++ {
		key := facts[i]
		for tier := range uint64(tiers) {
			if had := s.find(key&^(tiers-1) | tier); had != nil {
				had.key = 0
			}
		}
		seen.key, seen.Digest = key, Digest{}
		if key&(tiers-1) == relates && i+1 < len(facts) {
			i++
			binary.LittleEndian.PutUint64(seen.Digest[:], facts[i])
		}
		s.remember(seen)
	}
}

// knows reports whether a fact is so.
func (s *State) knows(class byte, name string, tier uint64) bool {
	return s.find(factOf(class, name, tier)) != nil
}

// other is what a fact relates to.
func (s *State) other(fact uint64) (uint64, bool) {
	seen := s.find(fact)
	if seen == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(seen.Digest[:]), true
}

// origin is the file that one was a copy of when it was made, or that one itself, as a number.
func (s *State) origin(name string) uint64 { return s.originOf(hash(factCopy, name)) }

func (s *State) originOf(file uint64) uint64 {
	if from, ok := s.other(file&^(tiers-1) | relates); ok {
		file = from
	}
	return file &^ (tiers - 1)
}

// nameOfFile is what a file is known by; empty for what is no name.
func nameOfFile(p string) string {
	p = strings.ReplaceAll(canon.Visible(p), `\`, "/")
	name := strings.ToLower(strings.Trim(path.Base(strings.TrimRight(strings.TrimSpace(p), "/")), `"'`))
	if name == "." || name == ".." || name == "/" || len(name) > 255 {
		return ""
	}
	return name
}

// maskedAt is the fact that something was masked in what was shown of a file.
func maskedAt(origin uint64) uint64 { return origin ^ 0x6d_61_73_6b_65_64<<8&^(tiers-1) | 1 }

// masksIn reports whether something was masked in what was shown of a file, or of a folder
// that it lies in. Its name says so, unless it is another file of that name: that is known
// where it is neither of them a copy, and where each of them lies.
func (s *State) masksIn(a *act.Action, p string) bool {
	places := placesOf(a, p)
	if slices.ContainsFunc(places, func(at string) bool { return s.knows(factAt, at, 1) }) {
		return true
	}
	parts := strings.FieldsFunc(strings.ReplaceAll(p, `\`, "/"), func(r rune) bool { return r == '/' })
	for i, part := range parts {
		name := nameOfFile(part)
		if name == "" || s.find(maskedAt(s.origin(name))) == nil {
			continue
		}
		file := hash(factCopy, name) &^ (tiers - 1)
		another := i == len(parts)-1 && places != nil && s.origin(name) == file && s.find(placed(file, false)) == nil && s.find(placed(file, true)) != nil
		if !another {
			return true
		}
	}
	return false
}

// mayMask is a quick look for masksIn, by names alone: where none of them is of a file of which
// something was masked, only a link can lead to one.
func (s *State) mayMask(p string) bool {
	for part := range strings.FieldsFuncSeq(strings.ReplaceAll(p, `\`, "/"), func(r rune) bool { return r == '/' }) {
		if name := nameOfFile(part); name != "" && s.find(maskedAt(s.origin(name))) != nil {
			return true
		}
	}
	return false
}

// placed is the fact that it is known, or not, where a file of this name lies in which
// something was masked. Both can be so, of two files.
func placed(file uint64, known bool) uint64 {
	of := string(binary.LittleEndian.AppendUint64(nil, file&^(tiers-1)))
	if known {
		return hash(factLost, of, "known")&^(tiers-1) | 2
	}
	return hash(factLost, of)&^(tiers-1) | 1
}

// placesOf are the names by which the file at a path is known on this machine; nil where that
// is not known.
func placesOf(a *act.Action, p string) []string {
	p = strings.Trim(strings.TrimSpace(canon.Visible(p)), `"'`)
	if a.Places == nil || p == "" || len(p) > 4096 || strings.ContainsAny(p, "*?[{$`\n") || p[0] == '~' {
		return nil
	}
	if !path.IsAbs(p) {
		if a.Folder == "" || goesElsewhere(a) || !slices.Equal(hazard.Folders(a), []string{a.Folder}) {
			return nil
		}
		p = a.Folder + "/" + p
	}
	return a.Places(p)
}

// goesElsewhere reports whether a call may go to another folder before it comes to its files.
func goesElsewhere(a *act.Action) bool {
	return slices.ContainsFunc(a.Content, func(l act.Leaf) bool {
		low := strings.ToLower(l.Text)
		return strings.Contains(low, "cd ") || strings.Contains(low, "pushd") || strings.Contains(low, "chdir") || strings.Contains(low, " -c")
	})
}

// maxNotices is how many kinds of notices of one step are remembered.
const maxNotices = 16

// Masked adds to a step what its edits put in the place of what came in, and of which files
// that was, so that it is known again when it is written back.
func (s *State) Masked(st *Step, a *act.Action, edits []act.Edit) {
	if st.effect != act.Modify || a.IsCall() || a.Kind == act.MessageAgent || a.Kind == act.A2ASend || a.Kind == act.MemoryStore || a.Kind == act.MCPRequest {
		return
	}
	var kinds []string
	for i := range edits {
		before := map[string]int{}
		for j := range a.Content {
			if l := &a.Content[j]; l.Pointer == edits[i].Pointer || strings.HasPrefix(l.Pointer, edits[i].Pointer+"/") {
				countNotices(before, l.Text)
			}
		}
		after := map[string]int{}
		countNotices(after, textOf(edits[i].Value))
		for kind, n := range after {
			if n > before[kind] && !slices.Contains(kinds, kind) && len(kinds) < maxNotices {
				kinds = append(kinds, kind)
			}
		}
	}
	if kinds == nil {
		return
	}
	slices.Sort(kinds)
	st.flags |= flagMasked
	for _, kind := range kinds {
		st.keys = append(st.keys[:len(st.keys):len(st.keys)], hash('n', kind))
	}
	shown := s.shownBy(a)
	for i, file := range shown {
		st.facts = append(st.facts, maskedAt(s.originOf(file)))
		known := false
		for n := range maxPlaces {
			// Where it lies is known where it was there when it was shown: a path of another
			// machine, on which the agent runs, may lead elsewhere there.
			at, ok := s.other(lies(callKey(a, a.Answers), i, n))
			if known = ok && n > 0; ok {
				st.facts = append(st.facts, at)
			}
		}
		known = known && s.originOf(file) == file&^(tiers-1)
		if st.facts = append(st.facts, placed(file, known)); !known {
			st.facts = append(st.facts, placed(s.originOf(file), false))
		}
	}
	if shown == nil {
		st.facts = append(st.facts, factOf(factMasked, "", 1))
	}
}

// textOf is the text of an edit, decoded where a file's bytes stand for it.
func textOf(value []byte) string {
	text := string(value)
	if doc, err := rawjson.Parse(value); err == nil && doc.Root().Kind() == rawjson.String {
		text = doc.Root().Text()
	}
	if file, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(file)
	}
	return text
}

// countNotices counts the notices of each kind in a text.
func countNotices(n map[string]int, text string) {
	text = strings.ToLower(text)
	for _, notice := range risk.Notices(text, nil) {
		n[kindOfNotice(notice)] += strings.Count(text, notice)
	}
}

// shownBy are the files that the call shows of which an act is the result; nil where
// that is not known.
func (s *State) shownBy(a *act.Action) (files []uint64) {
	if a.Answers == "" {
		return nil
	}
	for i := range maxShownFiles {
		file, ok := s.other(shows(callKey(a, a.Answers), i))
		if !ok {
			break
		}
		files = append(files, file)
	}
	return files
}

// maxShownFiles is how many files of one call are remembered. Of a call that shows more
// it is not known which.
const maxShownFiles = 4

// callKey is what a call is remembered by until its result comes.
func callKey(a *act.Action, id string) uint64 {
	if a.Kind == act.MCPRequest || a.Kind == act.MCPResponse {
		return requestOf(a, id)
	}
	return hash('x', id)
}

// shows is the fact that a call shows its file of this number.
func shows(call uint64, i int) uint64 {
	return hash(factShows, string(binary.LittleEndian.AppendUint64(nil, call)), string(rune('0'+i)))&^(tiers-1) | relates
}

// maxPlaces is how many names a file has on this machine that are remembered: the path where
// it lies, and, if it is there, which file it is.
const maxPlaces = 2

// lies is the fact where the file of this number lies that a call shows.
func lies(call uint64, i, n int) uint64 {
	return hash(factShows, string(binary.LittleEndian.AppendUint64(nil, call)), string(rune('0'+i)), string(rune('0'+n)))&^(tiers-1) | relates
}

// Shows asks for the places of the files that a call shows, which Touched notes.
func Shows(a *act.Action, read *hazard.Reading) {
	if !a.IsCall() || a.ID == "" || a.Places == nil {
		return
	}
	if names, all := read.Shown(); all && len(names) <= maxShownFiles {
		for _, name := range names {
			placesOf(a, name)
		}
	}
}

// Touched adds to a step what its call does with files: which it shows, which it writes, and
// what it would be to run these. read is what the call does.
func (s *State) Touched(st *Step, a *act.Action, read *hazard.Reading) {
	if !a.IsCall() || st.effect == act.Deny || st.effect == act.Escalate {
		return
	}
	if names, all := read.Shown(); all && a.ID != "" && len(names) <= maxShownFiles {
		for i, name := range names {
			st.facts = append(st.facts, shows(callKey(a, a.ID), i), hash(factCopy, nameOfFile(name)))
			for n, at := range placesOf(a, name) {
				st.facts = append(st.facts, lies(callKey(a, a.ID), i, n), factOf(factAt, at, 1))
			}
		}
	}
	s.disclosed(st, a, read)
	st.shell = read.Defines()
	s.wrote(st, a, read)
	s.kept(st, read)
	s.awaited(st, read)
	if read.Assess(hazard.Default()).Strays || slices.ContainsFunc(st.shell, func(d hazard.Definition) bool { return hazard.SetsStores(d.Name) }) {
		st.files = append(st.files, factOf(factStray, "", 1))
	}
	for _, port := range read.Assess(hazard.Default()).Tunnels {
		st.files = append(st.files, factOf(factTunnel, port, 1), factOf(factTunnel, "", 1))
	}
	for _, folder := range read.Assess(hazard.Default()).Mounted {
		st.files = append(st.files, factOf(factMounted, folder, 1))
	}
	st.facts = append(st.facts, st.files...)
	if !s.masked || !s.suspects(a) {
		return
	}
	puts, _ := hazard.Puts(a.Canonical, a.Content)
	for _, p := range puts {
		tier := uint64(0)
		switch {
		case p.Old:
			continue
		case s.hasNotice(p.Text):
			tier = 1
		case len(p.Files) != 1 || read.IsEdit():
			continue // what else is in the file stays
		}
		for _, file := range p.Files {
			if name := nameOfFile(file); name != "" && len(st.facts) < maxFacts && (tier == 1 || s.knows(factHolds, name, 1)) {
				st.facts = append(st.facts, factOf(factHolds, name, tier))
			}
		}
	}
}

// Shell is what the session's commands have left in the shell that they ran in, as far as this
// process has seen them.
func (s *State) Shell() []hazard.Definition { return s.shell }

// kept adds the files into which a call puts a secret, or what holds one already under another
// name, and those that hold none any more.
func (s *State) kept(st *Step, read *hazard.Reading) {
	does := read.Assess(hazard.Default())
	if held := s.Held(); held.Holds != nil {
		does = read.Telling(hazard.Default(), held, false) // with what was typed
	}
	holds := does.Kept
	for _, pair := range does.Copied {
		if s.Kept(pair[0]) || slices.Contains(holds, pair[0]) {
			holds = append(slices.Clip(holds), pair[1])
		} else if along := hazard.Along(pair[0]); s.Kept(along) || slices.Contains(holds, along) {
			holds = append(slices.Clip(holds), hazard.Along(pair[1]))
		}
	}
	for _, f := range read.Written() {
		holds = append(slices.Clip(holds), f.Keeps...) // who runs it is seldom seen to do this
		if place := cmp.Or(f.Path, f.Name); f.Text != "" && s.Holds(f.Text) && !hazard.KeepsSecrets(place) {
			holds = append(slices.Clip(holds), hazard.KeptAs(place)...)
		}
	}
	for _, name := range holds {
		if len(st.files) < maxFacts {
			st.files = append(st.files, factOf(factSecret, name, 1))
		}
	}
	for _, f := range read.Written() {
		if f.Copy == "" && f.Text != "" && !read.IsEdit() && !slices.Contains(holds, f.Name) && s.Kept(f.Name) && len(st.files) < maxFacts {
			st.files = append(st.files, factOf(factSecret, f.Name, 0))
		}
	}
}

// Kept reports whether the session put what a place of secrets holds into a file of this name.
func (s *State) Kept(name string) bool { return s.work().knows(factSecret, name, 1) }

// awaited adds the files that the call may run when it has long been answered.
func (s *State) awaited(st *Step, read *hazard.Reading) {
	for _, name := range read.Assess(hazard.Default()).Awaited {
		if len(st.files) < maxFacts && !s.work().knows(factAwaits, name, 1) {
			st.files = append(st.files, factOf(factAwaits, name, 1))
		}
	}
}

// Awaits reports whether something that the session began may run what is written into a file.
func (s *State) Awaits(f *hazard.File) bool {
	known := func(name string) bool { return s.work().knows(factAwaits, name, 1) }
	return known(f.Name) || f.Path != "" && slices.ContainsFunc(hazard.Patterns(f.Path), known)
}

// Tunnelled reports whether the session has made one of these ports lead to another machine, or one
// that is not known.
func (s *State) Tunnelled(ports func() []string) bool {
	s = s.work()
	return s.knows(factTunnel, hazard.AnyPort, 1) || s.knows(factTunnel, "", 1) && slices.ContainsFunc(ports(), func(port string) bool { return s.knows(factTunnel, port, 1) })
}

// Mounted reports whether the session has mounted a folder from another machine.
func (s *State) Mounted(folder string) bool { return s.work().knows(factMounted, folder, 1) }

// Astray reports whether what files say of the data of a project may not be so: the session has written
// to one of them, or its shell has taken other settings.
func (s *State) Astray(stores []act.Stores) bool {
	w := s.work()
	return w.knows(factStray, "", 1) || slices.ContainsFunc(stores, func(of act.Stores) bool {
		return slices.ContainsFunc(of.Files, func(file string) bool {
			name := nameOfFile(file)
			return w.knows(factWrote, name, 1) || w.knows(factWrote, name, 2)
		})
	})
}

// maxFacts is about how many facts one step adds.
const maxFacts = 64

// wrote adds the files that a call writes and that would do harm if they were run, or if what
// stands in them were, those that would do it no longer, what is a copy of what, and which files
// a file takes in.
func (s *State) wrote(st *Step, a *act.Action, read *hazard.Reading) {
	written := read.Written()
	s.brought(st, read, written)
	runs, inside := map[string]uint64{}, map[string]uint64{} // what comes of several counts together
	var names []string
	of := map[string]hazard.File{}
	for _, f := range written {
		if f.Folder || f.Copy != "" && f.Copy == f.Name {
			continue
		}
		weight, within := s.heard(f.From, f.Weight), s.heard(f.From, f.Inside)
		if f.Copy != "" {
			s.copied(st, nameOfFile(f.Copy), nameOfFile(f.Name))
			weight, within = s.Written(f.Copy), s.Inside(f.Copy)
		}
		keeps := f.Changed || f.Adds || f.Copy == "" && read.IsEdit() // what else is in the file
		if now := s.whose(f, keeps); len(st.files) < maxFacts && !(s.work().knows(factWrote, f.Name, now) && s.OwnWork(f.Name)) {
			st.files = append(st.files, factOf(factWrote, f.Name, now))
		}
		for _, pattern := range hazard.Patterns(cmp.Or(f.Path, f.Name)) {
			if len(st.files) < maxFacts && !s.work().knows(factWrote, pattern, 1) {
				st.files = append(st.files, factOf(factWrote, pattern, 1))
			}
		}
		if f.Changed {
			continue
		}
		shelved := uint64(0)
		if f.Known && s.heard(f.From, 0) == 0 {
			shelved = 1
		}
		if len(st.files) < maxFacts && s.work().knows(factShelf, f.Name, 1) != (shelved == 1) {
			st.files = append(st.files, factOf(factShelf, f.Name, shelved))
		}
		if f.Text != "" && len(st.facts) < maxFacts {
			for _, text := range []string{"", bare(f.Text), bare(f.Path)} {
				if !s.knows(factText, text, 1) {
					st.facts = append(st.facts, factOf(factText, text, 1))
				}
			}
			s.valued(st, f.Text)
		}
		if len(st.files) > maxFacts {
			continue
		}
		s.takesIn(st, f)
		if _, twice := of[f.Name]; !twice {
			names = append(names, f.Name)
		}
		of[f.Name] = f
		runs[f.Name], inside[f.Name] = max(runs[f.Name], tierOf(weight)), max(inside[f.Name], tierOf(within))
	}
	counts := map[uint64]uint64{}
	for _, name := range names {
		f := of[name]
		place := spelledAt(a, f.Path)
		keeps := f.Adds || f.Copy == "" && read.IsEdit() || !f.Sure && f.Copy == "" || s.liesElsewhere(name, place)
		for _, c := range []struct {
			class byte
			tier  uint64
		}{{factRuns, runs[name]}, {factInside, inside[name]}} {
			if had := s.alone(c.class, name); c.tier > had || c.tier < had && !keeps {
				s.weighed(st, counts, c.class, f, had, c.tier)
			}
		}
		if runs[name] > 0 || inside[name] > 0 {
			st.files = append(st.files, factOf(factPlace, name, relates), place)
		}
	}
	for _, name := range read.Assess(hazard.Default()).Ran { // somebody has agreed that it is run
		if f, now := of[name]; !now && s.alone(factRuns, name) == 1 {
			f.Name = name
			s.weighed(st, counts, factRuns, f, 1, 0)
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(counts)) {
		st.files = append(st.files, pattern, counts[pattern])
	}
}

// weighed adds that a file would do more harm, or less, than it did, and to the patterns that it
// is known by how many do.
func (s *State) weighed(st *Step, counts map[uint64]uint64, class byte, f hazard.File, had, tier uint64) {
	st.files = append(st.files, factOf(class, f.Name, tier))
	place := f.Path
	if place == "" {
		place = f.Name
	}
	for _, pattern := range hazard.Patterns(place) {
		if !strings.ContainsAny(pattern, "*?[") {
			continue // the name itself
		}
		key := factOf(class, pattern, relates)
		n, known := counts[key]
		if !known {
			n, _ = s.work().other(key)
		}
		if had > 0 && n>>(32*(had-1))&0xffff_ffff > 0 {
			n -= 1 << (32 * (had - 1))
		}
		if tier > 0 {
			n += 1 << (32 * (tier - 1))
		}
		counts[key] = n
	}
}

// alone is how grave it would be to run a file, by itself.
func (s *State) alone(class byte, name string) uint64 {
	for tier := uint64(tiers - 2); tier > 0; tier-- {
		if s.work().knows(class, name, tier) {
			return tier
		}
	}
	return 0
}

// spelledAt is where a file lies, as far as a call says it; 0 where it does not.
func spelledAt(a *act.Action, p string) uint64 {
	switch p = strings.TrimSpace(p); {
	case p == "" || strings.ContainsAny(p, "*?$`"):
		return 0
	case path.IsAbs(p) || p[0] == '~':
		return hash(factPlace, path.Clean(p))
	case a.Folder == "" || goesElsewhere(a):
		if strings.Contains(strings.TrimPrefix(p, "./"), "/") {
			return hash(factPlace, "", path.Clean(p))
		}
		return 0
	}
	return hash(factPlace, path.Join(a.Folder, p))
}

// liesElsewhere reports whether the file of a name that would do harm is another one than the one
// at a place: what is put there takes nothing back.
func (s *State) liesElsewhere(name string, place uint64) bool {
	at, known := s.work().other(factOf(factPlace, name, relates))
	return known && at != 0 && place != 0 && at != place
}

// maxTakes is how many files of those that one takes in are remembered.
const maxTakes = 12

// takesIn adds which files one takes in: modules, libraries, what it has run.
func (s *State) takesIn(st *Step, f hazard.File) {
	file := factOf(factRuns, f.Name, 0)
	if _, had := s.work().other(takenBy(file, 0)); len(f.Takes) == 0 && !had {
		return
	}
	for i, name := range f.Takes[:min(len(f.Takes), maxTakes)] {
		st.files = append(st.files, takenBy(file, i), factOf(factRuns, name, 0))
	}
	st.files = append(st.files, takenBy(file, min(len(f.Takes), maxTakes)), 0)
}

// takenBy is the fact that a file takes in the one of this number.
func takenBy(file uint64, i int) uint64 {
	return hash(factTakes, string(binary.LittleEndian.AppendUint64(nil, file)), string(rune('0'+i)))&^(tiers-1) | relates
}

// brought adds the folders that a call brings from elsewhere. Whoever agreed that something of
// such a folder is run has agreed to the folder, if a name stands for who gave it.
func (s *State) brought(st *Step, read *hazard.Reading, written []hazard.File) {
	folders := map[string]uint64{}
	for _, f := range written {
		if !f.Folder {
			continue
		}
		weight := s.heard(f.From, f.Weight)
		if f.Copy != "" {
			weight = s.Written(f.Copy)
			shelved := s.work().knows(factShelf, f.Copy, 1)
			for _, had := range written {
				if had.Name == f.Copy && !had.Folder {
					weight, shelved = max(weight, s.heard(had.From, had.Weight)), had.Known && s.heard(had.From, 0) == 0
				}
			}
			if shelved {
				weight = 0
			}
		}
		folders[f.Name] = max(folders[f.Name], tierOf(weight))
	}
	for _, name := range read.Assess(hazard.Default()).RanIn {
		if tier, brings := folders[name]; tier == 1 || !brings && s.work().knows(factFolder, name, 1) {
			folders[name] = 0
		}
	}
	for name, tier := range folders {
		if len(st.files) < maxFacts && (tier > 0 || s.Brought(name) > 0) {
			st.files = append(st.files, factOf(factFolder, name, tier))
		}
	}
}

// Brought is how grave it would be to run what lies in a folder of a name.
func (s *State) Brought(name string) float64 { return s.weighs(factFolder, name) }

// heard is how grave it is to run what came from an address, by who named that: the user, whose
// word it is then; or only a text of others.
func (s *State) heard(address string, weight float64) float64 {
	if address == "" {
		return weight
	}
	_, bare, found := strings.Cut(address, "://")
	if !found {
		bare = address
	}
	bare = strings.TrimSuffix(strings.TrimSuffix(bare, "/"), ".git")
	host, _, _ := strings.Cut(bare, "/")
	said := max(s.namedBy(address), s.namedBy(bare))
	switch {
	case said == provenance.User || weight > 0 && s.namedBy(host) == provenance.User:
		if weight >= graveFrom {
			return askedFrom // nobody can say whose the address is
		}
		return 0
	case said == provenance.Foreign:
		return max(weight, askedFrom)
	}
	return weight
}

// namedBy says who named a value, as far as the session remembers it.
func (s *State) namedBy(value string) provenance.Origin {
	origin, step := s.Values.Trace(value)
	if step == provenance.Forgotten {
		return provenance.Unknown
	}
	return origin
}

func tierOf(weight float64) uint64 {
	switch {
	case weight >= graveFrom:
		return 2
	case weight >= askedFrom:
		return 1
	}
	return 0
}

// valued adds what looks like a secret in a text that a call writes: a token that a test makes up,
// the password of a seed.
func (s *State) valued(st *Step, text string) {
	for _, f := range risk.Scan(text, risk.Secret, nil) {
		if value := text[f.Start:f.End]; len(st.facts) < maxFacts && !s.knows(factValue, value, 1) {
			st.facts = append(st.facts, factOf(factValue, value, 1))
		}
	}
}

// Valued reports whether the session itself has written this value into a file, by a call that
// was let through: its model had it before, and reading it back tells it nothing.
func (s *State) Valued(value string) bool { return s != nil && s.knows(factValue, value, 1) }

// Wrote reports whether the session itself has written exactly this text into a file, by a
// call that was let through as it was. What it was told by others before stays theirs, and
// what the agent made of that nobody's: reading one's own words back changes neither.
func (s *State) Wrote(text string) bool {
	if s == nil || !s.knows(factText, "", 1) {
		return false
	}
	text = bare(text)
	return text != "" && s.knows(factText, text, 1)
}

// Returns reports whether an act brings what a call of this session gave, in which the
// session's own writing can come back.
func Returns(a *act.Action) bool {
	return a.Answers != "" && (a.Kind == act.ToolResult || a.Kind == act.MCPResponse)
}

// own reports whether all that an act brings is what the session has written itself.
func (s *State) own(a *act.Action) bool {
	return Returns(a) && len(a.Content) > 0 && !slices.ContainsFunc(a.Content, func(l act.Leaf) bool { return l.Text != "" && !s.Wrote(l.Text) })
}

// bare is a text as it was written: without the numbers that tools which show files put
// before its lines, if all lines have one, and without the white space around it.
func bare(text string) string {
	text = strings.TrimSpace(text)
	next, begins := 0, text
	var b strings.Builder
	for line := range strings.Lines(text) {
		number, rest, found := cutNumber(line)
		if !found || next != 0 && number != next {
			return begins
		}
		next = number + 1
		b.WriteString(rest)
	}
	return strings.TrimSpace(b.String())
}

// cutNumber parts a line from the number before it.
func cutNumber(line string) (number int, rest string, found bool) {
	line = strings.TrimLeft(line, " ")
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits == 0 || digits > 7 {
		return 0, "", false
	}
	number, _ = strconv.Atoi(line[:digits])
	for _, mark := range []string{"\t", "→", ": ", "| ", ":", "|"} {
		if rest, found = strings.CutPrefix(line[digits:], mark); found {
			return number, rest, true
		}
	}
	return 0, "", false
}

// copied adds that a file is a copy of another.
func (s *State) copied(st *Step, from, to string) {
	if from == "" || to == "" || from == to || len(st.facts) > maxFacts {
		return
	}
	if origin := s.origin(from); origin != s.origin(to) {
		st.facts = append(st.facts, factOf(factCopy, to, relates), origin)
	}
	if s.knows(factHolds, from, 1) {
		st.facts = append(st.facts, factOf(factHolds, to, 1))
	}
}

// Written is how grave it would be to run a file that the session wrote, with what it takes in, by
// its name, or any of the files that a pattern stands for.
func (s *State) Written(name string) float64 {
	looked := 0
	return weights[s.work().runs(factOf(factRuns, name, 0), 0, &looked)]
}

// runs is how grave it would be to run a file, with what it takes in.
func (s *State) runs(file uint64, depth int, looked *int) uint64 {
	tier := s.tierAt(file)
	if depth > 8 {
		return tier
	}
	for i := range maxTakes {
		if *looked++; *looked > 256 {
			return tier
		}
		taken, ok := s.other(takenBy(file, i))
		if !ok || taken == 0 {
			break
		}
		tier = max(tier, s.runs(taken, depth+1, looked))
	}
	return tier
}

// WroteTo reports whether the session has written to a file of this name, and brought nothing of
// it from elsewhere: who reads it on the disk knows what it is. What was brought nobody has
// looked at, whatever a look at it would find. Of a pattern, as hazard.Patterns has them, it
// reports whether the session has written to any file that it stands for.
func (s *State) WroteTo(name string) bool { return s.work().knows(factWrote, name, 1) }

// OwnWork reports whether the session itself has written to a file of this name, or of this pattern, as far as it
// remembers that: else another session of its work has.
func (s *State) OwnWork(name string) bool {
	return s.shared == nil || s.knows(factWrote, name, 1) || s.knows(factWrote, name, 2)
}

// whose is the tier of factWrote that a file has once it is written; keeps says that it still
// holds what it held before.
func (s *State) whose(f hazard.File, keeps bool) uint64 {
	brought := f.Copy == "" && f.Text == "" && !f.Changed
	if brought || f.Copy != "" && s.work().knows(factWrote, f.Copy, 2) || keeps && s.work().knows(factWrote, f.Name, 2) {
		return 2
	}
	return 1
}

// Inside is how grave it would be to run what stands in such a file, or is made of it.
func (s *State) Inside(name string) float64 {
	return max(s.weighs(factInside, name), s.Written(name))
}

func (s *State) weighs(class byte, name string) float64 {
	return weights[s.work().tierAt(factOf(class, name, 0))]
}

// weights are what tiers come to.
var weights = [tiers]float64{1: 0.45, 2: 0.85}

// tierAt is the tier of a fact's name, or the gravest of the files that it stands for.
func (s *State) tierAt(fact uint64) uint64 {
	switch {
	case s.find(fact|2) != nil:
		return 2
	case s.find(fact|1) != nil:
		return 1
	}
	switch n, _ := s.other(fact | relates); {
	case n>>32 > 0:
		return 2
	case n > 0:
		return 1
	}
	return 0
}

// kindOfNotice is what a notice says was there, by its last word: a model that was shown
// [GitHub token removed] and writes [token removed] means the same.
func kindOfNotice(notice string) string {
	words := strings.Fields(strings.Trim(notice, "[]"))
	if n := len(words); strings.HasPrefix(notice, "[") && notice != risk.DroppedBy && n > 1 {
		return words[n-2]
	}
	return notice
}

// noticeIn is a notice in a text that stands for what was masked in this session, and the
// text in the form in which it stands there: as it is, as a person sees it, or without its
// escapes; empty for none.
func (s *State) noticeIn(text string) (notice, form string) {
	forms := append(make([]string, 0, 3), text, canon.Visible(text))
	if strings.ContainsAny(text, `%&\`) {
		spaced := text
		if strings.Contains(text, "%") { // a form's values write a space so
			spaced = strings.ReplaceAll(text, "+", " ")
		}
		forms = append(forms, risk.Unescaped(spaced))
	}
	for _, form := range forms {
		for _, notice := range risk.Notices(strings.ToLower(form), nil) {
			if s.find(hash('n', kindOfNotice(notice))) != nil || s.find(hash('n', notice)) != nil {
				return notice, form
			}
		}
	}
	return "", ""
}

// pieces is a notice that a text puts together as it runs, or as an edit changes it, as far as
// nothing stands between the pieces but signs: quotes, dots, places of a format. It is looked for
// in what goes into the file of which something was masked, where few words stand in brackets.
func (s *State) pieces(text string) (notice string) {
	const longest, most = 64, 1024
	signs := func(r rune) rune {
		if r == '[' || r == ']' || unicode.IsLetter(r) {
			return r
		}
		return -1
	}
	rest := strings.Map(signs, strings.ToLower(canon.Visible(text)))
	for range most {
		_, after, found := strings.Cut(rest, "[")
		if !found {
			return ""
		}
		rest = after
		in, _, closed := strings.Cut(rest[:min(len(rest), longest)], "]")
		name, removed := strings.CutSuffix(in, "removed")
		for i := range name {
			if closed && removed && s.find(hash('n', name[i:])) != nil {
				return "[" + name[i:] + " removed]"
			}
		}
	}
	return ""
}

func (s *State) hasNotice(text string) bool {
	notice, _ := s.noticeIn(text)
	return notice != ""
}

// suspects is a quick look for what an act needs in one of its texts to write back what was
// masked: a notice, what may be one in Base64, or the name of a file that holds one, or of which
// something was masked: what a call writes there is read as far as it is known.
func (s *State) suspects(a *act.Action) bool {
	for i := range a.Content {
		text := a.Content[i].Text
		if s.hasNotice(text) {
			return true
		}
		if len(text) > 4096 && strings.ContainsAny(text[:4096], " \n") {
			continue
		}
		if len(text) > 16 && (strings.Contains(text, "base64") || !strings.ContainsAny(text[:16], " ./-")) {
			return true
		}
		for _, path := range hazard.Names(text) {
			if name := nameOfFile(path); name != "" && (s.knows(factHolds, name, 1) || s.mayMask(path)) {
				return true
			}
		}
	}
	return false
}

// isValue reports whether a notice stands in a text as a value, or as a part of one, and
// not as a word among others: by itself, behind a name, in a member of JSON, in an address.
func isValue(text, notice string) bool {
	if doc, err := rawjson.Parse([]byte(text)); err == nil && doc.Root().Kind() != rawjson.String {
		for v := range doc.Root().Strings() {
			if isValue(v.Text(), notice) {
				return true
			}
		}
		return false
	}
	for line := range strings.Lines(strings.ToLower(canon.Visible(text))) {
		before, after, found := strings.Cut(line, notice)
		if !found {
			continue
		}
		if i := strings.LastIndexAny(before, "=:"); i >= 0 && !strings.ContainsAny(strings.TrimSpace(before[:i]), " \t") {
			before = before[i+1:] // behind a name
		}
		if !strings.ContainsAny(strings.TrimSpace(before), " \t") && !strings.ContainsAny(strings.TrimSpace(after), " \t") {
			return true
		}
	}
	return false
}

// writtenBack looks in what a call writes or runs for the notices that stand, in what this
// session was shown, for what was masked. Written over the original they destroy it,
// and an edit that looks for one finds nothing. In another file they are words.
func (c *checker) writtenBack() {
	if !c.a.IsCall() || !c.s.masked {
		return
	}
	s := c.s
	if !s.suspects(c.a) {
		return
	}
	any := s.forgets() || s.knows(factMasked, "", 1)
	puts, copies := hazard.Puts(c.a.Canonical, c.a.Content)
	for _, p := range puts {
		notice, form := s.noticeIn(p.Text)
		into := func(f string) bool { return s.mayMask(f) && s.masksIn(c.a, f) }
		if notice == "" && !p.Value && slices.ContainsFunc(p.Files, s.mayMask) {
			if notice = s.pieces(p.Text); !slices.ContainsFunc(p.Files, into) {
				continue
			}
		}
		if p.Value {
			if notice != "" && isValue(form, notice) {
				c.add("mask.written_back", p.Pointer, "%s stands for something that was masked when it was read. Given as a value, it may take the place of that. Leave the masked value out, and change only the others.", quote(notice))
			}
			continue
		}
		if notice == "" || !any && !p.Anywhere && !slices.ContainsFunc(p.Files, func(f string) bool { return s.masksIn(c.a, f) }) {
			continue
		}
		if p.Old {
			c.add("mask.written_back", p.Pointer, "The edit looks for %s, which stands in what was shown and not in the file, so it finds nothing. Look for a line without it.", quote(notice))
			continue
		}
		c.add("mask.written_back", p.Pointer, "%s stands for something that was masked when it was read. Written back, it would destroy that. Write only the changed lines, and leave the masked place untouched.", quote(notice))
	}
	for _, pair := range copies {
		if from := nameOfFile(pair[0]); from != "" && s.knows(factHolds, from, 1) && s.masksIn(c.a, pair[1]) {
			c.add("mask.written_back", "", "%s holds what was shown with something masked, and would take the place of the original. Change only the lines of the original that are to change.", quote(pair[0]))
			break
		}
	}
}
