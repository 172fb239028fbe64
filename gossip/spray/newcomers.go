package spray

import "slices"

// A newcomer gets an arc of each of its contact's neighbours, and what it leaves behind when it restarts becomes arcs
// between the others. A node that restarts every few seconds, as one that crashes at its start, would so fill all views.
const (
	freeStarts   = 3    // for which a newcomer is introduced at once
	firstWait    = 60   // ticks until it is introduced again, and each time twice as many
	longestWait  = 3600 // such ticks, at most
	mostNewcomer = 256  // that are remembered
)

// newcomer is a node that was introduced.
type newcomer struct {
	name  string
	times int // that it was introduced without a long quiet between
	at    int // the tick of the last time
}

// newcomers are those that a contact remembers, the last one last.
type newcomers []newcomer

// due reports whether a newcomer is to be introduced now, and notes it then.
func (n *newcomers) due(name string, tick int) bool {
	at := slices.IndexFunc(*n, func(c newcomer) bool { return c.name == name })
	c := newcomer{name: name}
	if at >= 0 {
		c = (*n)[at]
		switch wait := c.wait(); {
		case tick-c.at < wait:
			return false
		case tick-c.at >= 2*max(wait, firstWait):
			c.times = 0
		}
		*n = slices.Delete(*n, at, at+1)
	} else if len(*n) >= mostNewcomer {
		*n = slices.Delete(*n, 0, 1)
	}
	c.times, c.at = c.times+1, tick
	*n = append(*n, c)
	return true
}

// wait is how many ticks after the last time it is introduced again.
func (c newcomer) wait() int {
	if c.times < freeStarts {
		return 0
	}
	return min(firstWait<<min(c.times-freeStarts, 10), longestWait)
}
