package pg

import (
	"context"
	"time"
)

// ListenHushed is Listen with another limit for silence.
func ListenHushed(ctx context.Context, c Config, channels []string, funcs ListenFuncs, after time.Duration) error {
	parsed, err := c.Parse()
	if err != nil {
		return err
	}
	l := &listener{parsed: parsed, sql: listenSQL(channels), funcs: funcs, hushed: after}
	return l.run(ctx)
}

// IsWarning reports whether a notice makes the outcome of a commit unknown.
var IsWarning = isWarning
