package logs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog/founding"
	"github.com/conchhq/conch/txlog/quorum"
)

// A reader that waits for the next entry holds up no node that ends: its successor finds the folder in use until then.
func TestAReaderDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := &part{over: over}
	if r.grows(ctx, make(chan struct{})) || ctx.Err() != nil {
		t.Errorf("a node has ended, and a reader waits on: %v", ctx.Err())
	}
}

// So it is with a goal of which nobody can say what becomes of it, and with what is asked of a leader. The node gave the goal its id: its
// user hears of it before the connection is cut, or sends it a second time under another one.
func TestAGoalDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := &part{over: over, line: newLine("log/flags", nil), asks: map[uint64]chan told{}, host: new(quorum.Host)}
	asked := 0
	err := r.insist(ctx, func(*quorum.Host) error {
		if asked++; asked == 2 {
			end()
		}
		return quorum.ErrStopped
	})
	if asked != 2 || !errors.Is(err, quorum.ErrStopped) || ctx.Err() != nil {
		t.Errorf("the node has ended, and a goal was asked for %d times: %v", asked, err)
	}
	question := question{to: just("n2"), with: func(serial uint64) any { return founding.Appoint{Serial: serial} }}
	if _, err := r.ask(ctx, question); !errors.Is(err, errSilent) || ctx.Err() != nil {
		t.Errorf("the node has ended, and asks another one on: %v", err)
	}
}
