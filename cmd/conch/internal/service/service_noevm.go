//go:build noevm

// Package service lists the services of a node that do not need go-ethereum, a line for each.
package service

import (
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/service/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/service/files"
	"github.com/conchhq/conch/cmd/conch/internal/service/gossip"
	"github.com/conchhq/conch/cmd/conch/internal/service/logs"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
	"github.com/conchhq/conch/cmd/conch/internal/service/schedule"
)

// Kinds lists the services.
func Kinds() []node.Kind {
	return []node.Kind{
		roles.Kind(),
		files.Kind(),
		peers.Kind(),
		gossip.Kind(),
		logs.Kind(),
		schedule.Kind(),
		alerts.Notify(),
		alerts.Kind(),
	}
}

// Commands lists their commands.
func Commands() []cli.Commands {
	return []cli.Commands{gossip.Commands, logs.Commands, schedule.Commands, alerts.Commands}
}
