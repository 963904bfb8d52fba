package policy

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
)

// detector is a detector that a document brings along, before all of them have their bits.
type detector struct {
	risk.Own
	at          *node
	description string
	find, leave []*node // examples
}

var (
	detectorKeys = []string{"name", "description", "pattern", "check", "near", "within", "weight", "mask", "examples"}
	exampleKeys  = []string{"find", "leave"}

	maskPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 -]{0,39}$`)
)

// checkOfDetector are the names of the checks that a value can have to pass.
var checkOfDetector = []string{"iban", "luhn", "mod11", "mod97", "verhoeff"}

const (
	detectorForm   = "write each detector as - {name: staff-number, pattern: 'E[0-9]{6}'}"
	maxNear        = 100
	defaultWithin  = 80 // bytes before and behind what was found
	mostWithin     = 1000
	detectorWeight = 0.7
	maxExamples    = 1000
)

// readDetector reads a detector that a document brings along.
func (d *document) readDetector(n *node) {
	if n.Kind != rawjson.Object {
		d.at(n, detectorForm, "a detector is a mapping, not %s", n.Is())
		return
	}
	d.known(n, detectorKeys, "a detector")
	x := &detector{at: n, Own: risk.Own{Weight: detectorWeight, Within: defaultWithin}}
	x.description = d.textOf(n.Get("description"), "description")
	if x.Name = d.textOf(n.Get("name"), "name"); !codePattern.MatchString(x.Name) || len(x.Name) > 64 {
		d.at(n, "use lower-case words joined by . _ or -", "%q cannot be a detector's name", x.Name)
	} else if slices.Contains(detectorNames, x.Name) {
		d.at(n.Get("name"), "choose another", "there is a built-in detector %q", x.Name)
	}
	d.readPattern(x, n)
	for _, w := range d.words(n.Get("check"), "check") {
		check := risk.Checks[w.Text]
		if check == nil {
			d.at(w, didYouMean(w.Text, checkOfDetector), "there is no check %q of a value", w.Text)
			continue
		}
		x.Checks = append(x.Checks, check)
	}
	for _, w := range d.words(n.Get("near"), "near") {
		if len(w.Text) > 100 || len(x.Near) == maxNear {
			d.at(w, "", "near has at most %d words of 100 bytes", maxNear)
			break
		}
		x.Near = append(x.Near, lowerWord(w.Text))
	}
	if v := n.Get("within"); v != nil {
		if i, err := strconv.Atoi(v.Text); v.Kind != rawjson.Number || err != nil || i < 1 || i > mostWithin || x.Near == nil {
			d.at(v, "it says how many bytes from it one of near may stand", "within is a number from 1 to %d, beside near", mostWithin)
		} else {
			x.Within = i
		}
	}
	if v := n.Get("weight"); v != nil {
		f, err := strconv.ParseFloat(v.Text, 64)
		if v.Kind != rawjson.Number || err != nil || f <= 0 || f > 1 {
			d.at(v, "0.9 is what is surely a secret, 0.3 an example", "weight is a number above 0, at most 1")
		}
		x.Weight = f
	}
	x.Says = strings.NewReplacer("-", " ", "_", " ", ".", " ").Replace(x.Name)
	if v := n.Get("mask"); v != nil {
		if x.Says = v.Text; v.Kind != rawjson.String || !maskPattern.MatchString(v.Text) {
			d.at(v, "such as staff number, for [staff number removed]", "mask is what the notice says was there: letters, digits, spaces and -")
		}
	}
	if v := n.Get("examples"); v != nil {
		d.known(v, exampleKeys, "examples")
		x.find, x.leave = d.words(v.Get("find"), "find"), d.words(v.Get("leave"), "leave")
	}
	if x.find == nil || len(x.find)+len(x.leave) > maxExamples {
		d.at(n, "add examples: {find: [\"a text that holds one\"], leave: [\"a text that holds none\"]}", "a detector has at least one example of what it finds, and at most %d examples", maxExamples)
	}
	d.detectors = append(d.detectors, x)
}

func (d *document) readPattern(x *detector, n *node) {
	v := n.Get("pattern")
	if v == nil || v.Kind != rawjson.String || v.Text == "" {
		d.at(n, detectorForm, "the detector has no pattern")
		return
	}
	if _, problem, hint := patternFault(v.Text); problem != "" {
		d.at(v, hint, "the pattern cannot be used: %s", problem)
		return
	}
	re, err := regexp.Compile(v.Text)
	if err != nil {
		d.at(v, "", "the pattern cannot be used: %v", err)
		return
	}
	if tree, err := syntax.Parse(v.Text, syntax.Perl); err == nil && re.NumSubexp() > 1 {
		d.at(v, "write (?:…) for the others", "the pattern has %d groups, and the first is what it finds", tree.MaxCap())
	}
	if re.MatchString("") {
		d.at(v, "leave no part of it out that makes it match something", "the pattern matches where nothing stands")
		return
	}
	x.Pattern = re
}

// lowerWord is a word as texts are compared with it: ASCII in lower case.
func lowerWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

// settleDetectors gives the detectors of all documents their bits, and tries their
// examples: a detector that does not do what is said of it is a fault of the policy.
func (s *Set) settleDetectors(docs []*document) {
	seen := map[string]string{}
	for _, d := range docs {
		for _, x := range d.detectors {
			if where, ok := seen[x.Name]; ok {
				d.at(x.at, "", "the detector %q is also defined in %s", x.Name, where)
				continue
			}
			seen[x.Name] = fmt.Sprintf("%s:%d", d.file, x.at.Line)
			if len(s.detectors.Own) == risk.MaxOwn {
				d.at(x.at, "", "there are more than %d detectors", risk.MaxOwn)
				return
			}
			x.Bit = risk.OwnBit(len(s.detectors.Own))
			s.detectors.Own = append(s.detectors.Own, x.Own)
			s.ownDetectors = append(s.ownDetectors, DetectorInfo{Name: x.Name, Finds: x.description, File: d.file, Line: x.at.Line, Examples: len(x.find) + len(x.leave)})
			if x.Pattern != nil {
				d.tryExamples(x)
			}
		}
	}
}

func (d *document) tryExamples(x *detector) {
	only := risk.Scanner{Own: []risk.Own{x.Own}}
	for _, n := range x.find {
		found := only.Scan(n.Text, x.Bit, nil)
		if len(found) == 0 {
			d.at(n, "mend the pattern, its checks or the words of near, or take the example away", "the detector %s finds nothing in this example", x.Name)
		} else if masked := risk.Mask(n.Text, found); len(only.Scan(masked, x.Bit, nil)) > 0 {
			d.at(n, "have the pattern not match its own notice", "the detector %s finds something in %q, which is left when it has masked this example", x.Name, masked)
		}
	}
	for _, n := range x.leave {
		if found := only.Scan(n.Text, x.Bit, nil); len(found) > 0 {
			d.at(n, "mend the pattern, its checks or the words of near, or take the example away", "the detector %s finds %q in an example that it should leave", x.Name, n.Text[found[0].Start:found[0].End])
		}
	}
}

// readDetect gives a rule a detector by its name.
func (s *Set) readDetect(d *document, p pending) {
	bit, ok := s.detectorOf(p.node.Text)
	if !ok {
		d.at(p.node, didYouMean(p.node.Text, s.detectorNames()), "there is no detector %q", p.node.Text)
	}
	p.rule.detect |= bit
}

// detectorOf is a detector, or a group of them, by its name.
func (s *Set) detectorOf(name string) (risk.Detector, bool) {
	for _, o := range s.detectors.Own {
		if o.Name == name {
			return o.Bit, true
		}
	}
	return risk.ParseDetector(name)
}

func (s *Set) detectorNames() []string {
	names := slices.Clone(detectorNames)
	for _, o := range s.detectors.Own {
		if !slices.Contains(names, o.Name) { // its own fault is told elsewhere
			names = append(names, o.Name)
		}
	}
	return names
}

// nameOf is the names of a set of detectors.
func (s *Set) nameOf(bits risk.Detector) string {
	var names []string
	if built := bits.String(); built != "" {
		names = append(names, built)
	}
	for _, o := range s.detectors.Own {
		if bits&o.Bit != 0 {
			names = append(names, o.Name)
		}
	}
	return strings.Join(names, ",")
}

// DetectorInfo describes a detector that rules can name.
type DetectorInfo struct {
	Name     string `json:"name"`
	Finds    string `json:"finds"`
	File     string `json:"file"` // that brings it along; empty for a built-in one
	Line     int    `json:"line"`
	Examples int    `json:"examples"`
}

// Detectors lists every detector that rules of the set can name: the built-in ones, then
// those that its documents bring along.
func (s *Set) Detectors() []DetectorInfo {
	var list []DetectorInfo
	for _, d := range risk.Detectors {
		list = append(list, DetectorInfo{Name: d.Name, Finds: d.Finds})
	}
	return append(list, s.ownDetectors...)
}

// detectorNames are the built-in detectors and their groups.
var detectorNames = func() (names []string) {
	for _, d := range risk.Detectors {
		names = append(names, d.Name)
	}
	return append(names, "pii", "all")
}()

// everyDetector is all of them.
func (s *Set) everyDetector() risk.Detector {
	all := risk.Detector(risk.All)
	for _, o := range s.detectors.Own {
		all |= o.Bit
	}
	return all
}
