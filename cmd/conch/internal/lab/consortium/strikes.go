//go:build unix

package consortium

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgnotes"
)

const (
	savedFor  = 6 * time.Second // from the copy of a database until it is put back
	turnedFor = 5 * time.Second
	oldRanges = 3 // for so many ranges a node sees an old head
)

// turns are by how much a clock is turned.
var turns = []time.Duration{-time.Hour, time.Hour, -2 * 365 * 24 * time.Hour, 2 * 365 * 24 * time.Hour}

// database ends the server of all databases and starts it.
func (s *supervisor) database(ctx context.Context, f Fault) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if f.Long {
		s.screen.Note("kill -9 of the database server")
		s.Postgres.Kill9()
		return s.Postgres.StartAgain(ctx)
	}
	s.screen.Note("the database server is restarted")
	return s.Postgres.RestartFast(ctx)
}

// reorganise replaces the newest blocks by one more without anything. What was in them is in the pool again.
func (s *supervisor) reorganise(ctx context.Context, f Fault) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	depth := 1 + f.Pick%chaosDepth
	s.screen.Note("the chain is reorganised, %d blocks deep", depth)
	return s.Chain.Reorganise(ctx, depth)
}

// saving is a database that was copied, and will be put back.
type saving struct {
	of   *organisation
	at   time.Time // the node was dead
	back time.Time // when it is due
}

func copyOf(o *organisation) string { return o.Name + "_copy" }

// save copies the database of a node, which is killed for that and started again.
func (s *supervisor) save(ctx context.Context, o *organisation, now time.Time) error {
	if err := s.fell(ctx, o); err != nil {
		return err
	}
	at := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := pgnotes.Save(ctx, s.Postgres.URL("postgres"), o.Name, copyOf(o)); err != nil {
		return fmt.Errorf("copying the database of %s: %w", o.Name, err)
	}
	s.saved = &saving{o, at, now.Add(savedFor)}
	s.screen.Note("%s was killed, and its database copied", o.Name)
	return nil
}

// putBack puts the copy of a database in its place, and has the customers of its node ask again.
func (s *supervisor) putBack(ctx context.Context) error {
	o, since := s.saved.of, s.saved.at
	s.saved = nil
	if err := s.fell(ctx, o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := pgnotes.PutBack(ctx, s.Postgres.URL("postgres"), o.Name, copyOf(o)); err != nil {
		return fmt.Errorf("putting back the database of %s: %w", o.Name, err)
	}
	s.restores = append(s.restores, auditor.Restore{Owner: o.account, Saved: since, Back: time.Now()})
	if err := s.start(o); err != nil {
		return err
	}
	s.screen.Note("%s was killed, and started with the database of %s ago", o.Name, time.Since(since).Round(time.Millisecond))
	for i, one := range s.All {
		if one == o {
			s.customers[i].asksAgain(s.looking, since)
		}
	}
	return nil
}

// fell kills a node and waits for its end.
func (s *supervisor) fell(ctx context.Context, o *organisation) error {
	if o.Process == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o.Kill()
	if err := o.Process.Wait(ctx); err != nil {
		return fmt.Errorf("%s does not end: %w", o.Name, err)
	}
	s.bury(o)
	return nil
}

// turn turns the clock of the node that has one, and checks that the node sees it.
func (s *supervisor) turn(ctx context.Context, f Fault, now time.Time) error {
	if why := s.noClock; why != nil {
		s.screen.Note("no clock is turned: %s", why)
		s.counted[string(Clock)]--
		return nil
	}
	by := turns[f.Pick%len(turns)]
	if err := s.turned.clock.Set(by); err != nil {
		return err
	}
	s.rightAt = now.Add(turnedFor)
	s.screen.Note("the clock of %s is turned by %s, for %s", s.turned.Name, by, turnedFor)
	if off, err := s.turned.api.clock(ctx); err == nil && (off-by).Abs() > clockTolerance {
		s.noClock = fmt.Errorf("the clock of %s was turned by %s, and is off by %s", s.turned.Name, by, off.Round(time.Second))
		s.screen.Note("%s", s.noClock)
		s.counted[string(Clock)]--
	}
	return nil
}

// clockTolerance is for a clock that a node tells in seconds.
const clockTolerance = 20 * time.Minute

func (s *supervisor) turnBack() error {
	if s.rightAt.IsZero() {
		return nil
	}
	s.rightAt = time.Time{}
	s.screen.Note("the clock of %s is right again", s.turned.Name)
	return s.turned.clock.Set(0)
}

// hold has the node behind the proxy see no new block.
func (s *supervisor) hold(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.oldHead, err = s.old.Hold(ctx); err == nil {
		s.screen.Note("%s sees no block after %d, for %d ranges", s.behind.Name, s.oldHead, oldRanges)
	}
	return err
}

// letGo ends that, when it has lasted long enough or in any case. Only then does it show that the others go on.
func (s *supervisor) letGo(anyway bool) {
	if s.oldHead == 0 {
		return
	}
	head := s.head()
	enough := head >= s.oldHead+oldRanges*chaosRange
	if !enough && !anyway {
		return
	}
	if enough {
		s.holds = append(s.holds, auditor.Held{Owner: s.behind.account, From: s.oldHead, To: head})
	} else {
		s.counted[string(OldHead)]--
	}
	s.old.LetGo()
	s.screen.Note("%s sees all blocks again, up to %d", s.behind.Name, head)
	s.oldHead = 0
}

// makeWhole ends every fault of chaos that is still on.
func (s *supervisor) makeWhole(ctx context.Context) error {
	var faults []error
	if s.saved != nil {
		faults = append(faults, s.putBack(ctx))
	}
	if s.expired != nil {
		faults = append(faults, s.renew())
	}
	s.letGo(true)
	return errors.Join(append(faults, s.turnBack())...)
}

// extra says what chaos has done, for the table.
func (s *supervisor) extra() string {
	var b strings.Builder
	for _, k := range Kinds()[demoKinds:] {
		fmt.Fprintf(&b, "%s %d   ", k, s.counted[string(k)])
	}
	return strings.TrimSpace(b.String())
}
