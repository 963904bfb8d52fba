package words

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// errNoDuration says what a length of time looks like.
var errNoDuration = errors.New("write 90d, 12h, 30m, 10s, or several such as 1h30m")

// Duration reads a length of time as people write it: as time.ParseDuration does, and with
// days, of 24 hours, before the rest.
func Duration(text string) (time.Duration, error) {
	number, rest, days := strings.Cut(text, "d")
	if !days {
		number, rest = "0", text
	} else if rest == "" {
		rest = "0"
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, errNoDuration
	}
	d, err := time.ParseDuration(rest)
	day := 24 * time.Hour
	if err != nil || days && d < 0 || n > uint64(math.MaxInt64/day) || d > math.MaxInt64-time.Duration(n)*day {
		return 0, errNoDuration
	}
	return time.Duration(n)*day + d, nil
}
