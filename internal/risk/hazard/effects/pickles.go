package effects

import (
	"slices"
	"strconv"
	"strings"
)

// Pickles are programs of a machine of their own: they name functions, put together what these are given, and
// call them. They are read here as that machine runs them.

// objectLoaders are the functions that make objects of what lies at a place, and not of an open file or a text.
var objectLoaders = wordSet("joblib.load torch.load pandas.read_pickle shelve.open numpy.load")

// loadsObjects reports whether a call makes objects that may do anything: some do so only where they are told.
func loadsObjects(d deed) bool {
	switch d.what {
	case "torch.load": // which by itself takes nothing but weights
		told := d.option("weights_only")
		return told != nil && told != nothing && !truth(told)
	case "numpy.load":
		return truth(d.option("allow_pickle"))
	}
	return true
}

// pickled does what a text of objects has called. read says that all of it was understood.
func (w *walker) pickled(s string, depth int) (read bool) {
	s = latin1(s)
	var stack []*value
	memo := map[string]*value{}
	marks := []int{}
	pop := func() *value {
		if len(stack) == 0 {
			return nothing
		}
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return v
	}
	push := func(v *value) { stack = append(stack, v) }
	marked := func() []*value { // all that stands behind the last mark
		from := 0
		if len(marks) > 0 {
			from = min(marks[len(marks)-1], len(stack))
			marks = marks[:len(marks)-1]
		}
		all := slices.Clone(stack[from:])
		stack = stack[:from]
		return all
	}
	at := 0
	take := func(n int) string {
		if n < 0 || n > len(s)-at {
			n, read = len(s)-at, false
		}
		at += n
		return s[at-n : at]
	}
	one := func() byte {
		b := take(1)
		if b == "" { // it ends before what it announces
			return 0
		}
		return b[0]
	}
	line := func() string {
		l, _, _ := strings.Cut(s[at:], "\n")
		at = min(at+len(l)+1, len(s))
		return strings.TrimSuffix(l, "\r")
	}
	counted := func(bytes int) string { // a text behind its length
		n := 0
		for i, b := range []byte(take(bytes)) { // the least first
			if n += int(b) << (8 * min(i, 3)); n > len(s) {
				read = false
				return ""
			}
		}
		return take(n)
	}
	tuple := func(n int) *value {
		items := make([]*value, n)
		for i := n - 1; i >= 0; i-- {
			items[i] = pop()
		}
		return &value{of: "list", items: items}
	}
	named := func(of, name string) *value { return &value{what: module(of + "." + name)} }
	called := func(f *value, args []*value) *value {
		v, _ := w.apply(f, arguments{at: args}, depth)
		if v == nil {
			v = nothing
		}
		return v
	}
	read = true
	for steps := 0; read && at < len(s) && steps < maxSteps/8 && w.steps < maxSteps; steps++ {
		w.steps++
		switch order := one(); order {
		case '.':
			return true
		case '(':
			marks = append(marks, len(stack))
		case 'c':
			of := line()
			push(named(of, line()))
		case '\x93':
			name, _ := pop().known()
			of, _ := pop().known()
			push(named(of, name))
		case 'S':
			l := line()
			push(text(Unescape(strings.Trim(l, `'"`))))
		case 'V':
			push(text(Unescape(line())))
		case 'I', 'L', 'F':
			push(&value{of: "number", parts: []part{{said, strings.TrimSuffix(line(), "L")}}})
		case '\x8c', 'U', 'C':
			push(text(counted(1)))
		case 'X', 'T', 'B':
			push(text(counted(4)))
		case '\x8d', '\x8e':
			push(text(counted(8)))
		case 'K':
			push(count(int64(one())))
		case 'M':
			take(2)
			push(nothing)
		case 'J':
			take(4)
			push(nothing)
		case 'G':
			take(8)
			push(nothing)
		case '\x8a':
			counted(1)
			push(nothing)
		case 'N', '\x88', '\x89':
			push(nothing)
		case 't', 'l':
			push(&value{of: "list", items: marked()})
		case ')', ']':
			push(&value{of: "list", items: []*value{}})
		case '\x85', '\x86', '\x87':
			push(tuple(int(order) - 0x84))
		case 'd':
			marked()
			push(nothing)
		case '}', '\x8f':
			push(&value{of: "list", items: []*value{}})
		case 'a':
			v, on := pop(), pop()
			push(&value{of: "list", items: w.extended(slices.Clip(on.items), []*value{v})})
		case 'e', '\x90':
			all := marked()
			on := pop()
			push(&value{of: "list", items: w.extended(slices.Clip(on.items), all)})
		case 's':
			pop()
			pop()
		case 'u':
			marked()
		case 'R', '\x81':
			args, f := pop(), pop()
			push(called(f, args.items))
		case 'i':
			of := line()
			f := named(of, line())
			push(called(f, marked()))
		case 'o':
			all := marked()
			if len(all) > 0 {
				push(called(all[0], all[1:]))
			}
		case '\x92':
			pop()
			args, f := pop(), pop()
			push(called(f, args.items))
		case 'b', '0':
			pop()
		case '1':
			marked()
		case '2':
			v := pop()
			push(v)
			push(v)
		case 'p', 'q', 'r', '\x94':
			key := strconv.Itoa(len(memo))
			switch order {
			case 'p':
				key = line()
			case 'q':
				key = strconv.Itoa(int(one()))
			case 'r':
				take(4)
			}
			if len(stack) > 0 {
				memo[key] = stack[len(stack)-1]
			}
		case 'g', 'h', 'j':
			key := ""
			switch order {
			case 'g':
				key = line()
			case 'h':
				key = strconv.Itoa(int(one()))
			default:
				take(4)
			}
			if v := memo[key]; v != nil {
				push(v)
			} else {
				push(nothing)
			}
		case '\x80':
			take(1)
		case '\x95':
			take(8)
		case '\n', '\r', ' ':
		default:
			return false
		}
	}
	return read && at == len(s)
}

// latin1 are the bytes of a text whose characters stand for one each.
func latin1(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xff {
			return s
		}
		b.WriteByte(byte(r))
	}
	return b.String()
}
