package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	betweenAsks = 500 * time.Millisecond // two looks at what is lacked, and the shortest pause before an attempt is asked for again
	mostPause   = time.Minute            // the longest
	mostLacked  = 1000                   // attempts that are asked for at one time
	beyond      = 4                      // requests for an attempt, beside one to each member, until it may be given up
)

// lack is an attempt that has landed here and whose contents are missing.
type lack struct {
	book.Missing

	tries int           // how often it was asked for
	next  time.Duration // when it is asked for again
}

// lacks are all of them. Each has its own turns: what nobody has any more delays nothing else.
type lacks map[ledger.Hash]*lack

// turn returns the attempts to ask for now, those first that have waited longest, and counts the request. With so many other
// members, each is asked in as many turns; then the pause doubles.
func (l lacks) turn(missing []book.Missing, members int, now time.Duration) []*lack {
	is := make(map[ledger.Hash]bool, len(missing))
	var due []*lack
	for _, m := range missing {
		is[m.Assembled] = true
		if l[m.Assembled] == nil {
			l[m.Assembled] = &lack{Missing: m, next: now}
		}
		if one := l[m.Assembled]; one.next <= now {
			due = append(due, one)
		}
	}
	for h := range l {
		if !is[h] {
			delete(l, h)
		}
	}
	slices.SortStableFunc(due, func(a, b *lack) int { return cmp.Compare(a.next, b.next) })
	due = due[:min(len(due), mostLacked)]
	for _, one := range due {
		one.tries++
		one.next = now + min(betweenAsks<<min(max(one.tries-members, 0), 10), mostPause)
	}
	return due
}

// whom returns the member to ask: the owner first, then those after it.
func (l *lack) whom(members []ledger.Account) ledger.Account {
	owner := max(slices.Index(members, l.Owner), 0)
	return members[(owner+l.tries-1)%len(members)]
}
