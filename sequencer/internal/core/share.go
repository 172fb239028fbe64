package core

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// offerEvery is how long a member has to say that it keeps what it was offered; then another one is asked. It has twice as
// long each time, up to eight times: where nobody answers, contents are not sent ever again.
const (
	offerEvery   = 500 * time.Millisecond
	offerDoubles = 3
)

// sharing is an attempt of this node that has landed, and whose contents perhaps nobody else has: it has coordinated it itself.
// Its user is told that it is done when another member has stored them (Q14).
type sharing struct {
	sender.Share
	whole *wire.Whole // nil until it is read
	began time.Duration
	next  time.Duration // when to offer it again
	tries int
	asks  []uint64 // the numbers of the requests
}

// share begins to offer contents to the members.
func (k *contract) share(a sender.Share) {
	s := &sharing{Share: a, began: k.core.now}
	k.shares = append(k.shares, s)
	if w, is := k.Book.Whole(a.Assembled); is {
		s.whole = &w
		return
	}
	k.recall(s)
}

// recall reads contents that an earlier start had in memory.
func (k *contract) recall(s *sharing) {
	s.next = k.core.now + offerEvery
	k.readAttempts([]ledger.Hash{s.Assembled}, func(a Answered) {
		if len(a.Attempts) == 1 {
			s.whole, s.next = &a.Attempts[0], 0
		}
	})
}

// offer sends contents to one member after the other, those first that were heard last, until one keeps them or the time is over.
func (k *contract) offer() {
	if len(k.shares) == 0 {
		return
	}
	now, members := k.core.now, k.byHearing()
	_, final := k.Book.Height()
	batches := map[ledger.Account][]*sharing{}
	k.settle(func(s *sharing) bool {
		if now-s.began < k.core.cfg.ShareFor || s.Block > final { // before, nobody waits
			return false
		}
		k.core.alone++
		if k.place.alone.meets(now) {
			k.say(slog.LevelWarn, "no other member has said that it keeps the contents of a transaction: if this database is lost, its states are; those that follow are counted",
				"attempt", s.Assembled.String())
		}
		return true
	})
	for _, s := range k.shares {
		switch {
		case now < s.next:
		case s.whole == nil: // the store did not answer
			k.recall(s)
		default:
			to := members[s.tries%len(members)]
			batches[to] = append(batches[to], s)
			s.tries, s.next = s.tries+1, now+offerEvery<<min(s.tries, offerDoubles)
		}
	}
	for _, to := range sortedAccounts(batches) {
		k.push(to, batches[to])
	}
}

// push sends contents in as many messages as they need.
func (k *contract) push(to ledger.Account, all []*sharing) {
	for len(all) > 0 {
		some := all
		for k.requests++; ; some = some[:(len(some)+1)/2] { // most often all have room
			msg := wire.Message{Contract: k.address(), Wait: offerEvery, Request: wire.RequestID{Incarnation: k.core.cfg.Fetches, Number: k.requests}}
			var body wire.Attempts
			for _, s := range some {
				body.Attempts = append(body.Attempts, *s.whole)
			}
			if msg.Body = body; wire.Fits(msg) || len(some) == 1 {
				k.send(to, msg)
				break
			}
		}
		for _, s := range some {
			s.asks = append(s.asks, k.requests)
		}
		all = all[len(some):]
	}
}

// byHearing returns the other members, the one that was heard last first.
func (k *contract) byHearing() []ledger.Account {
	others := slices.DeleteFunc(slices.Clone(k.set.Declared.Members), func(a ledger.Account) bool { return a == k.core.cfg.Self })
	slices.SortStableFunc(others, func(a, b ledger.Account) int { return cmp.Compare(k.place.heard[b].at, k.place.heard[a].at) })
	return others
}

// kept says that a member has stored what it was sent.
func (k *contract) kept(number uint64) {
	if !k.settle(func(s *sharing) bool { return slices.Contains(s.asks, number) }) {
		return
	}
	if lasted, times := k.place.alone.ends(k.core.now); times > 0 {
		k.say(slog.LevelInfo, "another member keeps the contents of transactions again", "after", lasted, "transactions", times)
	}
}

// settle ends what is over, and reports whether anything was.
func (k *contract) settle(over func(*sharing) bool) bool {
	var ended []*sharing
	k.shares = slices.DeleteFunc(k.shares, func(s *sharing) bool {
		is := over(s)
		if is {
			ended = append(ended, s)
		}
		return is
	})
	for _, s := range ended {
		k.toSender(sender.Shared{Sequence: s.Sequence, Assembled: s.Assembled})
	}
	return len(ended) > 0
}

// keepFor takes contents that a member offers, and answers when they are stored, which is so once they have landed here too.
func (k *contract) keepFor(from ledger.Account, msg wire.Message, offered wire.Attempts) {
	if !k.reads(from, msg) {
		return
	}
	k.hear(offered.Attempts)
	var names []ledger.Hash
	for _, w := range offered.Attempts {
		names = append(names, k.set.Scheme.Assembled(k.set.Declared, w.Attempt))
	}
	k.store(Change{}, func([]ledger.Sequence) { // behind what the book has just told
		k.readAttempts(names, func(a Answered) {
			k.hasRead(from)
			if a.Err == nil && len(a.Attempts) == len(names) {
				k.send(from, wire.Message{Contract: k.address(), Request: msg.Request, Body: wire.Noted{}})
			}
		})
	})
}
