package committee_test

import (
	"testing"

	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/internal/sender"
)

// The page has the diagrams of the machines' own tables.
func TestThePageIsPrinted(t *testing.T) {
	t.Parallel()
	drawn := func(name, diagram string) worldtest.Part {
		return worldtest.Part{Name: name, Text: "```mermaid\n" + diagram + "```\n"}
	}
	worldtest.Page(t, "../../states.md", "./sequencer/internal/committee",
		drawn("sender", sender.Diagram()), drawn("coordinator", coordinator.Diagram()), drawn("endorser", endorser.Diagram()))
}
