//go:build noevm

package main

import (
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/service/files"
	"github.com/conchhq/conch/cmd/conch/internal/service/logs"
	"github.com/conchhq/conch/cmd/conch/internal/service/overlay"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
)

// services lists the services that do not need go-ethereum.
func services() []node.Kind {
	return []node.Kind{
		roles.Kind(),
		files.Kind(),
		peers.Kind(),
		overlay.Kind(),
		logs.Kind(),
	}
}

// commands lists those of these services: the lab needs go-ethereum for its chains.
func commands() []cli.Commands { return []cli.Commands{overlay.Commands, logs.Commands} }
