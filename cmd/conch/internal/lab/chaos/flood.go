//go:build unix

package chaos

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
)

// Bounds for the number of clients of a stream.
const (
	fewClients  = 16
	manyClients = 32
)

// flood runs fences above READ COMMITTED without pause while a leader of their scope drains, as
// many leaders as there are machines lose their sessions, and one dies. If a step is not
// overcome, the stream ends, since it is in the way.
func flood(ctx context.Context, n *nemesis, in *Injection) (err error) {
	stream, err := pgrogue.Flood(ctx, n.URL, Scope, fewClients+in.Fault.Pick%(manyClients-fewClients+1))
	if err != nil {
		return err
	}
	defer func() { n.refused = append(n.refused, stream.Stop()...) }()
	if !n.until(ctx, func() bool { return stream.Committed() > manyClients }) {
		n.violate(ctx, in.Number, Recovers, "no transaction of %s was committed in %s", in.Fault.Kind, n.cfg.patience())
		return nil
	}
	var killed []*Node
	defer func() {
		for _, m := range killed {
			err = errors.Join(err, n.end(context.WithoutCancel(ctx), m, "SIGKILL"), m.Start())
		}
	}()
	terminate := func() error {
		if _, err := pgrogue.Terminate(ctx, n.URL, Scope); !errors.Is(err, pgrogue.ErrNobody) {
			return err
		}
		return nil
	}
	handOn := func() error { return n.obey(ctx, "drain", "--scope", Scope) }
	kill := func() error {
		killed[0].expectEnd()
		killed[0].Signal(syscall.SIGKILL)
		return nil
	}
	// The stream does not delay the farewell (L4), but the next mint waits for the transactions that
	// hold the fence, a lease at most (L5).
	steps := []plannedStep{{Step{What: "drain", Scopes: []string{Scope}, Bound: stuck}, handOn}}
	for range n.Nodes {
		steps = append(steps, plannedStep{Step{What: "end of the lock session", Scopes: []string{Scope}, Bound: crash}, terminate})
	}
	for _, b := range append(steps, plannedStep{Step{What: "SIGKILL", Bound: crash}, kill}) {
		before := n.w.last[rows]
		if b.step.What == "SIGKILL" {
			killed = slices.DeleteFunc(slices.Clone(n.Nodes), func(m *Node) bool { return m.ID != before.node })
		}
		on, err := n.step(ctx, in, b.step, b.do, func() bool { return n.w.last[rows].epoch > before.epoch })
		if err != nil || !on {
			return err
		}
	}
	return nil
}

type plannedStep struct {
	step Step
	do   func() error
}
