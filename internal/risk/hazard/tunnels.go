package hazard

import (
	"slices"
	"strings"
)

// A port of this machine that one call makes lead to another one is the other's for all calls
// after it: what seems to be a database of tests may be anybody's.

// AnyPort stands for a port that is not known, or is one that programs take where none is named.
const AnyPort = "*"

// Bounds of the ports that are looked for in one call.
const (
	maxPorts    = 32
	maxPortText = 16 << 10 // bytes of a text
)

// defaultPorts are those that clients of databases and brokers take by themselves.
var defaultPorts = set("1433 1521 2379 3306 5432 5672 6379 8086 8123 9042 9200 11211 26257 27017")

// leadsElsewhere notes the ports that the command makes lead to another machine.
func (c *invocation) leadsElsewhere() {
	if c.inLocalCluster() {
		return
	}
	ports := 0
	for i, a := range c.args {
		before := ""
		if i > 0 {
			before = c.args[i-1].text
		}
		if !a.known || !strings.ContainsAny(a.text, ":=") && !listed("-L -D -p --port --local-port --local-host-port", before) && !strings.HasPrefix(a.text, "-L") && !strings.HasPrefix(a.text, "-D") && !isPort(a.text) {
			continue
		}
		text := strings.TrimPrefix(strings.TrimPrefix(a.text, "-L"), "-D")
		if found := portsIn(text, 1); found != nil {
			ports++
			c.tunnelTo(found[0])
		}
	}
	if ports == 0 {
		c.tunnelTo(AnyPort)
	}
}

func (a *assessor) tunnelTo(port string) {
	if defaultPorts[port] {
		port = AnyPort
	}
	if !slices.Contains(a.tunnels, port) && len(a.tunnels) < maxPorts {
		a.tunnels = append(a.tunnels, port)
	}
}

// portsIn are the first numbers in a text that may be ports.
func portsIn(text string, most int) (ports []string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if len(ports) >= most {
			break
		}
		word = strings.TrimLeft(word, "-pP")
		if isPort(word) && !slices.Contains(ports, word) {
			ports = append(ports, word)
		}
	}
	return ports
}

func isPort(word string) bool {
	return len(word) >= 2 && len(word) <= 5 && strings.Trim(word, "0123456789") == ""
}

// mayBeLocal is a quick look whether a call may reach a port of this machine: it runs something.
func mayBeLocal(c *call) bool {
	return slices.ContainsFunc(c.leaves, func(l leaf) bool { return l.role == roleCommand })
}
