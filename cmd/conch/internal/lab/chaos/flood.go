//go:build unix

package chaos

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
)

// A stream has so many clients.
const (
	fewClients  = 16
	manyClients = 32
)

// flood has fences above READ COMMITTED that never pause, while a leader of their scope
// drains, leaders lose their sessions, as many times as there are machines, and one dies.
// If nobody gets past one of these, the stream ends: it is what is in the way.
func flood(ctx context.Context, n *nemesis, w *Wound) (err error) {
	stream, err := pgrogue.Flood(ctx, n.URL, Scope, fewClients+w.Fault.Pick%(manyClients-fewClients+1))
	if err != nil {
		return err
	}
	defer func() { n.refused = append(n.refused, stream.Stop()...) }()
	if !n.until(ctx, func() bool { return stream.Committed() > manyClients }) {
		n.violate(ctx, w.Number, Recovers, "no transaction of %s was committed in %s", w.Fault.Kind, n.cfg.patience())
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
		killed[0].dismiss()
		killed[0].Signal(syscall.SIGKILL)
		return nil
	}
	blows := []blowing{{Blow{What: "drain", Scopes: []string{Scope}, Bound: clean}, handOn}}
	for range n.Nodes {
		blows = append(blows, blowing{Blow{What: "end of the lock session", Scopes: []string{Scope}, Bound: crash}, terminate})
	}
	for _, b := range append(blows, blowing{Blow{What: "SIGKILL", Bound: crash}, kill}) {
		before := n.w.last[rows]
		if b.blow.What == "SIGKILL" {
			killed = slices.DeleteFunc(slices.Clone(n.Nodes), func(m *Node) bool { return m.ID != before.node })
		}
		on, err := n.blow(ctx, w, b.blow, b.do, func() bool { return n.w.last[rows].epoch > before.epoch })
		if err != nil || !on {
			return err
		}
	}
	return nil
}

// blowing is a blow and how it is done.
type blowing struct {
	blow Blow
	do   func() error
}
