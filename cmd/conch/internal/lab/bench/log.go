//go:build unix

package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/board"
	"github.com/conchhq/conch/gossip/gossiptest"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog/spreadtest"
)

// What the log was asked to be.
const (
	askedOfCore    = 0.4 // of the goals a second that the bare core decides on
	askedCommit    = 10  // rounds from the death of the leader to the next commit
	askedDelays    = 20  // means of a link's delay from a commit until 99 of 100 followers have it
	askedLast      = 40  // until the last one has it
	askedUploads   = 25  // of one entry by one node
	spreadLoss     = 5   // percent
	askedMembers   = 5
	logRound       = 100 * time.Millisecond
	mostSpreadWait = 5 * time.Second
)

// logged measures a log of five members, each a process with a file of its own, in turn with the bare core in as many processes on
// the same kind of files, and after as many members of etcd.
func logged(ctx context.Context, cfg Config) (r Report, err error) {
	dir, err := os.MkdirTemp("", "conch-bench-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	followers := askedFollowers(cfg)
	etcd, err := besideEtcd(ctx, cfg, filepath.Join(dir, "etcd"), followers)
	if err != nil {
		return r, err
	}
	for _, part := range []func() error{
		func() error { return logDecided(ctx, cfg, dir, etcd, &r) },
		func() error { return logFollowed(ctx, cfg, filepath.Join(dir, "followed"), followers, etcd, &r) },
		func() error { return logOpens(ctx, cfg, filepath.Join(dir, "long"), &r) },
		func() error { return logSpreads(ctx, cfg, &r) },
	} {
		if err := part(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// logDecided measures what members do together.
func logDecided(ctx context.Context, cfg Config, dir string, etcd keeper, r *Report) (err error) {
	ours, err := openBoard(ctx, cfg, board.Shape{Dir: filepath.Join(dir, "ours")})
	defer func() { err = errors.Join(err, ours.Close()) }()
	if err != nil {
		return err
	}
	for _, part := range []func() error{
		func() error { return goals(ctx, cfg, ours, filepath.Join(dir, "bare"), etcd, r) },
		func() error { return logRest(ctx, cfg, ours, etcd, r) },
		func() error { return logReads(ctx, cfg, ours, r) },
		func() error { return logKills(ctx, cfg, ours, etcd, r) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func openBoard(ctx context.Context, cfg Config, s board.Shape) (*board.Board, error) {
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return nil, err
	}
	s.Program, s.Command, s.Members = cfg.Program, MemberCommand, askedMembers
	return board.Open(ctx, s)
}

// goals measures how many goals a log takes, how long each waits, and what of a processor it costs.
func goals(ctx context.Context, cfg Config, ours *board.Board, dir string, etcd keeper, r *Report) (err error) {
	bare, err := openBoard(ctx, cfg, board.Shape{Dir: dir, Bare: true})
	defer func() { err = errors.Join(err, bare.Close()) }()
	if err != nil {
		return err
	}
	leader, err := ours.Leader(ctx)
	if err != nil {
		return err
	}
	size, err := leader.RecordSize(ctx)
	if err != nil {
		return err
	}
	r.add("entry_bytes", float64(size), "bytes")
	a := cfg.amounts()
	for _, clients := range a.callers {
		var logs, cores burdens
		for i := range 2 * a.logPairs {
			if i%4 == 1 || i%4 == 2 { // ABBA
				err = cores.run(ctx, bare, clients, a.logSlice, func(int, int) (string, []byte) { return "", make([]byte, size) })
			} else {
				err = logs.run(ctx, ours, clients, a.logSlice, func(client, n int) (string, []byte) {
					return fmt.Sprint(clients, "-", i, "-", client, "-", n), board.Goal(client, n)
				})
			}
			if err != nil {
				return err
			}
		}
		cfg.Say("log: %d clients, %.0f goals/s, the bare core %.0f/s", clients, median(logs.rates), median(cores.rates))
		name := fmt.Sprint("goals_", clients)
		r.beside(name, median(logs.rates), median(cores.rates), "goals/s")
		if least := median(cores.rates); least > 0 {
			r.beside(name+"_ratio", median(logs.rates)/least, askedOfCore, "of the core")
		}
		r.spread(name+"_answer", logs.answers, cores.answers)
		r.beside(name+"_processor", median(logs.works), median(cores.works), "µs/goal")
		other := etcd.of(clients)
		r.beside(name+"_beside_etcd", median(logs.rates), median(other.rates), "goals/s")
		r.spread(name+"_answer_beside_etcd", logs.answers, other.answers)
		r.beside(name+"_processor_beside_etcd", median(logs.works), median(other.works), "µs/goal")
	}
	return nil
}

// logRest measures what a log sends, and takes of a processor, while nothing happens.
func logRest(ctx context.Context, cfg Config, ours *board.Board, etcd keeper, r *Report) error {
	before, err := ours.Sent()
	if err != nil {
		return err
	}
	m := startMeter(ours.PIDs()...)
	if err := pause.For(ctx, cfg.amounts().logRest); err != nil {
		return err
	}
	spent := m.stop()
	after, err := ours.Sent()
	if err != nil {
		return err
	}
	r.beside("rest_bytes", float64(after.Bytes-before.Bytes)/spent.took.Seconds(), etcd.bytes, "bytes/s")
	r.add("rest_messages", float64(after.Messages-before.Messages)/spent.took.Seconds(), "messages/s")
	r.beside("rest_processor", ms(spent.processor)/spent.took.Seconds(), etcd.processor, "ms/s")
	return nil
}

// logReads measures reads of a member's copy, and reads that have everything that was acknowledged, at a member that does not
// lead.
func logReads(ctx context.Context, cfg Config, ours *board.Board, r *Report) error {
	var copied, fresh []time.Duration
	leader, err := ours.Leader(ctx)
	if err != nil {
		return err
	}
	m := ours.Other(leader)
	for i := range cfg.amounts().logReads {
		query := fmt.Appendf(nil, `{"get":"flags/%d"}`, i%1000)
		began := time.Now()
		if err := m.Query(ctx, query); err != nil {
			return err
		}
		copied = append(copied, time.Since(began))
		began = time.Now()
		if err := m.Fresh(ctx, query); err != nil {
			return err
		}
		fresh = append(fresh, time.Since(began))
	}
	r.spread("read_fresh_beside_copy", fresh, copied)
	return nil
}

// logKills measures the time from the death of a leader until a goal is committed that was asked of another member at once.
func logKills(ctx context.Context, cfg Config, ours *board.Board, etcd keeper, r *Report) error {
	var took []time.Duration
	many := cfg.amounts().logKills
	for i := range many {
		if err := pause.For(ctx, 5*logRound+phase(logRound, i)); err != nil {
			return err
		}
		l, err := ours.Leader(ctx)
		if err != nil {
			return err
		}
		m := ours.Other(l)
		began := time.Now()
		l.Kill()
		if err := m.Put(ctx, fmt.Sprint("kill-", i), board.Goal(0, i)); err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if err := l.Again(); err != nil {
			return err
		}
		if err := ours.Agree(ctx); err != nil {
			return err
		}
	}
	cfg.Say("log: %d leaders killed, p50 %.0f ms until the next commit", many, ms(quantile(took, 0.5)))
	r.add("killed_samples", float64(many), "kills")
	r.spread("killed_to_commit", took, etcd.killed)
	r.beside("killed_to_commit_rounds", float64(quantile(took, 0.99))/float64(logRound), askedCommit, "rounds")
	return nil
}

// logOpens measures how long a node that was killed takes until it has all of a long log: the file is read and checked, and the
// copy is made of it. Beside it: the same bytes are read and hashed.
func logOpens(ctx context.Context, cfg Config, path string, r *Report) error {
	many := cfg.amounts().logRecords
	cfg.Say("log: opening a store of %d records …", many)
	if err := board.Fill(ctx, path, many); err != nil {
		return err
	}
	var opened, raw []time.Duration
	for range 3 {
		began := time.Now()
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_ = sha256.Sum256(b)
		raw = append(raw, time.Since(began))
		began = time.Now()
		if err := board.Read(ctx, path); err != nil {
			return err
		}
		opened = append(opened, time.Since(began))
	}
	r.beside(fmt.Sprint("open_", many), ms(quantile(opened, 0.5)), ms(quantile(raw, 0.5)), "ms")
	return nil
}

// logSpreads measures in the simulator how an entry comes to thousands of followers.
func logSpreads(ctx context.Context, cfg Config, r *Report) error {
	followers := cfg.amounts().logFollowers
	cfg.Say("log: %d followers in the simulator …", followers)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	on := gossiptest.Grow(followers+1, 1)
	for _, of := range []struct {
		name string
		size int
	}{{"", 200}, {"large_", 50 << 10}} {
		s, err := spreadtest.Run(spreadtest.Config{Seed: 1, Loss: spreadLoss, Entries: 10, Size: of.size, Settle: mostSpreadWait}, on)
		if err != nil {
			return err
		}
		if s.Missing > 0 || s.Refused > 0 {
			return fmt.Errorf("the simulated followers lack %d entries, and have refused %d messages", s.Missing, s.Refused)
		}
		name := fmt.Sprintf("spread_%d_%s", followers, of.name)
		r.add(name+"p50", spreadtest.Delays(s.P50), "delays")
		r.beside(name+"p99", spreadtest.Delays(s.P99), askedDelays, "delays")
		r.beside(name+"last", spreadtest.Delays(s.Last), askedLast, "delays")
		r.beside(name+"uploads", float64(s.Uploads), askedUploads, "uploads")
		r.add(name+"bytes", float64(s.Bytes), "bytes")
	}
	return nil
}
