package guardian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/regular"
	"reeve.example/reeve/internal/risk/hazard"
	"reeve.example/reeve/internal/yamldoc"
)

// Containers, sandboxes and machines within the machine are given folders of it. What
// happens inside is not read, so none is given a folder in which the guardian's own data
// lie, by whatever program.

var (
	// runtimes are programs of which an option that is not known may be a mount.
	runtimes = words(`docker podman nerdctl finch buildah ctr crictl runc crun lxc lxc-start incus lxd apptainer singularity udocker bwrap systemd-nspawn flatpak
		firejail toolbox distrobox multipass limactl lima colima virtiofsd qemu-system-x86_64 qemu-system-aarch64 kvm docker-compose podman-compose kubectl k3s minikube kind vagrant nsjail proot fakechroot`)
	// mounting are options that mount, of whatever program. The first value is from outside.
	mounting = words(`-v --volume --mount --volumes --bind --ro-bind --dev-bind --bind-try --ro-bind-try --dev-bind-try --bind-ro -B --filesystem --rootfs --shared-dir
		-virtfs -fsdev --device --opt -o --driver-opts --bindmount --bindmount_ro -b --rbind --mount-string --source --overlay-src --disk --contain`)
	// inside are keys of what a mount is called inside, and not what it is.
	inside = words("dst dest destination target readonly ro rw type consistency bind-propagation volume-opt tmpfs-size tag mount_tag security_model id model writeout")
)

// mounts looks at the folders that a command gives to what it starts.
func (e *examination) mounts(c *hazard.Command, name string) {
	if lookers[name] || name == "git" || name == "ssh" {
		return
	}
	knows := runtimes[name]
	for i, w := range c.Words {
		option, value, said := strings.Cut(w, "=")
		switch {
		case mounting[option] && said:
		case mounting[w] && i+1 < len(c.Words):
			value = c.Words[i+1]
		case knows && len(w) > 2 && (strings.HasPrefix(w, "-v") || strings.HasPrefix(w, "-B")) && strings.ContainsAny(w[2:3], "/~$"):
			value = w[2:]
		case knows && said && (option == "source" || option == "device"):
		case knows && name == "multipass" && i > 0 && c.Words[0] == "mount":
			value = w
		default:
			continue
		}
		if !knows && !outsideAndInside.MatchString(value) && !strings.Contains(value, "bind") {
			continue // another program's option, of which nothing says that it is a mount
		}
		e.mount(value, c.Dirs)
	}
	if knows && len(c.Words) > 1 && (slices.Contains(c.Words[:2], "cp") || slices.Contains(c.Words[:2], "build") || slices.Contains(c.Words[:2], "bud")) {
		for _, w := range c.Words { // what is copied in, or built from
			if _, v, said := strings.Cut(w, "="); said {
				w = v
			}
			if strings.ContainsAny(w, "/~") && !strings.Contains(w, ":") {
				e.holdsOwn(w, c.Dirs)
			}
		}
	}
	e.composed(c, name)
}

// outsideAndInside is a folder of the machine, and what it is called inside.
var outsideAndInside = lazyregexp.New(`^[/~$.][^:\n]*:/`)

// mount looks at what one mount brings in: from:to, or a list of keys and values.
func (e *examination) mount(value string, dirs []string) {
	switch name, _, _ := strings.Cut(value, ":"); name { // as flatpak says it
	case "host":
		value = "/"
	case "home":
		value = "~"
	}
	if from, to, ok := strings.Cut(value, ":"); ok && strings.HasPrefix(to, "/") { // what is done inside is done to it
		to, _, _ = strings.Cut(to, ":")
		for _, parts := range e.readings(from, dirs) {
			if e.tooMuch = e.tooMuch || len(e.linked) >= maxLinks; len(parts) > 0 && !e.tooMuch && len(split(to)) > 0 && e.nearGuarded(parts) {
				e.linked = append(e.linked, link{parts, split(strings.ToLower(clean(to)))})
			}
		}
	}
	for part := range strings.SplitSeq(value, ",") {
		key, from, said := strings.Cut(part, "=")
		switch {
		case said && inside[strings.ToLower(key)]:
			continue
		case !said:
			from = part
		}
		if i := strings.IndexByte(from, '='); i > 0 && strings.ContainsAny(from[i+1:], "/~$") { // --opt device=/x
			from = from[i+1:]
		}
		if i := strings.IndexByte(from, ':'); i > 1 || i == 1 && from[0] == '/' || i == 1 && from[0] == '~' || i == 1 && from[0] == '.' {
			from = from[:i]
		}
		if from == "" || !strings.ContainsAny(from[:1], "/~$.%`") {
			continue
		}
		e.holdsOwn(from, dirs)
	}
}

// holdsOwn looks at a folder that is given away.
func (e *examination) holdsOwn(folder string, dirs []string) {
	for _, parts := range e.readings(folder, dirs) {
		if len(parts) > 0 && parts[0] == "proc" && e.g.pid != "" && (len(parts) == 1 || parts[1] == e.g.pid) {
			e.tampers("give a container the guardian's process")
		}
		for _, p := range e.g.places {
			rel := compare(parts, p.parts)
			if rel == apart || p.kind == setting && rel == above || strings.EqualFold("/"+strings.Join(parts, "/"), e.cwd()) && rel == above {
				continue // an agent's own project is given to containers all day
			}
			if p.kind == secret || rel == within && p.kind != setting {
				e.tampersBut("give a container "+p.kind.String(), "Give it the folders that it needs, such as the project's.")
			}
		}
	}
}

// composed looks at the files in which a command is told what to mount.
func (e *examination) composed(c *hazard.Command, name string) {
	var files []string
	compose := name == "docker-compose" || name == "podman-compose" || runtimes[name] && slices.Contains(c.Words, "compose")
	switch {
	case compose, runtimes[name] && (slices.Contains(c.Words, "apply") || slices.Contains(c.Words, "create") || slices.Contains(c.Words, "kube")):
		files = slices.Concat(values(c.Words, "-f"), values(c.Words, "--file"), values(c.Words, "--filename"))
		if i := slices.Index(c.Words, "kube"); i >= 0 {
			files = append(files, c.Words[i+1:]...)
		}
		if compose && len(files) == 0 {
			files = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}
		}
		e.mountsIn(c.Stdin, c.Dirs)
	case name == "devcontainer":
		files = []string{".devcontainer/devcontainer.json", ".devcontainer.json"}
	}
	for _, f := range files {
		for _, text := range e.readFiles(f, c.Dirs) {
			e.mountsIn(text, c.Dirs)
		}
	}
}

// readFiles are the texts of the files that a name of an act may stand for, as they are now: one for
// each folder that it may be in.
func (e *examination) readFiles(name string, dirs []string) (texts []string) {
	for _, parts := range e.readings(name, dirs) {
		file := filepath.FromSlash("/" + strings.Join(parts, "/"))
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSetting {
			continue
		}
		if e.contents--; e.contents < 0 {
			e.tooMuch = e.tooMuch || e.gathering
			return texts
		}
		if read, err := regular.Read(file, maxSetting); err == nil && !slices.Contains(texts, string(read)) {
			texts = append(texts, string(read))
		}
	}
	return texts
}

// mountsIn looks at the texts of a YAML or JSON text that tell of mounts, in whatever place.
func (e *examination) mountsIn(text string, dirs []string) {
	text = devHome.ReplaceAllString(text, "~")
	eachText(text, func(name, text string) {
		switch {
		case name == "source" || name == "device" || name == "path" || name == "src":
			e.holdsOwn(text, dirs)
		case outsideAndInside.MatchString(text) || name == "mounts":
			e.mount(text, dirs)
		}
	})
	eachText(text, func(name, text string) {
		if (name == "command" || name == "entrypoint" || name == "args") && len(e.linked) > 0 {
			e.runs(text)
		}
	})
}

// devHome is how a dev container's file says the home folder.
var devHome = lazyregexp.New(`\$\{(?:localEnv|env):(?:HOME|USERPROFILE)(?::[^}]*)?\}`)

// eachText gives the texts of a YAML or JSON text, with the names that they stand under.
func eachText(text string, give func(name, text string)) {
	if len(text) > maxScript {
		return
	}
	left := 4096
	var walk func(n *yamldoc.Node, name string, depth int)
	walk = func(n *yamldoc.Node, name string, depth int) {
		if left--; n == nil || left < 0 || depth > 32 {
			return
		}
		for _, m := range n.Members {
			walk(m.Value, m.Name, depth+1)
		}
		for _, i := range n.Items {
			walk(i, name, depth+1)
		}
		if n.Members == nil && n.Items == nil {
			give(name, n.Text)
		}
	}
	for doc := range strings.SplitSeq("\n"+text, "\n---") {
		walk(yamldoc.Read(doc, func(yamldoc.Fault) {}), "", 0)
	}
}
