package effects

// Code is parsed into one small tree, which is walked for what it does. The tree has what
// effects need and nothing else: what the languages say of types, of scopes and of errors is
// not in it.

// node is an expression.
type node struct {
	kind nodeKind
	text string  // a name, a string's text, an operator, the attribute that is taken
	kids []*node // what it is made of; of a call first what is called
	// Of a call, the names of the arguments: of kids[1:], empty where one has none. Of an
	// object its keys, of a function its parameters.
	names []string
	body  []*statement // of a function
}

type nodeKind uint8

const (
	anything nodeKind = iota // nothing is known of it but what is in it
	literal                  // a text
	octets                   // a text of bytes
	number
	name
	attribute  // kids[0].text
	call       // kids[0](kids[1:])
	index      // kids[0][kids[1]]
	cut        // kids[0][kids[1]:kids[2]:kids[3]], nil where nothing stands
	list       // also a tuple
	object     // a dict; of names to kids
	joined     // kids as one text: an f-string, a template
	binary     // kids[0] text kids[1]
	function   // of names, with a body
	collection // a comprehension: of kids[0] for kids[1] in kids[2]
	spread     // *kids[0]
)

// statement is a statement: what it evaluates, and what it binds to it.
type statement struct {
	kind    statementKind
	targets []*node
	value   *node
	body    []*statement
	names   []string // what an import binds, as pairs of the name and what it stands for
	again   bool     // its body may run more than once
}

type statementKind uint8

const (
	evaluate statementKind = iota
	assign
	extend   // +=
	imports  //
	within   // a block: its value, and then its body
	repeated // its body for each of value, bound to targets
	returned
)

// Bounds of reading code.
const (
	maxCode    = 256 << 10 // bytes that are parsed
	maxNesting = 60        // of expressions, and of blocks
	maxNodes   = 400_000
	maxSteps   = 400_000 // nodes that are evaluated, those of functions as often as they are called
	maxCalls   = 6       // of functions within each other
	maxAlike   = 8       // calls of one function with what is not known
	maxRounds  = 8       // of a loop in another
	maxOuter   = 256     // of one that is in none
	maxLines   = 200
	maxText    = 8 << 10 // bytes of one value
	maxParts   = 64
	maxItems   = 1024 // of one list
	maxName    = 256  // bytes of what a module's function is called
	maxStars   = 16   // modules all of whose names are taken
	maxScript  = 48 << 10
)

func one(kind nodeKind, text string, kids ...*node) *node {
	return &node{kind: kind, text: text, kids: kids}
}
