//go:build !noevm

// Package service lists the services of a node, a line for each.
package service

import (
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/service/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/service/contracts"
	"github.com/conchhq/conch/cmd/conch/internal/service/files"
	"github.com/conchhq/conch/cmd/conch/internal/service/gossip"
	"github.com/conchhq/conch/cmd/conch/internal/service/logs"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
	"github.com/conchhq/conch/cmd/conch/internal/service/schedule"
	"github.com/conchhq/conch/cmd/conch/internal/service/transactions"
)

// Kinds lists the services. service_noevm.go has a shorter list.
func Kinds() []node.Kind {
	return []node.Kind{
		roles.Kind(),
		transactions.Kind(),
		files.Kind(),
		peers.Kind(),
		contracts.Kind(),
		gossip.Kind(),
		logs.Kind(),
		schedule.Kind(),
		alerts.Notify(),
		alerts.Kind(),
	}
}

// Commands lists their commands.
func Commands() []cli.Commands {
	return []cli.Commands{transactions.Commands, contracts.Commands, gossip.Commands, logs.Commands, schedule.Commands, alerts.Commands}
}
