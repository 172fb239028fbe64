package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

const gateHelp = `gate asks a node whether it leads a scope and a door of that scope's gate is open: it
exits with 0 then, and with 1 otherwise, silently, for "conch gate … && CMD". With
--json it prints the node's answer.

It is the node that is asked, by default the one of this machine, and no other.

The answer may be acted on for half a second from when the command began; a handover
waits for that, and nothing stops a CMD that takes longer. So it is an answer to "is it
me, now?" and no promise of once for each time: with clocks within 5s CMD runs twice in
0.5% of the slots in which the leader changes, and not at all in 0.5%. For once in each
slot see "conch cron", for a CMD that ends with the leadership "conch run".

The act door is open when nobody else can act any more. The fenced door opens sooner
after a crash, and is for a CMD whose effects are refused when they are stale.`

func (a *app) gate() *cobra.Command {
	var scope, door string
	cmd := &cobra.Command{
		Use:   "gate --scope S",
		Short: "exit with 0 if the node of this machine leads a scope now",
		Long:  gateHelp,
		Example: `  conch gate --scope payments && ./look-at-payments
  conch gate --scope payments --door fenced --json
  conch gate --scope payments --node unix:/run/conch/api && ./look-at-payments`,
		Args: NoArguments,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "which `scope`")
	cmd.Flags().StringVar(&door, "door", "act", "which door: act or fenced")
	check := func() error {
		switch {
		case !cmd.Flags().Changed("scope"):
			return Usagef("gate needs --scope: %q lists all", "conch status")
		case door != "act" && door != "fenced":
			return Usagef("--door %q is neither act nor fenced", door)
		}
		return validScope(scope)
	}
	return a.Asks(cmd, check, func(ctx context.Context, c *Client, _ []string) error {
		path := "/v1/scopes/" + url.PathEscape(scope) + "/gate?door=" + door
		status, text, err := c.exchange(ctx, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		var answer struct {
			Leader *bool `json:"leader"`
		}
		known := json.Unmarshal(text, &answer) == nil && answer.Leader != nil
		switch {
		case status != http.StatusOK && (status != http.StatusServiceUnavailable || !known):
			return refusalOf(status, text)
		case !known || *answer.Leader != (status == http.StatusOK):
			return c.Stranger()
		}
		if a.JSON {
			if err := a.Document(json.RawMessage(text)); err != nil {
				return err
			}
		}
		if !*answer.Leader {
			return ExitError(Failed)
		}
		return nil
	})
}
