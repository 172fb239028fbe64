//go:build unix

package chaos

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
)

// orderPatience bounds a command of an operator.
const orderPatience = 10 * time.Second

type order struct {
	words   string
	process *fleet.Process
	over    chan struct{}
	code    int
}

// order starts a command. The caller finishes it.
func (n *nemesis) order(words ...string) (*order, error) {
	o := &order{words: "conch " + strings.Join(words, " "), over: make(chan struct{})}
	n.ending.Add(1)
	var err error
	o.process, err = n.launcher.Launch(n.Cluster.cfg.Conch, words, []string{"CONCH_DB_URL=" + n.URL}, func(news fleet.News) {
		if news.Ended {
			o.code = news.Code
			close(o.over)
			n.ending.Done()
		}
	})
	if err != nil {
		n.ending.Done()
		return nil, err
	}
	return o, nil
}

// refusedError is the failure of an order.
type refusedError struct{ what string }

func (e *refusedError) Error() string { return e.what }

// finish waits for the end of an order, and kills it if it does not end. A failed order gives a
// refusedError, one that does not end a stuckError.
func (o *order) finish(ctx context.Context) error {
	timer := time.NewTimer(orderPatience)
	defer timer.Stop()
	select {
	case <-o.over:
		if o.code != 0 {
			return &refusedError{fmt.Sprintf("%q ended with code %d: %s", o.words, o.code, o.process.LastWords())}
		}
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	o.process.Signal(syscall.SIGKILL)
	<-o.over
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &stuckError{fmt.Sprintf("%q has not ended after %s", o.words, orderPatience)}
}
