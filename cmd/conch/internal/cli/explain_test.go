package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg"
)

// What a log says of an error is what a command says of it, on one line, whichever part of conch logs it.
func TestALogSaysWhatACommandDoes(t *testing.T) {
	t.Parallel()
	locked := &pg.LockedError{Locks: []pg.TableLock{{PID: 7, App: "report", Tables: "conch.crons"}}, Err: errors.New("canceling statement")}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("declaring crons: %w", locked), `error="` + locked.Error() + `"`},
		{errors.New("gossip: the incarnation cannot be stored"), `error="the incarnation cannot be stored"`},
		{errors.Join(errors.New("one thing"), errors.New("another")), `error="one thing; another"`},
	} {
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: explained})).Error("it fails", slog.Any("error", c.err))
		if !strings.Contains(log.String(), c.want) {
			t.Errorf("the log says %s want %s", log.String(), c.want)
		}
	}
}
