package txlogtest

import (
	"bytes"
	"fmt"

	"github.com/conchhq/conch/txlog"
)

// chance draws numbers by a seed.
type chance uint64

func (c *chance) below(n int) int {
	*c = *c*6364136223846793005 + 1442695040888963407
	return int(uint64(*c)>>33) % n
}

// mutated returns bytes that are nearly these.
func mutated(from []byte, seed uint64, n int) (all [][]byte) {
	c := chance(seed)
	for i := range n {
		b := clone(from)
		for range 1 + i%3 {
			switch at := c.below(len(b) + 1); c.below(6) {
			case 0:
				b = b[:at]
			case 1:
				b = append(b[:at:at], append([]byte{byte(c.below(256))}, b[at:]...)...)
			case 2:
				b = append(b[:at:at], b[min(at+1, len(b)):]...)
			case 3:
				b = append(b, b[at:]...)
			default:
				if at < len(b) {
					b[at] ^= byte(1 + c.below(255))
				}
			}
		}
		if !bytes.Equal(b, from) {
			all = append(all, b)
		}
	}
	return all
}

// ownBytes: what a state is given may be used for something else afterwards, and so may what it gives.
func ownBytes(t *trial) error {
	s := t.make()
	for i, step := range t.steps {
		goal := clone(step.goal)
		o := execute(s, goal)
		diff := clone(o.Diff)
		for _, b := range [][]byte{goal, o.Diff, o.Result} {
			clear(b)
		}
		if err := s.Apply(diff); err != nil {
			return fmt.Errorf("goal %d: %w", i, err)
		}
		clear(diff)
		if answer, err := query(s.View(), clone(step.goal)); err == nil {
			clear(answer)
		}
		clear(s.Snapshot())
		if err := same(s, step.snapshot, step.hash, "after the bytes of goal %d were used for something else", i); err != nil {
			return err
		}
		snapshot := clone(step.snapshot)
		if err := s.Restore(snapshot); err != nil {
			return err
		}
		clear(snapshot)
		if err := same(s, step.snapshot, step.hash, "after the bytes of a snapshot were used for something else"); err != nil {
			return err
		}
	}
	return nil
}

// anyBytes: users type goals and queries, and disks and networks bring the rest.
func anyBytes(t *trial) error {
	s, err := t.restored(t.steps[len(t.steps)-1].snapshot)
	if err != nil {
		return err
	}
	var garbage [][]byte
	for i, step := range t.steps {
		garbage = append(garbage, mutated(step.goal, uint64(i), 80)...)
		garbage = append(garbage, mutated(step.outcome.Diff, uint64(i), 20)...)
	}
	garbage = append(garbage, nil, []byte("{}"), []byte("[]"), []byte("null"), []byte("{"), []byte(`"`), []byte{0}, bytes.Repeat([]byte{0xff}, 40), bytes.Repeat([]byte("["), txlog.MostGoal))
	for _, b := range garbage {
		snapshot, hash := s.Snapshot(), s.Hash()
		o := execute(s, clone(b))
		if err := o.Check(); err != nil {
			return fmt.Errorf("the goal %.100q comes out as what no entry takes: %w", b, err)
		}
		_, _ = query(s.View(), clone(b))
		if err := same(s, snapshot, hash, "after the goal and query %.100q", b); err != nil {
			return err
		}
		if err := s.Apply(clone(o.Diff)); err != nil {
			return fmt.Errorf("the goal %.100q: what Execute says is refused by Apply: %w", b, err)
		}
		_ = t.make().Restore(clone(b))
	}
	for i, step := range t.steps {
		for _, b := range mutated(step.snapshot, uint64(i), 100) {
			if s := t.make(); s.Restore(clone(b)) == nil {
				if err := t.whole(s); err != nil {
					return fmt.Errorf("the snapshot %.100q is taken, and then %w", b, err)
				}
			}
		}
	}
	return nil
}

// inALog: a leader and a follower with the goals as entries, a scrub after each, and a node that begins in between.
func inALog(t *trial) error {
	g := exercise()
	leader, follower := txlog.NewCopy(g, t.make), txlog.NewCopy(g, t.make)
	entry := func(kind txlog.Kind) txlog.Entry { return txlog.Entry{Kind: kind, Term: 1, Leader: leads} }
	for i, step := range t.steps {
		e := entry(txlog.Executed)
		o := leader.Execute(step.goal)
		e.GoalID, e.Goal, e.Result, e.Fault, e.Diff, e.Effects = fmt.Sprint(i), step.goal, o.Result, o.Fault, o.Diff, o.Effects
		for _, e := range []txlog.Entry{e, entry(txlog.Scrubbed)} {
			r, err := leader.Next(e)
			if err != nil {
				return fmt.Errorf("goal %d is no entry: %w", i, err)
			}
			if err := follower.Apply(r); err != nil {
				return fmt.Errorf("goal %d at a follower: %w", i, err)
			}
		}
		if i == len(t.steps)/2 {
			restored, err := txlog.Restore(follower.Snapshot(), t.make)
			if err != nil {
				return err
			}
			follower = restored
		}
	}
	return nil
}
