package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

// Asks makes a command one that asks a node: it gets the client's flags, and do is called once check has nothing against the
// command line and the client is prepared. check may be nil.
func (s *Shell) Asks(cmd *cobra.Command, check func() error, do func(ctx context.Context, c *Client, args []string) error) *cobra.Command {
	c := new(Client)
	c.Flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return Does(func(ctx context.Context) error {
			if check != nil {
				if err := check(); err != nil {
					return err
				}
			}
			if err := c.Prepare(s.Getenv); err != nil {
				return err
			}
			return do(ctx, c, args)
		})(cmd, args)
	}
	return cmd
}

// Fetch sends a request without a body, and returns its answer as it came and decoded. What is not what was asked for, as
// the function says, comes from a stranger.
func Fetch[T any](ctx context.Context, c *Client, method, path string, is func(T) bool) (raw json.RawMessage, out T, err error) {
	if err = c.Ask(ctx, method, path, nil, &raw); err != nil {
		return raw, out, err
	}
	if json.Unmarshal(raw, &out) != nil || !is(out) {
		return raw, out, c.Stranger()
	}
	return raw, out, nil
}

// NewKey returns a user's key for a request, or a new one.
func NewKey(users string) string { return cmp.Or(users, "cli-"+rand.Text()) }

// sent is the answer to what was accepted.
type sent struct {
	ID string `json:"id"`
}

// Send has a node accept something that it carries out once for all requests with the key, and returns its ID. An error says
// how to repeat the command if the node may have accepted it.
func (c *Client) Send(ctx context.Context, path, key string, body any) (id string, err error) {
	var answer sent
	err = c.Ask(ctx, http.MethodPost, path, body, &answer)
	if err == nil && answer.ID == "" {
		err = c.Stranger()
	}
	if Unanswered(err) {
		return "", fmt.Errorf("%w; the transaction may have been accepted: repeat the command with --key %s to find out and send it once", err, key)
	}
	return answer.ID, err
}

// Accepted prints the ID of what a node has accepted.
func (s *Shell) Accepted(id string) error {
	if s.JSON {
		return s.Document(sent{id})
	}
	return s.Line("%s", id)
}
