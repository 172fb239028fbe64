//go:build noevm

package main

import (
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/service/files"
	"github.com/conchhq/conch/cmd/conch/internal/service/roles"
)

// services are those that need nothing of go-ethereum.
func services() []node.Kind {
	return []node.Kind{
		roles.Kind(),
		files.Kind(),
	}
}

// commands are none: the laboratory has chains of its own.
func commands() []cli.Commands { return nil }
