// Cluster runs nodes on one PostgreSQL behind a load balancer, lets agents ask, and kills
// nodes and the database meanwhile. At the end it looks for every decision that an agent
// was given an answer of: none may be lost. See README.md.
//
//	DATABASE_URL=postgres://user:password@localhost/reeve go run ./examples/cluster
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	c := &cluster{database: os.Getenv("DATABASE_URL")}
	flag.StringVar(&c.reeve, "reeve", "reeve", "the program")
	flag.IntVar(&c.size, "nodes", 3, "how many nodes")
	flag.IntVar(&c.agents, "agents", 12, "how many agents ask at once")
	flag.DurationVar(&c.lasts, "for", 30*time.Second, "for how long")
	flag.DurationVar(&c.pause, "kill-every", 4*time.Second, "how often a node is killed")
	flag.StringVar(&c.crash, "crash-database", "", "a command that kills the database, which starts again by itself or by the command; run once, in the middle")
	flag.Parse()
	if c.database == "" {
		fmt.Fprintln(os.Stderr, "DATABASE_URL has to be the URL of an empty PostgreSQL database")
		os.Exit(2)
	}
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// cluster is nodes, a load balancer before them, and agents.
type cluster struct {
	reeve, database, crash string
	size, agents           int
	lasts, pause           time.Duration

	dir   string
	key   string // the agents'
	given string // the same, as nodes are given it
	nodes []*node
	url   string // the balancer's

	mu       sync.Mutex
	answered map[string]string // effects, by the decision's id
	failed   atomic.Int64      // asks that an agent got no answer to
	retried  atomic.Int64      // that the balancer asked another node for
	kills    int
}

func (c *cluster) run(ctx context.Context) (err error) {
	if c.dir, err = os.MkdirTemp("", "cluster"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	// Nodes that share a database have one seed, and here one key, by their configuration.
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	if err := os.WriteFile(filepath.Join(c.dir, "seed"), fmt.Appendf(nil, "%x", seed), 0o600); err != nil {
		return err
	}
	var made struct{ Secret, Setting string }
	text, err := c.command("keys", "generate", "agents", "--json")
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	c.key, c.given, c.answered = made.Secret, made.Setting, map[string]string{}
	for i := range c.size {
		n := &node{cluster: c, name: fmt.Sprint("node-", i)}
		if n.address, err = freeAddress(); err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
		if err := n.start(); err != nil {
			return err
		}
		defer n.kill()
	}
	for _, n := range c.nodes {
		if err := n.await(ctx, time.Minute); err != nil {
			return err
		}
	}
	stop, err := c.balance()
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%d nodes are ready behind %s\n", c.size, c.url)

	asking, end := context.WithTimeout(ctx, c.lasts)
	defer end()
	var agents sync.WaitGroup
	for i := range c.agents {
		agents.Go(func() { c.ask(asking, i) })
	}
	c.harm(asking)
	agents.Wait()
	for _, n := range c.nodes {
		if err := n.await(ctx, time.Minute); err != nil {
			return err
		}
	}
	return c.count()
}

// harm kills a node now and then, and in the middle the database.
func (c *cluster) harm(ctx context.Context) {
	middle := time.After(c.lasts / 2)
	tick := time.NewTicker(c.pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-middle:
			if c.crash == "" {
				continue
			}
			fmt.Println("── the database is killed ──")
			if out, err := exec.Command("/bin/sh", "-c", c.crash).CombinedOutput(); err != nil {
				fmt.Printf("that failed: %v: %s\n", err, out)
			}
		case <-tick.C:
			n := c.nodes[rand.IntN(len(c.nodes))]
			fmt.Printf("── %s is killed ──\n", n.name)
			n.kill()
			c.kills++
			if err := n.start(); err != nil { // at once, as a supervisor would
				fmt.Println(err)
			}
		}
	}
}

// ask asks as one agent, step after step, until ctx ends.
func (c *cluster) ask(ctx context.Context, agent int) {
	client := &http.Client{Timeout: 30 * time.Second}
	for step := 0; ctx.Err() == nil; step++ {
		body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%[1]d,"method":"steps/toolCallRequest","params":{"context":{"agent":{"name":"Clerk %[2]d","id":"clerk-%[2]d","instructions":"Look things up.","version":"1","provider":{"name":"Birch","url":"https://birch.example"}},"session":{"id":"s-%[2]d"},"turnId":"t","stepId":"%[1]d","timestamp":%[3]q,"user":{"id":"u","organization":{"id":"birch"}}},"toolCallRequest":{"toolId":"catalogue.search","executionId":"e%[1]d","inputs":[{"name":"title","value":"Gardens %[1]d"}]}}}`,
			step, agent, time.Now().UTC().Format(time.RFC3339Nano))
		r, err := http.NewRequest("POST", c.url, bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.key)
		id, effect, err := decision(client.Do(r))
		if err != nil {
			c.failed.Add(1) // it was told that nothing was decided, and may not act
			time.Sleep(50 * time.Millisecond)
			continue
		}
		c.mu.Lock()
		c.answered[id] = effect
		c.mu.Unlock()
	}
}

// decision reads the answer to a step.
func decision(res *http.Response, err error) (id, effect string, _ error) {
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	var answer struct {
		Result struct {
			Decision string `json:"decision"`
			Data     struct {
				ID string `json:"decision_id"`
			} `json:"data"`
		} `json:"result"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return "", "", err
	}
	if answer.Result.Data.ID == "" {
		return "", "", errors.New("no decision: " + res.Status)
	}
	return answer.Result.Data.ID, answer.Result.Decision, nil
}

// count looks for every decision that was answered in the ledger of all nodes.
func (c *cluster) count() error {
	text, err := c.command("ledger", "export", "--database", "env:DATABASE_URL", "--data", c.nodes[0].data())
	if err != nil {
		return err
	}
	recorded, logs := map[string]string{}, map[string]bool{}
	lines := json.NewDecoder(bytes.NewReader(text))
	for lines.More() {
		var line struct {
			ID     string `json:"decision_id"`
			Record struct {
				Effect string `json:"effect"`
			} `json:"record"`
		}
		if err := lines.Decode(&line); err != nil {
			return err
		}
		recorded[line.ID] = line.Record.Effect
		log, _, _ := strings.Cut(line.ID, "-")
		logs[log] = true
	}
	lost := 0
	for id, effect := range c.answered {
		if recorded[id] != effect {
			lost++
			fmt.Printf("lost: %s was answered with %s, and the ledger has %q\n", id, effect, recorded[id])
		}
	}
	verified, err := c.command("ledger", "verify", "--database", "env:DATABASE_URL", "--data", c.nodes[0].data(), "--ledger-seed", "file:"+filepath.Join(c.dir, "seed"))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, verified)
	}
	nodes, _ := c.command("nodes", "--data", c.nodes[0].data())
	fmt.Printf("\n%s\n%d decisions were answered, %d of them are lost; %d asks had no answer, and nothing was done\n%d nodes were killed; the balancer asked another node %d times; %d logs hold\n",
		nodes, len(c.answered), lost, c.failed.Load(), c.kills, c.retried.Load(), strings.Count(string(verified), " holds: "))
	if lost > 0 || len(c.answered) == 0 {
		return fmt.Errorf("%d of %d decisions are lost", lost, len(c.answered))
	}
	if len(logs) > c.size {
		return fmt.Errorf("%d nodes wrote %d logs", c.size, len(logs))
	}
	return nil
}

func (c *cluster) command(args ...string) ([]byte, error) {
	cmd := exec.Command(c.reeve, args...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

// node is one node, which is killed and started again on its data folder.
type node struct {
	*cluster
	name, address string

	mu      sync.Mutex
	process *exec.Cmd
}

func (n *node) data() string { return filepath.Join(n.dir, n.name) }

func (n *node) start() error {
	log, err := os.OpenFile(n.data()+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(n.reeve, "serve", "--listen", n.address, "--data", n.data(), "--nodes-name", n.name,
		"--database", "env:DATABASE_URL", "--ledger-seed", "file:"+filepath.Join(n.dir, "seed"))
	cmd.Env = append(os.Environ(), "REEVE_KEYS="+n.given)
	cmd.Stdout, cmd.Stderr = log, log
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process = cmd
	return cmd.Start()
}

func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.process.Process.Signal(syscall.SIGKILL)
	_ = n.process.Wait()
}

// ready asks the node what a load balancer asks.
func (n *node) ready() bool {
	client := http.Client{Timeout: time.Second}
	res, err := client.Get("http://" + n.address + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// await waits until the node is ready. One that ended by itself is started again, as a
// supervisor would.
func (n *node) await(ctx context.Context, patience time.Duration) error {
	for end := time.Now().Add(patience); !n.ready(); {
		if time.Now().After(end) || ctx.Err() != nil {
			text, _ := os.ReadFile(n.data() + ".log")
			return fmt.Errorf("%s is not ready:\n%s", n.name, text[max(0, len(text)-2000):])
		}
		if n.process.Process.Signal(syscall.Signal(0)) != nil {
			_ = n.process.Wait()
			if err := n.start(); err != nil {
				return err
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// balance passes requests on to the nodes in turn, to those that are ready, and asks
// another one where a node does not answer. A step that was decided and whose answer was
// lost on the way is answered once more from the ledger, whichever node is asked.
func (c *cluster) balance() (stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.url = "http://" + l.Addr().String()
	var ready sync.Map // by node
	looking, end := context.WithCancel(context.Background())
	for _, n := range c.nodes {
		ready.Store(n, true)
		go func() {
			for looking.Err() == nil {
				ready.Store(n, n.ready())
				time.Sleep(200 * time.Millisecond)
			}
		}()
	}
	var turn atomic.Uint64
	client := &http.Client{Timeout: 20 * time.Second}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		first := turn.Add(1)
		for i := range uint64(2 * len(c.nodes)) {
			n := c.nodes[(first+i)%uint64(len(c.nodes))]
			if is, _ := ready.Load(n); is != true && i < uint64(len(c.nodes)) { // if none is ready, each is tried
				continue
			}
			if i > 0 {
				c.retried.Add(1)
			}
			q, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+n.address+r.URL.Path, bytes.NewReader(body))
			if err != nil {
				break
			}
			q.Header = r.Header.Clone()
			q.Header.Set("X-Forwarded-For", "127.0.0.1")
			res, err := client.Do(q)
			if err != nil || res.StatusCode == http.StatusServiceUnavailable {
				if err == nil {
					res.Body.Close()
				}
				ready.Store(n, false)
				continue
			}
			answer, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil {
				continue
			}
			w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
			w.WriteHeader(res.StatusCode)
			_, _ = w.Write(answer)
			return
		}
		http.Error(w, "no node answers", http.StatusBadGateway)
	})}
	go server.Serve(l)
	return func() { end(); server.Close() }, nil
}
