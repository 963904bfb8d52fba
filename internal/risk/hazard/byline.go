package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Clients of stores do what stands in a file, or comes in, line by line: each line is as if it stood behind the
// client's name.

// orderedBy is how a client is told its orders by lines: behind a verb, where it needs one, in what comes in, or in the
// file that stands behind that verb.
type orderedBy struct{ verb, takes string }

// zookeepers are the names of ZooKeeper's client.
var zookeepers = set("zkCli.sh zkCli zkcli zookeeper-shell zookeeper-shell.sh")

// byLines are such clients, with the options that take the next word.
var byLines = func() map[string]orderedBy {
	clients := map[string]orderedBy{
		"etcdctl": {"txn", "--endpoints --cacert --cert --key --user --password --dial-timeout --command-timeout"},
		"s5cmd":   {"run", "--endpoint-url --profile --credentials-file --numworkers --retry-count --log"},
	}
	for _, name := range strings.Fields("redis-cli valkey-cli keydb-cli") {
		clients[name] = orderedBy{takes: "-h -p -s -a -u -n -r -i -t -d -D --user --pass --cacert --cert --key --sni"}
	}
	for name := range zookeepers {
		clients[name] = orderedBy{takes: "-server -timeout -client-configuration"}
	}
	return clients
}()

// maxOrders is how many lines of orders are read.
const maxOrders = 256

// doesLines judges the orders that a client of a store is given line by line.
func (c *invocation) doesLines() {
	by, ok := byLines[c.name]
	if !ok || c.wrap > maxStarts {
		return
	}
	own, plain := c.args, []flow{}
	for i, a := range c.args {
		if !strings.HasPrefix(a.text, "-") && (i == 0 || !listed(by.takes, c.args[i-1].text)) {
			if len(plain) == 0 {
				own = c.args[:i]
			}
			plain = append(plain, a)
		}
	}
	orders := c.in
	switch {
	case by.verb == "" && zookeepers[c.name] && len(plain) == 1 && strings.Contains(plain[0].text, ":"): // zookeeper-shell host:port
	case by.verb == "" && len(plain) > 0, by.verb != "" && (len(plain) == 0 || plain[0].text != by.verb):
		return
	case by.verb == "run" && len(plain) > 1:
		orders, _ = c.getFile(plain[1].text)
	}
	if !orders.known || orders.text == "" || len(orders.text) > 64<<10 {
		return
	}
	n := 0
	for line := range strings.Lines(orders.text) {
		words := quotedItems(strings.TrimSpace(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "*") {
			continue
		}
		if n++; n > maxOrders {
			return
		}
		call := append([]flow{{text: c.name, known: true}}, own...)
		for _, w := range words {
			call = append(call, flow{text: w, known: true})
		}
		c.invoke(call, flow{}, c.wrap+1)
	}
}

// sources is how a client of a database is told, in a query, to do what stands in a file.
var sources = lazyregexp.New(`(?i)(?:^|[\s;'"])(?:source\s+|\\ir?\s+|\\\.\s+|\.read\s+|:r\s+)['"]?([^\s'";]+)`)

// doesFiles judges the queries in the files that a client of a database is told of, where it is known what stands there.
func (c *invocation) doesFiles() {
	if !sqlOfHere[c.name] && !sqlClients[c.name] && !listed("sqlite3 duckdb mycli pgcli litecli sqlplus", c.name) {
		return
	}
	var files []string
	for _, v := range c.valueOf("-f", "--file", "-i", "--input-file", "--queries-file") {
		files = append(files, v.text)
	}
	for _, text := range append(plainWords(c.args), c.in.text) {
		for _, named := range sources.FindAllStringSubmatch(text[:min(len(text), maxLoose)], 16) {
			files = append(files, named[1])
		}
	}
	if sqlClients[c.name] && c.in.known && isSQL(c.in.text) {
		c.sql(c.in.text, c.at)
	}
	done := []string{}
	for _, file := range files {
		if slices.Contains(done, file) {
			continue
		}
		done = append(done, file)
		c.watchedFile(file, false, flow{})
		if said, ok := c.getFile(file); ok && said.known && isSQL(said.text) {
			c.sql(said.text, c.at)
		}
	}
}
