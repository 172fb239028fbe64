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

// procedure injects a fault and heals it.
type procedure struct {
	inject func(context.Context, *nemesis, *Injection) error
	heal   func(context.Context, *nemesis, *Injection) error
}

// stuckError says that a process does not do what it must. It becomes a violation, not an error of
// the run.
type stuckError struct{ what string }

func (e *stuckError) Error() string { return e.what }

// procedures has the procedure of each kind.
var procedures = map[Kind]*procedure{
	Kill9:          {killMachines, startMachines},
	StopShort:      {stopMachines, continueMachines},
	StopLong:       {stopMachines, continueMachines},
	Silent:         {silence(tcpproxy.Both), healLines},
	SilentToServer: {silence(tcpproxy.ToServer), healLines},
	SilentToClient: {silence(tcpproxy.ToClient), healLines},
	SilentAddress:  {swapAddresses, swapBack},
	Reset:          {tearLines, healLines},
	Latency:        {slowLines, healLines},
	PGRestart: {func(ctx context.Context, n *nemesis, _ *Injection) error {
		return n.Server.RestartFast(context.WithoutCancel(ctx))
	}, nothing},
	PGKill: {
		func(_ context.Context, n *nemesis, _ *Injection) error { n.Server.Kill9(); return nil },
		func(ctx context.Context, n *nemesis, _ *Injection) error { return n.Server.StartAgain(ctx) },
	},
	Backend:     {depose, nothing},
	Deaf:        {deafen, healLines},
	FrozenFence: {strand(false), rescue},
	BusyFence:   {strand(true), rescue},
	LocksFull:   hogging(pgrogue.Fill),
	TableLock: hogging(func(ctx context.Context, url string) (*pgrogue.Hog, error) {
		return pgrogue.Queue(ctx, url, "heartbeat")
	}),
	Unannounced: {
		func(ctx context.Context, n *nemesis, in *Injection) error {
			if err := pgrogue.Mute(ctx, n.URL, true); err != nil {
				return err
			}
			return depose(ctx, n, in)
		},
		func(ctx context.Context, n *nemesis, _ *Injection) error {
			return pgrogue.Mute(context.WithoutCancel(ctx), n.URL, false)
		},
	},
	NotifyFull: {fillNotifications, release},
	ClockAhead: {turn(time.Hour), turn(0)},
	ClockBack:  {turn(-time.Hour), turn(0)},
	Rolling:    {roll, nothing},

	OutsideAskers: {handOver, nothing},
	FenceStream:   {flood, nothing},
	StrangeBytes:  {speakStrangely, nothing},
	LogUnread:     {unread, nothing},
}

func nothing(context.Context, *nemesis, *Injection) error { return nil }

func release(_ context.Context, n *nemesis, _ *Injection) error { n.hog.Release(); return nil }

// hogging has a session take something of the server that others need.
func hogging(take func(ctx context.Context, url string) (*pgrogue.Hog, error)) *procedure {
	return &procedure{func(ctx context.Context, n *nemesis, _ *Injection) (err error) {
		n.hog, err = take(ctx, n.URL)
		return err
	}, release}
}

// each does something to every machine that a fault hits.
func each(do func(*Node)) func(context.Context, *nemesis, *Injection) error {
	return func(_ context.Context, n *nemesis, in *Injection) error {
		for _, m := range n.hit(in) {
			do(m)
		}
		return nil
	}
}

var (
	killMachines = each(func(m *Node) {
		m.expectEnd()
		m.Signal(syscall.SIGKILL)
	})
	stopMachines     = each(func(m *Node) { m.Signal(syscall.SIGSTOP) })
	continueMachines = each(func(m *Node) { m.Signal(syscall.SIGCONT) })

	// swapAddresses leaves a machine the address that is silent at all other times.
	swapAddresses = each(func(m *Node) {
		m.Spare.Heal()
		m.Proxy.Blackhole(tcpproxy.Both)
	})
	swapBack = each(func(m *Node) {
		m.Spare.Blackhole(tcpproxy.Both)
		m.Proxy.Heal()
	})
	tearLines = each(func(m *Node) {
		m.Proxy.Refuse()
		m.Proxy.Reset()
	})
	healLines = each(func(m *Node) { m.Proxy.Heal() })
)

func silence(way tcpproxy.Direction) func(context.Context, *nemesis, *Injection) error {
	return each(func(m *Node) { m.Proxy.Blackhole(way) })
}

func startMachines(ctx context.Context, n *nemesis, in *Injection) error {
	for _, m := range n.hit(in) {
		if err := n.end(ctx, m, "SIGKILL"); err != nil {
			return err
		}
		if err := m.Start(); err != nil {
			return err
		}
	}
	return nil
}

// depose ends the sessions whose locks make machines leaders.
func depose(ctx context.Context, n *nemesis, in *Injection) error {
	ended, err := pgrogue.Terminate(ctx, n.URL, Scope, RunScope)
	in.Nodes, in.Missed = ended, errors.Is(err, pgrogue.ErrNobody)
	if in.Missed {
		return nil
	}
	return err
}

// deafen silences the lines of all leaders and then ends the same sessions.
func deafen(ctx context.Context, n *nemesis, in *Injection) error {
	leaders, err := pgrogue.Leaders(ctx, n.URL, Scope, RunScope)
	if in.Missed = errors.Is(err, pgrogue.ErrNobody); in.Missed {
		in.Nodes = nil
		return nil
	}
	if err != nil {
		return err
	}
	for _, id := range leaders {
		if !in.of(id) {
			in.Nodes = append(in.Nodes, id)
		}
	}
	ended := *in // a session that ends without a silent line is not counted
	err = errors.Join(silence(tcpproxy.Both)(ctx, n, in), depose(ctx, n, &ended))
	in.Missed = ended.Missed
	return err
}

// slowLines delays each way by 2 to 22 % of a lease: heartbeats are late, and at the upper end some
// do not come in time.
func slowLines(ctx context.Context, n *nemesis, in *Injection) error {
	by := n.cfg.Lease * time.Duration(2+in.Fault.Pick%21) / 100
	return each(func(m *Node) { m.Proxy.Delay(by) })(ctx, n, in)
}

func turn(by time.Duration) func(context.Context, *nemesis, *Injection) error {
	return func(_ context.Context, n *nemesis, _ *Injection) error { return n.clock.Set(by) }
}

// roll restarts the machines in turn, each once the one before campaigns.
func roll(ctx context.Context, n *nemesis, in *Injection) error {
	for _, m := range n.hit(in) {
		m.expectEnd()
		m.Signal(syscall.SIGTERM)
		if err := n.end(ctx, m, "SIGTERM"); err != nil {
			return err
		}
		// Its sessions end a moment later. Until then it would seem to campaign already.
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

func (n *nemesis) end(ctx context.Context, m *Node, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.patience())
	defer cancel()
	if err := n.Await(ctx, m.ID+" has ended", m.gone); err != nil {
		return &stuckError{fmt.Sprintf("%s has not ended %s after %s", m.ID, n.cfg.patience(), signal)}
	}
	return nil
}

// strand leaves a transaction open after its fence and kills the machine that leads, so that its
// successor has to get past the fence.
func strand(busy bool) func(context.Context, *nemesis, *Injection) error {
	return func(ctx context.Context, n *nemesis, in *Injection) error {
		s, err := n.strand(ctx, busy)
		if err != nil {
			return err
		}
		n.stray = s
		if !busy {
			s.Signal(syscall.SIGSTOP)
		}
		in.Epoch = n.w.last[rows].epoch
		return killMachines(ctx, n, in)
	}
}

// rescue lets the stranded transaction try to commit.
func rescue(ctx context.Context, n *nemesis, in *Injection) error {
	if !in.Passed { // its fence still holds, so a commit would be right
		n.stray.Signal(syscall.SIGKILL)
	}
	n.stray.Signal(syscall.SIGCONT)
	n.stray.CloseStdin()
	err := strayEnds(ctx, n.stray, n.cfg.patience())
	if started := startMachines(ctx, n, in); err == nil {
		err = started
	}
	return err
}
