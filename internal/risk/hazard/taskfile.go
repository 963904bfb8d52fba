package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
	"reeve.example/reeve/internal/yamldoc"
)

// A Taskfile's tasks are lists of commands, and of other tasks.

// isTaskfile reports whether a file of a name is one of task.
func isTaskfile(low string) bool {
	return listed("taskfile.yml taskfile.yaml taskfile.dist.yml taskfile.dist.yaml", low)
}

// taskUse is a value that stands in a command of a Taskfile.
var taskUse = lazyregexp.New(`\{\{[-\s]*\.?([\w.]*)[^{}]*\}\}`)

// taskCommands are the commands of a Taskfile that words ask for, with those of the tasks that these need;
// all of them where words do not say which. What the file sets is put in.
func taskCommands(text string, words []string) (commands []string) {
	doc := yamldoc.Read(text, func(yamldoc.Fault) {})
	if doc == nil || doc.Get("tasks") == nil {
		return nil
	}
	tasks := doc.Get("tasks").Members
	wanted := askedNamesOr(words, "default")
	if words == nil || slices.ContainsFunc(words, unsure) {
		for _, m := range tasks {
			wanted = append(wanted, m.Name)
		}
	}
	set := map[string]string{}
	sets := func(n *yamldoc.Node) {
		if n == nil || n.Get("vars") == nil {
			return
		}
		for _, m := range n.Get("vars").Members {
			if m.Value.Text != "" {
				set[m.Name] = m.Value.Text
			}
		}
	}
	sets(doc)
	done := map[string]bool{}
	for len(wanted) > 0 && len(commands) < maxTasks {
		name := wanted[0]
		if wanted = wanted[1:]; done[name] {
			continue
		}
		done[name] = true
		i := slices.IndexFunc(tasks, func(m yamldoc.Member) bool { return m.Name == name })
		if i < 0 {
			continue
		}
		task := tasks[i].Value
		sets(task)
		wanted = append(wanted, tasksIn(task.Get("deps"), true)...)
		for _, list := range []*yamldoc.Node{task, task.Get("cmds"), task.Get("cmd")} {
			commands = append(commands, commandsOf(list)...)
			wanted = append(wanted, tasksIn(list, false)...)
		}
	}
	for i, command := range commands {
		commands[i] = taskUse.ReplaceAllStringFunc(command, func(use string) string {
			name := taskUse.FindStringSubmatch(use)[1]
			if value, ok := set[name]; ok {
				return value
			}
			return "${" + strings.ReplaceAll(name, ".", "_") + "}"
		})
	}
	return commands
}

// commandsOf are the commands of a list: texts, and members that hold one.
func commandsOf(list *yamldoc.Node) (commands []string) {
	if list == nil {
		return nil
	}
	if list.Text != "" {
		return []string{list.Text}
	}
	for _, item := range list.Items {
		for _, n := range []*yamldoc.Node{item, item.Get("cmd"), item.Get("defer")} {
			if n != nil && n.Text != "" {
				commands = append(commands, n.Text)
			}
		}
	}
	return commands
}

// tasksIn are the tasks that a list names: by members, and where it is one of names by texts.
func tasksIn(list *yamldoc.Node, ofNames bool) (names []string) {
	if list == nil {
		return nil
	}
	for _, item := range list.Items {
		if n := item.Get("task"); n != nil {
			names = append(names, n.Text)
		}
		if ofNames && item.Text != "" {
			names = append(names, item.Text)
		}
	}
	return names
}
