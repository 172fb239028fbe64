//go:build unix

package main_test

import (
	"maps"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// A notification wakes the leader when a follower accepts an intent: the next look would come
// after an hour. (S25, D5)
func TestANotificationWakesTheLeader(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	const rarely = "repair_interval = \"1h\"\n"
	senderAt(t, "n1", db.URL, chain.ws(), rarely).leads(1)
	follower := senderAt(t, "n2", db.URL, chain.ws(), rarely)
	follower.says("leadership following", "scope", accountScope)
	asked := map[string]string{}
	for i := range 3 { // one after the other, so that each must wake the leader
		maps.Copy(asked, requested(t, follower, i, i+1))
		judge(t, chain, db.URL, asked)
	}
}

// Without notifications, the leader finds waiting intents by looking.
func TestALostNotificationIsRepaired(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	if _, err := openBooks(t, db.URL).conn.Exec(t.Context(), `DROP TRIGGER intents_new ON conch.intents`); err != nil {
		t.Fatal(err)
	}
	senderAt(t, "n1", db.URL, chain.ws(), "").leads(1)
	follower := senderAt(t, "n2", db.URL, chain.ws(), "")
	follower.says("leadership following", "scope", accountScope)
	judge(t, chain, db.URL, requested(t, follower, 0, 2))
}
