package pgops

import "maps"

// tailMost bounds how many ids a tail reads again while some transaction does not end: more
// than a process of ten thousand scopes writes at once.
const tailMost = 16384

// tail keeps the place in a history whose ids become visible in another order than they were
// drawn: one bid for five hundred scopes draws a thousand ids at once, and other transactions
// commit before it. Ids above from are read again, until every transaction that was under way
// when the history had reached them has ended.
type tail struct {
	from    int64          // every event up to this id has been read
	top     int64          // the highest id at the last look; 0: before the first
	seen    map[int64]bool // the ids above from that have been read
	mark    int64          // every id up to this one was drawn by a transaction before until
	until   int64          // a transaction number; 0: there is no mark
	settled int64          // the next value of from
}

// look takes the oldest transaction under way, the next one to begin, and the highest id.
// The events must be read after it.
func (t *tail) look(oldest, next, top int64) {
	if t.top == 0 {
		t.from = max(top-tailMost, 0)
	}
	if t.until > 0 && oldest >= t.until {
		t.settled, t.until = t.mark, 0
	}
	// The top of the look before, since an id is drawn a moment before its transaction has a
	// number.
	if t.until == 0 && t.top > 0 {
		t.mark, t.until = t.top, next
	}
	t.top = top
}

// isNew reports whether an event was not read before, and marks it as read.
func (t *tail) isNew(id int64) bool {
	seen := t.seen[id]
	t.seen[id] = true
	return !seen
}

// advance forgets the ids that need not be read again, once all events were read.
func (t *tail) advance() {
	t.from = max(t.from, t.settled, t.top-tailMost)
	maps.DeleteFunc(t.seen, func(id int64, _ bool) bool { return id <= t.from })
}

// moved says that the history may come from another server now, which has its own
// transaction numbers.
func (t *tail) moved() { t.until = 0 }
