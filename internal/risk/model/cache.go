package model

import "time"

// The bounds of the cache. With threats of the largest size it takes 16 MiB.
const (
	maxAnswers = 4096
	freshFor   = 10 * time.Minute
)

// cache keeps answers. The oldest place is taken for the next answer: all
// answers are fresh for the same time, so that is about the one that is of least
// use, and finding it costs nothing. The Scorer's mutex guards it.
type cache struct {
	at     map[question]int // each place's question
	places []cacheEntry     // at most maxAnswers
	next   int              // the place to take when there are no more
}

type cacheEntry struct {
	question question
	answer   answer
	since    time.Time
}

func (c *cache) get(q question, now time.Time) (answer, bool) {
	i, ok := c.at[q]
	if !ok || now.Sub(c.places[i].since) >= freshFor {
		return answer{}, false
	}
	return c.places[i].answer, true
}

func (c *cache) put(q question, a answer, now time.Time) {
	k := cacheEntry{q, a, now}
	if i, ok := c.at[q]; ok {
		c.places[i] = k
		return
	}
	if len(c.places) < maxAnswers {
		c.at[q] = len(c.places)
		c.places = append(c.places, k)
		return
	}
	delete(c.at, c.places[c.next].question)
	c.at[q] = c.next
	c.places[c.next] = k
	c.next = (c.next + 1) % maxAnswers
}
