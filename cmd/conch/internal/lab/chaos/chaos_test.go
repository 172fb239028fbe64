//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// program runs the workers, conch is what they hurt.
var program, conch string

func TestMain(m *testing.M) {
	var err error
	if conch, err = proctest.Build("conch", "../../..", proctest.Stamp...); err != nil {
		panic(err)
	}
	if program, err = proctest.Build("conch-lab", "../../../conch-lab", proctest.Stamp...); err != nil {
		panic(err)
	}
	runtest.AtOnce(4) // each is a cluster
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

const lease = time.Second

// trial is a running cluster whose first leader acts behind both doors.
type trial struct {
	*testing.T
	*Cluster
	ctx    context.Context
	leader *Node
	epoch  int64
}

func begin(t *testing.T, cfg ClusterConfig) *trial {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // generous, since a busy machine is no fault
	t.Cleanup(cancel)
	cfg.Program, cfg.Conch, cfg.Dir = program, conch, t.TempDir()
	if cfg.Lease == 0 {
		cfg.Lease = lease
	}
	if cfg.Nodes == 0 {
		cfg.Nodes = 3
	}
	c, err := Start(ctx, cfg)
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	x := &trial{T: t, Cluster: c, ctx: ctx}
	x.next(true)
	return x
}

func (x *trial) next(inside bool) {
	x.Helper()
	above := x.epoch
	x.await(fmt.Sprintf("somebody leads above epoch %d, and has committed a row", above), func() bool {
		i := slices.IndexFunc(x.Nodes, func(n *Node) bool { return n.Epoch > above && n.Acted != 0 && (n.Inside != 0 || !inside) })
		if i >= 0 {
			x.leader, x.epoch = x.Nodes[i], x.Nodes[i].Epoch
		}
		return i >= 0
	})
}

func (x *trial) await(what string, cond func() bool) {
	x.Helper()
	if err := x.Await(x.ctx, what, cond); err != nil {
		x.Fatal(err)
	}
}

// works waits until the leader has acted again behind both doors. If a busy machine has cost it
// its term, works continues with the new leader.
func (x *trial) works() {
	x.Helper()
	rows, acts := int64(-1), int64(-1)
	x.await("the leader goes on working", func() bool {
		if x.leader.Epoch != x.epoch {
			i := slices.IndexFunc(x.Nodes, func(m *Node) bool { return m.Epoch > x.epoch && m.Acted != 0 && m.Inside != 0 })
			if i < 0 {
				return false
			}
			x.leader, x.epoch, rows = x.Nodes[i], x.Nodes[i].Epoch, -1
		}
		n := x.leader
		if rows < 0 {
			rows, acts = n.Pulse.Rows, n.Pulse.Acts
		}
		return n.Pulse.Rows > rows+2 && n.Pulse.Acts > acts+2
	})
}

// pass lets real time pass: a fault has to last.
func (x *trial) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.ctx.Done():
		x.Fatal(x.ctx.Err())
	}
}

// proven ends the cluster and requires a clean verdict with at least as many leaderships.
func (x *trial) proven(leaders int) {
	x.Helper()
	if err := x.EndMachines(time.Minute); err != nil {
		x.Fatal(err)
	}
	r, err := x.collect(x.ctx)
	if err != nil {
		x.Fatal(err)
	}
	v := evidence.Judge(r)
	if v.Overlapping+v.Lost+v.Duplicated != 0 {
		x.Errorf("overlapping %d, lost %d, duplicated %d; want none", v.Overlapping, v.Lost, v.Duplicated)
	}
	if v.Leaders < leaders {
		x.Errorf("only %d leaderships acted, want %d", v.Leaders, leaders)
	}
}

// A pause shorter than the lease does not cost the leadership: the gate shuts and opens again
// in the same term (S11).
func TestShortStop(t *testing.T) {
	t.Parallel()
	x := begin(t, ClusterConfig{Lease: 3 * lease}) // half the lease is left for a busy machine
	stopped, epoch := x.leader, x.epoch
	for range 3 {
		stopped.Signal(syscall.SIGSTOP)
		x.pass(x.cfg.Lease / 2)
		stopped.Signal(syscall.SIGCONT)
		x.works()
	}
	if x.epoch != epoch {
		t.Errorf("epoch %d became %d: a short pause cost the leadership", epoch, x.epoch)
	}
	x.proven(1)
}

// Faults of leaders hit the actual leader, whatever machine they were aimed at; if nobody
// leads, the fault reports a miss.
func TestLeadersAreHit(t *testing.T) {
	t.Parallel()
	x := begin(t, ClusterConfig{})
	n := &nemesis{Cluster: x.Cluster, cfg: Config{Lease: lease}, screen: screen.New(screen.Config{Out: io.Discard})}
	for _, kind := range []Kind{Backend, Deaf} {
		led := x.leader
		in := &Injection{Fault: Fault{Kind: kind, Target: Leaders}}
		if err := procedures[kind].inject(x.ctx, n, in); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(in.Nodes, []string{led.ID}) || in.Missed {
			t.Errorf("%s hit %v, missed %v; %s led", kind, in.Nodes, in.Missed, led.ID)
		}
		x.next(true)
		if deaf := x.leader != led; kind == Deaf && !deaf {
			t.Error("the machine with the silent line leads")
		}
		if err := procedures[kind].heal(x.ctx, n, in); err != nil {
			t.Fatal(err)
		}
	}
	x.works()
	for _, m := range x.Nodes {
		m.Signal(syscall.SIGTERM)
	}
	x.await("nobody runs", func() bool { return !slices.ContainsFunc(x.Nodes, func(m *Node) bool { return !m.gone() }) })
	for leads := true; leads; x.pass(10 * time.Millisecond) { // a backend may end a moment after its client
		_, err := pgrogue.Leaders(x.ctx, x.URL, Scope)
		leads = !errors.Is(err, pgrogue.ErrNobody)
	}
	for _, kind := range []Kind{Backend, Deaf} {
		in := &Injection{Fault: Fault{Kind: kind, Target: Leaders}}
		if err := procedures[kind].inject(x.ctx, n, in); err != nil || !in.Missed || len(in.Nodes) > 0 {
			t.Errorf("%s: got %v, %+v; want a miss", kind, err, in)
		}
	}
	x.proven(3)
}

// A waiter with a silent line does not delay the others: the other follower takes over from a
// killed leader as if it were alone.
func TestBlackholedWaiter(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	x := begin(t, ClusterConfig{})
	var deaf *Node
	for _, n := range x.Nodes {
		if n != x.leader {
			deaf = n
		}
	}
	deaf.Proxy.Blackhole(tcpproxy.Both)
	x.pass(lease / 2) // its wait is in progress at the server
	x.leader.Signal(syscall.SIGKILL)
	x.next(true)
	if x.leader == deaf {
		t.Error("the follower that was cut off leads")
	}
	deaf.Proxy.Heal()
	x.works()
	if x.leader != deaf { // else a busy machine has made it the leader
		x.leader.Signal(syscall.SIGKILL)
		x.next(true) // only the healed one is left
	}
	if x.leader != deaf {
		t.Error("a dead node leads")
	}
	x.proven(3)
}
