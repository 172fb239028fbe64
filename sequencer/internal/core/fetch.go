package core

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// absent are the attempts that have landed and whose contents this node lacks, and what the ledger is asked because of them.
type absent struct {
	of           *contract
	lacks        lacks
	fetchAt      time.Duration // when it is looked again what is lacked
	despairAt    time.Duration // when the ledger is asked again about what is asked for in vain
	despairPause time.Duration
	doubting     bool          // the ledger is being asked which attempts can be given up
	doubted      book.Missing  // the last one that it was asked about
	forgone      bool          // attempts were given up, or are about to be; or an earlier start may have done so
	lateAt       time.Duration // when the ledger is asked about what was heard late
	lateAsked    bool          // it is being asked
}

// hearContents takes the contents of attempts.
func (b *absent) hearContents(all []wire.Whole) {
	for _, w := range all {
		_, _ = b.of.Book.Hear(w) // what makes no sense is not taken
	}
	b.reconcileLate()
	b.of.keepBook()
}

// fetchMissing asks members for attempts that have landed and whose contents the node lacks: their owner, then the others in
// turn. What nobody has any more may have spent states that seem to be there: the ledger says which. It also says whether
// a state is left for which somebody might need the contents: if none is, nobody is asked any more.
func (b *absent) fetchMissing() {
	if b.of.core.now < b.fetchAt {
		return
	}
	missing := b.of.Book.Missing()
	if len(missing) == 0 {
		b.lacks, b.despairAt, b.despairPause = nil, 0, 0
		return
	}
	b.fetchAt = b.of.core.now + betweenAsks
	if b.lacks == nil {
		b.lacks = lacks{}
	}
	members := slices.DeleteFunc(slices.Clone(b.of.set.Declared.Members), func(a ledger.Account) bool { return a == b.of.core.cfg.Self })
	due := b.lacks.turn(missing, len(members), b.of.core.now)
	if len(due) == 0 {
		return
	}
	b.doubtMissing(missing, len(members))
	names := map[ledger.Account][]ledger.Hash{}
	var mine []ledger.Hash
	for _, one := range due {
		mine = append(mine, one.Assembled)
		if len(members) > 0 {
			to := one.whom(members)
			names[to] = append(names[to], one.Assembled)
		}
	}
	b.of.readAttempts(mine, func(a Answered) { // an earlier start may have had them
		if len(a.Attempts) > 0 {
			b.hearContents(a.Attempts)
		}
	})
	for _, to := range sortedAccounts(names) {
		b.of.requests++
		b.of.sendMessage(to, wire.Message{
			Contract: b.of.address(), Wait: time.Second, Body: wire.AskAttempts{Assembled: names[to]},
			Request: wire.RequestID{Incarnation: b.of.core.cfg.Fetches, Number: b.of.requests},
		})
	}
}

// doubtMissing asks the ledger about attempts for which all members were asked in vain: ever more seldom, since it is asked for all states.
func (b *absent) doubtMissing(missing []book.Missing, members int) {
	var vain []book.Missing
	asks := false
	for _, m := range missing {
		tries := b.lacks[m.Assembled].tries
		asks = asks || tries >= members+beyond/2
		if tries >= members+beyond {
			vain = append(vain, m)
		}
	}
	if !asks || b.of.core.now < b.despairAt {
		return
	}
	b.despairPause = min(2*b.despairPause+time.Second, mostPause)
	b.despairAt = b.of.core.now + b.despairPause
	b.reconcileStates(b.of.Book.States(), vain)
}
