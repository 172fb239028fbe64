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
	"github.com/conchhq/conch/internal/sim/mesh"
	"github.com/conchhq/conch/internal/sim/spread"
)

// What the log was asked to be.
const (
	askedOfCore    = 0.4 // of the goals a second that the bare core decides on
	askedCommit    = 10  // rounds from the death of the leader to the next commit
	askedDelays    = 20  // means of a link's delay from a commit until 99 of 100 followers have it
	askedLast      = 40  // until the last one has it
	askedUploads   = 25  // of one entry by one node
	spreadLoss     = 5   // percent
	logMembers     = 5
	logRound       = 100 * time.Millisecond
	mostSpreadWait = 5 * time.Second
)

// logged measures a log of five members in this process, each with a file of its own, in turn with the bare core on the same
// kind of files and the same transport.
func logged(ctx context.Context, cfg Config) (r Report, err error) {
	dir, err := os.MkdirTemp("", "conch-bench-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := board.Open(ctx, dir, logMembers)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	for _, part := range []func() error{
		func() error { return goals(ctx, cfg, h, dir, &r) },
		func() error { return logRest(ctx, cfg, h, &r) },
		func() error { return logReads(ctx, cfg, h, &r) },
		func() error { return logKills(ctx, cfg, h, &r) },
		func() error { return logOpens(ctx, cfg, filepath.Join(dir, "long"), &r) },
		func() error { return logSpreads(ctx, cfg, &r) },
	} {
		if err := part(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// goals measures how many goals a log takes, and how long each waits.
func goals(ctx context.Context, cfg Config, h *board.Board, dir string, r *Report) (err error) {
	b, shut, err := board.OpenBare(ctx, dir, logMembers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	a := cfg.amounts()
	size, err := h.RecordSize(ctx)
	if err != nil {
		return err
	}
	r.add("entry_bytes", float64(size), "bytes")
	for _, clients := range a.callers {
		var ours, raw []float64
		var waits, rawWaits []time.Duration
		for i := range 2 * a.logPairs {
			if i%4 == 1 || i%4 == 2 { // ABBA
				one, err := load(ctx, clients, a.logSlice, func(ctx context.Context, _, _ int) error { return b.Ask(ctx, make([]byte, size)) })
				if err != nil {
					return err
				}
				raw, rawWaits = append(raw, one.perSecond()), append(rawWaits, one.answers...)
				continue
			}
			one, err := load(ctx, clients, a.logSlice, goalsOf(h, fmt.Sprint(clients, "-", i)))
			if err != nil {
				return err
			}
			ours, waits = append(ours, one.perSecond()), append(waits, one.answers...)
		}
		cfg.Say("log: %d clients, %.0f goals/s, the bare core %.0f/s", clients, median(ours), median(raw))
		name := fmt.Sprint("goals_", clients)
		r.beside(name, median(ours), median(raw), "goals/s")
		if least := median(raw); least > 0 {
			r.beside(name+"_ratio", median(ours)/least, askedOfCore, "of the core")
		}
		r.spread(name+"_answer", waits, rawWaits)
	}
	return nil
}

// goalsOf returns what a client does in a run: its goals go to the node that leads when it begins.
func goalsOf(h *board.Board, run string) func(ctx context.Context, client, n int) error {
	m := h.Leader()
	if m == nil {
		m = h.Other(nil)
	}
	return func(ctx context.Context, client, n int) error {
		return m.Put(ctx, fmt.Sprint(run, "-", client, "-", n), board.Goal(client, n))
	}
}

// logRest measures what a log sends while nothing happens.
func logRest(ctx context.Context, cfg Config, h *board.Board, r *Report) error {
	bytes, messages := h.Sent.Bytes.Load(), h.Sent.Messages.Load()
	began := time.Now()
	if err := pass(ctx, cfg.amounts().logRest); err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	r.add("rest_bytes", float64(h.Sent.Bytes.Load()-bytes)/seconds, "bytes/s")
	r.add("rest_messages", float64(h.Sent.Messages.Load()-messages)/seconds, "messages/s")
	return nil
}

// logReads measures reads of a member's copy, and reads that have everything that was acknowledged, at a member that does not
// lead.
func logReads(ctx context.Context, cfg Config, h *board.Board, r *Report) error {
	var copied, fresh []time.Duration
	for i := range cfg.amounts().logReads {
		query := fmt.Appendf(nil, `{"get":"flags/%d"}`, i%1000)
		m := h.Other(h.Leader())
		began := time.Now()
		if err := m.Query(query); err != nil {
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
func logKills(ctx context.Context, cfg Config, h *board.Board, r *Report) error {
	var took []time.Duration
	many := cfg.amounts().logKills
	for i := range many {
		if err := pass(ctx, 5*logRound+phase(logRound, i)); err != nil {
			return err
		}
		l := h.Leader()
		if l == nil {
			return errors.New("nobody leads a log that is at rest")
		}
		m := h.Other(l)
		began := time.Now()
		if err := l.Kill(); err != nil {
			return err
		}
		if err := m.Put(ctx, fmt.Sprint("kill-", i), board.Goal(0, i)); err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if err := h.Again(ctx, l); err != nil {
			return err
		}
		if err := h.Agree(ctx); err != nil {
			return err
		}
	}
	cfg.Say("log: %d leaders killed, p50 %.0f ms until the next commit", many, ms(quantile(took, 0.5)))
	r.add("killed_samples", float64(many), "kills")
	r.spread("killed_to_commit", took, nil)
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
	s, err := spread.Run(spread.Config{Seed: 1, Loss: spreadLoss, Entries: 10, Settle: mostSpreadWait}, mesh.Grow(followers+1, 1))
	if err != nil {
		return err
	}
	if s.Missing > 0 || s.Refused > 0 {
		return fmt.Errorf("the simulated followers lack %d entries, and have refused %d messages", s.Missing, s.Refused)
	}
	name := fmt.Sprintf("spread_%d_", followers)
	r.add(name+"p50", spread.Delays(s.P50), "delays")
	r.beside(name+"p99", spread.Delays(s.P99), askedDelays, "delays")
	r.beside(name+"last", spread.Delays(s.Last), askedLast, "delays")
	r.beside(name+"uploads", float64(s.Uploads), askedUploads, "uploads")
	r.add(name+"bytes", float64(s.Bytes), "bytes")
	return nil
}
