package web

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/live"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/step"
)

const (
	sharedEach   = time.Second           // interval of readings of the heartbeats
	sharedRepair = 5 * time.Second       // and of all rows, unless an event says that they have changed
	sharedWait   = 2 * time.Second       // for how long the heartbeats are waited for until the database counts as away
	sharedRest   = 20 * time.Millisecond // between two readings of all rows, and four times as long as the last one took
	sharedLinger = time.Minute           // for how long readings go on without anybody who looks
	sharedTail   = 256                   // the newest events that are kept, in which the last change of hands is found
)

// shared is one reading of the database for all who look at this node: streams and answers are made from what it keeps, so that another
// viewer costs bytes and no query. It reads while somebody looks, on a connection of its own, so that a long answer to another request
// is not taken for a database that is away. Safe for concurrent use.
type shared struct {
	reader  *reader
	feed    *feed
	absent  bool                     // there is no database
	ours    func() map[string]string // the scopes with a role here, with the holder of those that are led without a database
	running sync.WaitGroup
	ctx     context.Context // ends with the site
	end     func()

	mu      sync.Mutex
	runs    bool
	looked  time.Time     // when somebody looked last,
	wanted  time.Time     // and when at rows
	rows    int           // of the viewers, how many want rows
	read    chan struct{} // closed once rows were read, or could not be
	waits   bool          // read is not closed
	nudge   step.Wake
	viewers map[*viewer]struct{}
	source  live.Source
	since   time.Time // of source, on this process's clock
	upAt    time.Time // when the database answered last, or the readings began
	beats   live.Beats
	beaten  uint64 // counts the readings of beats
	set     live.Set
	setAt   time.Time     // when its rows were read; zero: never
	tail    []pgops.Event // the newest, oldest first
	fresh   bool          // rows are read again at the next turn
	readAt  time.Time     // of all rows, when that began
	took    time.Duration // and how long it took
}

func newShared(r *reader, f *feed, absent bool, ours func() map[string]string) *shared {
	s := &shared{reader: r, feed: f, absent: absent, ours: ours, viewers: map[*viewer]struct{}{}, read: make(chan struct{}), nudge: step.NewWake(), since: time.Now()}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.source = live.Source{Database: live.Unknown}
	return s
}

func (s *shared) close() {
	s.mu.Lock()
	s.runs = true // for good
	s.mu.Unlock()
	s.end()
	s.running.Wait()
	s.reader.close()
}

// begin has the database read from now on, for a while.
func (s *shared) begin(rows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = time.Now()
	if rows {
		s.wanted = s.looked
		if !s.isRead() {
			s.fresh = true
			if !s.waits {
				s.read, s.waits = make(chan struct{}), true
			}
			s.nudge.Ring()
		}
	}
	if !s.runs {
		s.runs, s.upAt = true, time.Now()
		s.running.Go(s.run)
	}
}

// isRead reports whether there are rows of a recent reading, or it is known that they cannot be read. It needs the lock.
func (s *shared) isRead() bool {
	return s.runs && (s.source.Database == live.Away || !s.setAt.IsZero() && time.Since(s.setAt) < 2*sharedRepair)
}

// run reads until nobody looks any more.
func (s *shared) run() {
	tick := time.NewTicker(sharedEach)
	defer tick.Stop()
	var heard *listener
	defer func() {
		if heard != nil {
			s.feed.leave(heard)
		}
	}()
	for {
		up := s.turn()
		if up && heard == nil {
			heard = s.listen()
		}
		s.answer(up)
		var events <-chan *pgops.Event
		if heard != nil {
			events = heard.events
		}
		select {
		case <-s.ctx.Done():
			return
		case <-s.nudge:
		case <-tick.C:
			if s.idle() {
				return
			}
		case e, ok := <-events:
			if !ok {
				heard = nil // it fell behind: all rows are read again
			}
			s.heard(e, events)
		}
		s.rest()
	}
}

// answer ends the wait for rows, once these are read or cannot be.
func (s *shared) answer(up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits && (!up || s.isRead()) {
		close(s.read)
		s.waits = false
	}
}

// listen hears of events from now on; nil if that cannot be now.
func (s *shared) listen() *listener {
	ctx, cancel := context.WithTimeout(s.ctx, sharedWait)
	defer cancel()
	l, _, _, _, err := s.feed.join(ctx, "", false, 0)
	if err != nil {
		return nil
	}
	tail, err := s.reader.history(ctx, sharedTail)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.tail = tail
	}
	s.fresh = true // what happened before is not heard
	return l
}

// heard notes an event, and all that wait with it.
func (s *shared) heard(e *pgops.Event, more <-chan *pgops.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = true
	for e != nil {
		s.tail = append(s.tail, *e)
		select {
		case e = <-more:
		default:
			e = nil
		}
	}
	s.tail = append([]pgops.Event(nil), s.tail[max(0, len(s.tail)-sharedTail):]...)
}

// rest waits before rows are read again soon after they were: in a burst of events a reading that takes long is not repeated at once.
func (s *shared) rest() {
	s.mu.Lock()
	left := time.Duration(0)
	if s.fresh {
		left = time.Until(s.readAt.Add(s.took + max(sharedRest, 4*s.took)))
	}
	s.mu.Unlock()
	if left <= 0 {
		return
	}
	select {
	case <-s.ctx.Done():
	case <-time.After(min(left, sharedEach)):
	}
}

// idle ends the readings if nobody looks any more, and reports whether it did.
func (s *shared) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.viewers) > 0 || time.Since(s.looked) < sharedLinger {
		return false
	}
	s.runs = false
	s.setAt, s.since, s.source = time.Time{}, time.Now(), live.Source{Database: live.Unknown} // what is not looked at is not known
	return true
}

// turn reads what is due, and reports whether the database answered.
func (s *shared) turn() (up bool) {
	ctx, cancel := context.WithTimeout(s.ctx, sharedWait)
	defer cancel()
	at := time.Now() // before asking: the ages are not older than it says
	var read []pgops.Beat
	err := s.reader.ask(ctx, func(ctx context.Context, o Observer) (err error) {
		read, err = o.Beats(ctx)
		return err
	})
	if s.ctx.Err() != nil {
		return false
	}
	if err == nil && s.beat(live.BeatsOf(read, at)) {
		err = s.list()
	}
	s.judge(err)
	return err == nil
}

// beat notes a reading of the heartbeats, and reports whether all rows have to be read.
func (s *shared) beat(b live.Beats) (all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	moved := b.Moved(s.beats)
	s.beats = b
	s.beaten++
	wanted := s.rows > 0 || time.Since(s.wanted) < sharedLinger
	return wanted && (s.fresh || moved || time.Since(s.readAt) >= sharedRepair)
}

// list reads all rows.
func (s *shared) list() error {
	s.mu.Lock()
	s.fresh, s.readAt = false, time.Now() // an event that comes meanwhile is not in what is read
	at := s.readAt
	s.mu.Unlock()
	read, err := s.reader.leaderships(s.ctx, "")
	if err == nil && read.stale {
		err = read.why
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took = time.Since(at); err != nil {
		s.fresh = true
		return err
	}
	ours := s.ours()
	rows := make([]live.Row, 0, len(read.leaderships)+len(ours))
	for _, l := range read.leaderships {
		rows = append(rows, live.RowOf(l))
		delete(ours, l.Scope)
	}
	for scope, holder := range ours {
		rows = append(rows, live.Unlisted(scope, holder))
	}
	s.set.Take(rows)
	s.setAt = at
	for v := range s.viewers {
		if !v.begun {
			v.version, v.begun = s.set.Version(), true
		}
	}
	return nil
}

// judge notes whether the database answered, and wakes all viewers.
func (s *shared) judge(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	is, since := live.Source{Database: live.Up}, now
	switch {
	case err != nil:
		is, since = live.Source{Database: live.Away, Why: pgmint.Sentence(err)}, s.upAt
	case s.absent:
		is.Database = live.Absent
	}
	if err == nil {
		s.upAt = now
	}
	if is.Database != s.source.Database {
		s.source, s.since = is, since
	}
	for v := range s.viewers {
		v.wake.Ring()
	}
}
