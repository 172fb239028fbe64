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

// compare ends the load, waits until all copies have what was acknowledged, and has conch compare them.
func (s *supervisor) compare() {
	s.doing = "waiting for the last goals"
	_ = s.beside(s.gone, func(ctx context.Context) error { s.load.Finish(ctx); return nil })
	upto := s.load.Now().Newest.Index
	args := []string{"log", "verify", logName, "--json"}
	var copies []*node
	for _, n := range s.All {
		if n.logs {
			copies, args = append(copies, n), append(args, "--node", "unix:"+n.socket())
		}
	}
	verified := goals.Compared{Copies: len(copies)}
	err := s.beside(s.gone, func(ctx context.Context) error {
		for _, n := range copies {
			if err := s.load.Count(ctx, n.Name); err != nil {
				return err
			}
			if err := s.load.Await(ctx, n.Name, func(st goals.Status) bool { return st.Position.Index >= upto }); err != nil {
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
		s.screen.Note("conch log verify %s: %v", logName, err)
	} else {
		s.screen.Note("%d goals were acknowledged; a fresh read at each of the %d nodes counts %s", s.load.Now().Answered, len(copies), s.counted())
		s.screen.Note("conch log verify %s --node … for each of them: equal up to entry %d, %.12s", logName, verified.Index, verified.Hash)
	}
	s.load.Note(func(r *goals.Record) { r.Compared = verified })
}

// counted returns what fresh reads of the counter have said: one number, or else something is wrong.
func (s *supervisor) counted() string {
	var seen []uint64
	s.load.Note(func(r *goals.Record) {
		for _, c := range r.Counts {
			seen = append(seen, c.Value)
		}
	})
	slices.Sort(seen)
	return strings.Trim(fmt.Sprint(slices.Compact(seen)), "[]")
}
