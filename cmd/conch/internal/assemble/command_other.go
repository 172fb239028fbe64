//go:build !unix

package assemble

import (
	"context"
	"errors"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

func (*Node) command(config.Role, fence.Door) work {
	return func(context.Context, election.Leadership) error {
		return errors.New("a command needs a keeper, which needs a Unix: use http")
	}
}
