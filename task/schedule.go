package task

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Next is the schedule's first run after a time; false when there is none.
//
//   - once: at the time that the expression is.
//   - interval: every so many seconds from Start on; without one, from after on.
//   - cron, daily, weekly, monthly: when the clock on the wall of Zone says so. A
//     month without the 31st has no run on the 31st.
//
// When the clocks go forward, what lies in the gap runs once, as the gap ends. When
// they go back, what the wall shows twice runs the first time only; but a cron
// expression whose hour is * goes on with every passing hour.
//
// How many runs there have been is not asked: see Row.Runs and MaxRuns.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	if !s.Enabled || after.Year() < 1 || after.Year() > 9990 {
		return time.Time{}, false
	}
	r, err := s.rule()
	if err != nil {
		return time.Time{}, false
	}
	if after.Before(s.Start) {
		after = s.Start.Add(-time.Nanosecond)
	}
	next, ok := r.next(after, s.Start)
	// Stores keep times as nanoseconds since 1970, which end in 2262.
	if !ok || next.Year() > 2261 || !s.End.IsZero() && next.After(s.End) {
		return time.Time{}, false
	}
	return next.UTC(), true
}

// First is the first run after a time of a schedule that is enabled, and an error that
// says why there is none: a schedule that never runs is a mistake of whoever made it.
// field stands before the names of members.
func (s *Schedule) First(after time.Time, field string) (time.Time, error) {
	next, ok := s.Next(after)
	if ok {
		return next, nil
	}
	switch r, err := s.rule(); {
	case err == nil && s.Type == "once" && !r.once.After(after):
		return time.Time{}, invalid(field+"schedule_expression", "The time is past, and there would be no run. Use tasks.execute to have it executed now.", "a time to come")
	case !s.End.IsZero() && !s.End.After(after):
		return time.Time{}, invalid(field+"schedule_end_at", "The end is past, and there would be no run.", "a time to come")
	}
	return time.Time{}, invalid(field+"schedule_expression", "There would be no run: the schedule names no time from its start to its end, and before the year 2262.", "")
}

// check checks the schedule's members. field stands before their names.
func (s *Schedule) check(field string) error {
	if s.Type != "" && !slices.Contains([]string{"once", "interval", "cron", "daily", "weekly", "monthly"}, s.Type) {
		return invalid(field+"schedule_type", "The value is no type of schedule.", "once, interval, cron, daily, weekly or monthly")
	}
	if s.Enabled && s.Type == "" {
		return invalid(field+"schedule_type", "The schedule is enabled, and has no type.", "once, interval, cron, daily, weekly or monthly")
	}
	if s.Type != "" && (s.Enabled || s.Expression != "") {
		if _, err := s.rule(); err != nil {
			return invalid(field+"schedule_expression", sentence(err), expressions[s.Type])
		}
	}
	if !s.Start.IsZero() && !s.End.IsZero() && !s.End.After(s.Start) {
		return invalid(field+"schedule_end_at", "The end is not after the start.", "a time after schedule_start_at")
	}
	if s.Missed != "" && s.Missed != "once" && s.Missed != "skip" {
		return invalid(field+"schedule_missed", "The value is no way to treat missed runs.", "once or skip")
	}
	return nil
}

// expressions is what the expression of each type is.
var expressions = map[string]string{
	"once":     timeExpected,
	"interval": "whole seconds, from 1 to 1000000000, such as \"3600\"",
	"cron":     "the five fields of cron, such as \"0 9 * * 1-5\"",
	"daily":    "HH:MM, such as \"09:30\"",
	"weekly":   "days and HH:MM, such as \"mon,wed@09:30\"",
	"monthly":  "days of the month and HH:MM, such as \"1,15@09:30\"",
}

// loadZone finds a zone by its IANA name; the empty name is UTC.
func loadZone(name string) (*time.Location, error) {
	if name == "Local" { // of this machine: it would differ from node to node
		return nil, errors.New("no such zone")
	}
	return time.LoadLocation(name)
}

// rule is a schedule's expression, read. One of its parts is set.
type rule struct {
	once     time.Time
	interval int64 // seconds
	wall     *cron.SpecSchedule
	zone     *time.Location
	hourly   bool // the hour of wall is *
}

var errExpression = errors.New("the expression is not one of its type")

func (s *Schedule) rule() (r rule, err error) {
	if len(s.Expression) > MaxName {
		return r, errExpression
	}
	if r.zone, err = loadZone(s.Zone); err != nil {
		return r, err
	}
	days, clock, _ := strings.Cut(s.Expression, "@")
	switch s.Type {
	case "once":
		r.once, err = parseTime(s.Expression, r.zone)
	case "interval":
		r.interval, err = strconv.ParseInt(s.Expression, 10, 64)
		if err != nil || r.interval < 1 || r.interval > 1_000_000_000 {
			return r, errExpression
		}
	case "cron":
		fields := strings.Fields(s.Expression)
		if len(fields) != 5 {
			return r, fmt.Errorf("the expression has %d fields, not five", len(fields))
		}
		r.hourly = fields[1] == "*"
		r.wall, err = parseCron(fields)
	case "daily":
		r.wall, err = onDays(s.Expression, "*", "*")
	case "weekly":
		for day := range strings.SplitSeq(days, ",") {
			if !slices.Contains([]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, strings.ToLower(day)) {
				return r, fmt.Errorf("%s is no day of the week", quoted(day))
			}
		}
		r.wall, err = onDays(clock, "*", days)
	case "monthly":
		for day := range strings.SplitSeq(days, ",") {
			if n, err := strconv.Atoi(day); err != nil || n < 1 || n > 31 || len(day) > 2 {
				return r, fmt.Errorf("%s is no day of a month", quoted(day))
			}
		}
		r.wall, err = onDays(clock, days, "*")
	default:
		err = errExpression
	}
	return r, err
}

// onDays is a cron schedule of one time of day, HH:MM.
func onDays(clock, month, week string) (*cron.SpecSchedule, error) {
	t, err := time.Parse("15:04", clock)
	if err != nil || len(clock) != len("15:04") {
		return nil, errors.New("the time of day is not HH:MM")
	}
	return parseCron([]string{strconv.Itoa(t.Minute()), strconv.Itoa(t.Hour()), month, "*", week})
}

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func parseCron(fields []string) (*cron.SpecSchedule, error) {
	for _, f := range fields {
		// The parser knows a zone before the fields, and looks past the end for it.
		if strings.Trim(strings.ToLower(f), "abcdefghijklmnopqrstuvwxyz0123456789*,-/?") != "" {
			return nil, fmt.Errorf("the field %s is none of cron", quoted(f))
		}
	}
	fields = slices.Clone(fields)
	fields[4] = sundays(fields[4])
	parsed, err := cronParser.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil, fmt.Errorf("the expression is not cron's: %s", err)
	}
	wall := parsed.(*cron.SpecSchedule)
	wall.Location = time.UTC
	if wall.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, errors.New("the calendar has no such day")
	}
	return wall, nil
}

// sundays writes a day of the week that is 7, as cron's own has it, the parser's
// way: Sunday is 0 there.
func sundays(week string) string {
	days := strings.Split(week, ",")
	for i, day := range days {
		span, every, stepped := strings.Cut(day, "/")
		from, to, ranged := strings.Cut(span, "-")
		if span == "7" && !stepped {
			days[i] = "0"
			continue
		}
		first, err1 := strconv.Atoi(from)
		step, err2 := strconv.Atoi(every)
		if !stepped {
			step, err2 = 1, nil
		}
		if !ranged || to != "7" || err1 != nil || err2 != nil || first < 0 || first > 7 || step < 1 {
			continue
		}
		var list []string
		for d := first; d <= 7; d += min(step, 8) {
			list = append(list, strconv.Itoa(d%7))
		}
		days[i] = strings.Join(list, ",")
	}
	return strings.Join(days, ",")
}

func (r *rule) next(after, start time.Time) (time.Time, bool) {
	switch {
	case !r.once.IsZero():
		return r.once, r.once.After(after)
	case r.interval > 0:
		if start.IsZero() {
			return time.Unix(after.Unix()+r.interval, int64(after.Nanosecond())), true
		}
		// In seconds: a Duration is too short for the years between.
		runs := max(0, (after.Unix()-start.Unix())/r.interval)
		next := time.Unix(start.Unix()+runs*r.interval, int64(start.Nanosecond()))
		if !next.After(after) {
			next = time.Unix(next.Unix()+r.interval, int64(next.Nanosecond()))
		}
		return next, true
	case r.hourly:
		wall := *r.wall
		wall.Location = r.zone
		next := wall.Next(after.In(r.zone))
		return next, !next.IsZero()
	}
	// The clock on the wall, as if it were UTC's: there every time is there once.
	wall := wallClock(after.In(r.zone))
	// What the wall shows again has run already. A day of minutes is the most that
	// clocks were ever put back by.
	for range 25 * 60 {
		wall = r.wall.Next(wall)
		if wall.IsZero() {
			return wall, false
		}
		if next := onWall(wall, r.zone); next.After(after) {
			return next, true
		}
	}
	return time.Time{}, false
}

// wallClock is what the clock shows at t, as a time of UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// onWall is when the clock of a zone first shows what w says; when it never does,
// the moment at which it leaps over it.
func onWall(w time.Time, zone *time.Location) time.Time {
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), zone)
	start, end := t.ZoneBounds()
	if shown := wallClock(t); shown.After(w) {
		return start
	} else if shown.Before(w) {
		return end
	}
	if start.IsZero() {
		return t
	}
	_, before := start.Add(-time.Nanosecond).Zone()
	_, now := t.Zone()
	if earlier := t.Add(time.Duration(now-before) * time.Second); before > now && earlier.Before(start) {
		return earlier
	}
	return t
}
