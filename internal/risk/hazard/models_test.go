package hazard

import (
	"testing"

	"reeve.example/reeve/act"
)

// TestModels: a model's own code asks before it is run, unless its owner is one whom everybody takes models from,
// or it lies in a folder here.
func TestModels(t *testing.T) {
	for line, asks := range map[string]bool{
		`python -c "from transformers import AutoModel; AutoModel.from_pretrained('xz-nlp/german-ticket-bert', trust_remote_code=True)"`:      true,
		`uv run python -c "from transformers import pipeline; p = pipeline('text-classification', model='xz-nlp/x', trust_remote_code=True)"`: true,
		`python -c "import torch; torch.hub.load('xz-nlp/fast', 'm', trust_repo=True)"`:                                                       true,
		"vllm serve xz-nlp/fast --trust-remote-code":                                                                             true,
		"vllm serve --model=xz-nlp/fast --trust-remote-code":                                                                     true,
		"lm_eval --model hf --model_args pretrained=xz-nlp/fast,trust_remote_code=True":                                          false, // of which the words are a list: not seen
		`python -c "from transformers import AutoModel; AutoModel.from_pretrained('Qwen/Qwen2.5-7B', trust_remote_code=True)"`:   false,
		`python -c "from transformers import AutoModel; AutoModel.from_pretrained('xz-nlp/german-ticket-bert')"`:                 false,
		`python -c "from transformers import AutoModel; AutoModel.from_pretrained('./out/final', trust_remote_code=True)"`:       false,
		`python -c "from transformers import AutoModel; AutoModel.from_pretrained('checkpoints/final', trust_remote_code=True)"`: false,
		"vllm serve microsoft/phi-4 --trust-remote-code --tokenizer microsoft/phi-4":                                             false,
		"vllm serve xz-nlp/fast": false,
	} {
		if a := Assess("shell", []act.Leaf{leafOf("command", line)}); (a.Score >= 0.4) != asks {
			t.Errorf("want asked %v: %s: %+v", asks, line, a.Findings)
		}
	}
}
