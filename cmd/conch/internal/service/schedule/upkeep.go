package schedule

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

var (
	_ node.Compactor = (*service)(nil)
	_ node.Measured  = (*service)(nil)
	_ node.Recorder  = (*service)(nil)
)

// Compact implements node.Compactor: it deletes jobs that have ended and what is known of scheduled times, also where nobody leads the crons. What this
// node's [schedule] keeps for longer stays for that.
func (s *service) Compact(ctx context.Context, t fence.Token, keep time.Duration, after string) (gone map[string]int, next string, err error) {
	from := int64(0)
	if after != "" {
		if from, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, "", fmt.Errorf("no place among the jobs: %w", err) // cannot happen: it is what this has returned
		}
	}
	if s.store == nil {
		return nil, "", s.fault
	}
	section, _ := s.now()
	done, err := s.store.Trim(ctx, t, time.Now().Add(-max(keep, section.config("").Keep)), from)
	if done.More {
		next = strconv.FormatInt(done.Next, 10)
	}
	return map[string]int{"jobs": done.Jobs, "runs": done.Runs, "gaps_and_definitions": done.Others}, next, err
}

// lately is the span in which times that were passed over count as a figure: much longer than a slot, so that none is missed.
const lately = time.Hour

// Figures implements node.Measured: it counts the jobs that have not ended and times that were passed over.
func (s *service) Figures(ctx context.Context) (all []node.Figure, err error) {
	if s.store == nil {
		return nil, s.fault
	}
	add := func(value float64, name string, labels map[string]string) {
		all = append(all, node.Figure{Name: "conch_schedule_" + name, Labels: labels, Value: value})
	}
	depths, err := s.store.Depths(ctx)
	waits := map[string]time.Duration{}
	for _, d := range depths {
		add(float64(d.N), "jobs", map[string]string{"queue": d.Queue, "state": d.State})
		waits[d.Queue] = max(waits[d.Queue], d.Wait)
	}
	for queue, wait := range waits {
		add(wait.Seconds(), "oldest_ready_seconds", map[string]string{"queue": queue})
	}
	gaps, failed := s.store.PassedOver(ctx, lately)
	for _, why := range schedule.Reasons() {
		if failed == nil {
			add(float64(gaps[why]), "passed_over", map[string]string{"why": why})
		}
	}
	server, unknown := s.store.Held(ctx)
	if unknown == nil {
		held := 0.0
		if server.Held {
			held = 1
		}
		add(held, "jobs_held", nil)
	}
	return all, errors.Join(err, failed, unknown)
}

// Record implements node.Recorder.
func (s *service) Record(ctx context.Context, t fence.Token, slot node.Slot, all []node.Figure) (rest time.Duration, err error) {
	if s.store == nil {
		return 0, s.fault
	}
	samples := make([]pgstore.Sample, len(all))
	for i, f := range all {
		samples[i] = pgstore.Sample{Name: f.Name, Labels: f.Labels, Value: f.Value}
	}
	_, rest, err = s.store.PutSamples(ctx, t, pgstore.SampleSlot{Every: slot.Every, Keep: slot.Keep, Now: time.Now()}, samples)
	return rest, err
}
