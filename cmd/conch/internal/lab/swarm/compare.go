//go:build unix

package swarm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/goals"
)

// compare ends the loads, waits until all copies have what was acknowledged, and has conch compare them.
func (s *supervisor) compare() {
	s.doing = "waiting for the last goals"
	s.compareLog(s.load, logName)
	s.compareLog(s.world, worldName)
}

func (s *supervisor) compareLog(load *goals.Load, name string) {
	_ = s.beside(s.gone, func(ctx context.Context) error { load.Finish(ctx); return nil })
	upto := load.Now().Newest.Index
	args := []string{"log", "verify", name, "--json"}
	var copies []*node
	for _, n := range s.All {
		if n.logs {
			copies, args = append(copies, n), append(args, "--node", "unix:"+n.socket())
		}
	}
	verified := goals.Compared{Copies: len(copies)}
	err := s.beside(s.gone, func(ctx context.Context) error {
		for _, n := range copies {
			if err := load.Count(ctx, n.Name); err != nil {
				return err
			}
			if err := load.Await(ctx, n.Name, func(st goals.Status) bool { return st.Position.Index >= upto }); err != nil {
				return fmt.Errorf("%s never had entry %d: %w", n.Name, upto, err)
			}
		}
		out, err := s.Output(ctx, s.cfg.Program, args...)
		var said struct {
			Index uint64
			Nodes []struct{ Hash string }
		}
		if err == nil && (json.Unmarshal(out, &said) != nil || len(said.Nodes) != len(copies)) {
			err = fmt.Errorf("conch log verify says %s", out)
		}
		if err == nil {
			verified.Index, verified.Hash = said.Index, said.Nodes[0].Hash
		}
		return err
	})
	if err != nil {
		verified.Fault = err.Error()
		s.screen.Note("conch log verify %s: %v", name, err)
	} else {
		s.screen.Note("%d goals were acknowledged; a fresh read at each of the %d nodes counts %s", load.Now().Answered, len(copies), counted(load))
		s.screen.Note("conch log verify %s --node … for each of them: equal up to entry %d, %.12s", name, verified.Index, verified.Hash)
	}
	load.Note(func(r *goals.Record) { r.Compared = verified })
}

// counted returns what fresh reads of the counter have said: one number, or else something is wrong.
func counted(load *goals.Load) string {
	var seen []uint64
	load.Note(func(r *goals.Record) {
		for _, c := range r.Counts {
			seen = append(seen, c.Value)
		}
	})
	slices.Sort(seen)
	return strings.Trim(fmt.Sprint(slices.Compact(seen)), "[]")
}
