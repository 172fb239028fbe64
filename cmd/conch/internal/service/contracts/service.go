package contracts

import (
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// Kind is the service of contracts.
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return section{} },
		Tables:  &node.Tables{Wing: "sequencer", Set: pgstore.Migrations(), Guard: pgstore.RefuseOpen},
		Open:    func(node.Frame) node.Service { return node.Plain{} },
	}
}

// section has no keys yet.
type section struct{}

func (section) Table() string                                 { return "contracts" }
func (section) Keys(*config.Decoder) map[string]config.Setter { return nil }
func (section) Settle(*config.Decoder)                        {}
func (section) Roles() []config.Role                          { return nil }
func (section) Validate(*config.Decoder, config.Config)       {}
