//go:build unix

package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// orderPatience bounds a command of an operator.
const orderPatience = 10 * time.Second

// refusedError is the failure of an order.
type refusedError struct{ what string }

func (e *refusedError) Error() string { return e.what }

// obey gives an order, waits for its end, and kills it if it does not end. A failed order gives a
// refusedError, one that does not end a stuckError.
func (n *nemesis) obey(ctx context.Context, words ...string) error {
	said := "conch " + strings.Join(words, " ")
	p, err := n.launch(n.URL, n.Cluster.cfg.Conch, words, nil)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	switch err := p.Wait(limited); {
	case err != nil && ctx.Err() != nil:
		p.End(0)
		return context.Cause(ctx)
	case err != nil:
		p.End(0)
		return &stuckError{fmt.Sprintf("%q has not ended after %s", said, orderPatience)}
	case p.Code() != 0:
		return &refusedError{fmt.Sprintf("%q ended with code %d: %s", said, p.Code(), p.LastWords())}
	default:
		return nil
	}
}
