//go:build unix

package bench

import (
	"context"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
)

// labour is the processor time of those that take part when payments land: the first node sends.
type labour struct{ first, others, database, chain time.Duration }

// labour returns the times since the start of each process. A server that is not the bench's own may be elsewhere and is
// left out.
func (g *group) labour(ctx context.Context, chain *devnode.Node, nodes ...*consortium.Member) (l labour, err error) {
	l.chain, l.first = spent(chain.PID()), spent(nodes[0].PID())
	for _, m := range nodes[1:] {
		l.others += spent(m.PID())
	}
	if g.cfg.Database != "" {
		return l, nil
	}
	pids, err := g.site.admin.Processes(ctx)
	l.database = spent(pids...)
	return l, err
}

func (l labour) since(before labour) labour {
	return labour{l.first - before.first, l.others - before.others, l.database - before.database, l.chain - before.chain}
}
