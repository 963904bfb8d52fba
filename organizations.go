package reeve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"reeve.example/reeve/executor"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/links"
	"reeve.example/reeve/internal/nodes"
	"reeve.example/reeve/internal/server"
)

// An organization has a node of its own: nothing that a node knows, keeps or decides is
// shared, so there is no place where one organization's could be shown to another by a
// check that somebody forgot. Shared are the process, and the addresses that one node,
// everybody's, listens at for all of them. Which one is meant the host name says.

// organizationName reports whether a name can stand in a token's claim, a ledger's origin and
// a message alike.
func organizationName(name string) bool {
	letters := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
	return letters == "" && len(name) <= 63 && !strings.ContainsAny(name[:1], "._-")
}

// ofListener are the settings of the node that listens. An organization's file does not
// have them: they would be refused at best, and mean nothing at worst.
func ofListener(key string) bool {
	return key == "listen" || key == "insecure-anonymous" || key == "anonymous" || key == "organizations" || key == "log-format" ||
		strings.HasPrefix(key, "tls.") || strings.HasPrefix(key, "proxies.")
}

// takeFrom takes what belongs to the node that listens from its configuration, and refuses
// what makes no organization's node.
func (c *Config) takeFrom(listener *Config) error {
	if c.Organization == "" {
		return errors.New("organization is required: the name that tokens say")
	}
	var plain Config
	unset := map[string]string{}
	for _, s := range plain.Settings() {
		if s.Default != "" {
			s.Set(s.Default) // Load has done the same, and panics
		}
		unset[s.Key] = s.String()
	}
	for _, s := range c.Settings() {
		if ofListener(s.Key) && s.String() != unset[s.Key] {
			return fmt.Errorf("%s is set at the node that listens, and not at an organization's", s.Key)
		}
	}
	if c.Data == plain.Data {
		return errors.New("data is required: a folder of the organization's own")
	}
	if c.A2A.GRPC != "" && c.A2A.GRPC != sameGRPC {
		return errors.New("a2a.grpc: an organization's node is reached where the other one listens: same, or nothing")
	}
	// What an organization's tasks do with the rights of the process they could do to others.
	if c.AllowCommands || c.Tasks.AllowPrivate || c.AllowPrivateCallbacks {
		return errors.New("allow-commands, tasks.allow-private and allow-private-callbacks are not for an organization among others: its tasks would run as the user who owns the data of all. Give it a node, and a user, of its own")
	}
	if len(c.Hosts) == 0 {
		return errors.New("hosts is required: the names under which the organization's node is reached")
	}
	for _, host := range c.Hosts {
		name := server.HostName(host)
		if _, err := netip.ParseAddr(name); name == "localhost" || err == nil || !server.IsHost(host) {
			return fmt.Errorf("hosts: %q is no name of one organization's alone (write other letters as the DNS has them, xn--…)", host)
		}
	}
	c.Listen, c.TLS, c.Proxies, c.LogFormat = listener.Listen, listener.TLS, listener.Proxies, listener.LogFormat
	if len(c.SPIFFE.Bundles) > 0 && c.TLS.Cert == "" {
		return errors.New("spiffe.bundles need tls.cert at the node that listens")
	}
	return nil
}

// organizations reads the configurations of those that are reached here, and refuses two
// that would share something.
func (c *Config) organizations() (list []*Config, err error) {
	type owner struct{ what, of string }
	taken := map[owner]string{}
	take := func(what, of, by string) error {
		if other, ok := taken[owner{what, of}]; ok {
			return fmt.Errorf("the organizations %s and %s have the same %s: %s", other, by, what, of)
		}
		taken[owner{what, of}] = by
		return nil
	}
	const everybody = "(everybody)"
	for _, host := range c.Hosts {
		taken[owner{"host", server.HostName(host)}] = everybody
	}
	if site, err := c.passkeySite(); err == nil && site.Host != "" {
		taken[owner{"host", server.HostName(site.Host)}] = everybody
	}
	taken[owner{"ledger.origin", c.Ledger.Origin}] = everybody
	if strings.HasPrefix(c.Ledger.Seed, "env:") {
		taken[owner{"ledger.seed", c.Ledger.Seed}] = everybody
	}
	places := c.places(everybody)
	for _, file := range c.Organizations {
		o, err := load(file, func(string) string { return "" }, nil, c)
		if err != nil {
			return nil, err
		}
		name := o.Organization
		errs := []error{take("name", strings.ToLower(name), name), take("ledger.origin", o.Ledger.Origin, name)}
		if strings.HasPrefix(o.Ledger.Seed, "env:") {
			errs = append(errs, take("ledger.seed", o.Ledger.Seed, name))
		}
		own := o.places(name)
		for _, p := range own {
			for _, other := range places {
				errs = append(errs, p.meets(other))
			}
		}
		places = append(places, own...)
		if o.Policy != "" {
			if _, err := os.Stat(o.Policy); err != nil {
				errs = append(errs, fmt.Errorf("policy: %w", err))
			}
		}
		hosts := slices.Clone(o.Hosts)
		if site, err := o.passkeySite(); err == nil && site.Host != "" {
			hosts = append(hosts, site.Host) // where browsers offer a passkey, at any port
		}
		for i, host := range hosts {
			hosts[i] = server.HostName(host) // with and without a port
			if !slices.Contains(hosts[:i], hosts[i]) {
				errs = append(errs, take("host", hosts[i], name))
			}
		}
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", file, err)
		}
		list = append(list, &o)
	}
	return list, nil
}

// ownPlace is a file or folder that an organization has for itself.
type ownPlace struct {
	what, at, of string
	folder       bool
}

// places are those of a configuration.
func (c *Config) places(of string) (list []ownPlace) {
	add := func(what, at string, folder bool) {
		if p := (ownPlace{what, onDisk(at), of, folder}); at != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	add("data folder", c.Data, true)
	add("data folder", c.sqlite(), true)
	add("tasks.scratch", c.Tasks.Scratch, true)
	if !strings.HasPrefix(c.Ledger.Seed, "env:") {
		add("ledger.seed", strings.TrimPrefix(c.Ledger.Seed, fileReference), false)
	}
	add("ledger.file", c.Ledger.File, false)
	add("events.file", c.Events.File, false)
	return list
}

// meets refuses two places that are one, or of which one lies in the other.
func (p ownPlace) meets(other ownPlace) error {
	switch {
	case p.at == other.at && p.what == other.what:
		return fmt.Errorf("the organizations %s and %s have the same %s: %s", other.of, p.of, p.what, p.at)
	case other.folder && within(p.at, other.at), p.at == other.at:
		return fmt.Errorf("the %s of %s lies in the %s of %s: %s", p.what, p.of, other.what, other.of, p.at)
	case p.folder && within(other.at, p.at):
		return fmt.Errorf("the %s of %s lies in the %s of %s: %s", other.what, other.of, p.what, p.of, other.at)
	}
	return nil
}

// within reports whether a path is a folder, or lies in it: by name, or because a folder above
// it is the same one (of a mount, or where a and A are one name).
func within(path, folder string) bool {
	info, err := os.Stat(folder)
	for at := path; ; at = filepath.Dir(at) {
		if at == folder {
			return true
		}
		if err == nil {
			if other, err := os.Stat(at); err == nil && os.SameFile(info, other) {
				return true
			}
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}

// onDisk is where a file or folder lies, in one form, whether or not it is there yet.
func onDisk(name string) string {
	name = datadir.Find(name)
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return links.Resolve(name)
}

// openOrganizations opens the nodes of the organizations, beside this one.
func (n *Node) openOrganizations(ctx context.Context, own []executor.Executor) error {
	list, err := n.cfg.organizations()
	if err != nil {
		return err
	}
	for _, cfg := range list {
		o, err := Open(ctx, *cfg, own...)
		if err != nil {
			return fmt.Errorf("organization %s: %w", cfg.Organization, err)
		}
		n.organizations = append(n.organizations, o)
	}
	// Two databases can be the same one under two names. Nodes of the same one see each other.
	all := append([]*Node{n}, n.organizations...)
	for _, o := range all {
		members, err := o.store.Members(ctx)
		if err != nil {
			return fmt.Errorf("organization %s: %w", o.cfg.Organization, err)
		}
		for _, m := range members {
			if slices.ContainsFunc(all, func(other *Node) bool { return other != o && m.Log != o.log.Number() && other.is(m) }) {
				return fmt.Errorf("the organization %s has the same database as another one, or as everybody: give it one of its own", o.cfg.Organization)
			}
		}
	}
	return nil
}

// is reports whether a database's member is this node.
func (n *Node) is(m nodes.Node) bool {
	return m.Log == n.log.Number() && m.Epoch == n.log.Lease().Epoch && m.Started.Equal(n.others.self.Started)
}

// serversBeside are the organizations' servers by the names of their hosts. release is called when
// none of them serves any more.
func (n *Node) serversBeside() (servers map[string]*server.Server, release func(), err error) {
	servers, released := map[string]*server.Server{}, []func(){}
	release = func() {
		for _, f := range released {
			f()
		}
	}
	for _, o := range n.organizations {
		s, done, err := o.newServer(nil)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("organization %s: %w", o.cfg.Organization, err)
		}
		released = append(released, done)
		for _, host := range o.cfg.Hosts {
			servers[server.HostName(host)] = s
		}
	}
	return servers, release, nil
}

// organizationsReady says which of them cannot decide at present.
func (n *Node) organizationsReady(ctx context.Context) (err error) {
	for _, o := range n.organizations {
		if e := cmp.Or(o.store.Probe(ctx), o.log.Err(), o.disk(ctx)); e != nil {
			err = errors.Join(err, fmt.Errorf("organization %s: %w", o.cfg.Organization, e))
		}
	}
	return err
}

// runOrganizations serves them until ctx ends, or one cannot go on, whereupon end is called.
// wait returns why, once none does.
func (n *Node) runOrganizations(ctx context.Context, end func(), servers map[string]*server.Server) (wait func() error) {
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		errs    []error
	)
	for _, o := range n.organizations {
		running.Go(func() {
			defer end()
			if err := o.run(ctx, end, servers[server.HostName(o.cfg.Hosts[0])], nil); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("organization %s: %w", o.cfg.Organization, err))
			}
		})
	}
	return func() error {
		running.Wait()
		return errors.Join(errs...)
	}
}

// Organizations are the nodes of organizations that this one listens for.
func (n *Node) Organizations() []*Node { return n.organizations }

// Organization is whose node this is; empty for everybody's.
func (n *Node) Organization() string { return n.cfg.Organization }

// Hosts are the names under which the node is reached, beside its addresses.
func (n *Node) Hosts() []string { return n.cfg.Hosts }

// closeOrganizations closes them.
func (n *Node) closeOrganizations() (err error) {
	for _, o := range n.organizations {
		err = errors.Join(err, o.Close())
	}
	return err
}

// elsewhere are the names of the organizations that have a node of their own in this process:
// whoever is of one of them is nobody at the node that is everybody's, whatever role they have.
func (c *Config) elsewhere() (names []string) {
	if c.Organization != "" {
		return nil // it takes its own alone
	}
	for _, o := range c.neighbours() {
		names = append(names, o.Organization)
	}
	return names
}

// neighbours are the configurations of the others of the process: nobody whom this node judges
// may touch what is theirs.
func (c *Config) neighbours() (others []*Config) {
	listener := cmp.Or(c.behind, c)
	if listener != c {
		others = append(others, listener)
	}
	for _, file := range listener.Organizations {
		if file == c.file {
			continue
		}
		if o, err := load(file, func(string) string { return "" }, nil, listener); err == nil { // else Open says why not
			others = append(others, &o)
		}
	}
	return others
}
