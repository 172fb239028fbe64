package worker

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// polls is how often jobs are looked for, for the case that the word of them was lost; then from the oldest on.
	polls = 5 * time.Second
	// beats is how often the worker reads what is taken under its post, while something is.
	beats = time.Second
	// again is how long it waits after a failure.
	again = time.Second
	// slack is by how much a job may be committed later than it was due, and still be seen at once.
	slack = time.Second
	// mostAtOnce is how many attempts are taken, or ended, in one transaction.
	mostAtOnce = 500
	never      = time.Duration(1<<63 - 1)
)

// Settings are those of a machine.
type Settings struct {
	Epoch int64         // in which this process leads the post
	Slots int           // how many jobs it has at a time
	Kinds []string      // of handlers that it has; nil: all
	Drain time.Duration // how long handlers may go on when the worker is to end
}

// Machine is a worker while it leads its post in one epoch.
//
// Until the act door of that post opens, the one that led it before may still be at work: it was cut off, or stands still, and nobody knows when it reads the clock
// again. That it does not lead any more is known by its session, not by time, and at once. What is at work under the post stays with it until then, unless
// its handler proves its attempt: such a job is given back at once, and taken at once, by this worker too, since
//   - the fence refuses all that the one before takes or leads under its epoch from now on;
//   - an end is of an attempt, and job_done and job_hold are, too: giving back ends the attempt, and whichever of the two comes first makes the
//     other one fail. So the one before either has had its effect, and there is no next attempt, or never has it;
//   - what it does until it sees that is what its handler has allowed by saying that it is fenced.
//
// Of the others none begins before the act door is open: the gate refuses their effects until then.
type Machine struct {
	set    Settings
	now    time.Duration
	until  time.Duration // when the post is no longer sure to be this process's; 0: nobody has said so yet
	acts   bool
	late   bool          // that has passed, or the post is another's
	drains time.Duration // when handlers are stopped; 0: it is not to end
	runs   map[Key]Why   // attempts whose handlers run; and why one was stopped
	ends   []End         // to be told
	told   []End         // that are being told
	gone   []Key         // that were told while a Look is under way, which may not have seen it
	busy   Act           // a Take or a Look that is under way. One at a time: what a Look misses nobody has taken since
	take   time.Duration // when to take
	whole  time.Duration // when to take from the oldest on
	floor  time.Time     // up to where nothing is left that can be taken, as far as was heard
	older  time.Time     // since when jobs may be due that came after the last take had begun; zero: none came
	soon   time.Duration // when to take at the latest, by what was heard since the last take began
	look   time.Duration // when to look
	tell   time.Duration // when ends may be told again
	gaveUp bool          // the last ends could not be told
	out    []Act
}

// New returns a machine that takes fenced jobs alone until the act door is open.
func New(s Settings) *Machine {
	return &Machine{set: s, runs: map[Key]Why{}, soon: never}
}

// Step takes an input, and returns what is to be done.
func (m *Machine) Step(now time.Duration, in Input) []Act {
	m.now, m.out = now, nil
	if e, is := in.(Extended); is {
		m.until = max(m.until, e.Until)
	}
	if e, is := in.(Missed); is && e.Over || m.until > 0 && now >= m.until {
		m.late = true
	}
	if e, is := in.(Ended); is { // first: nothing is stopped that has ended
		m.ended(e.End)
	}
	if why := m.stopsAll(); why != "" {
		m.stop(why, all)
	}
	switch in := in.(type) {
	case Acts:
		m.acts, m.look = true, now
		m.takeBy(now)
	case Woken:
		m.woken(in.Since)
	case Taken:
		m.taken(in)
	case Seen:
		m.seen(in.Held)
	case Told:
		m.heard(in.Held)
	case Missed:
		m.missed(in.Act)
	case Drain:
		m.drains = now + m.set.Drain
	}
	m.ask()
	return m.out
}

// Over reports whether the worker has ended: nothing runs, and all is told that could be told.
func (m *Machine) Over() bool {
	return (m.late || m.drains > 0) && len(m.runs) == 0 && (m.late || m.busy == nil) && (m.gaveUp || len(m.ends)+len(m.told) == 0)
}

// Due returns when the machine wants the time; false while it waits for inputs alone.
func (m *Machine) Due() (time.Duration, bool) {
	due := never
	if !m.late && m.until > 0 {
		due = m.until
	}
	if m.drains > 0 && len(m.runs) > 0 && m.drains > m.now {
		due = min(due, m.drains)
	}
	if len(m.ends) > 0 && m.told == nil {
		due = min(due, m.tell)
	}
	if m.busy == nil && !m.late {
		if due = min(due, m.look); m.takes() {
			due = min(due, m.take)
		}
	}
	return due, due < never
}

// takes reports whether the worker takes jobs.
func (m *Machine) takes() bool { return m.drains == 0 && m.free() > 0 }

// takeBy has it take at an instant at the latest, also if what is being taken just now has not seen why.
func (m *Machine) takeBy(at time.Duration) { m.take, m.soon = min(m.take, at), min(m.soon, at) }

// woken has it look at what has come, also if that was due long ago: a job that has waited for its lane, or was added in a long transaction.
func (m *Machine) woken(since time.Time) {
	m.takeBy(m.now)
	if since.IsZero() {
		m.whole = m.now
	} else if m.older.IsZero() || since.Before(m.older) {
		m.older = since
	}
}

// free is how many more jobs it may have.
func (m *Machine) free() int { return m.set.Slots - len(m.runs) - len(m.ends) - len(m.told) }

// ask begins what is due. Ends that come while others are being told are told together.
func (m *Machine) ask() {
	if m.told == nil && len(m.ends) > 0 && m.now >= m.tell {
		n := min(len(m.ends), mostAtOnce)
		m.told, m.ends = m.ends[:n:n], m.ends[n:]
		m.out = append(m.out, Tell{Ends: m.told})
	}
	switch {
	case m.busy != nil || m.late:
	case m.now >= m.look:
		m.gone = nil
		m.begin(Look{})
	case m.takes() && m.now >= m.take:
		if !m.older.IsZero() {
			m.floor, m.older = earlier(m.floor, m.older), time.Time{}
		}
		t := Take{Most: min(m.free(), mostAtOnce), Since: m.floor, Fenced: !m.acts, Kinds: m.set.Kinds}
		if m.now >= m.whole {
			m.whole, t.Since = m.now+polls, time.Time{}
		}
		m.soon = never
		m.begin(t)
	}
}

func (m *Machine) begin(a Act) {
	m.busy = a
	m.out = append(m.out, a)
}

// taken begins handlers. Those that come too late are never begun.
func (m *Machine) taken(in Taken) {
	asked, is := m.busy.(Take)
	if !is {
		return
	}
	m.busy = nil
	for _, j := range in.Jobs {
		if m.late || m.drains > 0 {
			m.ends = append(m.ends, End{Key: j.Key, Outcome: Released})
			continue
		}
		m.runs[j.Key] = ""
		m.out = append(m.out, Start{Job: j})
		m.look = min(m.look, m.now+beats)
		if !asked.Fenced { // else older ones are left
			m.floor = later(m.floor, j.Due.Add(-slack))
		}
	}
	wait := polls
	switch {
	case len(in.Jobs) == asked.Most:
		wait = 0
	case in.Next > 0:
		wait = min(in.Next, polls)
	}
	m.take = min(m.now+wait, m.soon)
}

// seen settles what is taken under the post: what earlier epochs have left, what was taken without an answer, and what is to stop.
func (m *Machine) seen(held []Held) {
	if _, is := m.busy.(Look); !is {
		return
	}
	m.busy, m.look = nil, never
	there, known := map[Key]bool{}, map[Key]bool{}
	for _, e := range slices.Concat(m.told, m.ends) {
		known[e.Key] = true
	}
	for _, k := range m.gone {
		known[k] = true
	}
	for _, h := range held {
		there[h.Key] = true
		why, runs := m.runs[h.Key]
		switch {
		case h.Epoch > m.set.Epoch || known[h.Key]:
		case h.Epoch < m.set.Epoch:
			if m.acts || h.Fenced {
				m.ends = append(m.ends, End{Key: h.Key, Outcome: Lost, Error: "its worker is gone", Pause: pause(h.Key, h.Attempt-1)})
			}
			m.look = m.now + beats
		case !runs:
			m.ends = append(m.ends, End{Key: h.Key, Outcome: Released})
		case h.Cancel && why == "":
			m.halt(h.Key, WhyCancelled)
		}
	}
	m.stop(WhyOver, func(k Key) bool { return !there[k] })
	if len(m.runs) > 0 {
		m.look = m.now + beats
	}
}

// heard forgets the ends that were told, and takes when what has not ended comes again. What a transaction holds is told again.
func (m *Machine) heard(held []Key) {
	_, looks := m.busy.(Look)
	for _, e := range m.told {
		if looks {
			m.gone = append(m.gone, e.Key)
		}
		switch {
		case slices.Contains(held, e.Key):
			m.ends, m.tell = append(m.ends, e), m.now+again
		case e.Outcome != Done && e.Outcome != Dead && e.Outcome != Cancelled:
			m.takeBy(m.now + e.Pause)
		}
	}
	m.told = nil
}

// missed has done again what may not have been done. After a take a look shows what it has taken.
func (m *Machine) missed(a Act) {
	switch a.(type) {
	case Take:
		m.busy, m.look, m.take = nil, m.now+again, m.now+again
	case Look:
		m.busy, m.look = nil, m.now+again
	case Tell:
		m.ends, m.told, m.tell = append(m.told, m.ends...), nil, m.now+again
		m.gaveUp = m.late || m.drains > 0 && m.now >= m.drains
	}
}

// ended notes what has become of an attempt. One that was stopped did not fail of itself.
func (m *Machine) ended(e End) {
	why, runs := m.runs[e.Key]
	if !runs {
		return
	}
	delete(m.runs, e.Key)
	if why = cmp.Or(why, m.stopsAll()); why != "" && e.Outcome != Done {
		e.Outcome, e.Error = why.Outcome(), string(why)
	}
	if e.Outcome == Failed || e.Outcome == Later || e.Outcome == Lost || e.Outcome == Released && why == "" { // which the gate has refused
		e.Pause = pause(e.Key, e.Attempt)
	}
	m.ends = append(m.ends, e)
}

// stopsAll is why no handler may go on any more; empty: they may.
func (m *Machine) stopsAll() Why {
	switch {
	case m.late:
		return WhyLate
	case m.drains > 0 && m.now >= m.drains:
		return WhyDrain
	}
	return ""
}

// stop stops handlers.
func (m *Machine) stop(why Why, which func(Key) bool) {
	for _, k := range slices.SortedFunc(maps.Keys(m.runs), func(a, b Key) int { return cmp.Compare(a.ID, b.ID) }) {
		if m.runs[k] == "" && which(k) {
			m.halt(k, why)
		}
	}
}

func all(Key) bool { return true }

func (m *Machine) halt(k Key, why Why) {
	m.runs[k] = why
	m.out = append(m.out, Stop{Key: k, Why: why})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
