//go:build !noevm

package main

import (
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/service/contracts"
	"github.com/conchhq/conch/cmd/conch/internal/service/files"
	"github.com/conchhq/conch/cmd/conch/internal/service/logs"
	"github.com/conchhq/conch/cmd/conch/internal/service/overlay"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
	"github.com/conchhq/conch/cmd/conch/internal/service/transactions"
)

// services lists the services of a node. services_noevm.go has a shorter list.
func services() []node.Kind {
	return []node.Kind{
		roles.Kind(),
		transactions.Kind(),
		files.Kind(),
		peers.Kind(),
		contracts.Kind(),
		overlay.Kind(),
		logs.Kind(),
	}
}

// commands lists further commands: those of services, and the lab's.
func commands() []cli.Commands {
	return []cli.Commands{transactions.Commands, contracts.Commands, overlay.Commands, logs.Commands, lab.Commands}
}
