package task

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/google/go-cmp/cmp"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestScheduleNext(t *testing.T) {
	const berlin = "Europe/Berlin" // 2026: forward on March 29 at 2:00, back on October 25 at 3:00
	tests := []struct {
		name  string
		s     Schedule
		after string
		want  []string // the runs that follow; "" for none
	}{
		{"once", Schedule{Type: "once", Expression: "2026-05-01T09:00:00+02:00"}, "2026-03-01T00:00:00Z", []string{"2026-05-01T07:00:00Z", ""}},
		{"once, in its zone", Schedule{Type: "once", Expression: "2026-05-01T09:00", Zone: berlin}, "2026-03-01T00:00:00Z", []string{"2026-05-01T07:00:00Z", ""}},
		{"once, at that time", Schedule{Type: "once", Expression: "2026-05-01T09:00:00Z"}, "2026-05-01T09:00:00Z", []string{""}},
		{"interval", Schedule{Type: "interval", Expression: "3600"}, "2026-03-01T00:10:00Z", []string{"2026-03-01T01:10:00Z", "2026-03-01T02:10:00Z"}},
		{"interval from the start", Schedule{Type: "interval", Expression: "3600", Start: at("2026-03-01T00:30:00.5Z")}, "2026-03-01T00:00:00Z",
			[]string{"2026-03-01T00:30:00.5Z", "2026-03-01T01:30:00.5Z"}},
		{"interval, long after the start", Schedule{Type: "interval", Expression: "7", Start: at("0002-01-01T00:00:00Z")}, "2026-03-01T00:00:00Z",
			[]string{"2026-03-01T00:00:05Z", "2026-03-01T00:00:12Z"}},
		{"interval until the end", Schedule{Type: "interval", Expression: "60", End: at("2026-03-01T00:02:00Z")}, "2026-03-01T00:00:00Z",
			[]string{"2026-03-01T00:01:00Z", "2026-03-01T00:02:00Z", ""}},
		{"cron", Schedule{Type: "cron", Expression: "0 9 * * 1-5"}, "2026-03-06T09:00:00Z", []string{"2026-03-09T09:00:00Z", "2026-03-10T09:00:00Z"}},
		{"cron, Sunday is 7", Schedule{Type: "cron", Expression: "0 9 * * 7"}, "2026-03-06T00:00:00Z", []string{"2026-03-08T09:00:00Z", "2026-03-15T09:00:00Z"}},
		{"cron, Friday to Sunday", Schedule{Type: "cron", Expression: "0 9 * * 5-7/2"}, "2026-03-05T00:00:00Z", []string{"2026-03-06T09:00:00Z", "2026-03-08T09:00:00Z", "2026-03-13T09:00:00Z"}},
		{"daily", Schedule{Type: "daily", Expression: "09:30"}, "2026-03-01T09:30:00Z", []string{"2026-03-02T09:30:00Z"}},
		{"daily, in its zone", Schedule{Type: "daily", Expression: "00:30", Zone: "Asia/Kolkata"}, "2026-03-01T00:00:00Z", []string{"2026-03-01T19:00:00Z"}},
		{"daily from a start", Schedule{Type: "daily", Expression: "09:30", Start: at("2026-04-01T09:30:00Z")}, "2026-03-01T00:00:00Z", []string{"2026-04-01T09:30:00Z"}},
		{"weekly", Schedule{Type: "weekly", Expression: "Mon,wed@09:30"}, "2026-03-01T00:00:00Z", []string{"2026-03-02T09:30:00Z", "2026-03-04T09:30:00Z", "2026-03-09T09:30:00Z"}},
		{"monthly", Schedule{Type: "monthly", Expression: "1,31@09:30"}, "2026-03-15T00:00:00Z",
			[]string{"2026-03-31T09:30:00Z", "2026-04-01T09:30:00Z", "2026-05-01T09:30:00Z", "2026-05-31T09:30:00Z"}},

		{"in the gap: as it ends", Schedule{Type: "daily", Expression: "02:30", Zone: berlin}, "2026-03-28T00:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"many in the gap: once", Schedule{Type: "cron", Expression: "*/20 2 * * *", Zone: berlin}, "2026-03-28T02:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		{"twice on the wall: the first time", Schedule{Type: "daily", Expression: "02:30", Zone: berlin}, "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"asked between the two", Schedule{Type: "daily", Expression: "02:30", Zone: berlin}, "2026-10-25T01:10:00Z", []string{"2026-10-26T01:30:00Z"}},
		{"every hour goes on", Schedule{Type: "cron", Expression: "30 * * * *", Zone: berlin}, "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"}},
		{"every hour over the gap", Schedule{Type: "cron", Expression: "30 * * * *", Zone: berlin}, "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}},
		{"midnight in the gap", Schedule{Type: "daily", Expression: "00:00", Zone: "America/Sao_Paulo"}, "2018-11-03T12:00:00Z", []string{"2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}},
		{"a day that was left out", Schedule{Type: "daily", Expression: "09:00", Zone: "Pacific/Apia"}, "2011-12-29T19:00:00Z",
			[]string{"2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"}},
		{"half an hour back", Schedule{Type: "daily", Expression: "01:45", Zone: "Australia/Lord_Howe"}, "2026-04-04T00:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.Enabled = true
			if err := tt.s.check(""); err != nil {
				t.Fatal(err)
			}
			after, got := at(tt.after), []string{}
			for range tt.want {
				next, ok := tt.s.Next(after)
				if !ok {
					got = append(got, "")
					break
				}
				got = append(got, next.Format(time.RFC3339Nano))
				after = next
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if _, ok := (&Schedule{Type: "daily", Expression: "09:30"}).Next(noon); ok {
		t.Error("a schedule that is not enabled has a next run")
	}
}

func TestScheduleRefuses(t *testing.T) {
	tests := []struct{ kind, expression string }{
		{"once", "tomorrow"}, {"once", "2026-02-30T00:00:00Z"}, {"once", "0001-01-01T00:00:00Z"}, {"once", "9999-12-31T23:00:00-05:00"},
		{"interval", "0"}, {"interval", "-5"}, {"interval", "1.5"}, {"interval", "1000000001"}, {"interval", "99999999999999999999"},
		{"cron", "* * * *"}, {"cron", "* * * * * *"}, {"cron", "@daily"}, {"cron", "TZ=x"}, {"cron", "TZ=Europe/Berlin * * * *"}, {"cron", "60 * * * *"},
		{"cron", "*/0 * * * *"}, {"cron", "0 0 30 2 *"}, {"cron", "0 0 * * 8"}, {"cron", strings.Repeat("1,", 200) + "1 * * * *"},
		{"daily", "9:30"}, {"daily", "09:60"}, {"daily", "09:30:00"}, {"daily", ""},
		{"weekly", "09:30"}, {"weekly", "foo@09:30"}, {"weekly", "mon-fri@09:30"}, {"weekly", "mon,@09:30"}, {"weekly", "mon@"},
		{"monthly", "0@09:30"}, {"monthly", "32@09:30"}, {"monthly", "+1@09:30"}, {"monthly", "*@09:30"}, {"monthly", "30 2@09:30"},
		{"yearly", "1"},
	}
	for _, tt := range tests {
		s := Schedule{Type: tt.kind, Expression: tt.expression, Enabled: true}
		if err := s.check(""); err == nil {
			t.Errorf("%s %q is accepted", tt.kind, tt.expression)
		}
		if next, ok := s.Next(noon); ok {
			t.Errorf("%s %q runs at %s", tt.kind, tt.expression, next)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("once", "2026-05-01T09:00", "Europe/Berlin", int64(1_700_000_000), int64(0))
	f.Add("interval", "7", "", int64(1_700_000_000), int64(-62135596000))
	f.Add("cron", "*/7 1-5 1,15 jan-jun 5-7/2", "America/New_York", int64(1_793_000_000), int64(5))
	f.Add("cron", "*/9 * * * *", "Australia/Lord_Howe", int64(1_775_311_000), int64(0))
	f.Add("daily", "02:30", "Europe/Berlin", int64(1_774_700_000), int64(0))
	f.Add("weekly", "mon,sun@23:59", "Pacific/Apia", int64(1_325_200_000), int64(0))
	f.Add("monthly", "29,31@00:00", "America/Sao_Paulo", int64(1_541_300_000), int64(0))
	f.Fuzz(func(t *testing.T, kind, expression, zone string, after, start int64) {
		s := Schedule{Type: kind, Expression: expression, Zone: zone, Enabled: true}
		if start != 0 {
			s.Start = time.Unix(start, 0)
		}
		accepted := s.check("") == nil
		from := time.Unix(after, 0).UTC()
		for range 3 {
			next, ok := s.Next(from)
			if !ok {
				return
			}
			if !accepted {
				t.Fatalf("%+v is not accepted, and runs at %s", s, next)
			}
			if !next.After(from) || next.Before(s.Start) || next.Year() > 9999 {
				t.Fatalf("%+v: after %s comes %s", s, from, next)
			}
			from = next
		}
	})
}

func TestAppendICal(t *testing.T) {
	now := at("2026-03-01T12:00:00Z")
	tasks := []*Task{
		{Row: Row{ID: id(uuid1), Name: "Bericht; Zürich, \\ \"" + strings.Repeat("ü", 60) + "\"\nBEGIN:VALARM", Executor: "rest_executor", Runs: 1},
			Schedule: Schedule{Type: "weekly", Expression: "mon@09:30", Zone: "Europe/Berlin", Enabled: true, Bounded: true, MaxRuns: 3}},
		{Row: Row{ID: id(uuid2), Name: "Yearly"}, Schedule: Schedule{Type: "once", Expression: "2027-01-01T00:00:00Z", Enabled: true}},
		{Row: Row{ID: id(uuid3), Name: "Never"}, Schedule: Schedule{Type: "daily", Expression: "09:30"}},
		{Row: Row{ID: NewID(now), Name: "Often"}, Schedule: Schedule{Type: "interval", Expression: "1", Enabled: true}},
	}
	got := string(AppendICal(nil, tasks[:3], now))
	for line := range strings.SplitSeq(strings.TrimSuffix(got, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n") || !validText(line) {
			t.Errorf("the line %q is not folded as it must be", line)
		}
	}
	unfolded := strings.ReplaceAll(got, "\r\n ", "")
	want := strings.Join([]string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//reeve//tasks//EN", "CALSCALE:GREGORIAN",
		"BEGIN:VEVENT", "UID:" + uuid1 + "-20260302T083000Z", "DTSTAMP:20260301T120000Z", "DTSTART:20260302T083000Z",
		`SUMMARY:Bericht\; Zürich\, \\ "` + strings.Repeat("ü", 60) + `"\nBEGIN:VALARM`,
		"DESCRIPTION:Task " + uuid1 + `\, executed by rest_executor\; weekly mon@09:30 (Europe/Berlin)\, run 1 of 3 times`, "END:VEVENT",
		"BEGIN:VEVENT", "UID:" + uuid1 + "-20260309T083000Z", "DTSTAMP:20260301T120000Z", "DTSTART:20260309T083000Z",
		`SUMMARY:Bericht\; Zürich\, \\ "` + strings.Repeat("ü", 60) + `"\nBEGIN:VALARM`,
		"DESCRIPTION:Task " + uuid1 + `\, executed by rest_executor\; weekly mon@09:30 (Europe/Berlin)\, run 1 of 3 times`, "END:VEVENT",
		"BEGIN:VEVENT", "UID:" + uuid2 + "-20270101T000000Z", "DTSTAMP:20260301T120000Z", "DTSTART:20270101T000000Z",
		"SUMMARY:Yearly", "DESCRIPTION:Task " + uuid2 + `\; once 2027-01-01T00:00:00Z`, "END:VEVENT",
		"END:VCALENDAR", "",
	}, "\r\n")
	if diff := cmp.Diff(want, unfolded); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := strings.Count(string(AppendICal(nil, tasks[3:], now)), "BEGIN:VEVENT"); n != calendarRuns {
		t.Errorf("an interval of a second has %d events, want %d", n, calendarRuns)
	}
}

func validText(s string) bool { return strings.ToValidUTF8(s, "") == s }
