package risk

import (
	"strings"
)

// beside appends the values that look made by a machine and stand just behind a name
// that tells, whatever is between them: setProperty("api.token", "…"), let x: &str = "…",
// ENV API_TOKEN …, a tag and the line below it. What looks like a word, an address or a
// path is none.
func beside(text string, dst []Finding) []Finding {
	const least, most, names = 12, 512, 3
	for i := 0; i < len(text); {
		start := i
		for i < len(text) && machineByte(text[i]) {
			i++
		}
		value := text[start:i]
		if i == start {
			i++
			continue
		}
		if len(value) < least || len(value) > most || !machineMade(value) {
			continue
		}
		t := Nothing
		for n, at := 0, start; n < names && t == Nothing; n++ {
			var name string
			if name, at = nameBefore(text, at, start); name == "" {
				break
			}
			t = Tells(name)
		}
		if t != Nothing && secretText(t, value) {
			dst = append(dst, t.finding(start, i))
		}
	}
	return dst
}

// machineByte says whether a value without quotes can hold the byte.
func machineByte(c byte) bool { return isAlnum(c) || strings.IndexByte("-_+/=.~!@#$%^*", c) >= 0 }

// machineMade says whether a text looks drawn at random: letters and digits that change
// places often.
func machineMade(v string) bool {
	if strings.IndexByte("/.~-@$=%", v[0]) >= 0 || strings.Contains(v, "//") {
		return false
	}
	digits, changes := 0, 0
	for i := range len(v) {
		if isDigit(v[i]) {
			digits++
		}
		if i > 0 && isDigit(v[i]) != isDigit(v[i-1]) {
			changes++
		}
	}
	return digits >= 2 && digits < len(v)-2 && changes >= 4
}

// nameBefore returns the name before a place, and where it begins: at most one line
// above the value, and not far.
func nameBefore(text string, at, value int) (name string, start int) {
	const far, longest = 64, 48
	from := max(0, value-far)
	end := at
	lines := 0
	for end > from && !(isAlnum(text[end-1]) || text[end-1] == '_') {
		if text[end-1] == '\n' {
			if lines++; lines > 1 {
				return "", 0
			}
		}
		if text[end-1] == ';' || text[end-1] == '}' {
			return "", 0
		}
		end--
	}
	if strings.Contains(text[end:value], "\n") && strings.TrimLeft(text[end:value], ">:|=({[\"' \t\r\n") != "" {
		return "", 0 // a line of its own
	}
	start = end
	for start > 0 && end-start < longest && (isAlnum(text[start-1]) || strings.IndexByte("_-.", text[start-1]) >= 0) {
		start--
	}
	return strings.TrimLeft(text[start:end], "-."), start
}

// Parted appends card numbers whose groups stand apart by other signs than those that
// people write: on lines of their own, in columns, with bars or commas.
func Parted(text string, dst []Finding) []Finding {
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) || i > 0 && isAlnum(text[i-1]) {
			continue
		}
		var d []byte
		var lengths [6]int
		end, groups, sign := i, 0, ""
		for k := i; k < len(text) && groups < len(lengths); {
			for k < len(text) && isDigit(text[k]) && len(d) < 20 {
				d = append(d, text[k]-'0')
				lengths[groups]++
				k++
			}
			groups++
			end = k
			next := k
			for next < len(text) && next-k < 5 && strings.IndexByte(" \t\r\n:,|_/-.*", text[next]) >= 0 {
				next++
			}
			parting := strings.TrimSpace(text[k:next])
			if next == k || next == len(text) || !isDigit(text[next]) || groups > 1 && parting != sign {
				break
			}
			sign, k = parting, next
		}
		l := lengths
		asCards := groups >= 4 && l[0] == 4 && l[1] == 4 && l[2] == 4 && l[3] == 4 && (groups == 4 || groups == 5 && l[4] <= 3) || groups == 3 && l[0] == 4 && l[1] == 6 && l[2] == 5
		if asCards && (end == len(text) || !isAlnum(text[end])) && brand(d) && luhn(d) {
			dst = append(dst, Finding{Card, "pii.card", "card number", i, end, 0.7})
			i = end
			continue
		}
		i += l[0]
	}
	return dst
}
