//go:build unix

package board

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// Read opens the store of a log, checks it, and makes the copy of it, as a node does that starts.
func Read(ctx context.Context, path string) error {
	s, err := disk.Open(ctx, path)
	if err != nil {
		return err
	}
	_, err = store.Load(s, kv.New)
	return errors.Join(err, s.Close())
}

// begin makes a store of a log of one member.
func begin(ctx context.Context, path, namespace string) (*disk.Store, error) {
	id, err := disk.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	g := txlog.Genesis{Namespace: namespace, Machine: kv.Machine, Members: []txlog.Member{{Name: "one", Key: txlog.Hash{1}, Store: id}}}
	return disk.Begin(ctx, path, g.With())
}

// Fill makes a store with so many records.
func Fill(ctx context.Context, path string, many int) (err error) {
	s, err := begin(ctx, path, "long")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c := txlog.NewCopy(s.Genesis(), kv.New)
	for from := 0; from < many; from += 1000 {
		var step store.Step
		for n := from; n < min(from+1000, many); n++ {
			goal := Goal(0, n)
			o := c.Execute(goal)
			record, err := c.Next(txlog.Entry{Term: 1, Kind: txlog.Executed, Leader: "one", GoalID: fmt.Sprint(n), Goal: goal, Result: o.Result, Fault: o.Fault, Diff: o.Diff})
			if err != nil {
				return err
			}
			step.Records = append(step.Records, record)
		}
		if err := s.Write(step); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
