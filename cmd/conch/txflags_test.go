//go:build unix

package main_test

import "testing"

// What --dry-run does not try out is refused: it would be sent.
func TestWhatADryRunDoesNotTry(t *testing.T) {
	t.Parallel()
	send := func(flags ...string) result {
		return conch(t, append([]string{"tx", "send", "--node", "http://127.0.0.1:1", "--account", "payer", "--to", nobodysAddress, "--dry-run"}, flags...)...)
	}
	send("--file", "payouts.json", "--key", "k").refused(t, 2, "--file")
	send("--wait").refused(t, 2, "--wait")
}
