package committee

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// teller tells a story: what nodes send each other, and what the chain does. What a node says to itself is left out, and
// so is every heartbeat but the first. A nil teller tells nothing.
type teller struct {
	r      *run
	beats  map[[2]*node]time.Duration // when the last one was sent
	ranges map[*node]ranking.Range
	from   *node // of what waits, since the same goes to others too
	at     time.Duration
	to     []string
	what   string
}

func newTeller(r *run) *teller {
	return &teller{r: r, beats: map[[2]*node]time.Duration{}, ranges: map[*node]ranking.Range{}}
}

// flush writes what waits.
func (t *teller) flush() {
	if t == nil || t.from == nil {
		return
	}
	from := t.from
	t.from = nil
	t.r.write(t.at, from.name, "to "+strings.Join(t.to, ", ")+": "+t.what)
}

// say writes a line about a node.
func (t *teller) say(n *node, what string, args ...any) {
	if t != nil {
		t.r.tell(n.name, what, args...)
	}
}

// message tells what a node says to another one.
func (t *teller) message(n *node, to ledger.Account, msg wire.Message) {
	if t == nil || n.account == to {
		return
	}
	target := t.r.byAccount[to]
	if b, is := msg.Body.(wire.Attempts); is && t.r.offers(n.account, msg) {
		t.line(n, target, "asks to keep the contents of "+t.wholes(b.Attempts))
		return
	}
	t.line(n, target, t.text(n, target, msg.Body))
}

// line says what goes from one node to another. It waits for more that goes to others too.
func (t *teller) line(n, target *node, what string) {
	name := target.name
	if !target.up || t.r.net.IsCut(n.name, name) {
		name += " (lost)"
	}
	if t.from != n || t.what != what || t.at != t.r.w.Now() {
		t.flush()
		t.from, t.what, t.to, t.at = n, what, nil, t.r.w.Now()
	}
	t.to = append(t.to, name)
}

// text says what a message is about.
func (t *teller) text(n, to *node, body wire.Body) string {
	switch b := body.(type) {
	case wire.Delegate:
		var avoid string
		if len(b.Avoid) > 0 {
			avoid = ", and passes over " + t.accounts(b.Avoid)
		}
		all := each(b.Intents, func(o wire.Offer) ledger.Sequence { return o.Sequence })
		return fmt.Sprintf("delegates %s for range %d%s", t.intents(n, all), b.Range, avoid)
	case wire.Accepted:
		return "accepts"
	case wire.Rejected:
		return "refuses: " + b.Why.String()
	case wire.Assemble:
		return "asks for attempts of " + t.steps(to, b.Items)
	case wire.Assembled:
		return t.results(n, b)
	case wire.Endorse:
		return "asks for endorsements of " + t.wholes(b.Attempts)
	case wire.Endorsed:
		return t.verdicts(b)
	case wire.AskGrant:
		return "asks for the grant of " + t.steps(to, each(b.Items, func(item wire.GrantStep) wire.Step { return item.Step }))
	case wire.Granted:
		return t.grants(n, b)
	}
	return t.afterwards(to, body)
}

// afterwards is text for what comes after the grant, and for the messages that repair.
func (t *teller) afterwards(to *node, body wire.Body) string {
	switch b := body.(type) {
	case wire.Dispatched:
		return "has dispatched " + t.intents(to, each(b.Items, func(h wire.Handed) ledger.Sequence { return h.Sequence }))
	case wire.Noted:
		return "has noted it"
	case wire.Returned:
		return fmt.Sprintf("returns %s: %v", t.steps(to, b.Items), b.Why)
	case wire.AskList:
		return "asks which of its intents are there"
	case wire.List:
		return "has " + t.intents(to, b.Sequences)
	case wire.AskHandover:
		return fmt.Sprintf("asks what is dispatched, since it coordinates range %d", b.Range)
	case wire.Handover:
		all := each(b.Entries, func(e wire.Dispatch) wire.Whole { return e.Whole })
		return "has dispatched, and the ledger has not decided: " + t.wholes(all)
	case wire.AskAttempts:
		return "asks for the contents of what has landed"
	case wire.Attempts:
		return "has the contents of " + t.wholes(b.Attempts)
	}
	return fmt.Sprintf("%T", body)
}

func (t *teller) results(n *node, b wire.Assembled) string {
	var parts []string
	for _, one := range b.Results {
		name := t.intents(n, []ledger.Sequence{one.Sequence})
		if one.Why == wire.Done {
			parts = append(parts, "has assembled "+name)
		} else {
			parts = append(parts, fmt.Sprintf("has no attempt of %s: %v", name, one.Why))
		}
	}
	return strings.Join(parts, ", ")
}

func (t *teller) grants(n *node, b wire.Granted) string {
	var parts []string
	for _, one := range b.Items {
		name := t.intents(n, []ledger.Sequence{one.Sequence})
		if one.Why == wire.Done {
			parts = append(parts, fmt.Sprintf("grants %s until block %d", name, one.Grant.ValidUntil))
		} else {
			parts = append(parts, fmt.Sprintf("does not grant %s: %v", name, one.Why))
		}
	}
	return strings.Join(parts, ", ")
}

func (t *teller) verdicts(b wire.Endorsed) string {
	var parts []string
	for _, v := range b.Verdicts {
		if v.Why == wire.Done {
			parts = append(parts, "endorses")
		} else {
			parts = append(parts, "does not endorse: "+v.Why.String())
		}
	}
	return strings.Join(slices.Compact(parts), ", ")
}

func (t *teller) steps(owner *node, steps []wire.Step) string {
	return t.intents(owner, each(steps, func(s wire.Step) ledger.Sequence { return s.Sequence }))
}

func (t *teller) wholes(all []wire.Whole) string {
	return list(each(all, func(w wire.Whole) string {
		return t.intents(t.r.byAccount[w.Attempt.Owner], []ledger.Sequence{w.Attempt.Sequence})
	}))
}

// intents names intents of an owner.
func (t *teller) intents(owner *node, all []ledger.Sequence) string {
	return list(each(all, func(s ledger.Sequence) string {
		return cmp.Or(owner.db.numbered(s).Key, "an intent that is lost")
	}))
}

func (t *teller) accounts(all []ledger.Account) string {
	return list(each(all, func(a ledger.Account) string { return t.r.byAccount[a].name }))
}

// each returns what there is of each.
func each[A, B any](all []A, of func(A) B) (found []B) {
	for _, one := range all {
		found = append(found, of(one))
	}
	return found
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// beat tells of the first heartbeat to a node, and of the last.
func (t *teller) beat(n, to *node) {
	if t == nil || n == to {
		return
	}
	link := [2]*node{n, to}
	if _, goes := t.beats[link]; !goes {
		t.line(n, to, "begins to send heartbeats")
	}
	at, life := t.r.w.Now(), n.lives
	t.beats[link] = at
	t.r.w.After(time.Second, func() {
		if t.beats[link] != at {
			return
		}
		delete(t.beats, link)
		if n.up && n.lives == life {
			t.line(n, to, "sends heartbeats no more")
		}
	})
}

// reaches tells that a node is in another range, until nobody has anything to do any more.
func (t *teller) reaches(n *node) {
	if t == nil || len(t.r.order) > 0 && !slices.ContainsFunc(t.r.order, func(k string) bool { return t.r.wishes[k].result == nil }) {
		return
	}
	_, final := n.Book.Height()
	own := t.r.committee.RangeOf(final)
	if t.ranges[n] < own {
		t.say(n, "is in range %d, which names %s", own, t.r.committee.Order(own)[0])
	}
	t.ranges[n] = max(t.ranges[n], own)
}

// dispatches tells what a node hands to its submitter.
func (t *teller) dispatches(n *node, entries []ledger.Entry) {
	if t == nil {
		return
	}
	all := each(entries, func(e ledger.Entry) wire.Whole { return wire.Whole{Attempt: e.Attempt} })
	t.say(n, "has stored the dispatch of %s, and submits it", t.wholes(all))
}

// block tells what a block does with intents.
func (t *teller) block(number uint64, facts []ledger.Fact) {
	if t == nil || len(facts) == 0 {
		return
	}
	var parts []string
	for _, f := range facts {
		name := "a cancellation"
		if w := t.r.byPayload[f.Payload]; w != nil {
			name = w.key
		}
		if f.Skipped == ledger.Taken {
			parts = append(parts, "takes "+name)
		} else {
			parts = append(parts, fmt.Sprintf("skips %s: %v", name, f.Skipped))
		}
	}
	t.r.tell("the chain", "block %d %s", number, strings.Join(parts, ", "))
}
