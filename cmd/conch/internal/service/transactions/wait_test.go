package transactions

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// becomes has a transaction change, as its store and its event say.
func (w *world) becomes(id string, change func(*pending.Record), kind pending.Kind) {
	w.store.mu.Lock()
	r := w.store.kept[testID(id)]
	r.Version++
	change(&r)
	w.store.kept[r.ID] = r
	w.store.mu.Unlock()
	w.api.news.pass(payerAccount.Chain.ID(), pending.Event{
		Intent: r.ID, Account: r.Account, Version: r.Version, Kind: kind, Fate: r.Fate, Index: r.Index, Block: r.Last.Block, Failed: r.Last.Failed,
	}, r.Token, false)
}

// A request that waits is answered when the transaction is as it asks for, however that comes about, and else when its time is over. Only
// what happens has the database asked.
func TestAWaitEndsWithWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	hasNonce := func(r *pending.Record) { r.Index = new(uint64(7)) }
	inBlock := func(r *pending.Record) {
		hasNonce(r)
		r.Last.Status, r.Last.Block = pending.InBlock, chain.Block{Number: 9, Hash: "b"}
	}
	rejected := func(r *pending.Record) { r.Fate = pending.Rejected }
	done := func(r *pending.Record) { inBlock(r); r.Fate = pending.Done }
	nothing := func(*pending.Record) {}
	for _, c := range []struct {
		name, query string
		does        func(*pending.Record)
		kind        pending.Kind
		wakes       bool
		want        string
	}{
		{"final", "until=final", done, pending.ToldFinal, true, `"outcome":"succeeded"`},
		{"final is what is waited for", "", done, pending.ToldFinal, true, `"outcome":"succeeded"`},
		{"rejected", "until=final", rejected, pending.ToldRejected, true, `"outcome":"rejected"`},
		{"in a block is not final", "until=final", inBlock, pending.ToldInBlock, false, `"state":"in_block"`},
		{"in a block", "until=in_block", inBlock, pending.ToldInBlock, true, `"state":"in_block"`},
		{"rejected instead of in a block", "until=in_block", rejected, pending.ToldRejected, true, `"outcome":"rejected"`},
		{"a nonce is no block", "until=in_block", hasNonce, pending.ToldNonce, false, `"nonce":7`},
		{"a nonce", "until=nonce", hasNonce, pending.ToldNonce, true, `"nonce":7`},
		{"anything", "until=any", hasNonce, pending.ToldNonce, true, `"nonce":7`},
		{"anything after a version", "until=any&version=1", inBlock, pending.ToldInBlock, true, `"version":2`},
		{"nothing after a version", "until=any&version=2", nothing, pending.ToldNonce, false, `"version":2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, out, began := newWorld(), httptest.NewRecorder(), time.Now()
				api := w.handler(t)
				var answered sync.WaitGroup
				answered.Go(func() {
					api.ServeHTTP(out, exchange{Ask: "GET " + toTX + "/" + secondID + "?wait=30s&" + c.query}.Request())
				})
				time.Sleep(10 * time.Second) // of the bubble
				synctest.Wait()
				if w.store.looks != 1 {
					t.Errorf("got %d looks at what does not change, want 1", w.store.looks)
				}
				w.becomes(secondID, c.does, c.kind)
				answered.Wait()
				took, want := time.Since(began), 30*time.Second
				if c.wakes {
					want = 10 * time.Second
				}
				if took != want || out.Code != 200 || !strings.Contains(out.Body.String(), c.want) {
					t.Errorf("got %d %s after %v, want %s after %v", out.Code, out.Body, took, c.want, want)
				}
				if w.store.looks != 2 {
					t.Errorf("got %d looks, want one more after it has changed", w.store.looks)
				}
				if n := w.api.news; n.wanted() || n.places != mostWaits {
					t.Errorf("%d places are left, want all", n.places)
				}
			})
		})
	}
}

// What happens between the look of a request and its wait is not missed.
func TestAWaitMissesNothingBeforeItLooks(t *testing.T) {
	t.Parallel()
	w := newWorld()
	one, leave, err := w.api.news.wait(testID(secondID), patience{until: untilNonce})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	w.becomes(secondID, func(r *pending.Record) { r.Index = new(uint64(7)) }, pending.ToldNonce)
	select {
	case <-one.woken:
	default:
		t.Error("it was not woken")
	}
}

// A node has places for a thousand requests that wait, and they ask the database nothing while nothing happens. One more is refused.
func TestAThousandWaitForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		api := w.handler(t)
		var answered sync.WaitGroup
		var mu sync.Mutex
		codes := map[int]int{}
		ask := func() {
			out := httptest.NewRecorder()
			api.ServeHTTP(out, exchange{Ask: "GET " + toTX + "/" + secondID + "?wait=60s"}.Request())
			mu.Lock()
			defer mu.Unlock()
			codes[out.Code]++
		}
		for range mostWaits {
			answered.Go(ask)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		ask()
		answered.Wait()
		if fmt.Sprint(codes) != fmt.Sprint(map[int]int{200: mostWaits, 503: 1}) || w.store.looks != mostWaits {
			t.Errorf("got answers %v, %d looks; want one of 503, and one look for each other", codes, w.store.looks)
		}
	})
}

// A request that waits ends with its node.
func TestAWaitEndsWithTheNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, began := newWorld(), time.Now()
		ctx, end := context.WithCancel(t.Context())
		w.api.over = ctx
		api := w.handler(t)
		time.AfterFunc(time.Second, end)
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: "GET " + toTX + "/" + secondID + "?wait=60s"}.Request())
		if out.Code != 200 || time.Since(began) != time.Second {
			t.Errorf("got %d after %v, want an answer after a second", out.Code, time.Since(began))
		}
	})
}
