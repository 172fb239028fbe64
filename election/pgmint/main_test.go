package pgmint_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/internal/minttest"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(crowdEnv); text != "" {
		os.Exit(beCrowd(text))
	}
	minttest.Main(m)
}

// Shorter names for what these tests share with those of pgops.
var (
	newMint, mintWith, bothWays = minttest.New, minttest.With, minttest.BothWays
	setup, setupFor             = minttest.Setup, minttest.SetupFor
	candidate, bid, lead, parts = minttest.Candidate, minttest.Bid, minttest.Lead, minttest.Part
	elector, wait               = minttest.Elector, minttest.Wait
	run, text, unlockAll        = minttest.Run, minttest.Text, minttest.End
	touched, unscanned          = minttest.Pages, minttest.Unscanned
	primaryServer, database     = minttest.Primary, minttest.Database
)

const (
	unhurried     = minttest.Unhurried
	here          = minttest.Here
	byProcessName = minttest.ByProcess
)

// advance raises an epoch, as an operator does.
func advance(t testing.TB, c *pgx.Conn, scope string, epoch int64) {
	t.Helper()
	run(t, c, `SELECT conch.advance($1, $2, 'ops')`, scope, epoch)
}
