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
		Intent: r.ID, Account: r.Account, Version: r.Version, Kind: kind, Fate: r.Fate, Index: r.Index, Block: r.Last.Block, Effect: r.Last.Effect,
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
	done := func(r *pending.Record) { inBlock(r); r.Fate, r.Last.Effect = pending.Done, chain.EffectOf(false) }
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
	one, leave, err := w.api.news.wait(testID(secondID), "", patience{until: untilNonce})
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

// When all places are taken, a token that has fewer than another gets one: the oldest request of the one with the most is answered as things
// stand. So no token keeps the others from waiting, and one that is alone has all places.
func TestNoTokenHasAllPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, waiters := newWorld().api.news, map[string][]*waiter{}
		ask := func(token string, want bool) {
			t.Helper()
			w, leave, err := n.wait(testID(secondID), token, patience{until: untilFinal})
			if (err == nil) != want {
				t.Fatalf("the token %q, of which %d wait: %v", token, len(n.byToken[token]), err)
			}
			if want {
				t.Cleanup(leave)
				waiters[token] = append(waiters[token], w)
			}
		}
		for range mostWaits {
			ask("greedy", true)
		}
		ask("greedy", false)
		for range mostWaits / 2 {
			ask("other", true)
		}
		ask("other", false)
		ask("greedy", false)
		ask("third", true)
		early := 0
		for i, w := range waiters["greedy"] {
			select {
			case <-w.dismissed:
				if early++; i >= mostWaits/2+1 {
					t.Errorf("request %d was answered early", i)
				}
			default:
			}
		}
		if sum := len(n.byToken["greedy"]) + len(n.byToken["other"]) + len(n.byToken["third"]); sum != mostWaits || n.places != 0 || len(n.waiting[testID(secondID)]) != mostWaits || early < mostWaits/2 {
			t.Errorf("%d wait, %d were answered early, %d places are left", sum, early, n.places)
		}
	})
}

// One whose place another token gets is answered with how things stand, and its place is free once.
func TestADismissedWaitIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, out := newWorld(), httptest.NewRecorder()
		api, began := w.handler(t), time.Now()
		w.api.news.places = 2
		var answered sync.WaitGroup
		for _, one := range []*httptest.ResponseRecorder{out, httptest.NewRecorder()} {
			answered.Go(func() {
				api.ServeHTTP(one, exchange{Ask: "GET " + toTX + "/" + secondID + "?wait=30s"}.Request())
			})
			synctest.Wait()
		}
		time.Sleep(time.Second) // of the bubble
		_, leave, err := w.api.news.wait(testID(secondID), "another", patience{until: untilFinal})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if out.Code != 200 || out.Body.Len() == 0 || time.Since(began) != time.Second {
			t.Errorf("the first got %d %s", out.Code, out.Body)
		}
		leave()
		answered.Wait()
		if w.api.news.places != 2 || w.api.news.wanted() {
			t.Errorf("%d places are left, want 2", w.api.news.places)
		}
	})
}
