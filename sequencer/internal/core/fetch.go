package core

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// hear takes the contents of attempts.
func (k *contract) hear(all []wire.Whole) {
	lacked := len(k.Book.Missing())
	for _, w := range all {
		_, _ = k.Book.Hear(w) // what makes no sense is not taken
	}
	if len(k.Book.Missing()) < lacked && k.forgone { // what has spent their states may be among what was given up
		k.reconcile(k.Book.States(), nil)
	}
	k.keep()
}

// fetch asks members for attempts that have landed and whose contents the node lacks: their owner, then the others in
// turn. What nobody has any more may have spent states that seem to be there: the ledger says which. It also says whether
// a state is left for which somebody might need the contents: if none is, nobody is asked any more.
func (k *contract) fetch() {
	if k.core.now < k.fetchAt {
		return
	}
	missing := k.Book.Missing()
	if len(missing) == 0 {
		k.lacks, k.despairAt, k.despairPause = nil, 0, 0
		return
	}
	k.fetchAt = k.core.now + betweenAsks
	if k.lacks == nil {
		k.lacks = lacks{}
	}
	members := slices.DeleteFunc(slices.Clone(k.set.Declared.Members), func(a ledger.Account) bool { return a == k.core.cfg.Self })
	due := k.lacks.turn(missing, len(members), k.core.now)
	if len(due) == 0 {
		return
	}
	k.despair(missing, len(members))
	names := map[ledger.Account][]ledger.Hash{}
	var mine []ledger.Hash
	for _, one := range due {
		mine = append(mine, one.Assembled)
		if len(members) > 0 {
			to := one.whom(members)
			names[to] = append(names[to], one.Assembled)
		}
	}
	k.readAttempts(mine, func(a Answered) { // an earlier start may have had them
		if len(a.Attempts) > 0 {
			k.hear(a.Attempts)
		}
	})
	for _, to := range sortedAccounts(names) {
		k.requests++
		k.send(to, wire.Message{
			Contract: k.address(), Wait: time.Second, Body: wire.AskAttempts{Assembled: names[to]},
			Request: wire.RequestID{Incarnation: k.core.cfg.Fetches, Number: k.requests},
		})
	}
}

// despair asks the ledger about attempts for which all members were asked in vain: ever more seldom, since it is asked for all states.
func (k *contract) despair(missing []book.Missing, members int) {
	var vain []book.Missing
	asks := false
	for _, m := range missing {
		tries := k.lacks[m.Assembled].tries
		asks = asks || tries >= members+beyond/2
		if tries >= members+beyond {
			vain = append(vain, m)
		}
	}
	if !asks || k.core.now < k.despairAt {
		return
	}
	k.despairPause = min(2*k.despairPause+time.Second, mostPause)
	k.despairAt = k.core.now + k.despairPause
	k.reconcile(k.Book.States(), vain)
}
