//go:build unix

package bench

import (
	"context"
	"os"
	"time"
)

// effort is the processor time of each process that takes part in a sending.
type effort struct{ node, database, own time.Duration }

// effort returns the times since the start of each process. A server that is not the bench's own
// may be elsewhere and is left out.
func (a *account) effort(ctx context.Context) (e effort, err error) {
	e.node, e.own = spent(a.payer.Node.PID()), spent(os.Getpid())
	if a.cfg.Database != "" {
		return e, nil
	}
	pids, err := a.site.admin.Processes(ctx)
	e.database = spent(pids...)
	return e, err
}

func (e effort) since(before effort) effort {
	return effort{e.node - before.node, e.database - before.database, e.own - before.own}
}

type efforts struct{ node, database, own []float64 }

// add adds a run of many transactions, in µs per transaction.
func (e *efforts) add(one effort, many int) {
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(many) }
	e.node = append(e.node, each(one.node))
	e.database = append(e.database, each(one.database))
	e.own = append(e.own, each(one.own))
}

func (e *efforts) report(r *Report, raw efforts) {
	if median(e.own) == 0 {
		return
	}
	const unit = "µs/tx"
	r.beside("send_processor_node", median(e.node), median(raw.node), unit)
	if median(e.database) > 0 {
		r.add("send_processor_database", median(e.database), unit)
	}
	r.add("send_processor_conch", median(e.own), unit)
}
