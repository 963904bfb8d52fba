package hazard

import (
	"fmt"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// Models come with code of their own, which programs run where they are told to trust it.

var (
	// trustsCode tells a program, in its text or in a command's words, to run what comes with a model.
	trustsCode = lazyregexp.New(`\b(?:trust_remote_code|trust_repo)["']?\s*[=:]\s*["']?(?:[Tt]rue|1|["']yes)|--trust[-_]remote[-_]code\b`)
	// modelName is a model by its owner and its name, as huggingface.co and torch.hub have them.
	modelName = lazyregexp.New(`^(?:hf://|https://huggingface\.co/)?([A-Za-z0-9][\w.-]{0,95})/[A-Za-z0-9][\w.-]{0,95}(?:[:@][\w.-]+)?$`)
)

// trusts judges that a text has code of a model run, of which none is known to have looked at it: names are the
// strings or words of the text that may say which.
func (a *assessor) trusts(text string, names func(func(string) bool), at span) {
	if !trustsCode.MatchString(text) {
		return
	}
	for name := range names {
		m := modelName.FindStringSubmatch(name)
		if m == nil || strings.HasPrefix(name, "./") || strings.Contains(m[1], "..") {
			continue
		}
		if owner := strings.ToLower(m[1]); !a.table.makers["huggingface.co/"+owner] && !a.table.makers["github.com/"+owner] && !folderNames[owner] {
			a.reportSaying("code.foreign", 0.5, at, fmt.Sprintf("The code that comes with the model %.100q is run, and its owner is none whom everybody takes models from.", name))
			return
		}
	}
}

// trustsModel is trusts for the words of a command: vllm serve OWNER/MODEL --trust-remote-code.
func (c *invocation) trustsModel() {
	for _, a := range c.args {
		if trustsCode.MatchString(a.text) && !strings.ContainsAny(a.text, " \n") {
			c.trusts(a.text, func(yield func(string) bool) {
				for i, word := range c.args {
					if _, value, ok := strings.Cut(word.text, "="); ok && strings.HasPrefix(word.text, "-") {
						word.text = value
					}
					if known := i == 0 || !strings.HasPrefix(c.args[i-1].text, "-") || strings.Contains(c.args[i-1].text, "model"); known && !yield(word.text) {
						return
					}
				}
			}, c.at)
			return
		}
	}
}

// folderNames are names that folders have in which somebody keeps models of their own, and hardly any owner.
var folderNames = set("models model checkpoints checkpoint ckpt ckpts out output outputs runs weights data artifacts src build tmp results exp experiments")
