package hazard

import (
	"slices"
	"strings"

	"reeve.example/reeve/internal/lazyregexp"
)

// The library of a cloud has a function for each request of its maker's program, under the same name in another
// spelling: schedule_key_deletion, scheduleKeyDeletion and ScheduleKeyDeletionCommand are aws kms
// schedule-key-deletion. What the table says of the program is true of them, so that there is no second list.

// requests judges what a program asks a cloud for by its maker's library. A cloud that a test plays is none.
func (p *program) requests(tokens []token, text string) {
	if !awsLibraries.MatchString(text) || playsCloud.MatchString(text) || p.speaksHere() {
		return
	}
	asked := 0
	for i, t := range tokens {
		if asked >= maxRequests {
			break
		}
		if t.isText || t.end >= len(text) || text[t.end] != '(' || i > 0 && listed("def function func fn sub class", tokens[i-1].text) {
			continue
		}
		request := dashed(strings.TrimSuffix(strings.TrimSuffix(text[t.at:t.end], "Command"), "Async"))
		if !strings.Contains(request, "-") {
			continue
		}
		asked++
		args := append([]flow{{text: request, known: true}}, toldIn(tokens[i+1:], text, t.end)...)
		for _, u := range p.table.programs["aws"] {
			family := before(u.effect, '.')
			names := slices.ContainsFunc(u.words, func(group []string) bool {
				return slices.ContainsFunc(group, func(pattern string) bool {
					return strings.Contains(pattern, "-") && !strings.HasSuffix(pattern, "*") && wild(pattern, request)
				})
			})
			if names && requested[family] && u.isOf(args) {
				p.report(u.effect, u.weight, p.at)
			}
		}
	}
}

// maxRequests is how many requests of one program are looked up.
const maxRequests = 256

// requested are the families of effects that a request has wherever it comes from.
var requested = set("destroy log priv defense publish pay open")

// toldIn are the words that a program of the command line would be told for what a call is given: the texts in it,
// and options of the names under which they stand.
func toldIn(tokens []token, text string, open int) (told []flow) {
	say := func(word string) { told = append(told, flow{text: word, known: true}) }
	option := ""
	for _, t := range tokens[:min(len(tokens), 64)] {
		if between := text[open:t.at]; strings.Count(between, ")") >= strings.Count(between, "(") {
			break
		}
		word := text[t.at:t.end]
		switch {
		case t.isText && option != "":
			say(option)
			say(t.text)
			say(option + "=" + t.text)
		case t.isText:
			say(t.text)
		case option != "" && strings.EqualFold(word, "true"):
			say(option)
		case option != "" && strings.EqualFold(word, "false"):
			say("--no-" + strings.TrimPrefix(option, "--"))
		}
		option = ""
		if behind := strings.TrimLeft(text[t.end:], " "); !t.isText && (strings.HasPrefix(behind, "=") || strings.HasPrefix(behind, ":")) {
			option = "--" + dashed(word)
		}
	}
	return told
}

// dashed is a name of several words as programs of the command line write it: schedule-key-deletion.
func dashed(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_':
			b.WriteByte('-')
		case isUpper(c) && i > 0 && name[i-1] != '_' && (!isUpper(name[i-1]) || i+1 < len(name) && isLetter(name[i+1]) && !isUpper(name[i+1])):
			b.WriteByte('-')
			b.WriteByte(c | 0x20)
		case isUpper(c):
			b.WriteByte(c | 0x20)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

var awsLibraries = lazyregexp.New(`\b(?:boto3|aioboto3|aiobotocore|botocore)\b|@aws-sdk/|\baws-sdk\b|software\.amazon\.awssdk|aws-sdk-go|\bAws::`)

// dropsAfar judges that a program drops a collection or an index of a store on another machine.
func (p *program) dropsAfar(text string) {
	if storeClients.MatchString(text) && !playsStores.MatchString(text) && (dropsAll.MatchString(text) && !p.speaksHere() || dropsOne.MatchString(text) && p.namesOthers()) {
		p.report("destroy.store", 0.45, p.at)
	}
}

var (
	storeClients = lazyregexp.New(`\b(?:pymongo|motor|MongoClient|mongoose|[Ee]lasticsearch\w*|opensearchpy|@opensearch-project|OpenSearch)\b|['"]mongodb['"]`)
	dropsOne     = lazyregexp.New(`\.drop\(\s*\)|\.indices\.delete\(|\.delete_by_query\(|\.deleteByQuery\(`)
	dropsAll     = lazyregexp.New(`\bindices\.delete\(\s*\{?\s*(?:index\s*[=:]\s*)?\[?\s*["'](?:\*|_all)["']`)
	playsStores  = lazyregexp.New(`\b(?:mongomock\w*|pymongo_inmemory|mongodb-memory-server|MongoMemoryServer|testcontainers|MagicMock|unittest\.mock|jest\.mock|vi\.mock|elasticmock|openmock)\b`)
)

// sendsMoney judges that a program moves money: a payment service pays somebody out, or a signed transaction goes to
// a chain on which coins are worth something.
func (p *program) sendsMoney(text string) {
	if playsMoney.MatchString(text) || playsStores.MatchString(text) {
		return
	}
	if paysOut.MatchString(text) && !p.speaksHere() || sendsSigned.MatchString(text) && p.namesOthers() {
		p.report("pay.money", 0, p.at)
	}
}

var (
	paysOut     = lazyregexp.New(`(?i)\bstripe\w*\.(?:transfers?|payouts?|refunds?|topups?)\.create(?:_async)?\s*\(`)
	sendsSigned = lazyregexp.New(`(?i)\.(?:send_raw_transaction|sendRawTransaction|send_transaction|sendTransaction|sendAndConfirmTransaction)\s*\(|\bsendAndConfirmTransaction\s*\(`)
	playsMoney  = lazyregexp.New(`(?i)[sr]k_test_|stripe-mock|\b(?:sepolia|goerli|holesky|hoodi|testnet|devnet|localnet|amoy|mumbai|fuji|chapel|anvil|hardhat|ganache|eth_tester|EthereumTesterProvider|local-?validator)`)
)

// tellsMany judges that a program sends a message to each of many people, by another machine than this one.
func (p *program) tellsMany(text string) {
	if messageLibraries.MatchString(text) && tellsEach.MatchString(text) && !playsMail.MatchString(text) && !playsStores.MatchString(text) && !p.speaksHere() {
		p.report("publish.mass", 0, p.at)
	}
}

var (
	messageLibraries = lazyregexp.New(`\b(?:smtplib|yagmail|twilio|sendgrid|mailgun|postmark\w*|vonage|messagebird|nodemailer|resend|slack_sdk|telegram|telebot|Pony|ActionMailer)\b|\b(?:ses|sesv2|sns|pinpoint)\b["']|client-(?:ses|sesv2|sns)`)
	tellsEach        = lazyregexp.New(`(?s)(?:\bfor\b[^\n]{1,200}?\b(?:in|of)\b|\.each\b|\.forEach\(|\.map\()[^\n]*(?:\n[^\n]*){0,12}?\.(?:sendmail|send_message|send_email|sendEmail|send_mail|sendMail|chat_postMessage|sendMessage|publish|messages\.create|emails\.send)\s*\(|\.(?:sendmail|send_message|send_email|send_mail|messages\.create)\s*\([^\n]*\)\s*for\s+\w+\s+in\b|\.send_bulk\w*\s*\(|\bSendBulk\w*Command\b`)
	playsMail        = lazyregexp.New(`(?i)SMTP\w*\(\s*(?:host\s*=\s*)?["'](?:localhost|127\.0\.0\.1|mailhog|mailpit|maildev|mailcatcher)|smtpdfix|aiosmtpd|host:\s*["'](?:localhost|127\.0\.0\.1|mailhog|mailpit)|mailtrap|ethereal\.email`)
)

// namesOthers reports whether a program names another machine, by an address or by a host's name.
func (p *program) namesOthers() bool {
	return slices.ContainsFunc(p.strings, func(t token) bool {
		return (strings.Contains(t.text, "://") || hasHostForm(t.text)) && hostOf(t.text).kind() == "public"
	})
}
