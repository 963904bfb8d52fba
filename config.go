package reeve

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"reeve.example/reeve/acs"
	"reeve.example/reeve/internal/datadir"
	"reeve.example/reeve/internal/export"
	"reeve.example/reeve/internal/identity"
	"reeve.example/reeve/internal/ledger"
	"reeve.example/reeve/internal/mcp/pins"
	"reeve.example/reeve/internal/passkey"
	"reeve.example/reeve/internal/rawjson"
	"reeve.example/reeve/internal/risk"
	"reeve.example/reeve/internal/secret"
	"reeve.example/reeve/internal/server"
	"reeve.example/reeve/internal/store/postgres"
	"reeve.example/reeve/internal/words"
	"reeve.example/reeve/internal/yamldoc"
)

// Config is everything that can be set about a node. Each field can be given as
// a flag (--retention-age), as an environment variable (REEVE_RETENTION_AGE) or
// as a key of the configuration file (retention: {age: …}); a flag wins over
// the environment, and that over the file. The zero value of a field means its
// default. Secrets are never written here: they are named by a reference,
// env:NAME or file:PATH.
type Config struct {
	file   string  // that the configuration was read from; empty if none
	beside string  // where a policy rules that no setting names, of a node that is open
	behind *Config // the node's that listens for this organization's; nil for a node that listens itself

	Listen   string `yaml:"listen" default:"127.0.0.1:8080" doc:"Address to listen on; empty for the operator's socket only. Beyond loopback, callers need credentials."`
	Data     string `yaml:"data" default:"./reeve-data" doc:"Folder for the database, the node's key and its socket. Created with mode 0700; one that others can write is refused, and in a mount that others can write, as of containers, it is the folder reeve-data."`
	Database string `yaml:"database" doc:"Where the ledger is kept: empty for SQLite in the data folder, sqlite:DIR, or postgres://…; the URL may be an env: or file: reference."`
	Policy   string `yaml:"policy" doc:"Policy file or folder; empty for the built-in starter policy. Changes are taken up while running."`

	LogFormat string `yaml:"log-format" default:"text" doc:"Form of the process log: text or json."`

	LogDenials bool `yaml:"log-denials" doc:"Say each act that is denied or held in the process log, too: its decision, rule, kind, tool and agent, and nothing of its contents."`

	TLS struct {
		Cert string `yaml:"cert" doc:"TLS certificate file (PEM). With it and tls.key the node speaks HTTPS."`
		Key  string `yaml:"key" doc:"TLS private key file (PEM)."`

		ClientCertificates bool `yaml:"client-certificates" doc:"Ask callers for a certificate of their own, so that tokens can be taken that are bound to one (RFC 8705). Nobody has to show one; browsers that have some ask their user."`
	} `yaml:"tls"`

	SPIFFE struct {
		Bundles []string `yaml:"bundles" doc:"Trust domains whose workloads may ask, by their X.509 SVID as the client's certificate, each as TRUST-DOMAIN=FILE. The file has the domain's authorities in PEM, and is read again when it changes. Needs tls.cert."`
		Roles   []string `yaml:"roles" doc:"Which workloads have which role, each as PATTERN=ROLE or PATTERN=ROLE@ORGANIZATION, such as spiffe://example.org/agents/*=agent. The first that matches counts; whom none matches is refused."`
	} `yaml:"spiffe"`

	Hosts []string `yaml:"hosts" doc:"Further host names that callers may use for this node (DNS rebinding is refused)."`

	Organization string `yaml:"organization" doc:"Organization whose node this is; empty for everybody's. Tokens must name it (jwt.organization-from), and keys and workloads are of it."`

	Organizations []string `yaml:"organizations" doc:"Configuration files of organizations' nodes that run in this process and are reached at its addresses, each under the hosts that are its own. Each has its own policy, ledger, keys, agents, tasks and console; the file sets organization, hosts and data, and nothing about listening."`

	Origins []string `yaml:"origins" doc:"Origins of web pages of other sites that may call the node from a browser, each exactly, such as https://app.example; none stands for several. Such a page has there what its user has: with a credential that it is given, or without one where none is needed."`

	Proxies struct {
		Trusted []string `yaml:"trusted" doc:"Addresses and networks of the reverse proxies in front of the node, such as 10.0.0.5,10.1.0.0/16. They are believed about whose request it is, for limits and the log, and may have any number of connections; nobody who comes from them is anonymous."`
		Header  string   `yaml:"header" default:"X-Forwarded-For" doc:"Header in which they say so: X-Forwarded-For, Forwarded, or one with a single address, such as X-Real-IP. The proxy must set it, since it passes on others as callers wrote them."`
	} `yaml:"proxies"`

	InsecureAnonymous bool `yaml:"insecure-anonymous" doc:"Listen beyond loopback without credentials. Anybody who can reach the node can use it."`

	Anonymous string `yaml:"anonymous" default:"until-first-key" doc:"When callers of this machine need no credential: until-first-key, so that the first API key or a JWT setting closes that for good; loopback, with keys, too, on a node that listens on loopback only; never, so that a node can also listen elsewhere before its first key."`

	Keys []string `yaml:"keys" doc:"API keys, beside those that reeve keys create makes: each NAME=ROLE:sha256:HEX, as reeve keys generate prints it, or NAME=ROLE:env:NAME or NAME=ROLE:file:PATH, where sha256:HEX is; ROLE@PERSON says who holds it, too. The hash is no secret; the key is nowhere at the node."`

	JWT struct {
		Secret           string        `yaml:"secret" doc:"Reference to a secret for HS256 tokens: env:NAME or file:PATH."`
		JWKS             string        `yaml:"jwks" doc:"File or https URL of a JWKS for RS256, ES256 and EdDSA tokens."`
		Issuer           string        `yaml:"issuer" doc:"Issuer that tokens must name. Required with jwt.jwks."`
		Audience         string        `yaml:"audience" doc:"Audience that tokens must name. Required with any JWT setting."`
		RoleFrom         string        `yaml:"role-from" default:"role" doc:"Claim that holds the role, a word or a list; a path with dots leads into objects. Absent in a token means agent."`
		OrganizationFrom string        `yaml:"organization-from" default:"organization" doc:"Claim that holds the organization; a path with dots leads into objects."`
		PersonFrom       string        `yaml:"person-from" doc:"Claim that says who holds a token, in the word by which keys say it (reeve keys create --person). Name one that nobody can choose for themselves. Empty: each token's subject is a person."`
		Roles            []string      `yaml:"roles" doc:"Which role the claim's values mean, each as VALUE=ROLE, such as reeve-admins=admin; other values mean none. Empty for the roles' own names: agent, approver, auditor, admin."`
		RequireProof     bool          `yaml:"require-proof" doc:"Take only tokens that are bound to a key (DPoP) or to a client's certificate, of which the caller must have the private part. Those that are bound are checked in any case."`
		DPoPNonce        bool          `yaml:"dpop-nonce" doc:"Ask for a nonce of this node in DPoP proofs, so that none can be made in advance, or be sent to another node again."`
		Leeway           time.Duration `yaml:"leeway" default:"30s" doc:"Tolerated difference of clocks."`
	} `yaml:"jwt"`

	Login struct {
		Issuer string   `yaml:"issuer" doc:"Issuer of an OpenID Connect provider at which people log in to the console, such as https://login.example/realms/birch; empty for keys and tokens only. Register https://NODE/console/login/callback there."`
		Client string   `yaml:"client" doc:"The node's client id at the provider. Required with login.issuer."`
		Secret string   `yaml:"secret" doc:"Reference to the client's secret: env:NAME or file:PATH; empty for a public client."`
		Scopes []string `yaml:"scopes" default:"openid,profile" doc:"What is asked of the provider. Add the one that brings the claim of jwt.role-from; jwt.roles says what its values mean for people, too."`
	} `yaml:"login"`

	Passkeys struct {
		Origin string `yaml:"origin" doc:"Address of the console's pages at which people register passkeys and agree with them, exactly as their browsers have it, such as https://reeve.example or http://localhost:8080; empty for no passkeys: what a rule asks for a passkey for, nobody can agree to then. It needs a name: browsers bind no passkey to 127.0.0.1. Passkeys are of use at this name only."`
	} `yaml:"passkeys"`

	Keep   string   `yaml:"keep" default:"all" doc:"Which contents stay beside the ledger: all, not-allowed or none."`
	Redact []string `yaml:"redact" default:"secret,pii.card,pii.ssn,pii.iban" doc:"Detectors whose findings are masked in kept contents; the word none for no masking."`

	Retention struct {
		Age     time.Duration `yaml:"age" default:"2160h" doc:"How long contents are kept (90 days)."`
		Bytes   int64         `yaml:"bytes" default:"2147483648" doc:"How many bytes of contents are kept; the oldest go first."`
		Links   time.Duration `yaml:"links" default:"17520h" doc:"How long it is kept who asked for what in which session, by which decisions are found, apart from the contents (two years); never shorter than those. 0s for as long as the records."`
		Tasks   time.Duration `yaml:"tasks" default:"2160h" doc:"How long trees of tasks are kept after all of them ended, and A2A tasks (90 days); 0s for ever."`
		Records time.Duration `yaml:"records" default:"4320h" doc:"How old records must be before somebody may prune them (180 days); 0s for no bound. Without pruning they stay for ever."`
	} `yaml:"retention"`

	Ledger struct {
		Origin     string `yaml:"origin" default:"reeve.local" doc:"Name of this ledger in its checkpoints, without a scheme."`
		Seed       string `yaml:"seed" doc:"Reference to the 32-byte seed (64 hex digits) of the ledger's keys; empty for the file seed in the data folder, made at the first start."`
		Public     string `yaml:"public" default:"auto" doc:"Who may read proofs, checkpoints and records' metadata at /ledger/: true for everybody who reaches the node, auto for every caller with a credential, or without one where none is needed, false for auditors and admins."`
		File       string `yaml:"file" doc:"File that a checkpoint is appended to each minute. Keep it where the node's user cannot rewrite it."`
		URL        string `yaml:"url" doc:"URL that a checkpoint is posted to each minute."`
		Witness    string `yaml:"witness" doc:"URL of a C2SP tlog-witness that cosigns a checkpoint each minute."`
		WitnessKey string `yaml:"witness-key" doc:"Verifier key of the witness's cosignatures. Required with ledger.witness."`
	} `yaml:"ledger"`

	Model struct {
		URL     string        `yaml:"url" doc:"URL of a model that scores the risk of tool calls; empty for none. What the calls hold is sent there."`
		Kind    string        `yaml:"kind" default:"score_risk" doc:"How it is asked: score_risk (POST {method, params} for {risk_score}) or openai (chat completions)."`
		Name    string        `yaml:"name" doc:"Name of the model, for openai."`
		Key     string        `yaml:"key" doc:"Reference to its API key: env:NAME or file:PATH."`
		Timeout time.Duration `yaml:"timeout" default:"2s" doc:"How long a call waits for the score; without one, model_score is null."`
	} `yaml:"model"`

	ACS struct {
		Keys  []string `yaml:"keys" doc:"Keys that agents sign requests of ACS with, each LABEL=AGENT:env:NAME or LABEL=AGENT:file:PATH: the label that signatures name, and the name of the agent's credential, which its API key may bear as well. POST /acs is served where there is one."`
		Ask   []string `yaml:"ask" doc:"Names of those agents that can show their user a question: where nobody in particular must agree to a call, they are answered ask instead of defer, and the agent's word that its user agreed counts."`
		Trace bool     `yaml:"trace" default:"false" doc:"Whether records and security events (events.mapping acs) also tell each answer as it was given, with its reasoning, which may quote the act, and of the step what the profile acs-trace names of its payload, such as exit status and where values came from. The handshake offers acs-trace then."`
	} `yaml:"acs"`

	A2G struct {
		Secrets   []string      `yaml:"secrets" doc:"Secrets shared with agents, as DID=env:NAME or DID=file:PATH: such agents must sign. The DID * stands for every other agent."`
		Signed    bool          `yaml:"signed" doc:"Every A2G agent must sign, also one without a secret or a registered key."`
		Lasts     time.Duration `yaml:"lasts" default:"5m" doc:"How long an A2G verdict is good for."`
		Session   time.Duration `yaml:"session" default:"24h" doc:"For how long a registered A2G agent may be silent before it has to register again."`
		PerMinute int           `yaml:"per-minute" default:"0" doc:"Most intents of one A2G agent in a minute, at all nodes that share a database together; 0 for no limit."`
	} `yaml:"a2g"`

	Approvals struct {
		Wait time.Duration `yaml:"wait" default:"0s" doc:"How long a call whose act is held waits for a person's answer before it is told to come again."`
		Held int           `yaml:"held" default:"256" doc:"Most calls that wait at once; the others are told at once to come again."`

		Notify notifySettings `yaml:"notify"`
	} `yaml:"approvals"`

	AllowCommands         bool `yaml:"allow-commands" doc:"Tasks may run commands (command_executor), each inside the sandbox."`
	AllowPrivateCallbacks bool `yaml:"allow-private-callbacks" doc:"Push notifications may go to private addresses and to this machine."`

	Tasks struct {
		Concurrent   int           `yaml:"concurrent" default:"256" doc:"Most tasks that a node executes at once; each executor has a limit of its own as well."`
		Grace        time.Duration `yaml:"grace" default:"5s" doc:"How long running tasks may go on when the node stops; then they are stopped, and start again elsewhere or later."`
		AllowPrivate bool          `yaml:"allow-private" doc:"Tasks may call private addresses and this machine (rest_executor, mcp_executor, a2a_executor)."`
		Modules      string        `yaml:"modules" doc:"Folder of the WASM modules that tasks may run; empty for none."`
		Scratch      string        `yaml:"scratch" doc:"Folder in which each command has a folder of its own while it runs; empty for the system's temporary folder."`
		ScratchBytes int64         `yaml:"scratch-bytes" default:"1073741824" doc:"How many bytes a command, module or MCP server may have in that folder (1 GiB), in at most 50,000 files; one that writes more is ended."`
		PushSecret   string        `yaml:"push-secret" doc:"Reference to a secret that push notifications are signed with: env:NAME or file:PATH."`
	} `yaml:"tasks"`

	Credentials []string `yaml:"credentials" doc:"What tasks are known by to services, each as ORIGIN[/PATH]=REFERENCE, such as api.example.com=env:TOKEN: sent as Authorization: Bearer by requests of rest_executor, llm_executor, mcp_executor and a2a_executor to exactly that origin. ORIGIN=HEADER: REFERENCE names another header."`

	LLM struct {
		URL             string  `yaml:"url" doc:"Base URL of the OpenAI-compatible endpoint of llm_executor, such as http://127.0.0.1:11434/v1."`
		Key             string  `yaml:"key" doc:"Reference to its API key: env:NAME or file:PATH; empty for what credentials have for its origin."`
		Model           string  `yaml:"model" doc:"Model that is asked when a task names none."`
		PromptPrice     float64 `yaml:"prompt-price" default:"0" doc:"US dollars for a million tokens of the prompt; with it, tasks can bound their costs."`
		CompletionPrice float64 `yaml:"completion-price" default:"0" doc:"US dollars for a million tokens of the answer."`
	} `yaml:"llm"`

	A2A struct {
		Workflow string        `yaml:"workflow" doc:"Workflow file, in YAML or JSON, whose tasks A2A messages of text are given to; empty for none: then messages must hold their tasks."`
		GRPC     string        `yaml:"grpc" doc:"Address on which A2A is spoken over gRPC, such as 127.0.0.1:50051, or same for the node's own; empty for none. Beyond loopback, callers need credentials."`
		URL      string        `yaml:"url" doc:"URL under which other agents reach the node, for its agent card; empty for the one by which they ask for the card."`
		GRPCURL  string        `yaml:"grpc-url" doc:"Address under which other agents reach a2a.grpc, for the agent card; empty for the one that is listened on, at the host by which they ask for the card."`
		Wait     time.Duration `yaml:"wait" default:"1m" doc:"How long an A2A message waits for its task to end before the task is answered as it is."`
		Key      string        `yaml:"key" doc:"Reference to the private key (PEM, PKCS #8, Ed25519 or ECDSA P-256) that the agent card is signed with: env:NAME or file:PATH; empty for no signature."`
		KeyID    string        `yaml:"key-id" doc:"Name of that key to those who verify the signature."`
		Peers    []string      `yaml:"peers" doc:"Agents whose cards must be signed before a2a_executor speaks with them, each as ORIGIN=REFERENCE, such as agent.example.com=file:PATH: what the reference names is a JWK Set, a JWK or a public key in PEM."`
		Signed   bool          `yaml:"signed" doc:"Refuse agents that are none of a2a.peers."`
	} `yaml:"a2a"`
	A2AConformanceAgent bool `yaml:"a2a-conformance-agent" doc:"For tests only: answer A2A messages as the protocol's conformance kits ask for by the message's id."`

	Hook struct {
		Unreachable string `yaml:"unreachable" default:"block" of:"hook" doc:"What a hook does when the node cannot be reached: block, or decide by itself, with the same policy and a ledger of its own."`
	} `yaml:"hook"`

	MCP struct {
		Pin string `yaml:"pin" default:"trust-first" of:"mcp" doc:"What becomes of the tools of an MCP server: trust-first takes those that it lists first and holds later ones, ask holds all, off takes all."`
	} `yaml:"mcp"`

	Nodes struct {
		Name   string `yaml:"name" doc:"Name of this node among those that share its database; empty for the machine's."`
		Policy string `yaml:"policy" default:"any" doc:"What a node does whose policy is another than that of most nodes that share its database (of as many, than that which came into force first): any, it serves, and says that they differ; same, it does not serve until they are the same."`
	} `yaml:"nodes"`

	Quotas struct {
		Tasks     int   `yaml:"tasks" default:"10000" doc:"Most tasks of one principal that have not ended, admins' aside; without credentials, of all together. 0 for no bound."`
		TaskBytes int64 `yaml:"task-bytes" default:"268435456" doc:"Most bytes that the definitions of such tasks have (256 MiB); 0 for no bound."`
		Held      int   `yaml:"held" default:"1000" doc:"Most acts of one principal that wait for people; further ones are denied. 0 for no bound."`
		Agents    int   `yaml:"agents" default:"1000" doc:"Most A2G agents that one principal may register; 0 for no bound."`
		Intents   int   `yaml:"intents" default:"50000" doc:"Most A2G intents of one principal that wait for people or for their report; further ones are denied. 0 for no bound."`
		Servers   int   `yaml:"servers" default:"100" doc:"Most MCP servers of one principal whose tools are remembered, and ten times as many projects whose files are; the tools of a further server are not listed. 0 for no bound."`
		Bytes     int64 `yaml:"bytes" default:"67108864" doc:"Most bytes that one principal may have of each: acts that wait for people, registered agents, open intents, remembered tools (64 MiB); 0 for no bound."`
		Contents  int64 `yaml:"contents" default:"536870912" doc:"How many bytes of contents of one principal's acts are kept of one day, in UTC (512 MiB); of nodes that share a database all together. Further acts are judged and recorded as ever, and their records say that the contents are not kept. 0 for no bound."`
	} `yaml:"quotas"`

	Telemetry telemetrySettings `yaml:"telemetry"`

	Events eventsSettings `yaml:"events"`

	Limits struct {
		Body       int64   `yaml:"body" default:"4194304" doc:"Largest request body, in bytes."`
		Batch      int     `yaml:"batch" default:"100" doc:"Most calls in one JSON-RPC batch."`
		Concurrent int     `yaml:"concurrent" default:"1024" doc:"Most requests at once."`
		Rate       float64 `yaml:"rate" default:"0" doc:"Most requests a second for each principal, at all nodes that share a database together; 0 for no limit."`
		Sessions   int     `yaml:"sessions" default:"8388608" doc:"Bytes of memory for the sessions in use; beyond them the principal with most in memory loses its oldest ones, which are read again when they go on."`
		Disk       int64   `yaml:"disk" default:"67108864" doc:"Free bytes on the data folder's disk below which the node is not ready."`
	} `yaml:"limits"`
}

// notifySettings are where people are told that an act waits for them.
type notifySettings struct {
	Desktop  bool     `yaml:"desktop" doc:"Tell who sits at this machine that an act waits for a person, by notify-send or osascript."`
	Webhooks []string `yaml:"webhooks" doc:"URLs that are told, each as URL or FORM=URL, with json (the default), slack or teams as the form; the URL may be an env: or file: reference."`
	Secret   string   `yaml:"secret" doc:"Reference to a secret that the calls of webhooks are signed with, as push notifications are: env:NAME or file:PATH."`
	SMTP     string   `yaml:"smtp" doc:"Mail server for e-mails, smtp://host:587 (STARTTLS is required, but on this machine) or smtps://host:465; empty for none."`
	User     string   `yaml:"user" doc:"User at the mail server; empty for none."`
	Password string   `yaml:"password" doc:"Reference to the user's password: env:NAME or file:PATH."`
	From     string   `yaml:"from" doc:"E-mail address that the e-mails come from."`
	To       []string `yaml:"to" doc:"E-mail addresses that are told."`
	Contents bool     `yaml:"contents" doc:"Notices say what would happen, as it is kept: masked, and not where keep is none. Otherwise they name the agent, the tool and the rule."`
	URL      string   `yaml:"url" doc:"Address where people answer, which notices name; empty for none."`
}

// Setting is one thing that can be set: one leaf of Config.
type Setting struct {
	Key  string // in the configuration file: "retention.age"
	Flag string // "retention-age"
	Env  string // "REEVE_RETENTION_AGE"
	// Of is the command whose setting it is, where it is not the node's: its flag
	// there is without the command's name, and no variable says it.
	Of      string
	Default string
	Doc     string
	value   reflect.Value
}

// IsBool reports whether the setting needs no value as a flag.
func (s Setting) IsBool() bool { return s.value.Kind() == reflect.Bool }

// Settings lists everything that can be set, bound to the fields of c.
func (c *Config) Settings() []Setting { return settings(reflect.ValueOf(c).Elem(), "") }

func settings(v reflect.Value, prefix string) (list []Setting) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		key := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			list = append(list, settings(v.Field(i), key+".")...)
			continue
		}
		flag := strings.ReplaceAll(key, ".", "-")
		list = append(list, Setting{
			Key: key, Flag: flag, Env: "REEVE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")),
			Default: f.Tag.Get("default"), Doc: f.Tag.Get("doc"), Of: f.Tag.Get("of"), value: v.Field(i),
		})
		if last := &list[len(list)-1]; last.Of != "" {
			last.Env = ""
		}
	}
	return list
}

// Set gives the setting a value, as text.
func (s Setting) Set(text string) (err error) {
	switch p := s.value.Addr().Interface().(type) {
	case *string:
		*p = text
	case *[]string:
		*p = nil
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				*p = append(*p, word)
			}
		}
	case *bool:
		if *p, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		if *p, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
	case *int64:
		if *p, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
	case *float64:
		if *p, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
	case *time.Duration:
		if *p, err = words.Duration(text); err != nil {
			return fmt.Errorf("%q is no length of time: %w", text, err)
		}
	default:
		panic("reeve: setting " + s.Key + " has a type that cannot be set")
	}
	return nil
}

// setNode gives the setting a value of a configuration file.
func (s Setting) setNode(n *yamldoc.Node) error {
	list, isList := s.value.Addr().Interface().(*[]string)
	switch {
	case n.Kind == rawjson.Null: // as if it were not there
		return nil
	case n.Kind == rawjson.Array && isList:
		*list = nil
		for _, item := range n.Items {
			if !scalar(item) {
				return fmt.Errorf("it is a list of texts, and one of them is %s", item.Is())
			}
			*list = append(*list, item.Text)
		}
		return nil
	case !scalar(n):
		return fmt.Errorf("it is one value, not %s", n.Is())
	}
	return s.Set(n.Text)
}

// scalar reports whether a value of a file is one text, number or truth value.
func scalar(n *yamldoc.Node) bool {
	return n.Kind == rawjson.String || n.Kind == rawjson.Number || n.Kind == rawjson.Bool
}

// readSettings gives settings the values that a configuration file has for them.
func readSettings(text string, list []Setting) error {
	empty := true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		empty = empty && (line == "" || line[0] == '#')
	}
	if empty {
		return nil
	}
	var errs []error
	fault := func(f yamldoc.Fault) {
		hint := ""
		if f.Hint != "" {
			hint = " (" + f.Hint + ")"
		}
		errs = append(errs, fmt.Errorf("%d:%d: %s%s", f.Line, f.Column, f.Message, hint))
	}
	switch root := yamldoc.Read(text, fault); {
	case root == nil:
	case root.Kind != rawjson.Object:
		errs = append(errs, fmt.Errorf("it is a mapping of settings, not %s", root.Is()))
	default:
		readMembers(root, "", list, fault)
	}
	return errors.Join(errs...)
}

// readMembers reads the settings whose keys begin with a prefix.
func readMembers(n *yamldoc.Node, prefix string, list []Setting, fault func(yamldoc.Fault)) {
	for _, m := range n.Members {
		key := prefix + m.Name
		at := func(message, hint string) {
			fault(yamldoc.Fault{Line: m.Line, Column: m.Column, Message: message, Hint: hint})
		}
		var near []string // keys that could stand here
		section := false
		for _, s := range list {
			rest, here := strings.CutPrefix(s.Key, prefix)
			if !here {
				continue
			}
			first, _, deeper := strings.Cut(rest, ".")
			near = append(near, first)
			section = section || deeper && first == m.Name
		}
		i := slices.IndexFunc(list, func(s Setting) bool { return s.Key == key })
		switch {
		case i >= 0:
			if err := list[i].setNode(m.Value); err != nil {
				at(key+": "+err.Error(), "")
			}
		case section && m.Value.Kind == rawjson.Object:
			readMembers(m.Value, key+".", list, fault)
		case section && m.Value.Kind == rawjson.Null: // all of it is commented out
		case section:
			at(fmt.Sprintf("%s: it is a mapping of settings, not %s", key, m.Value.Is()), "")
		default:
			hint := ""
			if like := words.Nearest(m.Name, near, 3); like != "" {
				hint = "did you mean " + prefix + like + "?"
			}
			at(fmt.Sprintf("there is no setting %q", key), hint)
		}
	}
}

// String returns the setting's present value.
func (s Setting) String() string {
	if list, ok := s.value.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(s.value.Interface())
}

// Load returns the configuration from its defaults, the file (none if the name
// is empty), the environment, and the flags that were given, in this order.
func Load(file string, getenv func(string) string, flags map[string]string) (Config, error) {
	return load(file, getenv, flags, nil)
}

// load is Load, also for an organization behind a node that listens.
func load(file string, getenv func(string) string, flags map[string]string, behind *Config) (Config, error) {
	c := Config{behind: behind}
	list := c.Settings()
	for _, s := range list {
		if s.Default != "" {
			if err := s.Set(s.Default); err != nil {
				panic(err)
			}
		}
	}
	if c.file = file; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("read the configuration: %w", err)
		}
		if err := readSettings(string(text), list); err != nil {
			return c, fmt.Errorf("configuration %s: %w", file, err)
		}
	}
	for _, s := range list {
		if text := getenv(s.Env); s.Env != "" && text != "" {
			if err := s.Set(text); err != nil {
				return c, fmt.Errorf("environment variable %s: %w", s.Env, err)
			}
		}
		if text, given := flags[s.Flag]; given {
			if err := s.Set(text); err != nil {
				return c, fmt.Errorf("flag --%s: %w", s.Flag, err)
			}
		}
	}
	if c.Organization != "" && c.Ledger.Origin == defaultOrigin {
		c.Ledger.Origin = strings.ToLower(c.Organization) + "." + defaultOrigin
	}
	if behind != nil {
		if err := c.takeFrom(behind); err != nil {
			return c, fmt.Errorf("configuration %s: %w", file, err)
		}
	}
	return c, c.check()
}

// defaultOrigin is the ledger.origin of a node that is everybody's. That of an organization
// has its name before it, so that no log of one is ever taken for another's.
const defaultOrigin = "reeve.local"

// faults are what is wrong with a configuration.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// unless adds what is wrong with a setting, if anything is.
func (f *faults) unless(setting string, err error) {
	if err != nil {
		f.add("%s: %w", setting, err)
	}
}

// choice adds a fault when a setting is none of the words that it may be.
func (f *faults) choice(setting, value string, words ...string) {
	if !slices.Contains(words, value) {
		last := len(words) - 1
		f.add("%s: choose %s or %s, not %q", setting, strings.Join(words[:last], ", "), words[last], value)
	}
}

// check refuses what cannot be meant, before anything is touched.
func (c *Config) check() error {
	var f faults
	c.checkListening(&f)
	c.checkCallers(&f)
	c.checkBounds(&f)
	c.checkRest(&f)
	return errors.Join(f...)
}

// checkListening looks at where the node listens, and whom it believes there.
func (c *Config) checkListening(f *faults) {
	if c.Listen != "" && !address(c.Listen) {
		f.add("listen: %q is not an address such as 127.0.0.1:8080, with a port from 0 to 65535", c.Listen)
	}
	if c.A2A.GRPC != "" && !address(c.A2A.GRPC) && (c.A2A.GRPC != sameGRPC || c.Listen == "") {
		f.add("a2a.grpc: %q is not an address such as 127.0.0.1:50051; same is one where listen is set", c.A2A.GRPC)
	}
	for _, host := range c.Hosts {
		if !server.IsHost(host) {
			f.add("hosts: %q is no name of a host such as reeve.example (without a scheme or a path; letters beyond ASCII as the DNS has them, xn--…)", host)
		}
	}
	_, err := server.ParseOrigins(c.Origins)
	f.unless("origins", err)
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		f.add("tls: cert and key go together")
	}
	_, err = server.ParseProxies(c.Proxies.Trusted)
	f.unless("proxies.trusted", err)
	if name := c.Proxies.Header; name != "" && strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		f.add("proxies.header: %q is no name of a header", name)
	}
	f.choice("nodes.policy", c.Nodes.Policy, "any", "same")
	if len(c.Nodes.Name) > 200 {
		f.add("nodes.name is longer than 200 bytes")
	}
	if c.Organization != "" && !organizationName(c.Organization) {
		f.add("organization: %q is no name of letters, digits, dots, dashes and underscores, up to 63 of them", c.Organization)
	}
	if c.Organization != "" && len(c.Organizations) > 0 {
		f.add("organizations: those are set at the node that is everybody's, and not at that of one")
	}
}

// address reports whether a text is a host and a port, by number or by name.
func address(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host != "" && !server.IsHost(strings.ReplaceAll(host, "%", "")) { // as in fe80::1%eth0
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// checkCallers looks at how callers and people show who they are.
func (c *Config) checkCallers(f *faults) {
	_, err := c.anonymous()
	f.unless("anonymous", err)
	_, err = c.keys()
	f.unless("keys", err)
	if c.JWT.Secret != "" && c.JWT.JWKS != "" {
		f.add("jwt: secret and jwks exclude each other, since a token must not choose how it is checked")
	}
	tokens := c.JWT.Secret != "" || c.JWT.JWKS != ""
	if tokens && c.JWT.Audience == "" {
		f.add("jwt: audience is required, or tokens meant for others would be taken")
	}
	if c.JWT.JWKS != "" && c.JWT.Issuer == "" {
		f.add("jwt: issuer is required with jwks")
	}
	if (c.JWT.RequireProof || c.JWT.DPoPNonce) && !tokens {
		f.add("jwt.require-proof and jwt.dpop-nonce: without a secret or jwks no token is taken")
	}
	if _, err := c.roles(); err != nil {
		f.unless("jwt.roles", err)
	} else if len(c.JWT.Roles) > 0 && !tokens && c.Login.Issuer == "" {
		f.add("jwt.roles: without a secret or jwks no token is taken, and no role read")
	}
	if l := c.Login; l.Issuer != "" && (l.Client == "" || !slices.Contains(l.Scopes, "openid")) {
		f.add("login: an issuer needs client, and openid among the scopes")
	} else if l.Issuer == "" && (l.Client != "" || l.Secret != "") {
		f.add("login: issuer is required, or nobody is asked")
	} else if u, err := url.Parse(l.Issuer); l.Issuer != "" && (err != nil || u.Scheme != "https" && !(u.Scheme == "http" && server.Loopback(net.JoinHostPort(u.Hostname(), "0")))) {
		f.add("login.issuer is no https URL: whoever is on the way would say who logs in")
	}
	if _, err := c.spiffe(); err != nil {
		f.unless("spiffe", err)
	} else if (len(c.SPIFFE.Bundles) > 0 || c.TLS.ClientCertificates) && c.TLS.Cert == "" && c.Organization == "" {
		f.add("spiffe.bundles and tls.client-certificates need tls.cert and tls.key: certificates are shown when a connection with TLS is opened")
	}
	_, err = c.passkeySite()
	f.unless("passkeys.origin", err)
}

// checkBounds looks at numbers and times.
func (c *Config) checkBounds(f *faults) {
	if c.Limits.Body < 1024 || c.Limits.Batch < 1 || c.Limits.Concurrent < 1 || c.Limits.Rate < 0 {
		f.add("limits: body is at least 1024, batch and concurrent at least 1, rate not negative")
	}
	if q := c.Quotas; q.Tasks < 0 || q.TaskBytes < 0 || q.Held < 0 || q.Agents < 0 || q.Intents < 0 || q.Servers < 0 || q.Bytes < 0 || q.Contents < 0 {
		f.add("quotas: none is negative")
	}
	if c.A2G.Lasts < time.Second || c.A2G.Session < time.Minute || c.A2G.PerMinute < 0 {
		f.add("a2g: lasts is at least 1s, session at least 1m, per-minute not negative")
	}
	if c.Approvals.Wait < 0 || c.Approvals.Wait > time.Hour || c.Approvals.Held < 0 {
		f.add("approvals: wait is from 0s to 1h, held is not negative")
	}
	if c.Tasks.Concurrent < 1 || c.Tasks.Grace < 0 || c.Tasks.Grace > time.Hour {
		f.add("tasks: concurrent is at least 1, grace from 0s to 1h")
	}
	if c.Tasks.ScratchBytes < 1<<20 {
		f.add("tasks: scratch-bytes is at least 1048576")
	}
	if r := c.Retention; r.Age < 0 || r.Bytes < 0 || r.Links < 0 || r.Tasks < 0 || r.Records < 0 {
		f.add("retention: age, bytes, links, tasks and records are not negative")
	}
	if c.Limits.Sessions < 0 || c.Limits.Disk < 0 {
		f.add("limits: sessions and disk are not negative")
	}
	if c.JWT.Leeway < 0 || c.A2A.Wait < 0 {
		f.add("jwt.leeway and a2a.wait are not negative")
	}
	if c.LLM.PromptPrice < 0 || c.LLM.CompletionPrice < 0 {
		f.add("llm: prices are not negative")
	}
}

// checkRest looks at what the node keeps, writes and sends.
func (c *Config) checkRest(f *faults) {
	*f = append(*f, c.Approvals.Notify.check()...)
	*f = append(*f, c.Telemetry.check(c.Redact)...)
	*f = append(*f, c.Events.check()...)
	if sent := c.Events.File+c.Events.URL+c.Events.Syslog != "" || c.Telemetry.URL != "" && slices.Contains(c.Telemetry.Signals, "logs"); c.ACS.Trace && (c.Events.Mapping != "acs" || !sent) {
		f.add("acs.trace needs events.mapping acs, and somewhere to send events to")
	}
	f.choice("log-format", c.LogFormat, "text", "json")
	f.choice("keep", c.Keep, "all", "not-allowed", "none")
	f.choice("hook.unreachable", c.Hook.Unreachable, "block", "decide")
	f.choice("mcp.pin", c.MCP.Pin, string(pins.TrustFirst), string(pins.Ask), string(pins.Off))
	f.choice("ledger.public", c.Ledger.Public, "auto", "true", "false")
	_, err := c.redact()
	f.unless("redact", err)
	_, err = c.postgres()
	f.unless("database", err)
	f.unless("ledger.origin", ledger.CheckOrigin(c.Ledger.Origin))
	if (c.Ledger.Witness == "") != (c.Ledger.WitnessKey == "") {
		f.add("ledger: witness and witness-key go together")
	} else if c.Ledger.Witness != "" {
		f.unless("ledger.witness-key", ledger.CheckWitnessKey(c.Ledger.WitnessKey))
	}
	for key, u := range map[string]string{
		"ledger.url": c.Ledger.URL, "ledger.witness": c.Ledger.Witness, "llm.url": c.LLM.URL, "a2a.url": c.A2A.URL, "approvals.notify.url": c.Approvals.Notify.URL,
	} {
		if p, err := url.Parse(u); u != "" && (err != nil || p.Hostname() == "" || p.Scheme != "http" && p.Scheme != "https") {
			f.add("%s: %q is not an http or https URL", key, u)
		}
	}
}

// CheckServing refuses what makes no node that serves, before anything is touched: what lies in
// the files that the settings name, and in those of the organizations. That another program
// has the port, or that a database does not answer, is nothing of that.
func (c *Config) CheckServing() error {
	list, err := c.organizations()
	if err != nil {
		return err
	}
	if err := c.checkNamed(); err != nil {
		return err
	}
	for _, o := range list {
		if err := o.checkNamed(); err != nil {
			return fmt.Errorf("configuration %s: %w", o.file, err)
		}
	}
	return nil
}

// checkNamed looks at what the settings name, as Open and Serve read it.
func (c *Config) checkNamed() error {
	var f faults
	for _, read := range []func() error{
		func() error { _, err := c.acsKeys(); return err },
		func() error { _, err := c.a2gSecrets(); return err },
		func() error { _, err := c.scorer(c.logger()); return err },
		func() error { _, err := c.provider(); return err },
		func() error { _, err := c.authenticator(); return err },
		func() error { _, err := c.llm(); return err },
		func() error { _, err := c.peers(); return err },
		func() error { _, err := c.pushSecret(); return err },
		func() error { _, err := c.a2aWorkflow(); return err },
		func() error { _, err := c.a2aSigner(); return err },
		func() error { _, err := c.Events.targets(); return err },
		func() error {
			if c.Telemetry.URL == "" {
				return nil
			}
			_, err := c.Telemetry.receiver(true)
			if err == nil {
				if _, err = export.TLS(c.Telemetry.CA); err != nil {
					err = fmt.Errorf("telemetry.ca: %w", err)
				}
			}
			return err
		},
		func() error {
			if c.Ledger.Seed == "" {
				return nil // one is made
			}
			_, err := c.seed()
			return err
		},
		func() error {
			url, err := c.postgres()
			if err == nil && url != "" {
				err = postgres.CheckURL(url)
			}
			if err != nil {
				return fmt.Errorf("database: %w", err)
			}
			return nil
		},
		func() error {
			if c.TLS.Cert == "" || c.behind != nil {
				return nil
			}
			return server.CheckCertificate(c.TLS.Cert, c.TLS.Key)
		},
	} {
		if err := read(); err != nil {
			f = append(f, err)
		}
	}
	return errors.Join(f...)
}

// proxies are the reverse proxies that are believed; check has seen that they can be read.
func (c *Config) proxies() server.Proxies {
	trusted, _ := server.ParseProxies(c.Proxies.Trusted)
	return server.Proxies{Trusted: trusted, Header: c.Proxies.Header}
}

// anonymous is when callers without a credential are let in. Beyond loopback that is only
// where insecure-anonymous says so by name.
func (c *Config) anonymous() (identity.Anonymous, error) {
	if c.behind != nil {
		return identity.Never, nil // whoever reaches the other's address is of no organization yet
	}
	local := server.Loopback(c.Listen) && (c.A2A.GRPC == "" || c.A2A.GRPC == sameGRPC || server.Loopback(c.A2A.GRPC))
	switch c.Anonymous {
	case "", "until-first-key":
		if server.Loopback(c.Listen) || c.InsecureAnonymous {
			return identity.UntilFirstKey, nil
		}
		return identity.Never, nil
	case "loopback":
		if !local || c.InsecureAnonymous {
			return identity.Never, errors.New("loopback is for a node that listens on loopback and nowhere else")
		}
		return identity.Always, nil
	case "never":
		if c.InsecureAnonymous {
			return identity.Never, errors.New("never, and insecure-anonymous, exclude each other")
		}
		return identity.Never, nil
	}
	return identity.Never, fmt.Errorf("choose until-first-key, loopback or never, not %q", c.Anonymous)
}

// spiffe is which workloads are let in by their certificates; nil for none.
func (c *Config) spiffe() (*identity.SPIFFE, error) {
	if len(c.SPIFFE.Bundles) == 0 && len(c.SPIFFE.Roles) == 0 {
		return nil, nil
	}
	s := &identity.SPIFFE{Bundles: map[string]string{}}
	for _, text := range c.SPIFFE.Bundles {
		domain, file, ok := strings.Cut(text, "=")
		if !ok || domain == "" || file == "" || s.Bundles[domain] != "" {
			return nil, fmt.Errorf("bundles: %.80q is not TRUST-DOMAIN=FILE, or its domain is there twice", text)
		}
		s.Bundles[domain] = file
	}
	for _, text := range c.SPIFFE.Roles {
		role, err := identity.ParseWorkloadRole(text)
		if err != nil {
			return nil, fmt.Errorf("roles: %w", err)
		}
		if s.Bundles[role.Domain()] == "" {
			return nil, fmt.Errorf("roles: the trust domain of %.80q has no bundle", role.Pattern)
		}
		s.Roles = append(s.Roles, role)
	}
	if len(s.Roles) == 0 {
		return nil, errors.New("bundles are there, and no roles: nobody would be let in")
	}
	return s, nil
}

// keys are the API keys that the configuration has.
func (c *Config) keys() (keys []identity.Key, err error) {
	for _, text := range c.Keys {
		key, err := identity.ParseKey(text, func(reference string) (string, error) {
			text, err := secret.Read(reference)
			return string(text), err
		})
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(keys, func(other identity.Key) bool { return other.Name == key.Name || other.Hash == key.Hash }) {
			return nil, fmt.Errorf("the key %s is there twice, by its name or its hash", key.Name)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// a2gSecrets returns what tells the secret that is shared with an agent.
func (c *Config) a2gSecrets() (func(did string) string, error) {
	secrets := map[string]string{}
	for _, entry := range c.A2G.Secrets {
		did, ref, ok := cutLast(entry, "=")
		if !ok || did == "" || secrets[strings.ToLower(did)] != "" {
			return nil, fmt.Errorf("a2g.secrets: %q is not DID=env:NAME or DID=file:PATH, or is there twice", did)
		}
		text, err := secret.Read(ref)
		if err != nil {
			return nil, fmt.Errorf("a2g.secrets: %s: %w", did, err)
		}
		if len(text) < 32 {
			return nil, fmt.Errorf("a2g.secrets: the secret of %s is shorter than 32 characters", did)
		}
		secrets[strings.ToLower(did)] = string(text)
	}
	// The spellings of a DID have one secret.
	return func(did string) string { return cmp.Or(secrets[strings.ToLower(did)], secrets["*"]) }, nil
}

// acsKeys are the keys that agents sign requests of ACS with.
func (c *Config) acsKeys() (keys []acs.Key, err error) {
	for _, entry := range c.ACS.Keys {
		label, rest, ok := strings.Cut(entry, "=")
		agent, ref, also := strings.Cut(rest, ":")
		if !ok || !also || label == "" || agent == "" { // and what is there may be a secret
			return nil, errors.New("acs.keys: a key is given as LABEL=AGENT:env:NAME or LABEL=AGENT:file:PATH")
		}
		text, err := secret.Read(ref)
		if err != nil {
			return nil, fmt.Errorf("acs.keys: %s: %w", label, err)
		}
		if len(text) < acs.MinSecret {
			return nil, fmt.Errorf("acs.keys: the secret of %s is shorter than %d bytes", label, acs.MinSecret)
		}
		if slices.ContainsFunc(keys, func(k acs.Key) bool { return k.ID == label }) {
			return nil, fmt.Errorf("acs.keys: the label %s is there twice", label)
		}
		// The label is no part of what is signed: who has the secret could sign for both.
		if slices.ContainsFunc(keys, func(k acs.Key) bool { return k.Agent != agent && bytes.Equal(k.Secret, text) }) {
			return nil, fmt.Errorf("acs.keys: the secret of %s is another agent's, too", label)
		}
		keys = append(keys, acs.Key{ID: label, Agent: agent, Secret: text, Asks: slices.Contains(c.ACS.Ask, agent)})
	}
	for _, agent := range c.ACS.Ask {
		if !slices.ContainsFunc(keys, func(k acs.Key) bool { return k.Agent == agent }) {
			return nil, fmt.Errorf("acs.ask: no key of acs.keys is %s's", agent)
		}
	}
	return keys, nil
}

// cutLast cuts around the last separator: a DID may hold one.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// seedFile is the file in the data folder that the ledger's keys come from.
func (c *Config) seedFile() string { return filepath.Join(datadir.Find(c.Data), "seed") }

// exists reports whether a file is there; what cannot be told counts as there.
func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// redact reads which detectors' findings are masked in kept contents.
func (c *Config) redact() (what risk.Detector, err error) {
	for _, name := range c.Redact {
		if name == "none" && len(c.Redact) == 1 {
			return 0, nil
		}
		d, ok := risk.ParseDetector(name)
		if !ok {
			return 0, fmt.Errorf("%q is not a detector", name)
		}
		what |= d
	}
	return what, nil
}

// roles reads what the values of a token's claim mean; nil without any setting.
func (c *Config) roles() (map[string]identity.Role, error) {
	var roles map[string]identity.Role
	for _, item := range c.JWT.Roles {
		at := strings.LastIndex(item, "=") // values may have one, as LDAP's names do
		if at <= 0 {
			return nil, fmt.Errorf("%q is not of the form VALUE=ROLE", item)
		}
		value, name := item[:at], item[at+1:]
		role, ok := identity.ParseRole(name)
		if !ok {
			return nil, fmt.Errorf("%q is no role: choose agent, approver, auditor or admin", name)
		}
		if _, twice := roles[value]; twice {
			return nil, fmt.Errorf("%q is there twice", value)
		}
		if roles == nil {
			roles = make(map[string]identity.Role)
		}
		roles[value] = role
	}
	return roles, nil
}

// postgres returns the URL of the PostgreSQL database, empty for SQLite.
func (c *Config) postgres() (string, error) {
	text := c.Database
	if strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:") {
		read, err := secret.Read(text)
		if err != nil {
			return "", err
		}
		text = string(read)
	}
	switch {
	case text == "" || strings.HasPrefix(text, "sqlite:"):
		return "", nil
	case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
		return text, nil
	}
	return "", errors.New("want sqlite:DIR, postgres://…, or an env: or file: reference to such a URL")
}

// sqlite returns the folder of the SQLite database.
func (c *Config) sqlite() string {
	if dir := strings.TrimPrefix(strings.TrimPrefix(c.Database, "sqlite:"), "//"); dir != "" {
		return dir
	}
	return c.Data
}

// passkeySite is where people use passkeys; nowhere where the setting is empty.
func (c *Config) passkeySite() (passkey.Site, error) {
	if c.Passkeys.Origin == "" {
		return passkey.Site{}, nil
	}
	return passkey.SiteAt(c.Passkeys.Origin)
}
