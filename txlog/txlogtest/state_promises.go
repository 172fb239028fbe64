package txlogtest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// same returns an error if a state is another one than it was.
func same(s txlog.State, snapshot []byte, hash txlog.Hash, after string, args ...any) error {
	after = fmt.Sprintf(after, args...)
	switch {
	case s.Hash() != hash:
		return fmt.Errorf("%s the hash is another one", after)
	case !bytes.Equal(s.Snapshot(), snapshot):
		return fmt.Errorf("%s the snapshot is another one", after)
	}
	return nil
}

// executeChangesNothing: the leader executes on the state that everybody reads.
func executeChangesNothing(t *trial) error {
	s := t.make()
	for i, step := range t.steps {
		hash, goal := s.Hash(), clone(step.goal)
		execute(s, goal)
		if err := same(s, step.before, hash, "after Execute of goal %d", i); err != nil {
			return err
		}
		if !bytes.Equal(goal, step.goal) {
			return fmt.Errorf("goal %d was changed", i)
		}
		_, _ = query(s.View(), clone(step.goal))
		if err := same(s, step.before, hash, "after Query of goal %d", i); err != nil {
			return err
		}
		if err := s.Apply(clone(step.outcome.Diff)); err != nil {
			return fmt.Errorf("goal %d: %w", i, err)
		}
	}
	return nil
}

// equalRuns: no clock, no chance, no order of a map, and nothing that is left of another run.
func equalRuns(t *trial) error {
	for range 20 {
		again, err := t.play()
		if err != nil {
			return err
		}
		for i, step := range again {
			if !reflect.DeepEqual(step.outcome, t.steps[i].outcome) {
				return fmt.Errorf("goal %d comes out once as %s, once as %s", i, shown(t.steps[i].outcome), shown(step.outcome))
			}
			if step.hash != t.steps[i].hash || !bytes.Equal(step.snapshot, t.steps[i].snapshot) {
				return fmt.Errorf("after goal %d two states differ to which the same was applied", i)
			}
		}
	}
	return nil
}

func shown(o txlog.Outcome) string {
	return fmt.Sprintf("{result %.100q, fault %.100q, diff %.100q, %d effects}", o.Result, o.Fault, o.Diff, len(o.Effects))
}

// failuresChangeNothing: everybody takes the step, and nothing of the goal stays (V3, V4).
func failuresChangeNothing(t *trial) error {
	s := t.make()
	for i, step := range t.steps {
		hash := s.Hash()
		if err := s.Apply(nil); err != nil {
			return fmt.Errorf("a diff of no bytes is refused: %w", err)
		}
		if err := same(s, step.before, hash, "after a diff of no bytes"); err != nil {
			return err
		}
		if err := s.Apply(clone(step.outcome.Diff)); err != nil {
			return fmt.Errorf("goal %d: %w", i, err)
		}
		if changes := s.Hash() != hash; changes && step.outcome.Fault != "" || !changes && len(step.outcome.Diff) > 0 {
			return fmt.Errorf("goal %d with the fault %q and a diff of %d bytes: the hash changes: %v", i, step.outcome.Fault, len(step.outcome.Diff), changes)
		}
	}
	return nil
}

// appliedOnce: a diff has the values before, and they are looked at.
func appliedOnce(t *trial) error {
	s := t.make()
	for i, step := range t.steps {
		if err := s.Apply(clone(step.outcome.Diff)); err != nil {
			return fmt.Errorf("goal %d: %w", i, err)
		}
		if len(step.outcome.Diff) == 0 {
			continue
		}
		if err := s.Apply(clone(step.outcome.Diff)); err == nil {
			return fmt.Errorf("the diff of goal %d is applied a second time", i)
		} else if !errors.Is(err, txlog.ErrDiff) {
			return fmt.Errorf("the diff of goal %d, a second time, is refused, and not by ErrDiff: %w", i, err)
		}
		if err := same(s, step.snapshot, step.hash, "after a diff that was refused"); err != nil {
			return err
		}
	}
	return nil
}

// refusedAsAWhole: diffs that are nearly right, and right ones on other states, are applied as a whole or not at all.
func refusedAsAWhole(t *trial) error {
	for at := range t.steps {
		s, err := t.restored(t.steps[at].before)
		if err != nil {
			return err
		}
		tries := [][]byte{}
		for _, step := range t.steps {
			if len(step.outcome.Diff) > 0 {
				tries = append(tries, step.outcome.Diff)
			}
		}
		for _, bad := range append(tries, mutated(t.steps[at].outcome.Diff, uint64(at), 60)...) {
			snapshot, hash := s.Snapshot(), s.Hash()
			if err := s.Apply(clone(bad)); err != nil {
				if !errors.Is(err, txlog.ErrDiff) && !errors.Is(err, txlog.ErrMalformed) {
					return fmt.Errorf("the diff %.100q is refused by %w, which is neither ErrDiff nor ErrMalformed", bad, err)
				}
				if err := same(s, snapshot, hash, "after the diff %.100q was refused", bad); err != nil {
					return err
				}
				continue
			}
			if err := t.whole(s); err != nil {
				return fmt.Errorf("after the diff %.100q: %w", bad, err)
			}
			if s, err = t.restored(t.steps[at].before); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole checks that the hash that a state keeps is the one of what is in it.
func (t *trial) whole(s txlog.State) error {
	fresh, err := t.restored(s.Snapshot())
	if err != nil {
		return err
	}
	return same(fresh, s.Snapshot(), s.Hash(), "made of the snapshot")
}

// snapshots: a state that is made of one is the same, whatever it was before, and goes on in the same way.
func snapshots(t *trial) error {
	for at := range t.steps {
		s := t.make()
		if last := t.steps[len(t.steps)-1]; at%2 == 1 {
			if err := s.Restore(clone(last.snapshot)); err != nil {
				return err
			}
		}
		if err := s.Restore(clone(t.steps[at].before)); err != nil {
			return fmt.Errorf("a snapshot is not restored: %w", err)
		}
		for i, step := range t.steps[at:] {
			if err := same(s, step.before, s.Hash(), "restored, after %d goals", i); err != nil {
				return err
			}
			if o := execute(s, clone(step.goal)); !reflect.DeepEqual(o, step.outcome) {
				return fmt.Errorf("on a restored state goal %d comes out as %s, not as %s", at+i, shown(o), shown(step.outcome))
			}
			if err := s.Apply(clone(step.outcome.Diff)); err != nil {
				return fmt.Errorf("on a restored state: %w", err)
			}
			if s.Hash() != step.hash {
				return fmt.Errorf("on a restored state the hash after goal %d is another one", at+i)
			}
		}
	}
	return nil
}

// viewsStay: users ask a view while the state goes on. The goals are the questions, since no others are known here.
func viewsStay(t *trial) error {
	s := t.make()
	ask := func(v txlog.View) (all []string) {
		for _, step := range t.steps {
			answer, err := query(v, clone(step.goal))
			all = append(all, fmt.Sprintf("%s, %v", answer, err))
		}
		return all
	}
	for at, step := range t.steps {
		view := s.View()
		before := ask(view)
		if err := s.Apply(clone(step.outcome.Diff)); err != nil {
			return fmt.Errorf("goal %d: %w", at, err)
		}
		if now := ask(view); !slices.Equal(now, before) {
			return fmt.Errorf("a view answers %.200q, and %.200q once goal %d is applied", before, now, at)
		}
	}
	return nil
}

// readings: a state that is read in parts is read as it was, while diffs are applied, and another reading goes on.
func readings(t *trial) error {
	for at, first := range t.steps {
		s, err := t.restored(first.before)
		if err != nil {
			return err
		}
		of, is := s.(txlog.Gradual)
		if !is {
			return nil
		}
		hash := s.Hash()
		all := []txlog.Reading{of.Read(true), of.Read(false)}
		for _, step := range t.steps[at:] {
			if err := s.Apply(clone(step.outcome.Diff)); err != nil {
				return fmt.Errorf("while it is read: %w", err)
			}
		}
		for _, r := range all {
			for done := false; !done; {
				done = r.Next(3)
			}
			if r.Hash() != hash {
				return fmt.Errorf("after goal %d a reading has another hash than the state had when it began", at)
			}
		}
		if !bytes.Equal(all[0].Snapshot(), first.before) {
			return fmt.Errorf("after goal %d a reading has another snapshot than the state had when it began", at)
		}
	}
	return nil
}

// hashOfContent: the hash that is kept is that of the content, and of all of it (V7).
func hashOfContent(t *trial) error {
	seen := map[txlog.Hash][]byte{t.make().Hash(): t.make().Snapshot()}
	for i, step := range t.steps {
		s, err := t.restored(step.snapshot)
		if err != nil {
			return err
		}
		if s.Hash() != step.hash {
			return fmt.Errorf("after goal %d the hash that the diffs have made is not that of the snapshot", i)
		}
		if other, is := seen[step.hash]; is && !bytes.Equal(other, step.snapshot) {
			return fmt.Errorf("after goal %d the content is another one, and the hash is not", i)
		}
		for hash, other := range seen {
			if bytes.Equal(other, step.snapshot) && hash != step.hash {
				return fmt.Errorf("after goal %d the content is an old one, and the hash is not", i)
			}
		}
		seen[step.hash] = step.snapshot
	}
	return nil
}
