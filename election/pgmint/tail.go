package pgmint

import "maps"

// tailMost bounds how far back a tail looks again while some transaction does not end:
// more than a process of ten thousand scopes writes at once.
const tailMost = 16384

// tail keeps the place in a history whose ids become visible in another order than they
// were drawn: one bid of five hundred scopes draws a thousand at once, and others commit
// before it. What is above from is looked at again, until every transaction has ended that
// was under way when the history was that long.
type tail struct {
	from    int64          // whatever has an id up to here was there when it was looked at
	top     int64          // the highest id at the last look, 0 before the first
	seen    map[int64]bool // of those above from
	mark    int64          // ids up to this one are drawn,
	until   int64          // by transactions before this one; 0: there is no mark
	settled int64          // the next value of from
}

// look takes in the oldest transaction that is under way, the next one to begin, and the
// highest id. The events are to be read after it.
func (t *tail) look(oldest, next, top int64) {
	if t.top == 0 {
		t.from = max(top-tailMost, 0)
	}
	if t.until > 0 && oldest >= t.until {
		t.settled, t.until = t.mark, 0
	}
	// Of the look before: an id is drawn a moment before its transaction has a number.
	if t.until == 0 && t.top > 0 {
		t.mark, t.until = t.top, next
	}
	t.top = top
}

// isNew says whether an event was not seen before, and remembers it.
func (t *tail) isNew(id int64) bool {
	seen := t.seen[id]
	t.seen[id] = true
	return !seen
}

// advance forgets what need not be looked at again, once all events were read.
func (t *tail) advance() {
	t.from = max(t.from, t.settled, t.top-tailMost)
	maps.DeleteFunc(t.seen, func(id int64, _ bool) bool { return id <= t.from })
}

// moved says that the history may be read from another server, which numbers its
// transactions by itself.
func (t *tail) moved() { t.until = 0 }
