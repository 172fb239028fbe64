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

// offers are the attempts whose contents this node offers to others.
type offers struct {
	of     *contract
	shares []*sharing
}

// shareContents begins to offer contents to the members.
func (o *offers) shareContents(a sender.Share) {
	s := &sharing{Share: a, began: o.of.core.now}
	o.shares = append(o.shares, s)
	if w, is := o.of.Book.Whole(a.Assembled); is {
		s.whole = &w
		return
	}
	o.recallContents(s)
}

// recallContents reads contents that an earlier start had in memory.
func (o *offers) recallContents(s *sharing) {
	s.next = o.of.core.now + offerEvery
	o.of.readAttempts([]ledger.Hash{s.Assembled}, func(a Answered) {
		if len(a.Attempts) == 1 {
			s.whole, s.next = &a.Attempts[0], 0
		}
	})
}

// offerContents sends contents to one member after the other, those first that were heard last, until one keeps them or the time is over.
func (o *offers) offerContents() {
	if len(o.shares) == 0 {
		return
	}
	now, members := o.of.core.now, o.of.membersByHearing()
	_, final := o.of.Book.Height()
	batches := map[ledger.Account][]*sharing{}
	o.settleShares(func(s *sharing) bool {
		if now-s.began < o.of.core.cfg.ShareFor || s.Block > final { // before, nobody waits
			return false
		}
		o.of.core.alone++
		if o.of.place.alone.meets(now) {
			o.of.say(slog.LevelWarn, "no other member has said that it keeps the contents of a transaction: if this database is lost, its states are; those that follow are counted",
				"attempt", s.Assembled.String())
		}
		return true
	})
	for _, s := range o.shares {
		switch {
		case now < s.next:
		case s.whole == nil: // the store did not answer
			o.recallContents(s)
		default:
			to := members[s.tries%len(members)]
			batches[to] = append(batches[to], s)
			s.tries, s.next = s.tries+1, now+offerEvery<<min(s.tries, offerDoubles)
		}
	}
	for _, to := range sortedAccounts(batches) {
		o.pushContents(to, batches[to])
	}
}

// pushContents sends contents in as many messages as they need.
func (o *offers) pushContents(to ledger.Account, all []*sharing) {
	for len(all) > 0 {
		some := all
		for o.of.requests++; ; some = some[:(len(some)+1)/2] { // most often all have room
			msg := wire.Message{Contract: o.of.address(), Wait: offerEvery, Request: wire.RequestID{Incarnation: o.of.core.cfg.Fetches, Number: o.of.requests}}
			var body wire.Attempts
			for _, s := range some {
				body.Attempts = append(body.Attempts, *s.whole)
			}
			if msg.Body = body; wire.Fits(msg) || len(some) == 1 {
				o.of.sendMessage(to, msg)
				break
			}
		}
		for _, s := range some {
			s.asks = append(s.asks, o.of.requests)
		}
		all = all[len(some):]
	}
}

// membersByHearing returns the other members, the one that was heard last first.
func (k *contract) membersByHearing() []ledger.Account {
	others := slices.DeleteFunc(slices.Clone(k.set.Declared.Members), func(a ledger.Account) bool { return a == k.core.cfg.Self })
	slices.SortStableFunc(others, func(a, b ledger.Account) int { return cmp.Compare(k.place.heard[b].at, k.place.heard[a].at) })
	return others
}

// contentsKept says that a member has stored what it was sent.
func (o *offers) contentsKept(number uint64) {
	if !o.settleShares(func(s *sharing) bool { return slices.Contains(s.asks, number) }) {
		return
	}
	if lasted, times := o.of.place.alone.ends(o.of.core.now); times > 0 {
		o.of.say(slog.LevelInfo, "another member keeps the contents of transactions again", "after", lasted, "transactions", times)
	}
}

// settleShares ends what is over, and reports whether anything was.
func (o *offers) settleShares(over func(*sharing) bool) bool {
	var ended []*sharing
	o.shares = slices.DeleteFunc(o.shares, func(s *sharing) bool {
		is := over(s)
		if is {
			ended = append(ended, s)
		}
		return is
	})
	for _, s := range ended {
		o.of.toSender(sender.Shared{Sequence: s.Sequence, Assembled: s.Assembled})
	}
	return len(ended) > 0
}

// keepForMember takes contents that a member offers, and answers when they are stored, which is so once they have landed here too.
func (k *contract) keepForMember(from ledger.Account, msg wire.Message, offered wire.Attempts) {
	if !k.beginsReading(from, msg) {
		return
	}
	k.absent.hearContents(offered.Attempts)
	var names []ledger.Hash
	for _, w := range offered.Attempts {
		names = append(names, k.set.Scheme.Assembled(k.set.Declared, w.Attempt))
	}
	k.storeChange(Change{}, func([]ledger.Sequence) { // behind what the book has just told
		k.readAttempts(names, func(a Answered) {
			k.endReading(from)
			if a.Err == nil && len(a.Attempts) == len(names) {
				k.sendMessage(from, wire.Message{Contract: k.address(), Request: msg.Request, Body: wire.Noted{}})
			}
		})
	})
}
