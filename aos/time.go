package aos

import (
	"strings"
	"time"
)

// parseTime reads a date and time in ISO 8601: the calendar date in full, T,
// then hours with or without minutes, seconds and a fraction, then Z, an offset,
// or nothing. Both the extended form (2026-04-02T08:15:00Z) and the basic one
// (20260402T081500Z) are read; whatever Python's datetime.isoformat writes is.
// zoned is false when there is no offset: the time is then taken as UTC. fault is a
// sentence when the string is none of these, else empty.
func parseTime(s string) (t time.Time, zoned bool, fault string) {
	const form = "The string is not a date and time in ISO 8601."
	date, clock, ok := strings.Cut(s, "T")
	if !ok {
		date, clock, ok = strings.Cut(s, "t") // RFC 3339 allows it
	}
	if !ok {
		return t, false, form
	}

	var year, month, day int
	switch {
	case len(date) == 10 && date[4] == '-' && date[7] == '-':
		year, month, day = digits(date[:4]), digits(date[5:7]), digits(date[8:])
	case len(date) == 8:
		year, month, day = digits(date[:4]), digits(date[4:6]), digits(date[6:])
	default:
		return t, false, form
	}
	if year < 0 || month < 0 || day < 0 {
		return t, false, form
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return t, false, "The day does not exist in the calendar."
	}

	offset := 0
	if i := strings.IndexAny(clock, "Zz+-"); i >= 0 {
		zoned = true
		zone := clock[i:]
		clock = clock[:i]
		if zone != "Z" && zone != "z" {
			h, m, sec, _, ok := parseClock(zone[1:])
			if !ok || h > 23 || m > 59 || sec > 59 {
				return t, false, "The offset from UTC is not one in ISO 8601."
			}
			if offset = h*3600 + m*60 + sec; zone[0] == '-' {
				offset = -offset
			}
		}
	}
	h, m, sec, nano, ok := parseClock(clock)
	if !ok {
		return t, false, form
	}
	if h > 23 || m > 59 || sec > 60 || sec == 60 && m != 59 { // 60 is a leap second
		return t, false, "The time of day does not exist."
	}
	t = time.Date(year, time.Month(month), day, h, m, sec, nano, time.UTC)
	return t.Add(-time.Duration(offset) * time.Second), zoned, ""
}

// parseClock reads HH, HH:MM, HH:MM:SS or HH:MM:SS.fraction, or the same
// without colons. The fraction may have any number of digits; beyond nine they
// are dropped.
func parseClock(s string) (h, m, sec, nano int, ok bool) {
	whole, fraction := s, ""
	if i := strings.IndexAny(s, ".,"); i >= 0 {
		whole, fraction = s[:i], s[i+1:]
		if fraction == "" {
			return 0, 0, 0, 0, false
		}
	}
	part := [3]int{}
	n := 0
	if len(whole) > 2 && whole[2] == ':' {
		for text := range strings.SplitSeq(whole, ":") {
			if n == 3 || len(text) != 2 {
				return 0, 0, 0, 0, false
			}
			part[n] = digits(text)
			n++
		}
	} else {
		for ; len(whole) >= 2 && n < 3; n++ {
			part[n], whole = digits(whole[:2]), whole[2:]
		}
		if whole != "" {
			return 0, 0, 0, 0, false
		}
	}
	if n == 0 || part[0] < 0 || part[1] < 0 || part[2] < 0 || fraction != "" && n < 3 {
		return 0, 0, 0, 0, false
	}
	scale := 100_000_000
	for _, c := range []byte(fraction) {
		if c < '0' || c > '9' {
			return 0, 0, 0, 0, false
		}
		nano += int(c-'0') * scale
		scale /= 10
	}
	return part[0], part[1], part[2], nano, true
}

// digits is the number that a few digits make, or -1 when one is none.
func digits(s string) (n int) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
