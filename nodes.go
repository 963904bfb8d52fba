package reeve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/operator"
	"reeve.example/reeve/internal/quota"
	"reeve.example/reeve/internal/store/postgres"
)

// others is what a node knows of those that share its database.
type others struct {
	mu      sync.Mutex
	self    nodes.Node
	said    time.Time    // when self was told last
	list    []nodes.Node // as they were read last, this one among them
	refused error        // why this node does not serve; nil while it does
	differ  string       // what the log told of their differences
	lost    chan struct{}
	gone    bool // lost is closed
}

// sayAgain is how often a node tells of itself when nothing has changed.
const sayAgain = time.Second

// introduce makes what this node says of itself, before it serves.
func (n *Node) introduce(ctx context.Context) error {
	name := n.cfg.Nodes.Name
	if name == "" {
		name, _ = os.Hostname()
	}
	n.others.lost = make(chan struct{})
	n.others.self = nodes.Node{Name: name, Version: Version(), Seals: true, Started: n.started.UTC().Truncate(time.Millisecond)}
	return n.store.Announce(ctx, n.log.Lease(), n.others.self)
}

// serves says by what this node serves, from now on.
func (n *Node) serves(ctx context.Context) error {
	h := sha256.New()
	for _, e := range n.executors.List() {
		fmt.Fprintf(h, "%q %q\n", e.ID, e.InputSchema)
	}
	o := &n.others
	o.mu.Lock()
	o.self.Executors = hex.EncodeToString(h.Sum(nil))
	o.self.Policy, o.self.Since = n.guard.Policy().Hash(), n.now().UTC()
	o.mu.Unlock()
	return n.meet(ctx, true)
}

// meet tells the others of this node where that is due, and sees who they are.
func (n *Node) meet(ctx context.Context, now bool) error {
	o := &n.others
	o.mu.Lock()
	self, due := o.self, now || time.Since(o.said) >= sayAgain
	o.mu.Unlock()
	if due {
		self.Lag = nodes.In(n.log.Lag())
		if err := n.store.Announce(ctx, n.log.Lease(), self); err != nil {
			if errors.Is(err, ledger.ErrFenced) {
				o.mu.Lock()
				if !o.gone {
					o.gone = true
					close(o.lost)
				}
				o.mu.Unlock()
			}
			return err
		}
	}
	list, err := n.store.Members(ctx)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if due {
		o.said = time.Now()
	}
	o.list = list
	n.judgeOthers()
	return nil
}

// judgeOthers draws what follows from what is known of the others. o.mu is locked.
func (n *Node) judgeOthers() {
	o := &n.others
	var all []string
	for _, d := range nodes.Differences(o.list) {
		all = append(all, d.String())
	}
	if differ := strings.Join(all, "; "); differ != o.differ {
		if o.differ = differ; differ != "" {
			n.logger.Warn("nodes that share the database are not alike", "differences", differ)
		} else {
			n.logger.Info("the nodes that share the database are alike again")
		}
	}
	before := o.refused
	o.refused = nil
	if rules := nodes.Rules(o.list); n.cfg.Nodes.Policy == "same" && rules != "" && o.self.Policy != "" && rules != o.self.Policy {
		o.refused = fmt.Errorf("this node does not serve (nodes.policy: same): its policy is %s, and that of the other nodes is %s", nodes.Short(o.self.Policy), nodes.Short(rules))
	}
	if o.self.Refused = ""; o.refused != nil {
		o.self.Refused = o.refused.Error()
	}
	switch {
	case o.refused != nil && before == nil:
		n.logger.Error(o.refused.Error())
		o.said = time.Time{}
	case o.refused == nil && before != nil:
		n.logger.Info("this node serves again: the nodes have the same policy")
		o.said = time.Time{}
	}
}

// listensAt notes where this node listens.
func (n *Node) listensAt(url string) {
	n.others.mu.Lock()
	defer n.others.mu.Unlock()
	n.others.self.URL = url
	n.others.said = time.Time{}
}

// members lists the nodes, as the database has them now.
func (n *Node) members(ctx context.Context) ([]nodes.Node, error) { return n.store.Members(ctx) }

// endIfLost calls end when another node has taken this one's log: it can record nothing
// any more, and the program's supervisor starts it anew, with a log that is free.
func (n *Node) endIfLost(end func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-n.others.lost:
			end()
		case <-done:
		}
	}()
	return func() { close(done) }
}

// lostError says that another node has taken this one's log; nil where none has.
func (n *Node) lostError() error {
	select {
	case <-n.others.lost:
		return fmt.Errorf("this node ends, so that it is started anew: %w", ledger.ErrFenced)
	default:
		return nil
	}
}

// policyRead tells the others what came of reading the policy again. Before this node
// decides by another policy than it did, it knows whether it may.
func (n *Node) policyRead(ctx context.Context, failed error) {
	o := &n.others
	o.mu.Lock()
	hash := n.guard.Policy().Hash()
	problem := ""
	if failed != nil {
		problem = failed.Error()
		problem = problem[:min(len(problem), 1000)]
	}
	if o.self.Policy == "" { // it does not serve yet
		o.mu.Unlock()
		return
	}
	if o.self.Problem != "" && problem == "" {
		n.logger.Info("the policy that lies there can be read again", "policy", hash)
	}
	o.self.Problem = problem
	o.self.Reads++
	n.nowPolicy(hash)
	o.mu.Unlock()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	if err := n.meet(within, true); err != nil {
		n.logger.Error("the other nodes were not told of this one's policy", "error", err)
	}
}

// nowPolicy takes a policy for this node's. o.mu is locked.
func (n *Node) nowPolicy(hash string) {
	o := &n.others
	if hash != o.self.Policy {
		o.self.Policy, o.self.Since = hash, n.now().UTC()
	}
	for i := range o.list {
		if m := &o.list[i]; m.Log == n.log.Number() {
			m.Policy, m.Since = o.self.Policy, o.self.Since
		}
	}
	n.judgeOthers()
}

// beforePolicy is called with the policy that is about to be put in force: by one with
// which this node must not serve, not a single act is decided.
func (n *Node) beforePolicy(hash string) {
	n.others.mu.Lock()
	defer n.others.mu.Unlock()
	if n.others.self.Policy != "" {
		n.nowPolicy(hash)
	}
}

// refusedNow is why this node does not serve; nil while it does.
func (n *Node) refusedNow() error {
	n.others.mu.Lock()
	defer n.others.mu.Unlock()
	return n.others.refused
}

// alike says in what the nodes differ that share the database; nil where they do not.
func (n *Node) alike(context.Context) error {
	n.others.mu.Lock()
	defer n.others.mu.Unlock()
	if n.others.differ == "" {
		return nil
	}
	return errors.New(n.others.differ)
}

// kinds is how many different ones of something the living nodes have.
func (n *Node) kinds(what string) func() float64 {
	return func() float64 {
		n.others.mu.Lock()
		defer n.others.mu.Unlock()
		return float64(max(1, nodes.Kinds(n.others.list)[what]))
	}
}

// living is how many nodes there are.
func (n *Node) living() float64 {
	n.others.mu.Lock()
	defer n.others.mu.Unlock()
	alive := 0
	for _, m := range n.others.list {
		if m.Living {
			alive++
		}
	}
	return float64(max(1, alive))
}

// lookAtNodes meets the others, and says so now and then when that fails.
func (n *Node) lookAtNodes(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	if err := n.meet(within, false); err != nil && ctx.Err() == nil && !errors.Is(err, ledger.ErrFenced) {
		n.unmet.Do(func() { n.logger.Error("the other nodes could not be seen", "error", err) })
	}
}

// nodeRun names this run of the node to the others.
func (n *Node) nodeRun() string { return n.log.Node() }

// reloadEverywhere has all nodes read their policy again, and returns those that have
// another one than this node when that is done, or after a while.
func (n *Node) reloadEverywhere(ctx context.Context, by act.Principal) (changed bool, elsewhere []operator.NodePolicy, err error) {
	if changed, err = n.ReloadPolicy(ctx, by); err != nil {
		return changed, nil, err
	}
	if n.shared() == nil {
		return changed, nil, nil
	}
	before, err := n.store.Members(ctx)
	if err != nil {
		return changed, nil, fmt.Errorf("the policy is in force here, and nobody knows of the other nodes: %w", err)
	}
	reads := map[string]int{} // by each run of a node
	run := func(m *nodes.Node) string { return ledger.Lease{Log: m.Log, Epoch: m.Epoch}.Node() }
	for i := range before {
		reads[run(&before[i])] = before[i].Reads
	}
	if err := n.store.Tell(ctx, ledger.Change{Kind: ledger.ReadPolicy, ID: n.nodeRun()}); err != nil {
		return changed, nil, fmt.Errorf("the policy is in force here, and the other nodes were not told: %w", err)
	}
	const patience, pause = 5 * time.Second, 50 * time.Millisecond
	for began := time.Now(); ; {
		list, err := n.store.Members(ctx)
		if err != nil {
			return changed, nil, fmt.Errorf("the policy is in force here, and nobody knows of the other nodes: %w", err)
		}
		elsewhere = nil
		all := true // have read theirs
		for _, m := range list {
			if m.Living && m.Policy != "" && m.Policy != n.guard.Policy().Hash() {
				elsewhere = append(elsewhere, operator.NodePolicy{Name: m.Name, Policy: m.Policy, Problem: m.Problem})
				known, ok := reads[run(&m)]
				all = all && (!ok || m.Reads > known)
			}
		}
		if all || time.Since(began) > patience {
			slices.SortFunc(elsewhere, func(a, b operator.NodePolicy) int { return strings.Compare(a.Name, b.Name) })
			return changed, elsewhere, nil
		}
		select {
		case <-ctx.Done():
			return changed, elsewhere, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// shared is where rates and quotas are had together with the other nodes; nil where the
// database is this one's alone.
func (n *Node) shared() quota.Shared {
	if s, ok := n.store.(*postgres.Store); ok {
		return s
	}
	return nil
}

// portions is shared, in portions; nil likewise.
func (n *Node) portions() *quota.Portions {
	if shared := n.shared(); shared != nil {
		return &quota.Portions{From: shared}
	}
	return nil
}

// byNode is who reads the policy again because it was asked for at another node.
func byNode(run string) act.Principal { return act.Principal{Name: "node:" + run, Method: "local"} }
