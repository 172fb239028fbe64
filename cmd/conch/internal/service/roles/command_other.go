//go:build !unix

package roles

import (
	"context"
	"errors"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

func (*service) command(config.Role, Job, fence.Door) node.Work {
	return func(context.Context, election.Leadership) error {
		return errors.New("a command needs a keeper, which needs a Unix: use http")
	}
}
