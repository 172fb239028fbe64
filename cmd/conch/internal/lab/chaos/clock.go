//go:build unix

package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
)

// obeys checks that a server started with a clock obeys it.
func obeys(ctx context.Context, url string, c *skew.Clock) error {
	if err := c.Set(time.Hour); err != nil {
		return err
	}
	now, err := pgrogue.Now(ctx, url)
	if err != nil {
		return err
	}
	if off := time.Until(now); off < 50*time.Minute {
		return fmt.Errorf("the database's clock cannot be turned here: it was turned by an hour and is off by %s", off.Round(time.Millisecond))
	}
	return c.Set(0)
}
