package chaintest

import (
	"context"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
)

// Fixture is a driver and the control of the chain behind it. Chain, Down, the accounts,
// Bad and Mine are required. Tests that need a function that is nil are skipped.
type Fixture struct {
	Chain chain.Chain
	// Down is the same driver with an endpoint that does not answer.
	Down chain.Chain
	// The driver signs for Funded, which is rich, and Poor, which has nothing; not for Stranger.
	Funded, Poor, Stranger chain.Account
	// Bad is a call that an estimate refuses. With BadGas a block includes it, without effect.
	Bad    chain.Call
	BadGas uint64
	// Gapless says that the node refuses a transaction whose nonce leaves a gap.
	Gapless bool

	// Transfer is a call that gives to an account, and a note beside it, which may be dropped. Nil: as EVM has it.
	Transfer func(to chain.Account, value *big.Int, note string) chain.Call
	// NoGas says that calls have no gas of their own, and NoTrial that the driver does not try out what a call does.
	NoGas, NoTrial bool

	// Mine makes a block of what is in the pool.
	Mine func()
	// Seal makes a block of exactly these transactions.
	Seal func(...chain.Signed)
	// Reorg replaces the newest depth blocks by the given ones, which may be none.
	Reorg func(depth int, blocks ...[]chain.Signed)
	// Drop removes a transaction from the pool.
	Drop func(chain.Hash)
	// Final makes the present head final, with blocks on top if the chain needs them.
	Final func()
	// Foreign signs another transaction for a slot of Funded, without the driver.
	Foreign func(index uint64) chain.Signed
	// Elsewhere signs a transaction of Funded for another chain.
	Elsewhere func(index uint64) chain.Signed
	// Broke signs a transaction that Poor cannot pay for.
	Broke func() chain.Signed
	// NoIndex is that of the Description.
	NoIndex bool
	// Half is a call of which one part is carried out and another fails, if the chain has such calls.
	Half chain.Call
	// Forget makes the node forget what the transactions in its blocks have done.
	Forget func()
	// Upgrade makes the next block change the version of the chain's runtime. Nil: attempts do not wear out.
	Upgrade func()
	// Reap makes Funded cease to exist at the end of the next block, and Fund makes it rich again. Nil: no account ceases to exist.
	Reap, Fund func()
}

const patience = time.Minute

// Exercise tests a driver against the contract of chain.Chain, each part as a subtest. Each
// calls fresh for a fixture with a new chain, and ends after a minute.
func Exercise(t *testing.T, fresh func(testing.TB) Fixture) {
	t.Helper()
	for _, part := range []struct {
		name string
		try  func(*trial)
	}{
		{"Describe", describe},
		{"NextCountsTheChain", next},
		{"Counts", counts},
		{"PrepareInOrder", prepare},
		{"PrepareRefuses", refuse},
		{"Quote", quote},
		{"PrepareFillerOfTooMuch", fillerAboveTheBlock},
		{"PrepareFillerOfTooLittle", fillerBelowAnyTransaction},
		{"PrepareRaises", raise},
		{"SubmitBatch", batchOf},
		{"SubmitTwice", twice},
		{"SubmitReplacement", replacement},
		{"SubmitGap", gap},
		{"SubmitWorthless", worthless},
		{"SubmitOutworn", submitOutworn},
		{"Renew", renew},
		{"NoIndex", noIndex},
		{"Reap", reap},
		{"EffectPartly", effectPartly},
		{"ForeignOnOurIndex", foreignIndex},
		{"Probe", probe},
		{"ProbeFailed", probeFailed},
		{"ProbeDropped", dropped},
		{"Inclusions", inclusions},
		{"InclusionsOfSubmitted", inclusionsOfSubmitted},
		{"InclusionsOfOursAlone", inclusionsOfOursAlone},
		{"Scan", scan},
		{"Prove", prove},
		{"BlockByHash", blockByHash},
		{"Linked", linked},
		{"Confirm", confirm},
		{"Receipt", receipt},
		{"HeadsFollow", follow},
		{"HeadsReorg", reorg},
		{"HeadsRewind", rewind},
		{"HeadsResume", resume},
		{"HeadsLostThread", lostThread},
		{"HeadsFinal", finality},
		{"HeadsFinalAtOnce", finalAtOnce},
		{"Unreachable", unreachable},
	} {
		t.Run(part.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			part.try(&trial{T: t, Fixture: fresh(t), ctx: ctx})
		})
	}
}

// trial is one part of Exercise.
type trial struct {
	*testing.T
	Fixture
	ctx context.Context
}

func (t *trial) need(able bool, what string) {
	t.Helper()
	if !able {
		t.Skipf("this chain cannot be made to %s", what)
	}
}

func (t *trial) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *trial) wants(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want one that wraps %q", err, want)
	}
}

// call is a transfer of nothing.
func (t *trial) call() chain.Call { return t.transfer(t.Stranger, nil, "") }

// transfer is a call that gives to an account.
func (t *trial) transfer(to chain.Account, value *big.Int, note string) chain.Call {
	if t.Transfer != nil {
		return t.Transfer(to, value, note)
	}
	return chain.Call{To: []byte(to), Value: value, Data: []byte(note)}
}

// failing is the call that fails in a block.
func (t *trial) failing() chain.Call {
	bad := t.Bad
	bad.Gas = t.BadGas
	return bad
}

// sameKind reports whether two transactions are the same, with effects of one kind: only the chain knows its words for them.
func sameKind(a, b chain.Inclusion) bool {
	a.Effect.Why, b.Effect.Why = "", ""
	return a == b
}

func (t *trial) next() uint64 {
	t.Helper()
	n, err := t.Chain.Next(t.ctx, t.Funded)
	t.ok(err)
	return n
}

// attempts prepares count transfers, from the next nonce on.
func (t *trial) attempts(count int) []chain.Signed {
	t.Helper()
	first := t.next()
	drafts := make([]chain.Draft, count)
	for i := range drafts {
		drafts[i] = chain.Draft{Account: t.Funded, Index: first + uint64(i), Call: t.call()}
	}
	return t.prepare(drafts...)
}

func (t *trial) prepare(drafts ...chain.Draft) []chain.Signed {
	t.Helper()
	all, err := t.Chain.Prepare(t.ctx, drafts)
	t.ok(err)
	if len(all) != len(drafts) {
		t.Fatalf("got %d results of Prepare, want %d, one for each draft", len(all), len(drafts))
	}
	signed := make([]chain.Signed, len(all))
	for i, p := range all {
		if p.Err != nil {
			t.Fatalf("draft %d: %v", i, p.Err)
		}
		signed[i] = p.Signed
	}
	return signed
}

// submit sends attempts and wants the same verdict for each.
func (t *trial) submit(want chain.Verdict, attempts ...chain.Signed) {
	t.Helper()
	outcomes := t.Chain.Submit(t.ctx, attempts)
	if len(outcomes) != len(attempts) {
		t.Fatalf("got %d outcomes, want %d, one for each attempt", len(outcomes), len(attempts))
	}
	for i, o := range outcomes {
		if o.Verdict != want {
			t.Fatalf("attempt %d: got %v (%s), want %v", i, o.Verdict, o.Text, want)
		}
	}
}

func (t *trial) seen(want string, attempts ...chain.Signed) []chain.Sighting {
	t.Helper()
	if t.NoIndex {
		return t.seenInBlocks(want, attempts...)
	}
	hashes := make([]chain.Hash, len(attempts))
	for i, a := range attempts {
		hashes[i] = a.Hash
	}
	sightings, err := t.Chain.Probe(t.ctx, hashes)
	t.ok(err)
	if len(sightings) != len(hashes) {
		t.Fatalf("got %d sightings, want %d, one for each hash", len(sightings), len(hashes))
	}
	for i, s := range sightings {
		if s.String() != want {
			t.Fatalf("attempt %d is %v, want %s", i, s, want)
		}
	}
	return sightings
}
