//go:build unix

package swarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/goals"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
)

// meanwhile says what is asserted, and what a user may type while it runs.
func meanwhile(socket string) string {
	return fmt.Sprintf(`asserted: no leader that works is deposed, and each piece of news is heard once;
  each goal that was acknowledged is in its log once, and all copies of a log are equal
while it runs, in another terminal:
  export CONCH_NODE_URL=unix:%[1]s
  conch status --gossip
  conch log status %[2]s
  conch log tail %[2]s --follow
  conch log goal %[2]s '{"op":"put","key":"dark","value":true}'
  conch log query %[2]s '{"prefix":""}' --fresh
  conch log goal %[3]s 'goals(N), assertz(seen(N))'
  conch log listing %[3]s`, socket, logName, worldName)
}

// Run runs the nodes and judges what they named and heard. If ctx ends first, it stops early and judges what has happened so
// far. The error is about the run itself; Verdict.Fault says what it proved.
func Run(ctx context.Context, cfg Config) (v Verdict, err error) {
	s := &site{cfg: cfg, program: agent, listen: listen}
	defer func() { err = errors.Join(err, s.clear()) }()
	show := screen.New(cfg.Screen)
	show.Say("making keys, certificates and configurations of %d nodes …", cfg.Nodes)
	if err := s.prepare(show.Say); err != nil {
		return v, err
	}
	names := make([]string, len(s.All))
	for i, n := range s.All {
		names[i] = n.Name
	}
	show.Say("%s", meanwhile(s.All[0].socket()))
	gone, leave := context.WithCancel(context.WithoutCancel(ctx))
	sup := &supervisor{
		site: s, screen: show, plan: NewPlan(cfg.Seed, names, names[:electors]), start: time.Now(), gone: gone,
		told: make(chan told, 16*cfg.Nodes), ears: map[int]*ear{}, answered: map[int]bool{}, heardBy: map[string]int{}, board: newBoard(),
		record: Record{Nodes: cfg.Nodes, Electors: electors, Timing: cfg.timing()},
	}
	show.Open()
	err = sup.supervise(ctx)
	show.Close()
	sup.record.Ended = sup.since(time.Now())
	leave()
	sup.busy.Wait()
	var logged, world goals.Record
	if sup.load != nil {
		logged, world = sup.load.Close(), sup.world.Close()
	}
	if err != nil {
		return v, err
	}
	show.Say("ending %d nodes …", len(s.All))
	s.End(teardown)
	v = Judge(sup.record)
	if sup.load != nil {
		l, w := goals.Judge(logged), goals.Judge(world)
		v.Log, v.World, v.Violations = &l, &w, append(v.Violations, l.Violations...)
		for _, text := range w.Violations {
			v.Violations = append(v.Violations, "in Prolog, "+text)
		}
	}
	return v, nil
}
