package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/yamldoc"
)

// What a container does under the target of a mount it does to the folder of this machine that is mounted there.

// A mount is a folder or a file of this machine, and where a container has it.
type mount struct{ from, to string }

// contained is what a container is given and told to run.
type contained struct {
	mounts []mount
	folder string // in which it begins, as the container has it
	argv   []flow
	behind []flow // the words of the command that stand behind the image
}

// mountOf is the mount that a value of -v, of --mount, or of a service's volumes says; a volume is none.
func mountOf(value string) (m mount, is bool) {
	if strings.Contains(value, "=") && !strings.HasPrefix(value, "/") {
		for part := range strings.SplitSeq(value, ",") {
			switch k, v, _ := strings.Cut(part, "="); k {
			case "source", "src":
				m.from = v
			case "target", "dst", "destination":
				m.to = v
			}
		}
	} else {
		m.from, m.to, _ = strings.Cut(value, ":")
		m.to = before(m.to, ':')
	}
	m.from = strings.NewReplacer("${HOME}", "~", "$HOME", "~").Replace(homeOrElse.ReplaceAllString(m.from, "~"))
	if m.to = strings.TrimRight(m.to, "/"); m.to == "" || m.from == "" || strings.IndexByte("/~.$", m.from[0]) < 0 {
		return mount{}, false
	}
	return m, true
}

// at is a text in which this mount's target stands as another place.
func (m mount) at(text, place string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, m.to)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		after := text[i+len(m.to):]
		whole := (i == 0 || strings.IndexByte(" \t\n'\"=:(,;|&`<>{", text[i-1]) >= 0) && (after == "" || strings.IndexByte("/ \t\n'\";|&)`*><},", after[0]) >= 0)
		b.WriteString(text[:i])
		switch {
		case !whole:
			b.WriteString(m.to)
		case place == "/" && strings.HasPrefix(after, "/"):
		default:
			b.WriteString(place)
		}
		text = after
	}
}

// inMounts judges what a container's command destroys of this machine: what it does with the mounted folders
// beyond what it would do with others.
func (s *shell) inMounts(c contained) {
	if len(c.argv) == 0 || len(c.mounts) == 0 || s.depth > maxDepth || !slices.ContainsFunc(c.argv, func(w flow) bool { return mayDestroy(w.text) }) {
		return
	}
	found := func(place func(m mount) string) map[string]float64 {
		argv, folder := slices.Clone(c.argv), c.folder
		for _, m := range c.mounts {
			to := place(m)
			for i := range argv {
				argv[i].text = m.at(argv[i].text, to)
			}
			folder = m.at(folder, to)
		}
		b := newAssessor(s.table)
		b.size, b.runs, b.inner, b.commands, b.depth, b.beforehand = s.size, true, s.inner, s.commands, s.depth+1, s.beforehand
		b.watch = nil
		if folder == "" {
			folder = "/"
		}
		inside := b.apart(s.at)
		if b.cwd = b.from(folder); b.cwd == "" {
			b.cwd = normalPath(folder).text
		}
		inside.invoke(argv, flow{}, 1)
		s.inner, s.commands = b.inner, b.commands
		weights := map[string]float64{}
		for _, f := range b.findings {
			weights[f.Code] = max(weights[f.Code], f.Weight)
		}
		return weights
	}
	elsewhere := found(func(mount) string { return "/tmp/mounted" })
	for code, weight := range found(func(m mount) string { return m.from }) {
		if weight > elsewhere[code] && (strings.HasPrefix(code, "destroy.") && weight >= asksFrom || weight >= 0.85) {
			s.report(code, weight, s.at)
		}
	}
}

// mayDestroy reports whether a text has a word by which something is taken away or overwritten.
func mayDestroy(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r >= '0' && r <= '9')
	}) {
		if listed("rm rmdir unlink find fd shred wipe srm mv truncate dd rsync rclone chmod chown tar git rmtree remove removeSync rmSync rm_rf rm_r unlinkSync rimraf del delete", word) {
			return true
		}
	}
	return strings.Contains(text, ">")
}

// startsContained is the container that the command starts, as far as its words say it.
func (c *invocation) startsContained() (in contained) {
	args := c.args
	if len(args) > 0 && args[0].text == "compose" {
		args = args[1:]
	}
	if len(args) > 0 && args[0].text == "container" {
		args = args[1:]
	}
	if len(args) == 0 || args[0].text != "run" && args[0].text != "create" {
		return in
	}
	entry := flow{}
	for i := 1; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i].text, "=")
		switch {
		case !strings.HasPrefix(option, "-"):
			in.behind = args[i+1:]
			if in.argv = in.behind; entry.text != "" {
				in.argv = append([]flow{entry}, in.argv...)
			}
			return in
		case joined && option != "-v":
		case strings.HasPrefix(option, "-v") && len(option) > 2: // -v/host:/d
			option, value = "-v", args[i].text[2:]
		case joined:
		case listed(plainOptions, option) || strings.Trim(option[1:], "dDitPq") == "":
			continue
		case i+1 < len(args):
			i++
			value = args[i].text
		}
		switch option {
		case "-v", "--volume", "--mount":
			if m, is := mountOf(value); is && len(in.mounts) < maxMounts {
				in.mounts = append(in.mounts, m)
			}
		case "-w", "--workdir":
			in.folder = value
		case "--entrypoint":
			entry = flow{text: value, known: true}
		}
	}
	return contained{}
}

// beforeContained are a command's own words without those of what a container runs that it starts: rm there removes no
// container.
func (c *invocation) beforeContained(own []flow) []flow {
	if !listed("docker podman nerdctl", c.name) || len(own) < len(c.args) {
		return own
	}
	return own[:len(own)-len(c.startsContained().behind)]
}

// here are the words of a container's command with the folders of this machine in the place of where they are mounted.
func (c contained) here(words []flow) []flow {
	words = slices.Clone(words)
	for i := range words {
		for _, m := range c.mounts {
			words[i].text = m.at(words[i].text, m.from)
		}
	}
	return words
}

const (
	// plainOptions are those of what starts a container that take no value, and maxMounts is how many mounts of one
	// are read.
	plainOptions = "--detach --init --interactive --tty --rm --privileged --publish-all --read-only --no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --quiet --replace --no-deps --service-ports --build --remove-orphans -T --no-TTY --use-aliases --quiet-pull --tls-verify"
	maxMounts    = 16
)

// composedServices are the services of a text for Compose: what they are given of this machine, and what they run.
func composedServices(text string) (services []contained) {
	if len(text) > 256<<10 || !strings.Contains(text, "services") {
		return nil
	}
	root := yamldoc.Read(text, func(yamldoc.Fault) {})
	if root == nil || root.Get("services") == nil {
		return nil
	}
	for _, service := range root.Get("services").Members {
		in := contained{}
		if volumes := service.Value.Get("volumes"); volumes != nil {
			for _, volume := range volumes.Items[:min(len(volumes.Items), maxMounts)] {
				value := volume.Text
				if source, target := volume.Get("source"), volume.Get("target"); source != nil && target != nil {
					value = "source=" + source.Text + ",target=" + target.Text
				}
				if m, is := mountOf(value); is {
					in.mounts = append(in.mounts, m)
				}
			}
		}
		if folder := service.Value.Get("working_dir"); folder != nil {
			in.folder = folder.Text
		}
		in.argv = serviceWords(service.Value.Get("entrypoint"), service.Value.Get("command"))
		services = append(services, in)
	}
	return services
}

// serviceWords are the words of what a service runs: those of its entrypoint, and behind them those of its command. A
// command that stands alone as a line is read as a shell's.
func serviceWords(entrypoint, command *yamldoc.Node) (words []flow) {
	for _, n := range []*yamldoc.Node{entrypoint, command} {
		if n == nil {
			continue
		}
		line := strings.ReplaceAll(n.Text, "$$", "$")
		switch {
		case line != "" && n == command && entrypoint == nil:
			return []flow{{text: "sh", known: true}, {text: "-c", known: true}, {text: line, known: true}}
		case line != "" && len(words) > 0 && words[len(words)-1].text == "-c":
			return append(words, flow{text: line, known: true})
		}
		for word := range strings.FieldsSeq(line) {
			words = append(words, flow{text: strings.Trim(word, `'"`), known: true})
		}
		for _, item := range n.Items {
			words = append(words, flow{text: strings.ReplaceAll(item.Text, "$$", "$"), known: true})
		}
	}
	return words
}
