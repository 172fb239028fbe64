//go:build unix

package main_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// Another process has the key, with clef's protocol. While it is away, nothing is signed, no
// nonce is assigned, and an alarm is raised. Then everything is done without help.
func TestExternalSigner(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain, clef := migrated(t), startDevnode(t), startDevnode(t, "--block-time", "0")
	way := newDoor(t, strings.TrimPrefix(clef.url, "http://"))
	n := senderAt(t, "n1", db.URL, chain.ws(), "", `keystore = "key.json"`, `address = "`+fundedAddress+`"`,
		`password_file = "password"`, `signer = "http://`+way.address+`/?key=HIDDEN"`+"\n"+`signer_method = "account_signTransaction"`)
	asked := requested(t, n, 0, 5)
	n.says("ALARM: there is no key for the account, or its signer refuses: nothing more is signed", "cause", "keys")
	if why := n.value("ALARM: there is no key for the account, or its signer refuses: nothing more is signed", "error"); !strings.Contains(why, "external signer") || !strings.Contains(why, "refused") {
		t.Errorf("the alarm says %q, want that the external signer refused", why)
	}
	books := openBooks(t, db.URL)
	if slots := books.number(`SELECT count(*) FROM conch.pending_transactions`); slots != 0 {
		t.Errorf("%d slots, want none: nothing could be signed", slots)
	}
	way.open()
	judge(t, chain, db.URL, asked)
	n.says("alarm ended", "cause", "keys")
	if clef.count() != "0x0" {
		t.Error("the signer's chain has transactions, want none: it only signs")
	}
	if strings.Contains(n.text(), "HIDDEN") {
		t.Error("the log has the query of the signer's URL, which may be a secret")
	}
}
