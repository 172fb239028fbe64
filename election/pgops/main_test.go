package pgops_test

import (
	"testing"

	"github.com/conchhq/conch/election/internal/minttest"
)

func TestMain(m *testing.M) { minttest.Main(m) }

// What these tests share with those of pgmint, under shorter names.
var (
	newMint, mintWith           = minttest.New, minttest.With
	setup                       = minttest.Setup
	candidate, bid, lead, parts = minttest.Candidate, minttest.Bid, minttest.Lead, minttest.Part
	elector, wait               = minttest.Elector, minttest.Wait
	run, text                   = minttest.Run, minttest.Text
)

const unhurried = minttest.Unhurried
