package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reeve.example/reeve/act"
	"reeve.example/reeve/internal/jsonrpc"
	"reeve.example/reeve/internal/outbound"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// LLMConfig is for NewLLM.
type LLMConfig struct {
	// BaseURL is of an OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1.
	// Empty means that there is none, and every task says so.
	BaseURL string
	// Key is sent as a bearer token; empty for none. Else the endpoint gets what
	// Credentials have for it.
	Key         string
	Credentials Credentials
	// Model is asked when a task names none.
	Model string
	// AllowPrivate lets the endpoint be at an address that is not public.
	AllowPrivate bool
	// PromptPrice and CompletionPrice are what a million tokens of Model cost, in
	// US dollars. When both are 0, costs are not known, and a task that bounds
	// them is refused.
	PromptPrice, CompletionPrice float64
}

// NewLLM returns llm_executor, which asks a model.
func NewLLM(c LLMConfig) Executor { return &llm{c} }

type llm struct{ config LLMConfig }

func (e *llm) Describe() Description {
	return Description{
		ID:           "llm_executor",
		Name:         "Language model",
		Description:  "Asks a language model, within a budget of tokens and of money.",
		Tags:         []string{"llm", "model", "network"},
		InputSchema:  llmSchema,
		ResultSchema: llmResultSchema,
		Manifest:     act.Manifest{TimeoutSeconds: 600, NetworkAllowed: true},
		Enforces:     networkLimits,
	}
}

var llmSchema = jsontext.Value(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "prompt": {"type": "string", "description": "What the model is asked. Either this or messages."},
    "messages": {
      "type": "array", "minItems": 1, "maxItems": 1000,
      "description": "A conversation, whose messages have a role and a content.",
      "items": {"type": "object", "required": ["role"], "properties": {"role": {"type": "string"}}}
    },
    "system": {"type": "string", "description": "What the model is told before."},
    "model": {"type": "string", "description": "The model; by default the node's. The cost of another one is not known."},
    "temperature": {"type": "number", "minimum": 0, "maximum": 2},
    "max_tokens": {"type": "integer", "minimum": 1, "description": "How many tokens the answer may have. It is ended when it has more."},
    "max_cost_usd": {"type": "number", "exclusiveMinimum": 0, "description": "What it may cost. It is not asked when the prompt alone costs more, and ended when the answer does."},
    "response_format": {"type": "object", "description": "Passed on, such as {\"type\": \"json_object\"}."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may take; never more than the manifest allows."}
  },
  "additionalProperties": true
}`)

type llmInputs struct {
	Prompt      string           `json:"prompt"`
	Messages    []jsontext.Value `json:"messages"`
	System      string           `json:"system"`
	Model       string           `json:"model"`
	Temperature *float64         `json:"temperature"`
	MaxTokens   *int             `json:"max_tokens"`
	MaxCost     *float64         `json:"max_cost_usd"`
	Format      jsontext.Value   `json:"response_format"`
	Timeout     *float64         `json:"timeout"`
}

// llmRequest is what the endpoint is sent.
type llmRequest struct {
	Model       string           `json:"model"`
	Messages    []jsontext.Value `json:"messages"`
	Temperature *float64         `json:"temperature,omitzero"`
	MaxTokens   int              `json:"max_tokens,omitzero"`
	Format      jsontext.Value   `json:"response_format,omitzero"`
	Stream      bool             `json:"stream"`
	Options     struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// llmChunk is a part of a streamed answer, or a whole answer that is not streamed.
type llmChunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Index   int     `json:"index"`
		Delta   llmText `json:"delta"`
		Message llmText `json:"message"`
		Finish  string  `json:"finish_reason"`
	} `json:"choices"`
	Usage *llmUsage `json:"usage"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type llmText struct {
	Content string `json:"content"`
	// What a model thinks is paid for as what it says.
	Reasoning string `json:"reasoning_content"`
}

type llmUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	// Estimated says that the endpoint did not tell, and that these are guesses.
	Estimated bool `json:"estimated,omitzero"`
}

// llmResult is an answer.
type llmResult struct {
	Content string   `json:"content"`
	Model   string   `json:"model"`
	Usage   llmUsage `json:"usage"`
	Cost    *float64 `json:"cost_usd,omitzero"`
	Finish  string   `json:"finish_reason"`
}

// Bounds of what an endpoint sends.
const (
	maxLLMAnswer  = 64 << 20 // as it is sent
	maxLLMLine    = 4 << 20
	maxLLMContent = 4 << 20
)

func (e *llm) Execute(ctx context.Context, job *Job) (jsontext.Value, error) {
	if e.config.BaseURL == "" {
		return nil, final("this node has no language model: its operator must set a base URL")
	}
	var in llmInputs
	if err := decode(job, &in); err != nil {
		return nil, err
	}
	a, err := e.newAnswer(in)
	if err != nil {
		return nil, err
	}
	base, err := webURL("base URL", strings.TrimSuffix(e.config.BaseURL, "/"))
	if err != nil {
		return nil, final("the node's language model has no whole http or https URL")
	}
	dialer, err := network(job.Manifest, e.config.AllowPrivate)
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := limited(ctx, job.Manifest, in.Timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	a.report = report(job)
	defer a.report.close()

	header := http.Header{}
	if e.config.Key != "" {
		header.Set("Authorization", "Bearer "+e.config.Key)
		a.secrets.add(e.config.Key)
	}
	d, _ := allowedTime(job.Manifest, in.Timeout)
	// The context, which says so in words, ends before the header's time does.
	options := outbound.Options{HeaderTimeout: d + time.Second, MaxResponse: maxLLMAnswer, Header: header, For: base}
	e.config.Credentials.arm(&options, &a.secrets)
	client := dialer.Client(options)
	defer client.CloseIdleConnections()
	body, err := encode(a.request)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, client, base.JoinPath("chat", "completions"), body)
}

// llmAnswer is an answer that is coming.
type llmAnswer struct {
	request   llmRequest
	maxTokens int     // 0 for no bound
	maxCost   float64 // 0 for no bound
	prices    [2]float64
	prompt    int // tokens, estimated

	report  *reporter
	secrets secrets
	model   string
	content strings.Builder
	unsaid  string
	pieces  int // that had text
	bytes   int // of all that is paid for
	usage   *llmUsage
	finish  string
}

// newAnswer makes the request, and sees whether the budget allows it.
func (e *llm) newAnswer(in llmInputs) (*llmAnswer, error) {
	a := &llmAnswer{model: in.Model}
	if a.model == "" {
		a.model = e.config.Model
	}
	if a.model == "" {
		return nil, final("the input \"model\" is missing, and this node has no model of its own")
	}
	if a.model == e.config.Model {
		a.prices = [2]float64{e.config.PromptPrice, e.config.CompletionPrice}
	}
	if err := a.setMessages(in); err != nil {
		return nil, err
	}
	a.request.Model, a.request.Temperature, a.request.Format, a.request.Stream = a.model, in.Temperature, in.Format, true
	a.request.Options.Usage = true
	if in.MaxTokens != nil {
		if a.maxTokens = *in.MaxTokens; a.maxTokens < 1 {
			return nil, final("the input \"max_tokens\" must be 1 or more")
		}
	}
	if in.MaxCost != nil {
		if a.maxCost = *in.MaxCost; !(a.maxCost > 0) {
			return nil, final("the input \"max_cost_usd\" must be more than 0")
		}
		if a.prices == [2]float64{} {
			return nil, final("the cost cannot be bounded, since this node does not know the prices of the model %q", cut(a.model, 100))
		}
		left := a.maxCost - a.cost(a.prompt, 0)
		if left <= 0 {
			return nil, final("the prompt alone, of about %d tokens, costs more than the %g dollars that it may", a.prompt, a.maxCost)
		}
		if a.prices[1] > 0 {
			// The endpoint stops by itself, and is not only cut off.
			afford := math.Min(math.Max(left/a.prices[1]*1e6, 1), 1<<30)
			if a.maxTokens == 0 || int(afford) < a.maxTokens {
				a.maxTokens = int(afford)
			}
		}
	}
	a.request.MaxTokens = a.maxTokens
	return a, nil
}

func (a *llmAnswer) setMessages(in llmInputs) error {
	add := func(role, content string) {
		b, _ := json.Marshal(struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}{role, content})
		a.request.Messages = append(a.request.Messages, b)
	}
	if (in.Prompt == "") == (len(in.Messages) == 0) {
		return final("one of the inputs \"prompt\" and \"messages\" is needed, and not both")
	}
	if len(in.Messages) > 1000 {
		return final("the input \"messages\" has more than 1000 messages")
	}
	if in.System != "" {
		add("system", in.System)
	}
	if in.Prompt != "" {
		add("user", in.Prompt)
	}
	for i, m := range in.Messages {
		var one struct {
			Role string `json:"role"`
		}
		if m.Kind() != '{' || json.Unmarshal(m, &one) != nil || one.Role == "" {
			return final("the input \"messages\" has no role at %d", i)
		}
		a.request.Messages = append(a.request.Messages, m)
	}
	for _, m := range a.request.Messages {
		a.prompt += 4 + len(m)/4
	}
	return nil
}

// cost is what tokens cost, in dollars.
func (a *llmAnswer) cost(prompt, completion int) float64 {
	return (float64(prompt)*a.prices[0] + float64(completion)*a.prices[1]) / 1e6
}

// completion is how many tokens came at least: each piece is one or more, and
// hardly any is longer than eight bytes.
func (a *llmAnswer) completion() int { return max(a.pieces, a.bytes/8) }

// over says that what came is more than the budget allows.
func (a *llmAnswer) over() error {
	n := a.completion()
	switch {
	case a.maxTokens > 0 && n > a.maxTokens:
		return fmt.Errorf("the answer is longer than the %d tokens that it may have", a.maxTokens)
	case a.maxCost > 0 && a.cost(a.prompt, n) > a.maxCost:
		return fmt.Errorf("the answer costs more than the %g dollars that it may", a.maxCost)
	case a.content.Len() > maxLLMContent:
		return fmt.Errorf("the answer is longer than %d MiB", maxLLMContent>>20)
	}
	return nil
}

func (a *llmAnswer) ask(ctx context.Context, client *http.Client, to *url.URL, body []byte) (jsontext.Value, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream, application/json")
	request.Header.Set("User-Agent", "reeve")
	response, err := client.Do(request)
	if err != nil {
		return nil, failed(ctx, "the language model was not reached", err, a.secrets)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, a.refused(response)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		err = a.stream(response.Body)
	} else {
		err = a.whole(response.Body)
	}
	if gone := ended(ctx); gone != nil {
		return nil, gone
	}
	return a.result(err)
}

// refused tells what an endpoint said in place of an answer.
func (a *llmAnswer) refused(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	said := string(text)
	var chunk llmChunk
	if json.Unmarshal(text, &chunk) == nil && chunk.Error != nil {
		said = chunk.Error.Message
	}
	status := response.StatusCode
	return &Error{
		Message: fmt.Sprintf("the language model answered %d %s: %s", status, http.StatusText(status), cut(a.secrets.mask(strings.TrimSpace(said)), 500)),
		Final:   status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests && status != http.StatusConflict,
		After:   retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
}

// whole reads an answer that is not streamed, as some endpoints send whatever is asked.
func (a *llmAnswer) whole(from io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(from, maxLLMLine+1))
	if err != nil {
		return err
	}
	if len(text) > maxLLMLine {
		return outbound.ErrTooLarge
	}
	return a.take(text)
}

// stream reads events until the end, or until the budget is used up.
func (a *llmAnswer) stream(from io.Reader) error {
	err := jsonrpc.ReadEvents(from, maxLLMLine, nil, func(e jsonrpc.Event) error {
		data := bytes.TrimSpace(e.Data)
		if string(data) == "[DONE]" {
			return errDone
		}
		return a.take(data)
	})
	if errors.Is(err, errDone) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.finish == "" {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// errDone is what an endpoint says after the last event.
var errDone = errors.New("done")

// errBudget is what ended an answer.
type errBudget struct{ error }

// take adds a part of the answer.
func (a *llmAnswer) take(data []byte) error {
	var c llmChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return errors.New("what the language model sent cannot be read")
	}
	if c.Error != nil {
		return errors.New("the language model said: " + cut(a.secrets.mask(c.Error.Message), 500))
	}
	if c.Model != "" {
		a.model = cut(c.Model, 200)
	}
	if u := c.Usage; u != nil && u.Prompt >= 0 && u.Completion >= 0 && u.Prompt < 1<<40 && u.Completion < 1<<40 {
		a.usage = u
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one answer was asked for
		}
		if choice.Finish != "" {
			a.finish = cut(choice.Finish, 100)
		}
		for _, part := range []llmText{choice.Delta, choice.Message} {
			if part.Content+part.Reasoning == "" {
				continue
			}
			a.pieces++
			a.bytes += len(part.Content) + len(part.Reasoning)
			a.content.WriteString(part.Content)
			if err := a.over(); err != nil {
				return errBudget{err}
			}
			a.say(part.Content, false)
		}
	}
	return nil
}

// say reports what came of the answer, but for an end that may be the beginning of a
// secret, unless it is the last.
func (a *llmAnswer) say(text string, last bool) {
	text = a.unsaid + text
	if a.unsaid = ""; last {
		text = a.secrets.mask(text)
	} else {
		text, a.unsaid = a.secrets.begun(text)
	}
	if text != "" {
		a.report.say(-1, text)
	}
}

// result is the answer, or as much as there is of it, with what went wrong.
func (a *llmAnswer) result(err error) (jsontext.Value, error) {
	a.say("", true)
	r := llmResult{Content: a.secrets.mask(a.content.String()), Model: a.model, Finish: a.finish}
	if a.usage != nil {
		r.Usage = *a.usage
	} else {
		r.Usage = llmUsage{Prompt: a.prompt, Completion: a.completion(), Estimated: true}
	}
	r.Usage.Total = r.Usage.Prompt + r.Usage.Completion
	if a.prices != [2]float64{} {
		cost := a.cost(r.Usage.Prompt, r.Usage.Completion)
		r.Cost = &cost
		if err == nil && a.maxCost > 0 && cost > a.maxCost {
			err = errBudget{fmt.Errorf("the answer cost %g dollars, more than the %g that it may", cost, a.maxCost)}
		}
	}
	budget := errBudget{}
	isBudget := errors.As(err, &budget)
	if isBudget {
		r.Finish = "budget"
	}
	value, encoding := encode(r)
	if err == nil || encoding != nil {
		return value, encoding
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the answer broke off")
	}
	return nil, &Error{Message: cut(a.secrets.mask(err.Error()), 1000), Final: isBudget, Result: value}
}
