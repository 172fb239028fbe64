//go:build unix

package demo

import (
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
)

// introduce names the scopes, before lines and columns show epochs of both.
func introduce(show *screen.Screen, traffic bool) {
	show.Say("scope %q: its leader commits rows and acts outside", Scope)
	if traffic {
		show.Say("scope %q: its leader sends the transactions of one account", PayerScope)
		show.Say("each scope has its own leader and its own epochs; one kill may end a leadership of each")
	}
}

// The parts of the view about transactions are empty if there are none.

func (t *traffic) head() string {
	if t == nil {
		return ""
	}
	return "\tPAYER"
}

func (t *traffic) cell(m *member) string {
	switch {
	case t == nil:
		return ""
	case m.Process != nil && t.row.Held && t.row.Holder == m.Name:
		return fmt.Sprintf("\tepoch %d", t.row.Epoch)
	default:
		return "\t-"
	}
}

func (t *traffic) line() string {
	if t == nil {
		return ""
	}
	requests, again := t.customers.asked()
	return fmt.Sprintf("transactions: %d wanted, %d times another node asked, %d accepted, %d final, %d ends told, next nonce %d, failover %s\n",
		requests, again, t.progress.Intents, t.progress.Done, t.shop.ends(), t.progress.Nonce, took(t.failover))
}
