//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
)

// An intent with a nonce is cancelled by a filler, and shown as cancelled when that is final; an
// intent without a nonce, at once. An intent that gets into the chain all the same is done.
func TestCancel(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0")
	line := newFaultyProxy(t, chain, 1)
	n := senderAt(t, "n1", db.URL, line.url, "")
	books, api := openBooks(t, db.URL), n.api()
	asked := map[string]string{}
	want := func(i int) string {
		one := requested(t, n, i, i+1)
		maps.Copy(asked, one)
		for id := range one {
			return id
		}
		return ""
	}
	filled := func(nonce int) func() bool {
		return func() bool {
			all := books.attempts(nonce)
			return len(all) == 2 && all[1].Filler && 10*all[1].Max >= 11*all[0].Max && inPool(chain, all[1].Hash)
		}
	}
	is := func(id, fate string) {
		t.Helper()
		got := shown(t, api, id)
		if underWay, _ := got["cancelling"].(bool); got["fate"] != fate || underWay != (fate == "open") {
			t.Errorf("the intent shows as %v, want %s", got, fate)
		}
	}

	taken := want(0)
	until(t, "it is in the pool", func() bool { ready, _ := chain.pooled(); return ready == 1 })
	conch(t, "tx", "cancel", taken, "--node", api).done(t)
	until(t, "the filler is in the pool", filled(0))
	is(taken, "open")
	chain.mine(1)
	books.become("in_block")
	line.followed()
	is(taken, "open")
	chain.mine(2)
	books.end(chain, "usurped")
	is(taken, "cancelled")

	late := want(1)
	until(t, "it is in the pool", func() bool { ready, _ := chain.pooled(); return ready == 1 })
	if code, body := post(t, api+"/v1/transactions/"+late+"/cancel", ""); code != http.StatusOK && code != http.StatusAccepted {
		t.Errorf("cancelling: status %d, body %v; want 200 or 202", code, body)
	}
	until(t, "its filler is in the pool", filled(1))
	chain.call("dev_block", []string{books.attempts(1)[0].Raw})
	chain.empty(2)
	books.end(chain, "usurped finalized")
	is(late, "done")

	line.does(harm{away: true})
	queued := want(2)
	is(queued, "queued")
	conch(t, "tx", "cancel", queued, "--node", api).done(t)
	is(queued, "cancelled")
	line.does(harm{})
	last := want(3)
	until(t, "the next is in the pool", func() bool { ready, _ := chain.pooled(); return ready == 1 })
	chain.mine(4)
	judgeRevoked(t, chain, db.URL, asked, []string{taken, queued})
	is(last, "done")
	if got := shown(t, api, last); fmt.Sprint(got["nonce"]) != "2" {
		t.Errorf("the last intent shows as %v, want nonce 2: a cancelled intent in the queue uses none", got)
	}
}
