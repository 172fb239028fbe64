//go:build !noevm

package main

import (
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/service/files"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
	"github.com/conchhq/conch/cmd/conch/internal/service/transactions"
)

// services are those of a node, a line for each; services_noevm.go has the shorter list.
func services() []node.Kind {
	return []node.Kind{
		roles.Kind(),
		transactions.Kind(),
		files.Kind(),
	}
}

// commands are those that services have beside the node's, and the laboratory's.
func commands() []cli.Commands {
	return []cli.Commands{transactions.Commands, lab.Commands}
}
