package electorate

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// process is one process with an elector: the core of package election, fed with the world's clock and
// network, its timers, and roles that are played.
type process struct {
	r       *run
	node    *node
	id      string // the candidate's; a process and its replacement share it
	name    string // unique to this process
	set     core.Settings
	locks   store.Locks
	core    *core.Core
	runners map[string]*runner

	conn    *conn
	flight  *flight
	bidSent fence.Instant  // when the last answered bid was sent
	waits   []*processWait // those under way

	dead       bool
	stops      int      // number of stops now in force
	deferred   []func() // run once it moves again
	inbox      []core.Input
	busy       bool // the loop works, or is about to
	stallFor   time.Duration
	ended      []*runner // whose term is over, which the loop is not told yet
	endsAtOnce int       // tell the loop this number of ends at once
	ambushed   bool
	failing    bool // its next heartbeat fails with an unknown effect
	timer      int  // number of the loop's latest timer

	sessions int          // opened and lost, as the machine was told
	pulses   []mint.Pulse // of the latest heartbeat
	saying   []mint.Farewell
	leases   map[string]time.Duration // of the latest bids
	unsaid   map[string]mint.Farewell // farewells to repeat or join, for broken rules
}

func newProcess(n *node, id string) *process {
	r := n.r
	r.serial++
	p := &process{
		r: r, node: n, id: id, name: fmt.Sprintf("%s#%d", id, r.serial),
		set: n.settings(), runners: map[string]*runner{}, unsaid: map[string]mint.Farewell{}, leases: map[string]time.Duration{},
	}
	p.locks = n.locks()
	p.core = core.New(p.set)
	for _, seat := range n.seats {
		p.runners[seat.Scope] = newRunner(p, seat)
	}
	return p
}

func (p *process) now() fence.Instant { return fence.Instant(p.node.clock.Read()) }

// run runs f as part of this process: now, or once it moves again, or never if it is dead.
func (p *process) run(f func()) {
	switch {
	case p.dead:
	case p.stops > 0:
		p.deferred = append(p.deferred, f)
	default:
		f()
	}
}

// after runs f when d has passed on the runtime's timer, which runs at the speed of the
// machine's clock but stands still while the machine is suspended.
func (p *process) after(d time.Duration, f func()) {
	slept := p.node.slept
	p.r.w.After(p.node.clock.For(d), func() {
		if nap := p.node.slept - slept; nap > 0 {
			p.after(nap, f)
			return
		}
		p.run(f)
	})
}

// stop makes the process stand still, as SIGSTOP does. What it deferred then runs in random
// order, as a scheduler picks it.
func (p *process) stop(d time.Duration) {
	p.freeze()
	p.r.w.Note(p.name, "stopped", int64(d))
	p.r.w.After(d, p.thaw)
}

func (p *process) freeze() {
	p.stops++
	p.r.tell(p.node.name, "stands still")
}

func (p *process) thaw() {
	p.stops--
	if p.stops > 0 {
		return
	}
	p.r.w.Note(p.name, "goes on", 0)
	if !p.dead {
		p.r.tell(p.node.name, "goes on")
	}
	late := p.deferred
	p.deferred = nil
	for _, f := range late {
		p.r.w.After(p.r.w.Between(0, 200*time.Microsecond), func() { p.run(f) })
	}
}

// post hands an input to the loop.
func (p *process) post(in core.Input) {
	p.inbox = append(p.inbox, in)
	p.wake()
}

// end tells the loop that a term is over, or waits to tell several ends together.
func (p *process) end(rn *runner) {
	p.ended = append(p.ended, rn)
	if len(p.ended) < p.endsAtOnce {
		return
	}
	for _, rn := range p.ended {
		rn.term.endedAt = p.r.w.Now()
		p.inbox = append(p.inbox, core.Ended{Scope: rn.scope})
	}
	p.ended, p.endsAtOnce = nil, 0
	p.wake()
}

func (p *process) wake() {
	if p.busy || p.dead || len(p.inbox) == 0 {
		return
	}
	p.busy = true
	p.r.w.After(p.r.w.Between(0, 20*time.Microsecond), func() { p.run(p.takeTurn) })
}

// takeTurn takes what has come.
func (p *process) takeTurn() {
	all := p.inbox
	p.inbox = nil
	p.loop(all...)
}

// loop steps the core. It may be delayed before it does what the core says, while the rest of the
// process goes on.
func (p *process) loop(all ...core.Input) {
	p.busy = true
	if p.r.breaks("compare-at-use") {
		defer p.lowerFlags()
	}
	for _, in := range all {
		p.learn(in)
	}
	out := p.core.Step(p.now(), all...)
	out.Acts = p.tamper(out.Acts)
	p.judge(out.Acts)
	p.note(all, out)
	if d := p.stallFor; d > 0 && len(out.Gives)+len(out.Acts) > 0 {
		p.stallFor = 0
		p.after(d, func() { p.carryOut(out) })
		return
	}
	p.carryOut(out)
}

func (p *process) carryOut(out core.Output) {
	for _, m := range out.Gives {
		p.runners[m.Scope].moveGate(m)
	}
	for _, a := range out.Acts {
		p.perform(a)
		if p.dead {
			return
		}
	}
	p.busy = false
	p.wake()
	p.timer++
	if next := p.core.Next(); next != 0 && !p.staysOffline() {
		timer := p.timer
		p.after(max(0, next.Sub(p.now())), func() {
			if timer == p.timer && !p.busy {
				p.loop(core.Tick{})
			}
		})
	}
}

// staysOffline reports whether the process has no session and, with connect-again broken, opens none.
func (p *process) staysOffline() bool {
	return p.r.breaks("connect-again") && p.conn == nil && p.flight == nil
}

func (p *process) perform(a core.Action) {
	switch a := a.(type) {
	case core.Begin:
		p.runners[a.Token.Scope].playRole()
		p.repeats(a.Token)
	case core.Enter:
		p.runners[a.Token.Scope].enter()
	case core.Cancel:
		p.runners[a.Token.Scope].cancelRole()
	case core.Drain:
		p.runners[a.Scope].drainActs()
	case core.Prolong:
		p.runners[a.Scope].term.prolong(a.Deadline)
		p.r.count("prolonged")
	case core.Hurry, core.Answered: // roles here do not react to it, and nobody waits
	case core.Await:
		p.awaitProcess(a)
	case core.Unwait:
		p.dropWait(a.Serial)
	case core.Forget: // the runner stays, in case the role comes again
		p.r.count("forgotten_scopes")
	case core.Report:
		p.r.count("fact_" + string(a.Fact.Kind))
		if rn := p.runners[a.Fact.Scope]; a.Fact.Kind == core.Abandoned && rn.waitsForAnswers(rn.term) {
			p.r.count("abandoned_answers") // the drain timed out before the callers' answers expired
		}
	case core.Disconnect:
		p.hangUp()
	case core.Done:
		p.r.tell(p.node.name, "ends")
		if p.kill(); !p.r.cfg.Telling.On() {
			p.node.startAgain(p.r.w.Between(0, baseLease))
		}
	default:
		p.after(p.r.w.Between(0, 50*time.Microsecond), func() { p.call(a) })
	}
}

// kill ends the process at once. What it has sent is still delivered.
func (p *process) kill() {
	if p.dead {
		return
	}
	p.dead = true
	for _, scope := range p.r.scopes {
		p.runners[scope].die()
	}
	p.hangUp()
	p.waits = nil
}

// note hashes the number of moves and acts. What they are goes to the trace only.
func (p *process) note(all []core.Input, out core.Output) {
	p.r.w.Mark(int64(len(out.Gives) + len(out.Acts)))
	if p.r.cfg.Trace == nil {
		return
	}
	w := p.r.w
	for _, in := range all {
		_, _ = fmt.Fprintf(p.r.cfg.Trace, "%6d %14s %-10s %T %+v\n", w.Steps(), w.Now(), p.name, in, in)
	}
	for _, m := range out.Gives {
		_, _ = fmt.Fprintf(p.r.cfg.Trace, "%*s %s %T %+v\n", 32, "", m.Scope, m.How, m.How)
	}
	for _, a := range out.Acts {
		_, _ = fmt.Fprintf(p.r.cfg.Trace, "%*s %T %+v\n", 32, "", a, a)
	}
}
