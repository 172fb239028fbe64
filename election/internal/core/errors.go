package core

import (
	"errors"
	"fmt"
)

// The causes with which a leadership ends, and the answers to those who asked for it. Package election says what each means.
var (
	ErrDeposed      = errors.New("deposed: the mint has a newer term")
	ErrStepDown     = errors.New("stepping down")
	ErrStalled      = errors.New("the role made no progress")
	ErrResigned     = errors.New("the role ended")
	ErrOverdue      = errors.New("no heartbeat was in time for two leases")
	ErrNotLeading   = errors.New("this process does not lead the scope")
	ErrDrainTimeout = errors.New("acts were still under way when the time to drain was up")
	ErrUntold       = errors.New("the mint could not be told that the scope is given up")
	// errRetired means that a bid won after its scope was retired.
	errRetired = fmt.Errorf("%w: no longer campaigned for", ErrStepDown)
)
