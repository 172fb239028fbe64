package sender

import (
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// How an intent ends. Its user, its deadline or the ledger gives it up (giveUp). If no grant of it ever left, it is Reverted at once. Else it
// is Ending until the ledger has killed each grant: a question to the ledger in each new final block, all of a step in one Judge, whose
// answer is one Judged. Meanwhile it may still land, and is then done all the same. How it ended is stored (settle), then told (finish).
//
// The methods that take a happening are cells of the table (table.go): tell looks an event up in it and calls one. What they return answers
// a member's request; no event here comes of one, so it is Done. The states are in order: Confirming, Reverting and what follows are decided.

const (
	deadlinePassed = "its deadline has passed"
	byItsUser      = "its user has cancelled it"
	mostQuestions  = 1024 // of one Judge
)

func (m *Machine) cancel(it *intent, _ *happening) wire.Why {
	m.giveUp(it, byItsUser)
	return wire.Done
}

func (m *Machine) miss(it *intent, _ *happening) wire.Why {
	m.giveUp(it, deadlinePassed)
	return wire.Done
}

// giveUpLater takes effect if the block is taken back.
func (m *Machine) giveUpLater(it *intent, h *happening) wire.Why {
	it.giveUp = byItsUser
	if h.event == overdue {
		it.giveUp = deadlinePassed
	}
	m.mark(Mark{Sequence: it.Sequence, GivenUp: it.giveUp})
	return wire.Done
}

func (m *Machine) superseded(it *intent, _ *happening) wire.Why {
	it.annulled = true // the ledger takes a sequence once, so no cancellation is needed
	m.giveUp(it, "the ledger has its number with another payload, or cancelled")
	return wire.Done
}

// giveUp ends the intent. If it may have been granted, the ledger has the last word.
func (m *Machine) giveUp(it *intent, why string) {
	it.giveUp = why
	m.leave(it)
	if !it.loaded && len(it.given) == 0 { // this start has seen all grants of it, and there are none
		m.settle(it, Reverting, ledger.Result{Sequence: it.Sequence, Why: why})
		return
	}
	m.mark(Mark{Sequence: it.Sequence, GivenUp: why})
	m.end(it)
}

// end has the intent wait until the ledger has killed what may still land.
func (m *Machine) end(it *intent) {
	m.leave(it)
	m.to(it, Ending)
	it.why = it.giveUp
	m.endings = append(m.endings, it)
	m.question(it)
	m.annul(it)
}

// annul asks for a cancellation, once.
func (m *Machine) annul(it *intent) {
	if !it.annulled {
		it.annulled = true
		m.do(SendCancellation{Intent: it.name(m.cfg.Self)})
	}
}

// askAboutEndings asks again about all that were given up, in the new final block.
func (m *Machine) askAboutEndings() {
	left := m.endings[:0]
	for _, it := range m.endings {
		if it.state == Ending {
			left = append(left, it)
			m.question(it)
		}
	}
	m.endings = left
}

// question has the next Judge ask about an intent.
func (m *Machine) question(it *intent) {
	if !it.asked {
		it.asked = true
		m.questions = append(m.questions, it)
	}
}

// judge asks the ledger, one Judge at a time.
func (m *Machine) judge() {
	if m.judging || len(m.questions) == 0 {
		return
	}
	var j Judge
	for len(m.questions) > 0 && len(j.Questions) < mostQuestions {
		it := m.questions[0]
		it.asked = false
		if m.questions = m.questions[1:]; it.state >= Confirming {
			continue
		}
		q := Question{Intent: it.name(m.cfg.Self)}
		for _, g := range it.given {
			q.Given = append(q.Given, g.Given)
		}
		j.Questions = append(j.Questions, q)
	}
	if len(j.Questions) > 0 {
		m.judging = true
		m.do(j)
	}
}

// judged tells each intent what the ledger has answered. What is done is concluded first: another member has to have its contents.
func (m *Machine) judged(in Judged) {
	if m.work == nil || !m.judging { // no intent is open any more, or nothing was asked
		return
	}
	m.judging = false
	for _, a := range in.Answers {
		if it := m.intents[a.Sequence]; it != nil {
			h := happening{event: m.verdict(it, in.Number, a), hash: a.Assembled, block: in.Number}
			if h.event == judgedDone {
				m.conclude(it, h)
			} else {
				m.tell(it, h)
			}
		}
	}
}

// verdict says what the ledger's answer means, read in the final block of that number. It is dead if each of its grants is. What an intent
// of an earlier start (loaded) was granted may not be known, so it is dead only once m.holds is final, the last block of such a grant.
func (m *Machine) verdict(it *intent, number uint64, a Answer) event {
	switch {
	case a.Landed && a.Payload == it.hash:
		return judgedDone
	case a.Landed:
		return judgedSuperseded
	case len(a.Ends) != len(it.given), it.loaded && number < m.holds: // it was granted again since it was asked about, or too early
		return judgedAlive
	}
	for _, e := range a.Ends {
		if e == grants.Alive || e == grants.Landed {
			return judgedAlive
		}
	}
	return judgedDead
}

func (m *Machine) confirmed(it *intent, h *happening) wire.Why {
	m.leave(it)
	m.settle(it, Confirming, ledger.Result{Sequence: it.Sequence, Confirmed: true, Assembled: h.hash, Block: h.block})
	return wire.Done
}

func (m *Machine) reverted(it *intent, h *happening) wire.Why {
	m.leave(it)
	why := it.giveUp
	if why == "" {
		why = "the ledger has its number with another payload, or cancelled"
	}
	m.settle(it, Reverting, ledger.Result{Sequence: it.Sequence, Block: h.block, Why: why})
	return wire.Done
}

// settle has the Store of this step write how the intent ended. When that is committed, the table calls finish.
func (m *Machine) settle(it *intent, s State, r ledger.Result) {
	m.to(it, s)
	it.result = r
	m.store.Results = append(m.store.Results, r)
	m.commit.results = append(m.commit.results, it)
}

// finish tells the user, now that the result is stored.
func (m *Machine) finish(it *intent, _ *happening) wire.Why {
	end := Reverted
	if it.state == Confirming {
		end = Confirmed
	}
	m.to(it, end)
	m.do(Finished{Key: it.Key, Result: it.result})
	m.forget(it)
	return wire.Done
}
