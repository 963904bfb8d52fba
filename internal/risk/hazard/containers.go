package hazard

import (
	"slices"
	"strings"
)

// Containers and clusters: docker, kubectl.

func (c *invocation) container() flow {
	args, other := c.ofDaemon()
	toAfar := c.daemonAfar()
	c.usesContext()
	c = &invocation{shell: c.shell, name: c.name, path: c.path, args: args, in: c.in, wrap: c.wrap}
	for _, a := range args {
		if a.text == "exec" || a.text == "run" {
			break // behind which stands what is no word of its own
		}
		if other && daemonLosses[a.text] {
			c.report("destroy.cloud", 0, c.at)
		}
	}
	mounts, out := false, flow{}
	in := c.startsContained()
	c.inMounts(in)
	for i, a := range c.args {
		t := a.text
		v := t
		if _, after, ok := strings.Cut(t, "="); ok {
			v = after
		}
		if (t == "-v" || t == "--volume" || t == "--mount") && i+1 < len(c.args) {
			v = c.args[i+1].text
		}
		switch {
		case strings.HasPrefix(v, "/:/") || strings.Contains(v, "source=/,") || strings.Contains(v, "src=/,"):
			c.report("code.container_escape", 0.85, c.at)
			mounts = true
		case strings.Contains(v, "docker.sock"):
			c.report("code.container_escape", 0.5, c.at)
		case t == "--privileged" || t == "--cap-add=ALL" || t == "--cap-add=SYS_ADMIN" || t == "--pid=host":
			c.report("code.container_escape", 0.5, c.at)
		}
	}
	if words := c.inContainer(); len(words) > 0 {
		fed, elsewhere, composed, engine := c.fed, c.other, c.composed, c.engine
		c.fed = true // a shell there is opened to look around
		c.composed = !other && c.ownService() && !c.tellsEnvironment(len(c.args)-len(words))
		c.engine = c.composed && slices.Contains(c.project().Engines, c.args[len(c.args)-len(words)-1].text)
		c.other = c.other || other || hasWord(c.joined(c.args[:len(c.args)-len(words)]).text, inUse)
		used, afar := c.live, c.afar
		c.live, c.afar = used || c.daemonInUse(), afar || toAfar
		c.other = c.other || c.live
		c.kept(0.9, 0.36, func() { out.taint |= c.invoke(words, c.in, c.wrap+1).taint & comesBack })
		c.fed, c.other, c.composed, c.engine, c.live, c.afar = fed, elsewhere, composed, engine, used, afar
	}
	// What runs inside: docker exec name command, docker run image command.
	if len(c.args) > 1 && (c.args[0].text == "exec" || c.args[0].text == "run") && !mounts {
		for i := 1; i < len(c.args); i++ {
			if name := baseName(c.args[i].text); (listed("nc ncat netcat socat", name) || httpClients[name]) && i+2 < len(c.args) {
				c.kept(0.9, 0.8, func() { c.invoke(c.args[i:], flow{}, c.wrap+1) })
				break
			}
			if interpreters[baseName(c.args[i].text)].shell && i+1 == len(c.args) && c.in.taint&(fromNet|fromSocket|fromDecoder) != 0 {
				c.kept(0.85, 0, func() { c.invoke(c.args[i:], c.in, c.wrap+1) })
				break
			}
			if interpreters[baseName(c.args[i].text)].shell && i+2 < len(c.args) && strings.HasPrefix(c.args[i+1].text, "-") && strings.HasSuffix(c.args[i+1].text, "c") {
				c.kept(0.85, 0, func() { c.invoke(in.here(c.args[i:]), flow{}, c.wrap+1) })
				break
			}
		}
	}
	return out
}

// daemonLosses are subcommands of Docker by which what runs on another machine ends.
var daemonLosses = set("rm rmi stop kill down prune restart")

// ofDaemon are a command's words from its subcommand on, and whether they are for the Docker of
// another machine: an address, or a context whose name says that it is in use.
func (c *invocation) ofDaemon() (args []flow, other bool) {
	to := func(address string) bool {
		_, host, ok := strings.Cut(address, "://")
		host, _, _ = strings.Cut(host, ":")
		return ok && !strings.HasPrefix(address, "unix:") && !strings.HasPrefix(address, "npipe:") && !isLoopback(host)
	}
	other = to(c.vars["DOCKER_HOST"].text) || hasWord(c.vars["DOCKER_CONTEXT"].text, inUse)
	for i := 0; i < len(c.args); i++ {
		option, value, joined := strings.Cut(c.args[i].text, "=")
		if !strings.HasPrefix(option, "-") {
			return c.args[i:], other
		}
		if !listed("-H --host -c --context --connection --url --identity -l --log-level --config --tlscacert --tlscert --tlskey -n --namespace", option) {
			continue
		}
		if !joined && i+1 < len(c.args) {
			i++
			value = c.args[i].text
		}
		other = other || to(value) || listed("-c --context --connection", option) && hasWord(value, inUse)
	}
	return nil, other
}

// tellsEnvironment reports whether one of the first n words gives what is run in a container another environment than
// the container has.
func (c *invocation) tellsEnvironment(n int) bool {
	return slices.ContainsFunc(c.args[:n], func(a flow) bool {
		return strings.HasPrefix(a.text, "-e") || strings.HasPrefix(a.text, "--env")
	})
}

// composes reports whether a command is Compose's, by the program of its own or as the subcommand of another.
func (c *invocation) composes() bool {
	return listed("docker-compose podman-compose", c.name) || listed("docker podman nerdctl", c.name) && c.verb() == "compose"
}

// inContainer is the command that runs in a container that is there: what it deletes there is
// gone, too.
func (c *invocation) inContainer() []flow {
	args := c.args
	if len(args) > 0 && args[0].text == "compose" {
		args = args[1:]
		for len(args) > 1 && strings.HasPrefix(args[0].text, "-") {
			if listed("-f --file -p --project-name --project-directory --profile --env-file --ansi --parallel --progress", args[0].text) {
				args = args[1:]
			}
			args = args[1:]
		}
	}
	if len(args) < 3 || args[0].text != "exec" {
		return nil
	}
	args = args[1:]
	for i := 0; i < len(args); i++ {
		switch t := args[i].text; {
		case listed("-e --env -u --user -w --workdir --env-file --index --detach-keys", t):
			i++
		case strings.HasPrefix(t, "-"):
		default:
			return args[i+1:]
		}
	}
	return nil
}

func (c *invocation) kubectl() flow {
	if c.in.text != "" && listed("apply create replace", c.verb()) {
		c.manifest(c.in.text)
	}
	for i, a := range c.args {
		if f, ok := c.getFile(a.text); ok && i > 0 && f.known {
			c.manifest(f.text)
		}
		if low := strings.ToLower(a.text); strings.Contains(low, `"hostpid"`) || strings.Contains(low, `"hostnetwork"`) || strings.Contains(low, `"privileged"`) {
			c.report("code.container_escape", 0.85, c.at)
		}
		if a.text == "--" && i+1 < len(c.args) {
			out := flow{}
			c.onOther(func() {
				out.taint = c.invoke(c.args[i+1:], c.in, c.wrap+1).taint & comesBack
			})
			return out
		}
	}
	return flow{}
}

// verb is the first word that is no option.
func (c *invocation) verb() string {
	for _, a := range c.args {
		if !strings.HasPrefix(a.text, "-") {
			return a.text
		}
	}
	return ""
}

// unquoted takes the quotes out of a text.
var unquoted = strings.NewReplacer(`"`, "", "'", "")

// manifest judges what a cluster is told to run: what has the node's own rights has the node.
func (c *invocation) manifest(text string) {
	squeezed := strings.ToLower(strings.Join(strings.Fields(unquoted.Replace(text[:min(len(text), 64<<10)])), ""))
	for _, sign := range []string{"hostpid:true", "hostnetwork:true", "hostipc:true", "privileged:true", "hostpath:{path:/}", "hostpath:path:/etc", "hostpath:path:/root", "docker.sock"} {
		if strings.Contains(squeezed, sign) {
			c.report("code.container_escape", 0.82, c.at)
		}
	}
}
