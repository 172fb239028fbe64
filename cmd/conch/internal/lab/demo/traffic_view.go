//go:build unix

package demo

import "fmt"

// The parts of the view about transactions are empty if there are none.

func (t *traffic) head() string {
	if t == nil {
		return ""
	}
	return "\tSENDS"
}

func (t *traffic) cell(m *member) string {
	switch {
	case t == nil:
		return ""
	case m.process != nil && t.row.Held && t.row.Holder == m.id:
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
	return fmt.Sprintf("transactions: %d wanted, %d times another node asked, %d accepted, %d final, next nonce %d, failover %s\n",
		requests, again, t.progress.Intents, t.progress.Done, t.progress.Nonce, took(t.failover))
}
