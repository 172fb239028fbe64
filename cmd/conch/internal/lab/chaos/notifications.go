//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
)

// fillNotifications leaves no room in the server's queue of notifications. Then the doctor is asked, a leader is drained, and the leaders'
// lock sessions are ended: a commit that notified would fail.
func fillNotifications(ctx context.Context, n *nemesis, in *Injection) (err error) {
	n.screen.Status("%s: filling the queue", in.Fault)
	if n.hog, err = pgrogue.FillNotifications(ctx, n.URL); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			n.hog.Release() // what was not injected is not healed
		}
	}()
	said, err := n.launcher.Output(ctx, n.Cluster.cfg.Conch, []string{"doctor"}, []string{"CONCH_DB_URL=" + n.URL})
	if text := string(said); !strings.Contains(text, "100% full") || !strings.Contains(text, "conch chaos ear") {
		return &stuckError{fmt.Sprintf("the queue of notifications is full, and conch doctor does not say so, or not who it is: %s %v", text, err)}
	}
	before := n.w.last[rows].epoch
	err = n.obey(ctx, "drain", "--scope", Scope)
	if refused, is := errors.AsType[*refusedError](err); is {
		err = &stuckError{refused.what}
	}
	if err == nil && !n.until(ctx, func() bool { return n.w.last[rows].epoch > before }) {
		err = &stuckError{fmt.Sprintf("nobody has followed on a leader %s after it was drained", n.cfg.patience())}
	}
	if err != nil {
		return err
	}
	return depose(ctx, n, in)
}
