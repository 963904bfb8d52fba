package hazard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/yamldoc"
)

// A playbook of Ansible does by its modules what a shell would do. It is read as the lines of one:
// those of this machine as they are, and of the machines that it looks after, what is administered
// there every day, only what is grave among its commands.

// playbookWords are what a playbook, or a file of tasks, says of itself.
var playbookWords = lazyregexp.New(`(?m)^\s*(?:-\s+)?["']?(?:hosts|import_playbook|ansible\.builtin\.\w+|shell|command|raw|script|file|copy|template|lineinfile|blockinfile|uri|get_url|cron|include_tasks|import_tasks|block|local_action)["']?\s*:`)

// isPlaybook reports whether a text holds plays, or tasks of them.
func isPlaybook(low, text string) bool {
	return listed(".yml .yaml", path.Ext(low)) && !isTaskFile(low) && playbookWords.MatchString(text) && plays(text) != nil
}

// plays are the plays, or the tasks, of a text; nil where it is of another kind.
func plays(text string) []*yamldoc.Node {
	if len(text) > 256<<10 {
		return nil
	}
	faults := 0
	root := yamldoc.Read(text, func(yamldoc.Fault) { faults++ })
	if faults > 0 || root == nil || root.Kind != rawjson.Array {
		return nil
	}
	for _, item := range root.Items {
		if item.Kind != rawjson.Object {
			return nil
		}
	}
	return root.Items
}

// A book is a playbook on its way to lines of a shell.
type book struct {
	here, there []string          // what it does on this machine, and on others
	vars        map[string]string // as the words of a shell
	lists       map[string][]*yamldoc.Node
	found       map[string]string // folders that a task has looked through, by the name for what it found
	takes       []string
	left        int // of tasks that are read
}

const maxTasks = 500

// readPlaybook reads the plays of a text.
func readPlaybook(text string) *book {
	b := &book{vars: map[string]string{"playbook_dir": ".", "ansible_user_dir": "$HOME"}, lists: map[string][]*yamldoc.Node{}, found: map[string]string{}, left: maxTasks}
	for _, play := range plays(text) {
		hosts := play.Get("hosts")
		if hosts == nil && play.Get("import_playbook") == nil {
			b.task(play, false) // a file of tasks: where they are done its play says
			continue
		}
		b.setVars(play.Get("vars"))
		b.take(play.Get("import_playbook"))
		for n := range stringsOf(play.Get("vars_files")) {
			b.takes = append(b.takes, n)
		}
		if roles := play.Get("roles"); roles != nil {
			for _, role := range roles.Items[:min(len(roles.Items), 32)] {
				b.role(role.Text)
				for _, name := range []string{"role", "name"} {
					if named := role.Get(name); named != nil {
						b.role(named.Text)
					}
				}
			}
		}
		here := isHere(hosts) || wordOf(play, "connection") == "local"
		for _, list := range []string{"pre_tasks", "tasks", "post_tasks", "handlers"} {
			b.tasks(play.Get(list), here)
		}
	}
	return b
}

// stringsOf yields the texts below a node, of which there may be none.
func stringsOf(n *yamldoc.Node) func(func(string) bool) {
	return func(yield func(string) bool) {
		if n == nil {
			return
		}
		for s := range n.Strings() {
			if !yield(s.Text) {
				return
			}
		}
	}
}

// isHere reports whether hosts are this machine.
func isHere(hosts *yamldoc.Node) bool {
	for host := range stringsOf(hosts) {
		if listed("localhost 127.0.0.1 ::1", strings.TrimSpace(host)) {
			return true
		}
	}
	return false
}

func (b *book) take(file *yamldoc.Node) {
	for name := range stringsOf(file) {
		b.takes = append(b.takes, name)
	}
}

// role notes the files of a role.
func (b *book) role(name string) {
	if name != "" && !strings.ContainsAny(name, " {*") {
		b.takes = append(b.takes, "roles/"+name+"/tasks/main.yml", "roles/"+name+"/handlers/main.yml")
	}
}

// setVars notes variables as words of a shell.
func (b *book) setVars(vars *yamldoc.Node) {
	if vars == nil {
		return
	}
	for _, m := range vars.Members[:min(len(vars.Members), 200)] {
		if m.Value != nil && m.Value.Items != nil {
			b.lists[m.Name] = m.Value.Items
		} else if m.Value != nil {
			b.setVar(m.Name, m.Value)
		}
	}
}

// setVar notes one variable, or the members of one.
func (b *book) setVar(name string, value *yamldoc.Node) {
	if value.Members == nil {
		b.vars[name] = b.filled(value.Text)
		return
	}
	for _, m := range value.Members[:min(len(value.Members), 32)] {
		if m.Value != nil && m.Value.Items == nil && m.Value.Members == nil {
			b.vars[name+"."+m.Name] = b.filled(m.Value.Text)
		}
	}
}

// loop is what a task is done for, one after the other: a list that is written there, or one of a variable's.
func (b *book) loop(of *yamldoc.Node) (items []*yamldoc.Node) {
	if m := inBraces.FindStringSubmatch(of.Text); m != nil {
		name, _, _ := strings.Cut(m[1], "|")
		if list := b.lists[strings.TrimSpace(name)]; list != nil {
			return list[:min(len(list), maxLooped)]
		}
	}
	if slices.ContainsFunc(of.Items, func(item *yamldoc.Node) bool { return item.Members != nil }) {
		return of.Items[:min(len(of.Items), maxLooped)]
	}
	for item := range stringsOf(of) {
		if len(items) < maxLooped {
			items = append(items, &yamldoc.Node{Kind: rawjson.String, Text: item})
		}
	}
	return items
}

// maxLooped is for how many things one task is read.
const maxLooped = 32

func (b *book) tasks(list *yamldoc.Node, here bool) {
	if list == nil {
		return
	}
	for _, task := range list.Items {
		b.task(task, here)
	}
}

// task adds what one task does: once, or for each thing that it loops over.
func (b *book) task(task *yamldoc.Node, here bool) {
	if b.left--; b.left < 0 || task.Members == nil {
		return
	}
	if isHere(task.Get("delegate_to")) || task.Get("local_action") != nil || wordOf(task, "connection") == "local" {
		here = true
	}
	for _, list := range []string{"block", "rescue", "always"} {
		b.tasks(task.Get(list), here)
	}
	b.setVars(task.Get("vars"))
	items, item := []*yamldoc.Node{nil}, "item"
	for _, m := range task.Members {
		if (m.Name == "loop" || strings.HasPrefix(m.Name, "with_")) && m.Value != nil {
			items = b.loop(m.Value)
		}
		if m.Name == "loop_control" && m.Value != nil {
			item = orElse(wordOf(m.Value, "loop_var"), item)
		}
	}
	for _, one := range items {
		if one != nil {
			b.setVar(item, one)
		}
		for _, m := range task.Members {
			name := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
			switch {
			case m.Value == nil:
			case listed("include_tasks import_tasks include_vars", name):
				b.take(m.Value)
			case listed("include_role import_role", name):
				b.role(wordOf(m.Value, "name"))
			case name == "local_action" && m.Value.Text != "":
				module, rest, _ := strings.Cut(m.Value.Text, " ")
				b.module(task, module, &yamldoc.Node{Kind: rawjson.String, Text: rest}, true)
			default:
				b.module(task, name, m.Value, here)
			}
		}
	}
	delete(b.vars, item)
	for _, one := range items {
		if one != nil {
			for _, m := range one.Members {
				delete(b.vars, item+"."+m.Name)
			}
		}
	}
}

// moduleArgs are the words that a module is told: by their names, or as name=value in one text.
type moduleArgs func(names string) string

func (b *book) told(args *yamldoc.Node) moduleArgs {
	inText := map[string]string{}
	for _, m := range nameIsValue.FindAllStringSubmatch(args.Text, 64) {
		inText[m[1]] = m[2] + m[3] + m[4]
	}
	return func(names string) string {
		for name := range strings.FieldsSeq(names) {
			if v := wordOf(args, name); v != "" {
				return b.filled(v)
			}
			if v := inText[name]; v != "" {
				return b.filled(v)
			}
		}
		return ""
	}
}

var nameIsValue = lazyregexp.New(`(?:^|\s)(\w+)=(?:"([^"]*)"|'([^']*)'|(\{\{.*?\}\}\S*|\S+))`)

// wordOf is the text of a member, if that is one.
func wordOf(n *yamldoc.Node, name string) string {
	if m := n.Get(name); m != nil {
		return m.Text
	}
	return ""
}

// module adds what a module does as a line of a shell.
func (b *book) module(task *yamldoc.Node, name string, args *yamldoc.Node, here bool) {
	for text := range stringsOf(args) { // what is looked up is looked up here
		for _, m := range lookedUp.FindAllStringSubmatch(text, 8) {
			if m[1] == "pipe" {
				b.here = append(b.here, b.filled(m[2]))
			}
		}
	}
	get := b.told(args)
	add := func(command bool, format string, words ...any) {
		line := fmt.Sprintf(format, words...)
		switch {
		case here:
			b.here = append(b.here, line)
		case command:
			b.there = append(b.there, line)
		}
	}
	switch name {
	case "shell", "command", "raw", "script", "expect":
		line := b.filled(args.Text)
		if line == "" {
			line = get("cmd _raw_params command free_form")
		}
		if argv := args.Get("argv"); line == "" && argv != nil {
			var words []string
			for word := range stringsOf(argv) {
				words = append(words, asWord(b.filled(word)))
			}
			line = strings.Join(words, " ")
		}
		in := get("chdir")
		if more := task.Get("args"); in == "" && more != nil {
			in = b.told(more)("chdir")
		}
		if in != "" {
			line = "cd " + asWord(in) + " && " + line
		}
		if name == "script" {
			b.takes = append(b.takes, before(line, ' '))
		}
		add(true, "%s", line)
	case "file":
		if at := get("path dest name"); get("state") == "absent" && at != "" {
			if glob, ok := b.found[at]; ok {
				at = glob
			}
			add(true, "rm -rf %s", asWord(at))
		}
	case "find":
		if result := wordOf(task, "register"); result != "" {
			b.vars["item.path"] = get("paths path") + "/*"
		}
	case "copy", "template":
		to := get("dest path")
		if content := get("content"); content != "" {
			add(false, "cat > %s <<'END_OF_FILE'\n%s\nEND_OF_FILE", asWord(to), content)
		} else if from := get("src"); from != "" && to != "" {
			add(false, "cp %s %s", asWord(from), asWord(to))
		}
	case "lineinfile", "blockinfile":
		add(false, "cat >> %s <<'END_OF_FILE'\n%s\nEND_OF_FILE", asWord(get("path dest name")), get("line block content"))
	case "authorized_key":
		add(false, "echo key >> ~/.ssh/authorized_keys")
	case "cron":
		if job := get("job"); job != "" {
			add(false, "echo %s | crontab -", asWord("*/5 * * * * "+job))
		}
	case "uri":
		line := "curl -X " + asWord(orElse(get("method"), "GET"))
		if from := get("src"); from != "" {
			line += " -T " + asWord(from)
		}
		for text := range stringsOf(args.Get("body")) {
			line += " -d " + asWord(b.filled(text))
		}
		for text := range stringsOf(args.Get("headers")) {
			line += " -H " + asWord("X: "+b.filled(text))
		}
		line += " " + asWord(get("url"))
		if here || strings.Contains(line, "$(") {
			b.here = append(b.here, line)
		}
	case "get_url":
		to := get("dest")
		add(false, "curl -o %s %s", asWord(to), asWord(get("url")))
		if mode := get("mode"); mode != "" {
			add(false, "chmod %s %s", asWord(mode), asWord(to))
		}
	case "git":
		add(false, "git clone %s %s", asWord(get("repo")), asWord(get("dest")))
	case "synchronize":
		line := "rsync -a"
		if listed("yes true True", get("delete")) {
			line += " --delete"
		}
		add(false, "%s %s %s", line, asWord(get("src")), asWord(get("dest")))
	case "k8s":
		if get("state") == "absent" {
			b.here = append(b.here, "kubectl delete "+asWord(get("kind"))+" "+asWord(get("name")))
		}
	case "postgresql_query", "mysql_query":
		add(true, "psql -c %s", asWord(get("query")))
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// asWord is a text as one word of a shell, in which variables and commands stand for what they give.
func asWord(text string) string {
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		text = "$HOME" + rest
	}
	if end := strings.TrimSuffix(text, "/*"); end != text {
		return asWord(end) + "/*"
	}
	return `"` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`) + `"`
}

var (
	inBraces = lazyregexp.New(`\{\{\s*(.*?)\s*\}\}`)
	lookedUp = lazyregexp.New(`\b(?:lookup|query|q)\(\s*["'](?:ansible\.builtin\.)?(\w+)["']\s*,\s*["']([^"'\n]*)["']`)
	homeOf   = lazyregexp.New(`^ansible_(?:facts\.)?env(?:\.|\[["'])(\w+)(?:["']\])?$`)
	aName    = lazyregexp.New(`^[\w.]+$`)
)

// filled is a text with what stands in braces put in as a shell would write it.
func (b *book) filled(text string) string {
	return inBraces.ReplaceAllStringFunc(text, func(use string) string {
		inner := inBraces.FindStringSubmatch(use)[1]
		if m := lookedUp.FindStringSubmatch(inner); m != nil {
			switch m[1] {
			case "env":
				return "${" + m[2] + "}"
			case "file", "fileglob", "unvault":
				return "$(cat " + m[2] + ")"
			case "pipe":
				return "$(" + m[2] + ")"
			case "url":
				return "$(curl " + m[2] + ")"
			}
		}
		name, _, _ := strings.Cut(inner, "|")
		name = strings.TrimSpace(name)
		if m := homeOf.FindStringSubmatch(name); m != nil {
			return "${" + m[1] + "}"
		}
		if v, ok := b.vars[name]; ok && len(v) < 4096 {
			return v
		}
		if aName.MatchString(name) {
			return "${ansible_" + strings.ReplaceAll(name, ".", "_") + "}"
		}
		return "${ansible}"
	})
}

// playbook judges what a playbook does.
func (a *assessor) playbook(text string, at span) {
	b := readPlaybook(text)
	a.command(strings.Join(b.here, "\n"), &at)
	for _, line := range b.there {
		a.kept(1, Grave, func() { a.command(line, &at) })
	}
	for _, taken := range b.takes {
		a.runFiles = noted(a.runFiles, taken)
	}
}

// PlaybookLines are the lines of a shell that do what a playbook does on this machine; none where a text
// is something else.
func PlaybookLines(name, text string) string {
	if !isPlaybook(strings.ToLower(path.Base(slashed(name))), text) {
		return ""
	}
	return strings.Join(readPlaybook(text).here, "\n")
}
