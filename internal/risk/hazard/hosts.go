package hazard

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// metadataHosts answer with a machine's own credentials.
var metadataHosts = set("169.254.169.254 metadata.google.internal metadata metadata.goog 100.100.100.200 169.254.170.2 169.254.170.23 fd00:ec2::254 192.0.0.192 metadata.azure.com metadata.packet.net metadata.tencentyun.com 169.254.0.23 instance-data 168.63.129.16 rancher-metadata")

// dropHosts are where anybody may leave something and somebody else collects it.
// A host below one of them counts too.
var dropHosts = set(`transfer.sh file.io paste.rs webhook.site requestbin.com requestbin.net pipedream.net 0x0.st termbin.com ix.io pastebin.com hastebin.com dpaste.com dpaste.org anonfiles.com gofile.io bashupload.com
	temp.sh oshi.at catbox.moe litterbox.catbox.moe ngrok.io ngrok.app ngrok-free.app trycloudflare.com serveo.net localhost.run loca.lt lhr.life interact.sh oast.fun oast.pro oast.live oast.site oast.online oast.me burpcollaborator.net oastify.com canarytokens.com
	beeceptor.com requestcatcher.com hookbin.com mockbin.org ptsv2.com ptsv3.com dnslog.cn ceye.io api.telegram.org discord.com/api/webhooks discordapp.com/api/webhooks keep.sh wormhole.app tmpfiles.org uguu.se file.coffee send.cm envs.sh sprunge.us clbin.com transfer.archivete.am onion`)

// wildcardDNS are names that resolve to whatever address is written in them.
var wildcardDNS = set("nip.io sslip.io xip.io localtest.me lvh.me vcap.me 1u.ms rbndr.us lacolhost.com spoofed.burpcollaborator.net localdomain.pw ptr.re 127-0-0-1.org.uk yoogle.com")

func isURL(s string) bool {
	i := strings.Index(s, "://")
	if i <= 0 || i > 20 || strings.ContainsAny(s, " \n\t") && !strings.Contains(s[:i], " ") && strings.Count(s, " ") > 3 {
		return false
	}
	for k := range i {
		c := s[k] | 0x20
		if !(c >= 'a' && c <= 'z' || s[k] >= '0' && s[k] <= '9' || s[k] == '+' || s[k] == '.' || s[k] == '-' || s[k] == ':') {
			return false
		}
	}
	return true
}

func looksLikeHost(s string) bool {
	return isURL(s) || strings.HasPrefix(s, "//") || !strings.ContainsAny(s, " \n\\") && (strings.Contains(s, ".") || strings.Contains(s, ":") || strings.EqualFold(s, "localhost"))
}

// strangeSchemes reach files, programs and protocols that a fetch is not for.
var strangeSchemes = set("file gopher dict ldap ldaps ldapi tftp jar netdoc php phar expect zip glob data ogg rar ssh2 compress.zlib compress.bzlib telnet smb view-source mailto imap pop3 rtsp local_file")

// dropHost says whether an address is a place where strangers collect things.
func dropHost(raw string) bool {
	s := strings.ToLower(raw)
	if _, after, ok := strings.Cut(s, "://"); ok {
		s = after
	}
	host, rest, _ := strings.Cut(s, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	host, _, _ = strings.Cut(host, ":")
	for h := host; h != ""; {
		if dropHosts[h] || dropHosts[h+"/"+firstTwo(rest)] {
			return true
		}
		_, after, ok := strings.Cut(h, ".")
		if !ok {
			return false
		}
		h = after
	}
	return false
}

func firstTwo(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// codeHosts are where everybody takes code from: who can put something there is not known
// either, but it is what people agree to when they use a registry or a forge. A host below
// one of them counts, too.
var codeHosts = set(`github.com githubusercontent.com github.io gitlab.com bitbucket.org codeberg.org sr.ht gitea.com sourceforge.net pypi.org pythonhosted.org npmjs.org npmjs.com yarnpkg.com jsr.io crates.io rust-lang.org rustup.rs
	rubygems.org golang.org go.dev gopkg.in r-project.org posit.co rstudio.com bioconductor.org maven.org apache.org gradle.org jitpack.io pytorch.org anaconda.org anaconda.com conda-forge.org astral.sh python.org nodejs.org deno.land deno.com esm.sh unpkg.com jsdelivr.net microsoft.com nuget.org
	dl.google.com packages.cloud.google.com debian.org ubuntu.com fedoraproject.org archlinux.org alpinelinux.org docker.com quay.io ghcr.io k8s.io helm.sh bitnami.com hashicorp.com nixos.org brew.sh cran.r-project.org bioconductor.org packagist.org hex.pm
	hackage.haskell.org haskell.org opam.ocaml.org metacpan.org cpan.org luarocks.org pub.dev flathub.org snapcraft.io huggingface.co nvidia.com jetstack.io elastic.co grafana.com prometheus.io istio.io cert-manager.io postgresql.org mariadb.org mongodb.org nginx.org llvm.org cli.github.com dev.azure.com docker.io terraform.io opentofu.org bazel.build gcr.io pkg.dev chaos-mesh.org cilium.io longhorn.io traefik.io fluxcd.io crossplane.io linkerd.io external-secrets.io rook.io strimzi.io projectcalico.org tigera.io kyverno.io keda.sh dapr.io linkerd.io velero.io cnpg.io percona.com timescale.com apache.jfrog.io rancher.com rancher.io k3s.io harbor-framework.org goharbor.io minio.io nats.io temporal.io sigstore.dev aquasecurity.com falco.org falcosecurity.org openebs.io jetbrains.com dprint.dev sonatype.org sonatype.com spring.io cocoapods.org kotlinlang.org scala-lang.org clojars.org sh.rustup.rs bun.sh volta.sh pnpm.io get.sdkman.io`)

// stranger says whether an address is neither one of those nor inside a network of one's own.
func stranger(raw string) bool {
	h := hostOf(raw)
	if h.name == "" || strings.ContainsAny(h.name, "$<{ ") || h.kind() != "public" || !strings.Contains(h.name, ".") {
		return false
	}
	for n := h.name; n != ""; {
		if codeHosts[n] {
			return false
		}
		_, after, ok := strings.Cut(n, ".")
		if !ok {
			return true
		}
		n = after
	}
	return true
}

// modelHosts are whom people have models from.
var modelHosts = set(`anthropic.com openai.com openai.azure.com cognitiveservices.azure.com services.ai.azure.com generativelanguage.googleapis.com aiplatform.googleapis.com cloudcode-pa.googleapis.com openrouter.ai deepseek.com mistral.ai groq.com x.ai together.xyz together.ai
	fireworks.ai cohere.com cohere.ai moonshot.ai moonshot.cn z.ai bigmodel.cn dashscope.aliyuncs.com dashscope-intl.aliyuncs.com minimax.io minimaxi.com perplexity.ai githubcopilot.com cerebras.ai sambanova.ai deepinfra.com ollama.com ampcode.com factory.ai ai-gateway.vercel.sh`)

// strange reports whether an address is a stranger's for a variable of this kind.
func (r *variableRow) strange(raw string) bool {
	if r.model {
		for n, ok := hostOf(raw).name, true; ok; _, n, ok = strings.Cut(n, ".") {
			if modelHosts[n] {
				return false
			}
		}
	}
	return stranger(raw)
}

// speaksTo tells who watches of an address that a command speaks to.
func (a *assessor) speaksTo(address string) {
	if address == "" || strings.ContainsAny(address, " \n\t") {
		return
	}
	if a.watch != nil && a.watch.URL != nil {
		a.watch.URL(address)
	}
	a.packedSecret(address, span{})
	if h := hostOf(address); h.addr.IsValid() && h.kind() == "public" {
		a.bare = true
	}
}

// host judges an address in a command. That a command reaches this machine or a
// private network is ordinary there.
func (a *assessor) host(raw string, at span) {
	h := hostOf(raw)
	if h.name == "" || isDigits(raw) {
		return
	}
	a.speaksTo(raw)
	switch kind := h.kind(); kind {
	case "metadata":
		a.report("secret.metadata", 0, at)
	default:
		if h.disguised && kind != "public" {
			a.report("url.disguised", 0, at)
		}
	}
}

// url judges an address that would be fetched.
func (a *assessor) url(raw string, at span) {
	raw = strings.TrimSpace(raw)
	if a.watch != nil && a.watch.URL != nil {
		a.watch.URL(raw)
	}
	if len(raw) > 64<<10 {
		a.starve(at)
		raw = raw[:64<<10]
	}
	if _, q, ok := strings.Cut(raw, "?"); ok && !isURL(raw) {
		a.query(q, at)
		return
	}
	if low := strings.ToLower(decodePath(strings.ReplaceAll(raw, "+", " "))); strings.Contains(low, "private key-----") {
		a.report("exfil.secret", 0, at) // whoever opens an address has sent what it says
	}
	a.packedSecret(raw, at)
	h := hostOf(raw)
	kind := h.kind()
	switch {
	case kind == "metadata":
		a.report("url.metadata", 0, at)
	case h.disguised && kind != "public":
		a.report("url.disguised", 0, at)
	case h.ambiguous:
		a.report("url.disguised", 0.82, at)
	case kind == "linklocal":
		a.report("url.private", 0.8, at)
	case kind == "private":
		a.report("url.private", 0, at)
	case kind == "loopback":
		w := 0.3
		if h.port != "" && internalPorts[h.port] {
			w = 0.6
		}
		a.report("url.loopback", w, at)
	}
	if h.user {
		a.report("url.user", 0, at)
	}
	if kind == "public" {
		a.encoded(raw, at)
	}
	if strangeSchemes[h.scheme] {
		w := 0.0
		switch h.scheme {
		case "mailto", "data", "telnet", "imap", "ssh2", "view-source":
			w = 0.3
		case "ldap", "ldaps", "smb", "rtsp", "pop3", "compress.zlib":
			w = 0.6
		}
		a.report("url.scheme", w, at)
	}
	if h.scheme == "file" {
		a.path(h.path, false, at)
		return
	}
	if h.path != "" && (strings.Contains(h.path, "..") || strings.Contains(strings.ToLower(h.path), "%2e") || strings.Contains(h.path, "%252")) {
		a.path(h.path, false, at)
	}
	if h.query != "" {
		a.query(h.query, at)
	}
}

// internalPorts are those of services that trust whoever reaches them.
var internalPorts = set("22 25 2375 2376 2379 3306 5432 6379 9200 10250 10255 11211 27017 5984 8500 4194 6443 5000")

// query judges the parameters of an address: another address or SQL may be in them.
func (a *assessor) query(q string, at span) {
	n := 0
	for pair := range strings.SplitSeq(q, "&") {
		if n++; n > 64 {
			return
		}
		_, v, _ := strings.Cut(pair, "=")
		if u, err := url.QueryUnescape(v); err == nil {
			v = u
		}
		switch {
		case isURL(v):
			if a.depth < maxDepth {
				a.depth++
				a.url(v, at)
				a.depth--
			}
		case strings.Contains(v, "..") && strings.ContainsAny(v, `/\`):
			a.path(v, false, at)
		default:
			a.sql(v, at)
		}
	}
}

// host is an address taken apart.
type host struct {
	scheme, name, port, path, query string
	addr                            netip.Addr // if the name is an address
	disguised                       bool       // the address is not written as addresses are
	ambiguous                       bool       // readers disagree about which host it is
	user                            bool
}

// longestHost is how many bytes a host's name has at most (RFC 1035, section 2.3.4).
const longestHost = 253

func hostOf(raw string) host {
	var h host
	s := strings.TrimSpace(raw)
	if scheme, rest, ok := strings.Cut(s, "://"); ok && len(scheme) <= 24 {
		h.scheme = strings.ToLower(scheme)
		h.scheme = strings.TrimPrefix(strings.TrimPrefix(h.scheme, "url:"), "jar:")
		if strings.HasPrefix(strings.ToLower(scheme), "jar:") {
			h.scheme = "jar"
		}
		s = rest
	} else {
		s = strings.TrimPrefix(s, "//")
	}
	s = strings.TrimLeft(s, "/")
	if h.scheme == "file" {
		h.path = "/" + s
		return h
	}
	end := strings.IndexAny(s, "/?#\\")
	authority := s
	if end >= 0 {
		authority = s[:end]
		rest := s[end:]
		if s[end] == '\\' {
			h.ambiguous = true
		}
		rest, _, _ = strings.Cut(rest, "#")
		h.path, h.query, _ = strings.Cut(rest, "?")
		// http://good@evil, http://good#@evil, http://good\@evil: who is meant?
		if i := strings.IndexByte(s[end:], '@'); i >= 0 && (s[end] == '#' || s[end] == '\\' || s[end] == '?') && i < 4 {
			h.ambiguous = true
		}
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		h.user = true
		h.ambiguous = h.ambiguous || strings.Count(authority, "@") > 1 || strings.Contains(authority[:i], ".")
		authority = authority[i+1:]
	}
	decoded, err := url.PathUnescape(authority)
	if err == nil && decoded != authority {
		authority, h.disguised = decoded, true
	}
	if strings.HasPrefix(authority, "[") {
		name, port, _ := strings.Cut(authority[1:], "]")
		name, _, _ = strings.Cut(name, "%")
		h.name, h.port = name, strings.TrimPrefix(port, ":")
	} else if strings.Count(authority, ":") > 1 {
		parts := strings.Split(authority, ":")
		h.name = parts[0]
		h.port = parts[1]
	} else {
		h.name, h.port, _ = strings.Cut(authority, ":")
	}
	plain := h.name
	h.name = strings.ToLower(strings.TrimSuffix(foldDigits(h.name), "."))
	if h.name != strings.ToLower(strings.TrimSuffix(plain, ".")) {
		h.disguised = true
	}
	if addr, err := netip.ParseAddr(h.name); err == nil {
		h.addr = addr.Unmap()
		if addr.Is4In6() {
			h.disguised = true
		}
		return h
	}
	if addr, ok := looseIPv4(h.name); ok {
		h.addr, h.disguised = addr, true
		return h
	}
	if len(h.name) > longestHost {
		return h
	}
	// 127.0.0.1.nip.io and the like
	for n := h.name; n != ""; {
		if wildcardDNS[n] {
			h.disguised = true
			inner := strings.TrimSuffix(strings.TrimSuffix(h.name, n), ".")
			h.addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
			parts := strings.FieldsFunc(inner, func(r rune) bool { return r == '.' || r == '-' })
			if len(parts) >= 4 {
				if a, err := netip.ParseAddr(strings.Join(parts[len(parts)-4:], ".")); err == nil {
					h.addr = a
				}
			}
			break
		}
		_, after, ok := strings.Cut(n, ".")
		if !ok {
			break
		}
		n = after
	}
	return h
}

// foldDigits writes circled and full-width letters and digits as plain ones.
func foldDigits(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '０' && r <= '９':
			return '0' + r - '０'
		case r >= 'ａ' && r <= 'ｚ':
			return 'a' + r - 'ａ'
		case r >= '①' && r <= '⑨':
			return '1' + r - '①'
		case r == '⓪':
			return '0'
		case r >= 'ⓐ' && r <= 'ⓩ':
			return 'a' + r - 'ⓐ'
		case r >= 'Ⓐ' && r <= 'Ⓩ':
			return 'a' + r - 'Ⓐ'
		case r == '。' || r == '．' || r == '｡':
			return '.'
		case r == '⑴' || r == '⒈':
			return '1'
		}
		return r
	}, s)
}

// looseIPv4 reads the forms that C libraries take for addresses: 2130706433,
// 0x7f000001, 0177.0.0.1, 127.1.
func looseIPv4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 || s == "" {
		return netip.Addr{}, false
	}
	var v uint64
	for i, p := range parts {
		if p == "" || p[0] < '0' || p[0] > '9' {
			return netip.Addr{}, false
		}
		n, err := strconv.ParseUint(p, 0, 40)
		if err != nil {
			// 08 is no octal number, and 0o7 no C.
			if n, err = strconv.ParseUint(p, 10, 40); err != nil {
				return netip.Addr{}, false
			}
		}
		if i < len(parts)-1 {
			if n > 255 {
				n &= 255 // 425.510.425.510 overflows into an address
			}
			v = v<<8 | n
			continue
		}
		if rest := uint(5-len(parts)) * 8; len(parts) == 4 {
			v = v<<8 | n&255
		} else if n < 1<<rest {
			v = v<<rest | n
		} else {
			return netip.Addr{}, false
		}
	}
	if len(parts) == 1 && (v < 1<<24 || len(s) < 8) && s != "0" {
		return netip.Addr{}, false // a number, such as a port
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// kind says what sort of network a host is in.
func (h host) kind() string {
	name := h.name
	if h.addr.IsValid() {
		name = h.addr.String()
	}
	if metadataHosts[name] {
		return "metadata"
	}
	switch {
	case name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "localhost.localdomain" || name == "ip6-localhost":
		return "loopback"
	case !h.addr.IsValid():
		if strings.HasSuffix(name, ".internal") || strings.HasSuffix(name, ".cluster.local") {
			return "private"
		}
		return "public"
	case h.addr.IsLoopback() || h.addr.IsUnspecified():
		return "loopback"
	case h.addr.IsLinkLocalUnicast():
		return "linklocal"
	case h.addr.IsPrivate() || carrierNAT.Contains(h.addr) || h.addr.IsMulticast():
		return "private"
	}
	return "public"
}

var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")
