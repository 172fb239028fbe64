package overlay

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
)

// askPatience bounds the question to the running node.
const askPatience = 5 * time.Second

// examineRunning has the node of this configuration say what it knows, if it runs: that peers refuse it, or that a majority of the
// electors is away, shows nowhere else. The doctor does not show the node's certificate to anybody, which would end the node's own
// connections. Nothing is found where no node answers, or another one.
func examineRunning(ctx context.Context, c config.Config, self string) []doctor.Finding {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	client, err := cli.OwnNode(ctx, c.Node)
	if client == nil && err == nil {
		return nil
	}
	var n Nodes
	if err == nil {
		_, n, err = cli.Fetch(ctx, client, http.MethodGet, pathNodes, func(n Nodes) bool { return n.Self != "" })
	}
	switch {
	case err == nil && n.Self != self:
		return nil
	case err != nil:
		return []doctor.Finding{doctor.Warning(fmt.Sprintf("what the running node knows could not be asked of it: %v", err),
			"if a node runs with this file, ask it yourself: conch status --gossip, with --node and --token-file")}
	}
	var found []doctor.Finding
	for _, t := range troublesOf(n) {
		say := doctor.Warning
		if t.grave {
			say = doctor.Failure
		}
		found = append(found, say("the running node says: "+t.detail, t.remedy))
	}
	return found
}
