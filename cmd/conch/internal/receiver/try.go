package receiver

import (
	"context"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/webhook"
)

// testRule names no rule of anybody, and a key of it ends with the name of a receiver instead of a hash: so a test never touches an incident.
const testRule = "conch alerts test"

// Try sends a message that says that it is a test, under a key of its own, and ends it at once where it would stay open. It returns within two
// times [Patience].
func (r *Receiver) Try(ctx context.Context, act webhook.Act, p Place) (alerts.Answer, error) {
	now := r.now()
	w := &Words{
		Message: alerts.Message{
			Key: "conch/" + p.Cluster + "/" + testRule + "/" + r.Name, Seq: uint64(now.UnixMilli()), Rule: testRule, Severity: "info", Status: alerts.Firing,
			Since: now,
		},
		Cluster: short(p.Cluster), Test: true,
		Title:       "conch can tell the receiver " + short(r.Name) + ", and nothing is wrong",
		Description: "Somebody has run: conch alerts test " + short(r.Name),
	}
	answer, err := r.Tell(ctx, act, w)
	if r.Kind() == alerts.Text || answer == alerts.Refused || answer == alerts.Failed {
		return answer, err
	}
	// What is doubted may be open too.
	w.Status, w.Until, w.Seq = alerts.Resolved, now.Add(time.Millisecond), w.Seq+1
	ended, fault := r.Tell(ctx, act, w)
	if answer == alerts.Taken {
		return ended, fault
	}
	return answer, err
}
