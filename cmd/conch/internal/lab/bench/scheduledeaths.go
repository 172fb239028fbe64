//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgjobs"
	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pause"
)

// staff is conch nodes of which some lead, and one at a time is killed.
type staff struct {
	t        *timetable
	file     string
	launcher *fleet.Launcher
	nodes    map[string]*fleet.Process // by name
}

// employ starts nodes with one file.
func (t *timetable) employ(many int, file string) (*staff, error) {
	s := &staff{t: t, file: file, launcher: fleet.NewLauncher(), nodes: map[string]*fleet.Process{}}
	for i := range many {
		if err := s.start(fmt.Sprint("node-", i+1)); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *staff) start(id string) error {
	t := s.t
	file := filepath.Join(t.site.dir, id+"-jobs.toml")
	text := fmt.Sprintf("[node]\ndata_dir = %q\nlisten = \"off\"\n[election]\nlease = %q\n%s", filepath.Join(t.site.dir, id), t.cfg.Lease.String(), s.file)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	p, err := s.launcher.Launch(daemon(t.cfg, t.site, id, file))
	if err != nil {
		return fmt.Errorf("starting %s: %w", id, err)
	}
	s.nodes[id] = p
	return nil
}

func (s *staff) endAll() {
	fleet.EndAll(0, slices.Collect(maps.Values(s.nodes))...)
	s.launcher.Close()
}

// leader waits until a node leads a scope and another one waits for it.
func (s *staff) leader(ctx context.Context, scope string) (leader string, err error) {
	err = until(ctx, "one node leads and another one waits", func() (bool, error) {
		n, err := s.t.site.admin.Waiters(ctx, scope)
		if err != nil || n == 0 {
			return false, err
		}
		token, err := s.t.site.admin.Token(ctx, scope)
		leader = token.Holder
		return s.nodes[leader] != nil, err
	})
	return leader, err
}

// kill kills a node and starts it anew once it is gone.
func (s *staff) kill(ctx context.Context, id string, meanwhile func(began time.Time) error) error {
	began := time.Now()
	s.nodes[id].Signal(syscall.SIGKILL)
	if err := meanwhile(began); err != nil {
		return err
	}
	if err := s.nodes[id].Wait(ctx); ctx.Err() != nil {
		return err
	}
	return s.start(id)
}

// receiver answers attempts at jobs, the first one of each never.
type receiver struct {
	*http.Server
	address string
	came    chan time.Time
}

func startReceiver() (*receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{address: listener.Addr().String(), came: make(chan time.Time, 2)}
	r.Server = &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		r.came <- time.Now()
		if req.Header.Get("Conch-Job-Attempt") == "1" {
			<-req.Context().Done() // until its worker is gone
		}
	})}
	go func() { _ = r.Serve(listener) }() // until it is closed
	return r, nil
}

// next returns when an attempt has come.
func (r *receiver) next(ctx context.Context) (time.Time, error) {
	ctx, give := context.WithTimeoutCause(ctx, patience, errNever)
	defer give()
	select {
	case at := <-r.came:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("no attempt has come: %w", context.Cause(ctx))
	}
}

// workerDeaths measures from kill -9 of a worker that has a job until the next attempt at it has come to the receiver that it is posted to.
func (t *timetable) workerDeaths(ctx context.Context, r *Report) (err error) {
	many := t.cfg.amounts().workerKills
	t.cfg.Say("schedule: %d times kill -9 of a worker, whose job is fenced, or not …", many)
	to, err := startReceiver()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	key := filepath.Join(t.site.dir, "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 24)+"\n"), 0o600); err != nil {
		return err
	}
	s, err := t.employ(2, fmt.Sprintf("[schedule]\nposts = 1\n[[workers]]\nqueues = [\"bench\"]\nhosts = [%q]\nkey_file = %q\n", to.address, key))
	defer s.endAll()
	if err != nil {
		return err
	}
	var took [2][]time.Duration
	for i := range 2 * many {
		took[i%2], err = t.workerDies(ctx, s, to, i, took[i%2])
		if err != nil {
			return err
		}
	}
	r.add("worker_killed_samples", float64(many), "kills")
	r.spread("worker_killed_to_next_fenced", took[0], nil)
	r.spread("worker_killed_to_next", took[1], []time.Duration{t.cfg.Lease})
	return nil
}

func (t *timetable) workerDies(ctx context.Context, s *staff, to *receiver, i int, took []time.Duration) ([]time.Duration, error) {
	holder, err := s.leader(ctx, "worker/bench/1")
	if err != nil {
		return took, err
	}
	if _, err := t.jobs.Post(ctx, crewQueue, "http://"+to.address+"/", i%2 == 0); err != nil {
		return took, err
	}
	if _, err := to.next(ctx); err != nil {
		return took, err
	}
	if err := pause.For(ctx, phase(t.cfg.Lease/5, i)); err != nil {
		return took, err
	}
	err = s.kill(ctx, holder, func(began time.Time) error {
		at, err := to.next(ctx)
		took = append(took, at.Sub(began))
		return err
	})
	return took, err
}

// planted is how many crons are due in each second while leaders die.
const planted = 100

// leaderDeaths measures, while leaders are killed, from when a cron is due until its row and job are committed: heard by the notification that a commit sends. The crons
// are due evenly over each second.
func (t *timetable) leaderDeaths(ctx context.Context, r *Report) error {
	many := t.cfg.amounts().leaderKills
	t.cfg.Say("schedule: %d times kill -9 of the leader, with %d crons due each second …", many, planted)
	heard := map[string][]time.Time{}
	var mu sync.Mutex
	listening, cancel := context.WithCancel(ctx)
	var ears sync.WaitGroup
	defer ears.Wait()
	defer cancel()
	var deaf error
	ears.Go(func() {
		deaf = t.jobs.Listen(listening, func(queue string, at time.Time) {
			mu.Lock()
			defer mu.Unlock()
			heard[queue] = append(heard[queue], at)
		})
	})
	if err := t.jobs.Plant(ctx, planted); err != nil {
		return err
	}
	s, err := t.employ(nodes, "[schedule]\nversion = 1\n")
	defer s.endAll()
	if err != nil {
		return err
	}
	kills, err := s.killLeaders(ctx, many)
	if err != nil {
		return err
	}
	cancel()
	ears.Wait()
	if deaf != nil {
		return deaf
	}
	runs, err := t.jobs.Runs(ctx)
	if err != nil {
		return err
	}
	all, after, missed := lateness(runs, heard, kills)
	if len(all) == 0 || len(after) == 0 {
		return fmt.Errorf("of %d times that have a row nothing was heard", len(runs))
	}
	r.add("leader_killed_samples", float64(len(kills)), "kills")
	r.add("leader_killed_missed", float64(missed), "times")
	r.spread("leader_killed_due_to_committed", all, nil)
	r.spread("leader_killed_to_committed", after, nil)
	return nil
}

// killLeaders kills the node that leads again and again, and returns when.
func (s *staff) killLeaders(ctx context.Context, many int) (kills []time.Time, err error) {
	for i := range many {
		leader, err := s.leader(ctx, "scheduler")
		if err != nil {
			return nil, err
		}
		if err := pause.For(ctx, 500*time.Millisecond+phase(time.Second, i)); err != nil {
			return nil, err
		}
		if err := s.kill(ctx, leader, func(began time.Time) error { kills = append(kills, began); return nil }); err != nil {
			return nil, err
		}
	}
	if _, err := s.leader(ctx, "scheduler"); err != nil {
		return nil, err
	}
	return kills, pause.For(ctx, time.Second)
}

// lateness returns, for what was due from the first kill on until the last one, how long it took from when it was due until that was heard; and for each kill how long it took
// until something was heard that was decided after it. It counts times that have no row.
func lateness(runs []pgjobs.Run, heard map[string][]time.Time, kills []time.Time) (all, after []time.Duration, missed int) {
	commits := map[string]int{} // how much of what was heard of a queue is over
	last := map[string]time.Time{}
	first := make([]time.Time, len(kills))
	for _, r := range runs { // in the order in which they were due
		if r.At.Before(kills[0]) || r.At.After(kills[len(kills)-1]) {
			last[r.Queue] = r.At
			continue
		}
		if before, is := last[r.Queue]; is {
			missed += int(r.At.Sub(before)/time.Second) - 1
		}
		last[r.Queue] = r.At
		list := heard[r.Queue]
		i := commits[r.Queue]
		for i < len(list) && list[i].Before(r.Decided) {
			i++
		}
		if commits[r.Queue] = i; i == len(list) {
			continue // nobody listened any more
		}
		all = append(all, list[i].Sub(r.At))
		for k, kill := range kills {
			if r.Decided.After(kill) && (first[k].IsZero() || list[i].Before(first[k])) {
				first[k] = list[i]
			}
		}
	}
	for k, at := range first {
		if !at.IsZero() {
			after = append(after, at.Sub(kills[k]))
		}
	}
	return all, after, missed
}
