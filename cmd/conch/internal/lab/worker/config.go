package worker

import (
	"errors"
	"log/slog"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// Config describes one node. Scope, ID, Database and Dir are required.
type Config struct {
	Scope    string
	ID       string
	Lease    time.Duration     // default 3 s
	Takeover election.Takeover // default strict
	// Database is where the mint and the ledger are; a proxy may stand between.
	Database pgmint.Config
	// Dir is where the evidence goes; all nodes of one run share it.
	Dir string

	LedgerPace  time.Duration // from one row to the next, once there is one in a term; default 10 ms
	OutsidePace time.Duration // from one outside act to the next; default 5 ms
	OutsideWork time.Duration // how long an outside act takes; default 1 ms
	// OutsideMost is what the gate is told that an outside act may take: none begins with
	// less left. Default 200 ms, so that between the gate's yes and the write a machine may
	// be busy for that long. Whoever looks at the last moments of a gate says less, and
	// tells slow writes from late looks (package evidence).
	OutsideMost time.Duration

	// Report gets what the node says of itself, in order. It may block; what
	// comes too fast meanwhile is dropped.
	Report func(Report)
	Logger *slog.Logger // default slog.Default()
}

func (c Config) withDefaults() Config {
	c.Lease = orElse(c.Lease, 3*time.Second)
	c.Takeover = orElse(c.Takeover, election.Strict)
	c.LedgerPace = orElse(c.LedgerPace, 10*time.Millisecond)
	c.OutsidePace = orElse(c.OutsidePace, 5*time.Millisecond)
	c.OutsideWork = orElse(c.OutsideWork, time.Millisecond)
	c.OutsideMost = orElse(c.OutsideMost, 200*time.Millisecond)
	if c.Report == nil {
		c.Report = func(Report) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Validate lists every fault.
func (c Config) Validate() error {
	var faults []error
	faults = append(faults, election.ValidScope(c.Scope), election.ValidID(c.ID))
	if c.Dir == "" {
		faults = append(faults, errors.New("worker: Config.Dir is missing: the evidence needs a folder"))
	}
	return errors.Join(faults...)
}
