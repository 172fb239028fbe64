//go:build unix

package chaos

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
	"github.com/conchhq/conch/fence"
)

const (
	askPace    = 10 * time.Millisecond // between questions
	askTimeout = 2 * time.Second
	effectPace = 2 * time.Millisecond // between two effects of one act
)

// asker is a caller outside the role. It acts on the answers of one daemon's HTTP gate, until
// expires_in_ms after it sent its question.
type asker struct {
	pair   *daemonPair
	scope  string
	daemon *daemon
	node   *nodeapi.Node
	life   time.Duration // lifetime that it asks for; 0: it names none
	needs  time.Duration // an answer with a shorter lifetime is not used
}

func newAsker(p *daemonPair, scope string, d *daemon) *asker {
	return &asker{pair: p, scope: scope, daemon: d, node: d.api(askTimeout)}
}

type answer struct {
	Leader    bool   `json:"leader"`
	Epoch     int64  `json:"epoch"`
	Term      string `json:"term"`
	ExpiresIn int64  `json:"expires_in_ms"`
}

func (a *asker) run(ctx context.Context) {
	defer a.node.Close()
	pace := time.NewTicker(askPace)
	defer pace.Stop()
	for {
		sent := fence.Boottime()
		if yes, err := a.ask(ctx); err == nil {
			a.act(ctx, sent, yes)
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask asks once. An error is no answer and permits nothing.
func (a *asker) ask(ctx context.Context) (yes answer, err error) {
	path := "/v1/scopes/" + url.PathEscape(a.scope) + "/gate"
	if a.life > 0 {
		path += "?for=" + a.life.String()
	}
	return yes, a.node.Ask(ctx, http.MethodGet, path, nil, &yes)
}

// act has effects until the answer expires. Each effect is an instant at which the clock was
// read, so a busy machine makes no effect too late.
func (a *asker) act(ctx context.Context, sent fence.Instant, yes answer) {
	until := sent.Add(time.Duration(yes.ExpiresIn) * time.Millisecond)
	now := fence.Boottime()
	if !yes.Leader || until.Sub(now) < max(a.needs, 1) {
		return
	}
	act := evidence.Act{Start: now, End: now, Checked: sent, Epoch: yes.Epoch, Term: yes.Term, Node: a.daemon.id}
	a.pair.began(a, act)
	pace := time.NewTicker(effectPace)
	defer pace.Stop()
	for now < until && ctx.Err() == nil {
		act.End = now
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
		now = fence.Boottime()
	}
	a.pair.ended(a.scope, act)
}
