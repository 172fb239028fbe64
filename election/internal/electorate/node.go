package electorate

import (
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/internal/world"
)

// node is a machine: its clock, and the processes that run on it.
type node struct {
	r     *run
	name  string
	clock *world.Clock
	// slept is the time in suspend, with all of the present one. The runtime's timers do not
	// count it, the gate's clock does.
	slept   time.Duration
	seats   []core.SeatSettings
	running *process   // the current process
	zombies []*process // replaced, but alive
}

func newNode(r *run, i int) *node {
	ppm := r.w.Pick(40_001) - 20_000
	if r.w.Chance(0.4) { // the extremes are where margins are needed
		ppm = 20_000 * (1 - 2*r.w.Pick(2))
	}
	n := &node{
		r: r, name: r.Names[i],
		clock: r.w.NewClock(int64(r.w.Between(time.Hour, 1000*time.Hour)), int64(ppm)),
	}
	for k, scope := range r.scopes {
		lease := r.cfg.lease
		if r.cfg.UnequalLeases {
			lease = baseLease * time.Duration([]int{2, 3, 5, 8, 12}[r.w.Pick(5)]) / 4
		}
		r.longest, r.shortest = max(r.longest, lease), min(r.shortest, lease)
		seat := core.SeatSettings{Scope: scope, Lease: lease}.WithDefaults()
		if r.breaks("margin") {
			seat.Margin, seat.Late = 0, lease
		}
		if r.w.Chance(0.2) {
			seat.Late = lease * 2 / 3
		}
		if r.w.Chance(0.3) {
			seat.Rank = (i + k) % r.cfg.Nodes
		}
		seat.Never = !r.cfg.Telling.On() && r.cfg.Nodes > 2 && i == r.cfg.Nodes-1 && (r.cfg.Seed+uint64(k))%4 == 0
		n.seats = append(n.seats, seat)
	}
	return n
}

// settings returns what an elector makes of its configuration, with the seats of this node.
func (n *node) settings() core.Settings {
	s := core.Settings{Takeover: n.r.mode(), Seed: n.r.w.Draw()}
	for _, seat := range n.seats {
		s.Seats = append(s.Seats, core.SeatSettings{Scope: seat.Scope, Lease: seat.Lease}.WithDefaults())
	}
	s = s.WithDefaults()
	s.Seats = n.seats
	return s
}

// campaigns reports whether processes of the node campaign for a scope. If one is stopped, a
// supervisor starts another.
func (n *node) campaigns(scope string) bool {
	return slices.ContainsFunc(n.seats, func(s core.SeatSettings) bool { return s.Scope == scope && !s.Never })
}

// locks returns the locks of a new process. In a mixed world they may differ from those before,
// as after a change of the configuration.
func (n *node) locks() store.Locks {
	if n.r.cfg.Locks == LocksMixed {
		return []store.Locks{store.SessionLocks, store.ProcessLocks}[n.r.w.Pick(2)]
	}
	return store.Locks(n.r.cfg.Locks)
}

// boot starts the node's process, with id as its name.
func (n *node) boot(id string) {
	n.r.tell(n.name, "starts")
	n.running = newProcess(n, id)
	n.running.loop(core.Tick{})
}

// living returns all living processes of the node, in the order of their start.
func (n *node) living() []*process {
	n.zombies = slices.DeleteFunc(n.zombies, func(z *process) bool { return z.dead })
	all := slices.Clone(n.zombies)
	if n.running != nil && !n.running.dead {
		all = append(all, n.running)
	}
	return all
}

// suspend suspends the machine. Its clock goes on, unless boottime is broken.
func (n *node) suspend(d time.Duration) {
	n.slept += d
	for _, p := range n.living() {
		p.stop(d)
	}
	if n.r.breaks("boottime") {
		n.clock.Halt()
		n.r.w.After(d, n.clock.Go)
	}
}
