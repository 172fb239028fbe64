//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/standin"
)

// sequenced measures a node of a private contract: how many payments it brings through, alone, beside a dead sender and
// after a coordinator's death, and what contracts cost in which nothing happens. Then it measures real nodes on a chain.
func sequenced(ctx context.Context, cfg Config) (r Report, err error) {
	for _, part := range []func(context.Context, Config, *Report) error{rates, besideTheDead, struck, idleContracts, onChain} {
		if err := part(ctx, cfg, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// onChain measures real nodes, with databases and a chain.
func onChain(ctx context.Context, cfg Config, r *Report) (err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.Clear()) }()
	if err != nil {
		return err
	}
	cfg.Say("sequencer: real nodes, on %s; a private chain makes a block every %s", s.about(ctx), chainTime)
	if err := landed(ctx, cfg, s, r); err != nil {
		return err
	}
	return committees(ctx, cfg, s, r)
}

// rates measures payments per second. The ceiling, in turn with it, is the signatures alone that a payment costs the node,
// on all processors.
func rates(ctx context.Context, cfg Config, r *Report) error {
	for _, s := range []struct {
		name string
		standin.Scheme
	}{{"ed25519", standin.Ed25519()}, {"secp256k1", standin.Secp256k1()}} {
		for _, delay := range []time.Duration{5 * time.Millisecond, 0, time.Millisecond, 20 * time.Millisecond} {
			one := rate{cfg: cfg, scheme: s.Scheme, delay: delay}
			if err := one.measure(ctx, fmt.Sprintf("%s_%dms", s.name, delay.Milliseconds()), r); err != nil {
				return err
			}
			if delay != 5*time.Millisecond {
				continue
			}
			one.shared = true
			if err := one.measure(ctx, fmt.Sprintf("%s_one_note_%dms", s.name, delay.Milliseconds()), r); err != nil {
				return err
			}
			if s.name == "secp256k1" {
				break
			}
		}
	}
	return nil
}

// rate is one measurement of payments.
type rate struct {
	cfg    Config
	scheme standin.Scheme
	delay  time.Duration
	shared bool // all users pay out of one purse, from a note that each payment makes anew
	steps  map[string]*steps
}

// steps are those of one kind of machine.
type steps struct {
	many int
	took time.Duration
}

func (m *rate) measure(ctx context.Context, name string, r *Report) error {
	a := m.cfg.amounts()
	m.cfg.Say("sequencer: %s, %d users, %d pairs of %s …", name, a.users, a.payRounds, a.paying)
	var mu sync.Mutex
	m.steps = map[string]*steps{}
	pair, err := standin.Pair(ctx, m.scheme, m.delay, standin.Purses(a.users, m.shared), func(machine string, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if m.steps[machine] == nil {
			m.steps[machine] = &steps{}
		}
		m.steps[machine].many++
		m.steps[machine].took += took
	})
	if err != nil {
		return err
	}
	defer pair.Close()
	var ours, raw, processor, signatures []float64
	for i := range a.payRounds {
		for half := range 2 {
			if half == i%2 { // ABBA
				before := spent(os.Getpid())
				done, took := standin.Raw(m.scheme, a.paying)
				raw = append(raw, pace(done, took))
				signatures = append(signatures, microseconds(spent(os.Getpid())-before, done))
				continue
			}
			before := spent(os.Getpid())
			done, took, err := pair.Run(ctx, fmt.Sprint("round ", i), a.paying)
			if err != nil {
				return err
			}
			ours = append(ours, pace(done, took))
			processor = append(processor, microseconds(spent(os.Getpid())-before, done))
		}
	}
	r.beside(name, median(ours), median(raw), "tx/s")
	if median(processor) > 0 { // else this system does not tell
		r.beside(name+"_processor", median(processor), median(signatures), "µs/tx")
		r.add(name+"_signatures", 100*median(signatures)/median(processor), "%")
	}
	pair.Close() // nothing steps any more
	if m.delay == 5*time.Millisecond && !m.shared {
		for _, machine := range []string{"sender", "coordinator", "endorser"} {
			if s := m.steps[machine]; s != nil {
				r.add(fmt.Sprintf("%s_step_%s", name, machine), microseconds(s.took, s.many), "µs/step")
			}
		}
	}
	return nil
}

func pace(many int, took time.Duration) float64 { return float64(many) / took.Seconds() }

// microseconds is what one of many took, in µs.
func microseconds(took time.Duration, many int) float64 {
	return float64(took) / float64(time.Microsecond) / float64(max(many, 1))
}

// besideTheDead measures what a dead sender costs the living: 20 of its intents among 100 users. The ceiling, in turn with
// it, is the same without it.
func besideTheDead(ctx context.Context, cfg Config, r *Report) error {
	a := cfg.amounts()
	for _, death := range []struct {
		name string
		standin.Death
	}{{"before_assembly", standin.BeforeAssembly}, {"after_assembly", standin.AfterAssembly}} {
		for _, shared := range []bool{false, true} {
			name := "live_beside_dead_" + death.name
			if shared {
				name += "_one_note"
			}
			rounds := max(a.payRounds/2, 1)
			cfg.Say("sequencer: %s, %d pairs of %s …", name, rounds, a.living)
			live := standin.Purses(100, shared)
			dead := standin.Purses(120, shared)[100:]
			var with, without []float64
			for i := range rounds {
				for half := range 2 {
					grave := dead
					if half == i%2 {
						grave = nil
					}
					done, took, err := standin.Live(ctx, standin.Ed25519(), live, slices.Clone(grave), death.Death, a.living)
					if err != nil {
						return err
					}
					if grave == nil {
						without = append(without, pace(done, took))
					} else {
						with = append(with, pace(done, took))
					}
				}
			}
			r.beside(name, median(with), median(without), "tx/s")
		}
	}
	return nil
}

// struck measures the time from a coordinator's death to the next dispatch. The ceiling is the longest pause between two
// dispatches before.
func struck(ctx context.Context, cfg Config, r *Report) error {
	many := cfg.amounts().strikes
	cfg.Say("sequencer: %d coordinators stopped …", many)
	var took, pauses []time.Duration
	for range many {
		s, err := standin.Struck(ctx, standin.Ed25519(), 20)
		if err != nil {
			return err
		}
		took, pauses = append(took, s.Took), append(pauses, s.Pause)
	}
	r.spread("coordinator_stopped_to_dispatch", took, pauses)
	return nil
}

// idleContracts measures what contracts cost in which nothing happens, on a node with others in which something does. The
// ceiling of a message is none, so that there is no ratio.
func idleContracts(ctx context.Context, cfg Config, r *Report) error {
	a := cfg.amounts()
	cfg.Say("sequencer: %d contracts, %d of them busy …", a.contracts, a.busy)
	rest, err := standin.Idle(ctx, standin.Ed25519(), a.contracts, a.busy)
	if err != nil {
		return err
	}
	r.add("idle_contract_messages", float64(rest.Messages), "messages")
	r.add("busy_contracts_messages", float64(rest.Others), "messages")
	r.add("idle_contract", rest.BytesAsleep, "bytes")
	r.add("contract_beside_busy", rest.BytesIdle, "bytes")
	return nil
}
