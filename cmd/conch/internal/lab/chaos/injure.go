//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// injury is what a fault does, and how to undo it.
type injury struct {
	inject func(context.Context, *nemesis, *Wound) error
	heal   func(context.Context, *nemesis, *Wound) error
}

// stuckError is a process that does not do what it must: a finding, no failure of
// the nemesis.
type stuckError struct{ what string }

func (e *stuckError) Error() string { return e.what }

// injuries are how each kind is done.
var injuries = map[Kind]*injury{
	Kill9:          {killMachines, startMachines},
	StopShort:      {stopMachines, continueMachines},
	StopLong:       {stopMachines, continueMachines},
	Silent:         {silence(tcpproxy.Both), healLines},
	SilentToServer: {silence(tcpproxy.ToServer), healLines},
	SilentToClient: {silence(tcpproxy.ToClient), healLines},
	Reset:          {tearLines, healLines},
	Latency:        {slowLines, healLines},
	PGRestart: {func(ctx context.Context, n *nemesis, _ *Wound) error {
		return n.Server.RestartFast(context.WithoutCancel(ctx))
	}, nothing},
	PGKill: {
		func(_ context.Context, n *nemesis, _ *Wound) error { n.Server.Kill9(); return nil },
		func(ctx context.Context, n *nemesis, _ *Wound) error { return n.Server.StartAgain(ctx) },
	},
	Backend:     {depose, nothing},
	Deaf:        {deafen, healLines},
	FrozenFence: {strand(false), rescue},
	BusyFence:   {strand(true), rescue},
	LocksFull: {
		func(ctx context.Context, n *nemesis, _ *Wound) (err error) {
			n.hog, err = pgrogue.Fill(ctx, n.URL)
			return err
		},
		func(_ context.Context, n *nemesis, _ *Wound) error { n.hog.Release(); return nil },
	},
	ClockAhead: {turn(time.Hour), turn(0)},
	ClockBack:  {turn(-time.Hour), turn(0)},
	Rolling:    {roll, nothing},

	OutsideAskers: {handOver, nothing},
	FenceStream:   {flood, nothing},
	StrangeBytes:  {speakStrangely, nothing},
}

func nothing(context.Context, *nemesis, *Wound) error { return nil }

func killMachines(_ context.Context, n *nemesis, w *Wound) error {
	for _, m := range n.hit(w) {
		m.dismiss()
		m.Signal(syscall.SIGKILL)
	}
	return nil
}

func startMachines(ctx context.Context, n *nemesis, w *Wound) error {
	for _, m := range n.hit(w) {
		if err := n.end(ctx, m, "SIGKILL"); err != nil {
			return err
		}
		if err := m.Start(); err != nil {
			return err
		}
	}
	return nil
}

func stopMachines(_ context.Context, n *nemesis, w *Wound) error {
	for _, m := range n.hit(w) {
		m.Signal(syscall.SIGSTOP)
	}
	return nil
}

func continueMachines(_ context.Context, n *nemesis, w *Wound) error {
	for _, m := range n.hit(w) {
		m.Signal(syscall.SIGCONT)
	}
	return nil
}

// depose ends the sessions whose locks make leaders of their machines.
func depose(ctx context.Context, n *nemesis, w *Wound) error {
	ended, err := pgrogue.Terminate(ctx, n.URL, Scope, RunScope)
	w.Nodes, w.Missed = ended, errors.Is(err, pgrogue.ErrNobody)
	if w.Missed {
		return nil
	}
	return err
}

// deafen ends the same sessions, but first the lines of all of them go silent.
func deafen(ctx context.Context, n *nemesis, w *Wound) error {
	leaders, err := pgrogue.Leaders(ctx, n.URL, Scope, RunScope)
	if w.Missed = errors.Is(err, pgrogue.ErrNobody); w.Missed {
		w.Nodes = nil
		return nil
	}
	if err != nil {
		return err
	}
	for _, id := range leaders {
		if !w.of(id) {
			w.Nodes = append(w.Nodes, id)
		}
	}
	ended := *w // whose session ends without being deaf is nobody's business here
	err = errors.Join(silence(tcpproxy.Both)(ctx, n, w), depose(ctx, n, &ended))
	w.Missed = ended.Missed
	return err
}

func silence(way tcpproxy.Direction) func(context.Context, *nemesis, *Wound) error {
	return func(_ context.Context, n *nemesis, w *Wound) error {
		for _, m := range n.hit(w) {
			m.Proxy.Blackhole(way)
		}
		return nil
	}
}

func tearLines(_ context.Context, n *nemesis, w *Wound) error {
	for _, m := range n.hit(w) {
		m.Proxy.Refuse()
		m.Proxy.Reset()
	}
	return nil
}

// slowLines delays each way by 2 to 22 % of a lease: heartbeats come late, and at
// the upper end some do not come in time.
func slowLines(_ context.Context, n *nemesis, w *Wound) error {
	each := n.cfg.Lease * time.Duration(2+w.Fault.Pick%21) / 100
	for _, m := range n.hit(w) {
		m.Proxy.Delay(each)
	}
	return nil
}

func healLines(_ context.Context, n *nemesis, w *Wound) error {
	for _, m := range n.hit(w) {
		m.Proxy.Heal()
	}
	return nil
}

func turn(by time.Duration) func(context.Context, *nemesis, *Wound) error {
	return func(_ context.Context, n *nemesis, _ *Wound) error { return n.clock.Set(by) }
}

// roll restarts one machine after the other, each once the one before campaigns.
func roll(ctx context.Context, n *nemesis, w *Wound) error {
	for _, m := range n.hit(w) {
		m.dismiss()
		m.Signal(syscall.SIGTERM)
		if err := n.end(ctx, m, "SIGTERM"); err != nil {
			return err
		}
		// Its sessions end a moment after it. Until then it would seem to campaign already.
		n.asked = time.Time{}
		n.wait(ctx, time.Now().Add(n.cfg.Lease), func() bool { return n.campaigning() < len(n.Nodes) })
		if err := m.Start(); err != nil {
			return err
		}
		n.asked = time.Time{}
		if !n.until(ctx, func() bool { return n.campaigning() == len(n.Nodes) }) {
			return &stuckError{fmt.Sprintf("%s does not campaign %s after its restart", m.ID, n.cfg.patience())}
		}
	}
	return nil
}

// end waits for a machine's end.
func (n *nemesis) end(ctx context.Context, m *Node, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.patience())
	defer cancel()
	if err := n.Await(ctx, m.ID+" has ended", m.gone); err != nil {
		return &stuckError{fmt.Sprintf("%s has not ended %s after %s", m.ID, n.cfg.patience(), signal)}
	}
	return nil
}

// strand leaves a transaction behind that has fenced and does not come to its end,
// and kills the machine that it was meant for: who is elected next has to get past it.
func strand(busy bool) func(context.Context, *nemesis, *Wound) error {
	return func(ctx context.Context, n *nemesis, w *Wound) error {
		s, err := n.strand(ctx, busy)
		if err != nil {
			return err
		}
		n.stray = s
		if !busy {
			s.Signal(syscall.SIGSTOP)
		}
		w.Epoch = n.w.last[rows].epoch
		return killMachines(ctx, n, w)
	}
}

// rescue lets the stranded transaction commit, if the server still knows it.
func rescue(ctx context.Context, n *nemesis, w *Wound) error {
	if !w.Passed { // its fence still holds, so that its commit would be right
		n.stray.Signal(syscall.SIGKILL)
	}
	n.stray.Signal(syscall.SIGCONT)
	n.stray.CloseStdin()
	err := n.stray.ended(ctx, n.cfg.patience())
	if started := startMachines(ctx, n, w); err == nil {
		err = started
	}
	return err
}
