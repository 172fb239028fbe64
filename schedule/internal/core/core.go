package core

import (
	"maps"
	"slices"
	"time"
)

const (
	// A write has half of what is due, within these bounds: so the rows of many crons that are due at once do not wait for the last of them, and few writes wait
	// for one another.
	fewInAWrite, mostInAWrite = 500, 2000
	// repairs is how often crons are read that have changed, for the case that the word of it was lost. The answer says how late it is
	// in the database, too.
	repairs = 30 * time.Second
	// again is how long the core waits after a failure.
	again = time.Second
	// prunes is how often old rows are deleted.
	prunes = 10 * time.Minute
)

// Core joins the crons of one leadership.
type Core struct {
	keep     time.Duration // for how long rows are kept
	now      Now
	at       time.Time     // the database's clock, as it was in the last answer
	since    time.Duration // when that came
	crons    map[int64]*cron
	restored time.Time      // when the rows of a backup were found
	known    int64          // the highest ID of a cron that was read: the next answer brings those above it, too
	stale    map[int64]bool // to be read
	repair   time.Duration  // when to read again; 0: at once
	prune    time.Duration  // when to delete old rows
	idle     time.Duration  // when the next statement may begin
	under    Act            // the statement that is under way; nil: none
	acts     []Act
}

// New returns a core that knows nothing yet. Keep is for how long rows are kept.
func New(keep time.Duration) *Core {
	return &Core{keep: keep, crons: map[int64]*cron{}, stale: map[int64]bool{}}
}

// Step takes an input, and returns what is to be done.
func (c *Core) Step(now Now, in Input) []Act {
	c.now, c.acts = now, nil
	switch in := in.(type) {
	case Changed:
		if c.mark(in.Crons); len(in.Crons) == 0 {
			c.repair = 0
		}
	case Loaded:
		c.loaded(in)
	case Written:
		c.written(in)
	case Failed:
		c.failed()
	case Tick:
	}
	c.ask()
	return c.acts
}

// Due returns when the core wants the time; false while it waits for an answer.
func (c *Core) Due() (time.Duration, bool) {
	if c.under != nil {
		return 0, false
	}
	due := min(c.repair, c.prune)
	if len(c.stale) > 0 {
		due = 0
	}
	for _, one := range c.crons {
		if one.isDue(c.clock()) {
			due = 0
		} else if !one.wakes.IsZero() {
			due = min(due, c.since+one.wakes.Sub(c.at))
		}
	}
	return max(due, c.idle), true
}

// clock is what the database's clock reads now, at least, as finely as it stores instants.
func (c *Core) clock() time.Time { return c.at.Add(c.now.Boot - c.since).Truncate(time.Microsecond) }

func (c *Core) mark(ids []int64) {
	for _, id := range ids {
		c.stale[id] = true
	}
}

func (c *Core) tell(fact any) { c.acts = append(c.acts, Tell{fact}) }

func (c *Core) answered(at time.Time) { c.under, c.at, c.since = nil, at, c.now.Boot }

func (c *Core) loaded(in Loaded) {
	asked, is := c.under.(Read)
	if !is {
		return
	}
	c.answered(in.At)
	for _, id := range asked.Crons {
		delete(c.crons, id)
	}
	c.restored = in.Restored
	for _, stored := range in.Crons {
		one := &cron{Cron: stored}
		one.read()
		c.doubt(one)
		c.crons[stored.ID], c.known = one, max(c.known, stored.ID)
	}
}

// doubt tells of a cron that this node cannot read.
func (c *Core) doubt(one *cron) {
	if one.wrong != nil {
		c.tell(Unreadable{Name: one.Name, Why: one.wrong})
	}
}

func (c *Core) written(in Written) {
	asked, is := c.under.(Write)
	if !is {
		return
	}
	c.answered(in.At)
	moved := map[int64]bool{}
	for _, id := range in.Moved {
		moved[id] = true
	}
	for _, m := range asked.Moves {
		one := c.crons[m.Cron]
		if one == nil || !moved[m.Cron] {
			c.mark([]int64{m.Cron}) // somebody has changed it, or the clock was set back
			continue
		}
		if m.Gap != nil {
			c.tell(PassedOver{Name: one.Name, Gap: *m.Gap})
		}
		if m.Adopt == 0 && m.To.At.Before(m.Was.Cursor.At) {
			c.tell(ClockBack{Name: one.Name, From: m.Was.Cursor.At, To: m.To.At})
		}
		if one.moved(m); m.Adopt > 0 {
			c.doubt(one)
		}
		if r := one.Revisions[0]; r.Retired && one.Adopted == one.Newest {
			delete(c.crons, m.Cron)
		}
	}
	for _, e := range in.Ends {
		if one := c.crons[e.Cron]; one != nil {
			c.tell(Ran{Name: one.Name, End: e})
		}
	}
	for _, p := range asked.Prunes {
		if one := c.crons[p.Cron]; one != nil && moved[p.Cron] {
			one.Floor = p.Upto
		}
	}
}

// failed reads again what was to be written: nobody knows whether it was.
func (c *Core) failed() {
	switch asked := c.under.(type) {
	case Read:
		c.mark(asked.Crons)
		c.repair = 0
	case Write:
		for _, m := range asked.Moves {
			c.mark([]int64{m.Cron})
		}
		for _, p := range asked.Prunes {
			c.mark([]int64{p.Cron})
		}
	}
	c.under, c.idle = nil, c.now.Boot+again
}

// ask begins the next statement, if there is one.
func (c *Core) ask() {
	if c.under != nil || c.now.Boot < c.idle {
		return
	}
	if len(c.stale) > 0 || c.now.Boot >= c.repair {
		c.repair = c.now.Boot + repairs
		c.begin(Read{Crons: slices.Sorted(maps.Keys(c.stale)), Known: c.known})
		clear(c.stale)
		return
	}
	w := Write{Moves: c.moves()}
	if len(w.Moves) == 0 && c.now.Boot >= c.prune {
		c.prune = c.now.Boot + prunes
		w.Prunes = c.old()
	}
	if len(w.Moves)+len(w.Prunes) > 0 {
		c.begin(w)
	}
}

func (c *Core) begin(a Act) {
	c.under = a
	c.acts = append(c.acts, a)
}

// moves lists what crons do now.
func (c *Core) moves() (all []Move) {
	now, rows := c.clock(), 0
	var due []int64
	for id, one := range c.crons {
		if one.isDue(now) {
			due = append(due, id)
		}
	}
	slices.Sort(due) // these alone: one may be due of ten thousand
	most := min(max(len(due)/2, fewInAWrite), mostInAWrite)
	for _, id := range due {
		m, is := c.crons[id].decide(now, c.restored)
		if !is {
			continue
		}
		if all, rows = append(all, m), rows+max(len(m.Runs), 1); rows >= most {
			break
		}
	}
	return all
}

// old lists what is to be deleted, a tenth of what is kept at a time. It is old by both clocks, and below the cursor: a clock that was wrong for a while would
// otherwise delete rows whose times come again.
func (c *Core) old() (all []Prune) {
	horizon := earlier(c.clock(), c.now.Wall).Add(-c.keep)
	for _, id := range slices.Sorted(maps.Keys(c.crons)) {
		one := c.crons[id]
		if upto := earlier(horizon, one.Cursor.At); upto.Sub(later(one.Floor, one.Revisions[0].Since)) > c.keep/10 {
			all = append(all, Prune{Cron: id, Upto: upto})
		}
	}
	return all
}
