package pgops

import "maps"

// mostReread limits how many ids a cursor reads again while a transaction does not end. It is more than a
// process with ten thousand scopes writes at once.
const mostReread = 16384

// cursor keeps the position of a reader in a history whose ids become visible out of order: one bid for
// five hundred scopes draws a thousand ids, and other transactions commit before it. Ids above from
// are read again until every transaction that was under way at the time of their look has ended.
type cursor struct {
	from     int64          // every event up to this id has been read
	top      int64          // the highest id at the last look; 0: before the first
	seen     map[int64]bool // the ids above from that have been read
	mark     int64          // every id up to this one was drawn by a transaction before until
	until    int64          // a transaction number; 0: there is no mark
	nextFrom int64          // the value that advance gives to from
}

// look takes the oldest transaction under way, the next one to begin, and the highest id.
// The events must be read after it.
func (c *cursor) look(oldest, next, top int64) {
	if c.top == 0 {
		c.from = max(top-mostReread, 0)
	}
	if c.until > 0 && oldest >= c.until {
		c.nextFrom, c.until = c.mark, 0
	}
	// Use the top of the previous look: an id is drawn a moment before its transaction has a number.
	if c.until == 0 && c.top > 0 {
		c.mark, c.until = c.top, next
	}
	c.top = top
}

// isNew reports whether an event was not read before, and marks it as read.
func (c *cursor) isNew(id int64) bool {
	seen := c.seen[id]
	c.seen[id] = true
	return !seen
}

// advance forgets the ids that need not be read again, once all events were read.
func (c *cursor) advance() {
	c.from = max(c.from, c.nextFrom, c.top-mostReread)
	maps.DeleteFunc(c.seen, func(id int64, _ bool) bool { return id <= c.from })
}

// moved drops the mark, since the history may now come from a server with other transaction numbers.
func (c *cursor) moved() { c.until = 0 }
