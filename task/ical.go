package task

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a calendar.
const (
	calendarRuns   = 100 // of one task
	calendarEvents = 10_000
	calendarAhead  = 90 * 24 * time.Hour // from now, save for a task's first run
)

// AppendICal appends an iCalendar (RFC 5545) of the coming runs of tasks whose
// schedule is enabled: an event for each run, in UTC. So every calendar shows the
// same times, without rules that only some understand: at most a hundred runs of a
// task, in the next 90 days, and the first one even if it is later.
func AppendICal(dst []byte, tasks []*Task, now time.Time) []byte {
	dst = append(dst, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//reeve//tasks//EN\r\nCALSCALE:GREGORIAN\r\n"...)
	runs := min(calendarRuns, max(1, calendarEvents/max(1, len(tasks))))
	for _, t := range tasks {
		dst = t.appendEvents(dst, runs, now)
	}
	return append(dst, "END:VCALENDAR\r\n"...)
}

func (t *Task) appendEvents(dst []byte, runs int, now time.Time) []byte {
	if t.Schedule.Bounded {
		runs = min(runs, t.Schedule.MaxRuns-t.Runs)
	}
	next, ok := t.Next, !t.Next.IsZero()
	if !ok || !next.After(now) {
		next, ok = t.Schedule.Next(now)
	}
	for n := 0; n < runs && ok && t.Schedule.Enabled; n++ {
		if n > 0 && next.After(now.Add(calendarAhead)) {
			break
		}
		at := next.UTC().Format("20060102T150405Z")
		dst = append(dst, "BEGIN:VEVENT\r\n"...)
		dst = appendLine(dst, "UID:"+t.ID.String()+"-"+at)
		dst = appendLine(dst, "DTSTAMP:"+now.UTC().Format("20060102T150405Z"))
		dst = appendLine(dst, "DTSTART:"+at)
		dst = appendLine(dst, "SUMMARY:"+icalText(t.Name))
		dst = appendLine(dst, "DESCRIPTION:"+icalText(t.describe()))
		dst = append(dst, "END:VEVENT\r\n"...)
		next, ok = t.Schedule.Next(next)
	}
	return dst
}

// describe says for people what is run, and when.
func (t *Task) describe() string {
	s := "Task " + t.ID.String()
	if t.Executor != "" {
		s += ", executed by " + t.Executor
	}
	s += "; " + t.Schedule.Type + " " + t.Schedule.Expression
	if t.Schedule.Zone != "" {
		s += " (" + t.Schedule.Zone + ")"
	}
	if t.Schedule.Bounded {
		s += ", run " + strconv.Itoa(t.Runs) + " of " + strconv.Itoa(t.Schedule.MaxRuns) + " times"
	}
	return s
}

var icalEscaper = strings.NewReplacer(`\`, `\\`, `;`, `\;`, `,`, `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)

// icalText escapes a text value. Control characters have no form in the format.
func icalText(s string) string {
	s = icalEscaper.Replace(strings.ToValidUTF8(s, "\ufffd"))
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// appendLine folds a line into pieces of at most 75 bytes, each but the first
// after a space, and never within a character.
func appendLine(dst []byte, line string) []byte {
	for room := 75; len(line) > room; room = 74 {
		n := room
		for !utf8.RuneStart(line[n]) {
			n--
		}
		dst = append(dst, line[:n]...)
		dst = append(dst, "\r\n "...)
		line = line[n:]
	}
	dst = append(dst, line...)
	return append(dst, "\r\n"...)
}
