package committee_test

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/committee"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/endorser"
	"github.com/conchhq/conch/sequencer/sender"
)

// The page has the diagrams of the machines' own tables, and the scenes and rules of this package.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	drawn := func(name, diagram string) worldtest.Part {
		return worldtest.Part{Name: name, Text: "```mermaid\n" + diagram + "```\n"}
	}
	machines := []worldtest.Part{drawn("sender", sender.Diagram()), drawn("coordinator", coordinator.Diagram()), drawn("endorser", endorser.Diagram())}
	worldtest.Page(t, "../../../../../../docs/sequencer.md", "./cmd/conch/internal/lab/sim/committee",
		append(machines, worldtest.ScenesAndRules(committee.Simulator())...)...)
}
