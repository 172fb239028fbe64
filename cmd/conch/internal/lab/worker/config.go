package worker

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/faults"
)

// Config describes one worker. Scope, ID, Database and Dir are required.
type Config struct {
	Scope    string
	ID       string
	Lease    time.Duration // default 3 s
	Takeover mint.Takeover // default strict
	// Database holds the mint and the ledger; a proxy may be in between.
	Database pgmint.Config
	// Dir is the folder for the evidence, shared by all workers of a run.
	Dir string

	LedgerPace  time.Duration // between rows, after the first row of a term; default 10 ms
	OutsidePace time.Duration // between acts behind the act door; default 5 ms
	OutsideWork time.Duration // duration of an act; default 1 ms
	// OutsideMost is the maximum for an act that the gate is told: no act begins with less time
	// left. The default of 200 ms lets a busy machine delay a write by that much. Tests of the
	// last moments of a gate set less, and package evidence tells slow writes from late checks.
	OutsideMost time.Duration

	// Report gets the worker's reports in order. It may block; reports are dropped meanwhile.
	Report func(Report)
	Logger *slog.Logger // default slog.Default()
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 3*time.Second)
	c.Takeover = cmp.Or(c.Takeover, mint.Strict)
	c.LedgerPace = cmp.Or(c.LedgerPace, 10*time.Millisecond)
	c.OutsidePace = cmp.Or(c.OutsidePace, 5*time.Millisecond)
	c.OutsideWork = cmp.Or(c.OutsideWork, time.Millisecond)
	c.OutsideMost = cmp.Or(c.OutsideMost, 200*time.Millisecond)
	if c.Report == nil {
		c.Report = func(Report) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate returns all faults of the configuration.
func (c Config) Validate() error {
	f := faults.List{Of: "worker: "}
	f.Join(election.ValidScope(c.Scope), election.ValidID(c.ID))
	f.Add(c.Dir == "", "Config.Dir is missing: the evidence needs a folder")
	return f.All()
}
