package logworld

import (
	"bytes"
	"fmt"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// client is a user: one goal or question at a time. It asks again with the same id, maybe at another node, until it knows.
type client struct {
	r      *run
	name   string
	home   *node
	count  int
	since  uint64 // the highest index that it has heard of
	now    *ask   // what it waits for
	old    *ask   // a goal of before
	idle   time.Duration
	hidden bool // a story does not tell of each of its goals
	told   bool // it asks only for what it is told to
}

// ask is a goal, or a question, and what became of it.
type ask struct {
	by     *client
	id     string
	goal   []byte // nil: it is a question
	key    string
	since  uint64
	begun  time.Duration
	floor  uint64 // what was acknowledged when it was first asked
	tries  int
	again  bool // a goal of before, once more: the answer is the one of then
	misuse bool // another goal with the id of one of before
	ends   time.Duration
	done   bool
	answer answer
}

// answer is what a node says.
type answer struct {
	verdict verdict
	at      txlog.Position
	result  []byte
	fault   string
	leader  string // who may know
	wrong   bool   // said by a node whose memory is wrong: what is only read, nothing finds at once
	why     error
}

// verdict is what an answer means for who has asked.
type verdict uint8

const (
	unknown   verdict = iota // nobody can say; ask again with the same id
	done                     // it is in the log, or was read
	otherGoal                // the id is another goal's
	tooOld                   // nobody will ever say
	tooMany                  // it was not taken
	failed                   // it has failed, and will not be executed
)

const (
	thinks   = 400 * time.Millisecond // at most, between an answer and the next question
	patience = 5 * time.Second        // with one node
)

// next has the client ask for something new.
func (c *client) next() {
	r := c.r
	if r.over {
		c.now = nil
		return
	}
	c.begins(r.draw(c))
}

// try asks the node at which the client is.
func (c *client) try() {
	a, r := c.now, c.r
	if a.done {
		return
	}
	a.tries++
	if a.tries > 1 {
		r.Stats["retries"]++
	}
	r.hint(c, "asks %s for %s%s", c.home.name, a.what(), map[bool]string{true: ", once more"}[a.tries > 1])
	try, at := a.tries, c.home
	r.w.After(r.w.Between(round/100, round/20), func() {
		if !at.up {
			c.hangsUp(a, try)
			return
		}
		at.takes(func() core.Input {
			return at.asked(a, func(got answer) { r.w.After(r.w.Between(round/100, round/20), func() { c.hears(a, try, at, got) }) })
		})
	})
	r.w.After(patience+r.w.Between(0, patience), func() {
		if !a.done && a.tries == try {
			r.Stats["timeouts"]++
			c.moves("")
			c.try()
		}
	})
}

// hangsUp has the client notice that a process is not there, or no longer.
func (c *client) hangsUp(a *ask, try int) {
	c.r.w.After(c.r.w.Between(round/2, 3*round), func() {
		if !a.done && a.tries == try {
			c.moves("")
			c.try()
		}
	})
}

// moves has the client go to another node, which it was told of or chooses.
func (c *client) moves(to string) {
	if n := c.r.byName[to]; n != nil {
		c.home = n
		return
	}
	c.home = c.r.nodes[c.r.w.Pick(len(c.r.nodes))]
}

// hears takes an answer. One that is late counts too: it is true whenever it comes.
func (c *client) hears(a *ask, try int, at *node, got answer) {
	r := c.r
	r.judgeAnswer(a, at, got)
	if a.done {
		return
	}
	switch got.verdict {
	case unknown, tooMany:
		if try != a.tries {
			return
		}
		if got.verdict == tooMany {
			r.Stats["too_many"]++
		}
		wait := r.w.Between(round/2, 3*round)
		r.w.After(wait, func() {
			if !a.done && a.tries == try {
				if a.goal == nil || r.w.Chance(0.3) {
					c.moves(got.leader)
				}
				c.try()
			}
		})
		return
	case done, otherGoal, tooOld, failed:
	}
	a.done, a.answer, a.ends = true, got, r.w.Now()
	c.since = max(c.since, got.at.Index)
	r.hint(c, "is answered by %s: %s", at.name, got.what())
	r.ended(a)
	if a.goal != nil && got.verdict == done && !a.again && !a.misuse {
		c.old = a
	}
	if c.told {
		return
	}
	wait := c.idle
	if wait == 0 {
		wait = r.w.Between(round/10, thinks)
	}
	r.w.After(wait, c.next)
}

// ended counts an ask that has its answer.
func (r *run) ended(a *ask) {
	r.asks = append(r.asks, a)
	took := (a.ends - a.begun).Milliseconds()
	r.Stats["answered_after_ms_max"] = max(r.Stats["answered_after_ms_max"], took)
	switch {
	case a.goal == nil:
	case a.again:
		r.Stats["repeated"]++
	case a.answer.verdict == done:
		r.Stats["acknowledged"]++
	}
	r.w.Note(a.by.name, "is answered "+a.id, int64(a.answer.at.Index))
}

// judgeAnswer compares an answer with the log as it is.
func (r *run) judgeAnswer(a *ask, at *node, got answer) {
	if r.spoiled {
		return
	}
	switch got.verdict {
	case done:
		if a.goal == nil {
			r.judgeRead(a, at, got)
		} else {
			r.judgeDone(a, at, got)
		}
	case otherGoal:
		r.Check(a.misuse, NeverFailed, "%s is told that %s is another goal's id, and it is its own", a.by.name, a.id)
	case tooOld:
		r.Stats["too_old"]++
	case failed:
		index, is := r.goals[a.id]
		r.Check(!is || a.misuse, NeverFailed, "%s is told that %s has failed (%v), and it is entry %d", a.by.name, a.id, got.why, index)
	case unknown, tooMany:
	}
}

func (r *run) judgeDone(a *ask, at *node, got answer) {
	i := got.at.Index
	if !r.Check(i > 0 && i <= r.top() && (got.at.Hash.IsZero() || r.log[i-1].Hash() == got.at.Hash), AckedKept,
		"%s tells %s that %s is entry %d, which is not committed", at.name, a.by.name, a.id, i) {
		return
	}
	record := r.log[i-1]
	if a.misuse {
		r.Check(false, Once, "%s has answered %s, which has the id of another goal, with that one's result", at.name, a.id)
		return
	}
	r.Check(record.GoalID == a.id && bytes.Equal(record.Goal, a.goal), OneRecord, "%s says that %s is entry %d, and that is %s", at.name, a.id, i, describe(record))
	r.Check(bytes.Equal(record.Result, got.result) && record.Fault == got.fault, RightResult, "%s answers %s with %q, and it is %q", at.name, a.id, got.result, record.Result)
	r.Check(a.again || i > a.floor, Linearizable, "%s is entry %d, and %d was acknowledged before it was asked for", a.id, i, a.floor)
	r.acked, r.ackedAt[i] = max(r.acked, i), true
}

func (r *run) judgeRead(a *ask, at *node, got answer) {
	r.Check(got.at.Index >= a.floor, Linearizable, "%s reads at %d, and %d was acknowledged before it was asked", a.by.name, got.at.Index, a.floor)
	if got.wrong || got.at.Index > r.top() {
		r.Check(got.wrong, NeverAhead, "%s answers from entry %d, and %d are committed", at.name, got.at.Index, r.top())
		return
	}
	if want := r.valueAt(a.key, got.at.Index); want != nil || got.result != nil {
		r.Check(bytes.Equal(want, got.result) || want == nil, Linearizable, "%s answers %q for %s at %d, and it is %q", at.name, got.result, a.key, got.at.Index, want)
	}
	r.acked = max(r.acked, got.at.Index)
}

// asks has a client that is told what to do ask a node for a goal, or a question if there is none.
func (c *client) asks(at *node, goal []byte, key string) *ask {
	c.count++
	a := &ask{by: c, id: fmt.Sprintf("%s-%d", c.name, c.count), goal: goal, key: key, since: c.since}
	c.home = at
	c.begins(a)
	return a
}

// begins asks for something for the first time.
func (c *client) begins(a *ask) {
	c.now = a
	a.begun, a.floor = c.r.w.Now(), c.r.acked
	if a.goal != nil {
		c.r.Stats["goals"]++
	} else {
		c.r.Stats["reads"]++
	}
	c.try()
}

// hint tells a reader of a story what a client does.
func (r *run) hint(c *client, text string, args ...any) {
	if r.scene != nil && r.scene.Story && !c.hidden {
		r.say(c.name, fmt.Sprintf(text, args...))
	}
}

func (a *ask) what() string {
	if a.goal == nil {
		return a.key
	}
	return fmt.Sprintf("%s: %s", a.id, a.goal)
}

func (a answer) what() string {
	switch {
	case a.why != nil:
		return a.why.Error()
	case a.fault != "":
		return fmt.Sprintf("entry %d, which has failed: %s", a.at.Index, a.fault)
	}
	return fmt.Sprintf("entry %d, %s", a.at.Index, a.result)
}
