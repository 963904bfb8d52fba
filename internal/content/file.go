package content

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// isText reports whether a file is text that detectors should read: by its MIME
// type, or because little of it cannot be text. One control byte more must not
// be a way round the detectors.
func isText(mimeType string, file []byte) bool {
	mimeType, _, _ = strings.Cut(strings.ToLower(mimeType), ";")
	mimeType = strings.TrimSpace(mimeType)
	if strings.HasPrefix(mimeType, "text/") || strings.HasSuffix(mimeType, "+json") || strings.HasSuffix(mimeType, "+xml") {
		return true
	}
	switch mimeType {
	case "application/json", "application/xml", "application/yaml", "application/toml", "application/javascript",
		"application/sql", "application/x-sh", "application/x-ndjson", "application/x-www-form-urlencoded", "application/x-pem-file":
		return true
	}
	// Of compressed and random bytes more than half cannot be text. A file that
	// says that it is binary is believed sooner, but not on its word alone.
	limit := 30 // percent
	if signed(file) {
		limit = 5
	}
	bad := 0
	for i := 0; i < len(file); {
		c := file[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(file[i:])
			if r == utf8.RuneError && size == 1 {
				bad++
			}
			i += size
			continue
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b, c == 0x7f:
			bad++
		}
		i++
	}
	return bad*100 <= limit*len(file)
}

// signatures begin files that are no text.
var signatures = []string{
	"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF8", "RIFF", "%PDF-", "PK\x03\x04", "\x1f\x8b", "BZh", "7z\xbc\xaf", "\xfd7zXZ", "\x28\xb5\x2f\xfd",
	"OggS", "fLaC", "ID3", "\x7fELF", "MZ", "\x00asm", "SQLite format 3\x00",
}

func signed(file []byte) bool {
	for _, s := range signatures {
		if len(file) >= len(s) && string(file[:len(s)]) == s {
			return true
		}
	}
	return len(file) >= 8 && string(file[4:8]) == "ftyp" // MP4 and its kin
}

// utf16Text decodes a file in UTF-16, told by its byte order mark: to a detector
// that reads bytes, every second one would hide the text.
func utf16Text(file []byte) (text string, ok bool) {
	if len(file) < 2 {
		return "", false
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(file[:2]) {
	case "\xff\xfe":
	case "\xfe\xff":
		order = binary.BigEndian
	default:
		return "", false
	}
	units := make([]uint16, 0, len(file)/2)
	for at := 2; at+1 < len(file); at += 2 {
		units = append(units, order.Uint16(file[at:]))
	}
	return string(utf16.Decode(units)), true
}

// lenientBase64 decodes what lenient readers take for Base64: the alphabet of
// URLs, white space, missing or superfluous padding.
func lenientBase64(text string) (file []byte, ok bool) {
	text = strings.Map(func(c rune) rune {
		switch c {
		case '-':
			return '+'
		case '_':
			return '/'
		case ' ', '\t', '\n', '\r', '\f', '=':
			return -1
		}
		return c
	}, text)
	file, err := base64.RawStdEncoding.DecodeString(text)
	return file, err == nil
}

// dataURI decodes a data: URI (RFC 2397), as leniently as browsers do. ok is
// false for any other text, and where nothing is encoded: the text is then read
// as it stands.
func dataURI(text string) (mimeType string, file []byte, ok bool) {
	rest, ok := cutScheme(text)
	if !ok {
		return "", nil, false
	}
	header, body, ok := strings.Cut(rest, ",")
	if !ok {
		return "", nil, false
	}
	file = unescape(body)
	header = strings.TrimSpace(header)
	if at := len(header) - len("base64"); at > 0 && strings.EqualFold(header[at:], "base64") {
		if mimeType, marked := strings.CutSuffix(strings.TrimRight(header[:at], " "), ";"); marked {
			body, _, _ := strings.Cut(string(file), "#")
			file, ok = lenientBase64(body)
			return mimeType, file, ok
		}
	}
	return header, file, string(file) != body
}

// cutScheme cuts off the scheme of a data: URI, in which browsers overlook line
// breaks and tabs.
func cutScheme(text string) (rest string, ok bool) {
	const scheme = "data:"
	matched := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' && (matched == 0 || c != ' '):
		case c == scheme[matched] || c|0x20 == scheme[matched]:
			if matched++; matched == len(scheme) {
				return text[i+1:], true
			}
		default:
			return "", false
		}
	}
	return "", false
}

// unescape decodes percent escapes; what is none stands for itself.
func unescape(s string) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if high, low := hexValue(s[i+1]), hexValue(s[i+2]); high < 16 && low < 16 {
				b = append(b, high<<4|low)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return b
}

func hexValue(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c|0x20-'a' < 6:
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// Encoded are the texts that a text holds in base64: whole, also as lenient readers take it,
// or as long words and lines in it. A model that reads the one reads the other.
func Encoded(text string) (texts []string) {
	const (
		shortest = 16 // bytes of a whole text
		longWord = 24 // bytes of a word among others
	)
	if len(text) < shortest {
		return nil
	}
	if mimeType, file, ok := dataURI(text); ok {
		if isText(mimeType, file) {
			texts = append(texts, string(file))
		}
		return texts
	}
	if file, ok := lenientBase64(text); ok && !strings.ContainsRune(strings.TrimSpace(text), ' ') {
		if wide, ok := utf16Text(file); ok {
			return []string{wide}
		}
		if len(file) > 0 && isText("", file) {
			return []string{string(file)}
		}
	}
	for at := 0; at < len(text); {
		end := encodedEnd(text, at)
		if end-at >= longWord {
			texts = appendEncoded(texts, text[at:end])
		}
		at = max(end, at+1)
	}
	return texts
}

// appendEncoded appends what a word holds in base64. Where in the word it begins is not known:
// what stands before it may be of the same letters.
func appendEncoded(texts []string, word string) []string {
	const group = 4 // letters that are three bytes
	for from := range group {
		encoded := strings.TrimRight(word[from:], "=")
		if len(encoded)%group == 1 {
			encoded = encoded[:len(encoded)-1]
		}
		if file, ok := lenientBase64(encoded); ok {
			texts = appendReadable(texts, file)
		}
	}
	return texts
}

// appendReadable appends the stretches of bytes that are text.
func appendReadable(texts []string, file []byte) []string {
	const shortest = 12 // bytes; random ones are seldom so long
	from, at := 0, 0
	for at <= len(file) {
		r, size := utf8.RuneError, 1
		if at < len(file) {
			r, size = utf8.DecodeRune(file[at:])
		}
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			if at-from >= shortest {
				texts = append(texts, string(file[from:at]))
			}
			from = at + size
		}
		at += size
	}
	return texts
}

// encodedEnd is where base64 that begins at a place of a text ends. Lines of it that are
// long belong together.
func encodedEnd(text string, at int) int {
	const line = 48
	end := at
	for {
		begin := end
		for end < len(text) && isBase64(text[end]) {
			end++
		}
		padded := end
		for padded < len(text) && padded < end+2 && text[padded] == '=' {
			padded++
		}
		if padded > end || end-begin < line {
			return padded
		}
		next := end
		if next < len(text) && text[next] == '\r' {
			next++
		}
		if next+1 >= len(text) || text[next] != '\n' || !isBase64(text[next+1]) {
			return end
		}
		end = next + 1
	}
}

func isBase64(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '+' || c == '/' || c == '-' || c == '_'
}
