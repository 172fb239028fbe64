package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// noRoles is the host of a node that began without a role and without a database. It has no gate, and takes no role: one
// that came later would have no election.
type noRoles struct{}

// errNoElection is the fault of a role that comes to such a node.
var errNoElection = errors.New("this node began without roles and without a database, so it can lead nothing: restart it")

func (noRoles) assign(c config.Config) error {
	if len(c.Scopes()) > 0 {
		return errNoElection
	}
	return nil
}

func (noRoles) end(context.Context, error) error { return nil }

func (noRoles) Scopes() []string { return nil }

func (noRoles) Gate(string) *fence.Gate { return nil }

func (noRoles) Status(string) (election.Status, bool) { return election.Status{}, false }

func (noRoles) StepDown(_ context.Context, down election.StepDown) error {
	return fmt.Errorf("%w: %q", election.ErrUnknownScope, down.Scope)
}

func (noRoles) Snapshot() []election.Status { return nil }

func (noRoles) Warm(context.Context, string) error { return nil }
