//go:build unix

package demo

import "fmt"

// What the view shows of transactions: nothing without any.

// head is a column more.
func (t *traffic) head() string {
	if t == nil {
		return ""
	}
	return "\tSENDS"
}

// cell says under which epoch a node sends.
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

// line sums up.
func (t *traffic) line() string {
	if t == nil {
		return ""
	}
	wishes, again := t.customers.asked()
	return fmt.Sprintf("transactions: %d wanted, %d times another node asked, %d accepted, %d final, next nonce %d, failover %s\n",
		wishes, again, t.progress.Intents, t.progress.Done, t.progress.Nonce, took(t.failover))
}
