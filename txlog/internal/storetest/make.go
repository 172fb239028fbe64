package storetest

import (
	"bytes"
	"fmt"

	"github.com/conchhq/conch/txlog"
)

// Genesis returns a log with one member, which has a store.
func Genesis(id uint64) txlog.Genesis {
	return txlog.Genesis{Namespace: "test", Machine: "sum/1", Members: []txlog.Member{{Name: "a", Store: id}}}.With()
}

// Copy returns the copy before the first entry of a log, whose state machine adds up numbers.
func Copy(g txlog.Genesis) *txlog.Copy { return txlog.NewCopy(g, NewState) }

// Grow makes the next records of a copy, with goals of so many bytes.
func Grow(c *txlog.Copy, n, size int) ([]txlog.Record, error) {
	out := make([]txlog.Record, 0, n)
	for range n {
		index := c.Position().Index + 1
		goal := bytes.Repeat([]byte{byte(index)}, size)
		o := c.Execute(goal)
		r, err := c.Next(txlog.Entry{
			Term: max(1, c.Position().Term), Kind: txlog.Executed, Leader: "a", GoalID: fmt.Sprintf("goal-%d", index), Goal: goal, Diff: o.Diff,
		})
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// total is the state: the sum of the first bytes of all goals.
type total struct{ n byte }

// NewState returns the state machine of Copy.
func NewState() txlog.State { return &total{} }

func (s *total) Execute(goal []byte, _ *txlog.Budget) txlog.Outcome {
	return txlog.Outcome{Diff: []byte{s.n, s.n + append(goal, 0)[0]}}
}

func (s *total) Apply(diff []byte) error {
	if len(diff) == 0 {
		return nil
	}
	if len(diff) != 2 || diff[0] != s.n {
		return txlog.ErrDiff
	}
	s.n = diff[1]
	return nil
}

func (s *total) View() txlog.View                            { v := *s; return &v }
func (s *total) Query([]byte, *txlog.Budget) ([]byte, error) { return []byte{s.n}, nil }
func (s *total) Hash() txlog.Hash                            { return txlog.Hash{s.n} }
func (s *total) Snapshot() []byte                            { return []byte{s.n} }

func (s *total) Restore(snapshot []byte) error {
	if len(snapshot) != 1 {
		return txlog.ErrMalformed
	}
	s.n = snapshot[0]
	return nil
}
