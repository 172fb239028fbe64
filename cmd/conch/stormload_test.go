//go:build unix

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// stormPayment is one request of a user, and what the user was told.
type stormPayment struct {
	Of       int       `json:"of"` // the organisation whose node was asked
	Key      string    `json:"key"`
	Payload  string    `json:"payload"`
	IDs      []string  `json:"ids"` // one, unless the node has forgotten the first
	Accepted time.Time `json:"accepted"`
	Ended    time.Time `json:"ended"`
	First    string    `json:"first"` // the first end that was told
	Last     string    `json:"last"`
	Why      string    `json:"why,omitempty"`
}

const (
	stormPace  = 500 * time.Millisecond // of one organisation: five of them make 10 payments a second
	stormAsk   = 200 * time.Millisecond // from one try to the next
	stormWait  = 5 * time.Second        // for one answer
	stormLook  = 300 * time.Millisecond // from one look at the fates to the next
	openStorm  = "open"
	stormPages = 200
)

var stormClient = &http.Client{Timeout: stormWait}

// asked sends a request to a node's API and decodes the answer. It is called from any goroutine.
func (s *storm) asked(ctx context.Context, i int, method, path, body string, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.apis[i]+"/v1/contracts/"+s.address+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := stormClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%d %s", answer.StatusCode, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

type stormStatus struct {
	Head, Final uint64
	Missing     int
}

func (s *storm) status(i int) (st stormStatus, err error) {
	return st, s.asked(s.t.Context(), i, http.MethodGet, "", "", &st)
}

// fills issues the notes, and waits until they are there.
func (s *storm) fills(ctx context.Context) {
	var asking sync.WaitGroup
	for n := range stormPurses * stormNotes {
		p := s.record(0, fmt.Sprint("issue-", n), fmt.Sprintf(`{"issue":{"to":"purse-%d","amount":%d}}`, n%stormPurses, stormAmount))
		asking.Go(func() { s.ask(ctx, p) })
	}
	asking.Wait()
}

func (s *storm) record(of int, key, payload string) *stormPayment {
	p := &stormPayment{Of: of, Key: key, Payload: payload}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payments = append(s.payments, p)
	return p
}

// ask sends a payment under its key until the node accepts it.
func (s *storm) ask(ctx context.Context, p *stormPayment) {
	body := fmt.Sprintf(`{"request":%s,"idempotency_key":%q}`, p.Payload, p.Key)
	for ctx.Err() == nil {
		var said struct{ ID string }
		if err := s.asked(ctx, p.Of, http.MethodPost, "/transactions", body, &said); err == nil {
			s.mu.Lock()
			p.IDs, p.Accepted = append(p.IDs, said.ID), time.Now()
			s.mu.Unlock()
			return
		}
		select {
		case <-time.After(stormAsk):
		case <-ctx.Done():
		}
	}
}

// pays has the users of an organisation pay at the pace until asking ends. What is asked for then is still asked for until looking
// ends. In a round any two purses pay each other the same amount: so none runs dry. A liar's users pay back each time what they have paid,
// as nobody knows which of its payments land.
func (s *storm) pays(asking, looking context.Context, of int, working *sync.WaitGroup) {
	tick := time.NewTicker(stormPace)
	defer tick.Stop()
	step := len(s.all)
	if s.liar >= 0 {
		step-- // it is the last one
	}
	for n := of; ; n += step {
		select {
		case <-asking.Done():
			return
		case <-tick.C:
		}
		from, round := n%stormPurses, n/(stormPurses*(stormPurses-1))
		to := (from + 1 + n/stormPurses%(stormPurses-1)) % stormPurses
		amount := 1 + (17*round+11*min(from, to)+23*max(from, to))%50
		if k := n / step; of == s.liar {
			from, to, amount = (k/2+k%2)%stormPurses, (k/2+1-k%2)%stormPurses, 1+k/2%10
		}
		p := s.record(of, fmt.Sprint("payment-", n), fmt.Sprintf(`{"pay":{"from":"purse-%d","to":"purse-%d","amount":%d}}`, from, to, amount))
		working.Go(func() { s.ask(looking, p) })
	}
}

// looks asks a node for the fates of its payments until the context ends.
func (s *storm) looks(ctx context.Context, of int) {
	for ctx.Err() == nil {
		s.look(ctx, of)
		select {
		case <-time.After(stormLook):
		case <-ctx.Done():
		}
	}
}

// look reads the newest transactions, page by page, until none is left that is open by what users know.
func (s *storm) look(ctx context.Context, of int) {
	path, open := fmt.Sprintf("/transactions?limit=%d", stormPages), s.open(of)
	for before := uint64(0); len(open) > 0; {
		var page struct {
			Transactions []struct{ ID, Fate, Why string }
			Next         uint64 `json:"next_before"`
		}
		more := ""
		if before > 0 {
			more = fmt.Sprint("&before=", before)
		}
		if s.asked(ctx, of, http.MethodGet, path+more, "", &page) != nil {
			return
		}
		s.mu.Lock()
		for _, t := range page.Transactions {
			if p := open[t.ID]; p != nil && t.Fate != openStorm {
				p.First, p.Last, p.Why, p.Ended = t.Fate, t.Fate, t.Why, time.Now()
			}
			delete(open, t.ID)
		}
		s.mu.Unlock()
		if before = page.Next; before == 0 {
			return
		}
	}
}

// open returns the payments of an organisation that have no end yet, by ID, without those that its node has forgotten.
func (s *storm) open(of int) map[string]*stormPayment {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]*stormPayment{}
	for _, p := range s.payments {
		if p.Of == of && len(p.IDs) > 0 && p.First == "" && !s.forgot(p) {
			open[p.IDs[len(p.IDs)-1]] = p
		}
	}
	return open
}

// forgot reports whether a payment was accepted after the copy of a database and before it was put back. The caller has the lock.
func (s *storm) forgot(p *stormPayment) bool {
	return p.Of == s.restored && p.Accepted.After(s.copied) && p.Accepted.Before(s.back)
}

// told reads how each payment has ended by the last word of its node.
func (s *storm) told(of int) {
	s.t.Helper()
	last := map[string]string{}
	for before := ""; ; {
		var page struct {
			Transactions []struct{ ID, Fate string }
			Next         uint64 `json:"next_before"`
		}
		if err := s.asked(s.t.Context(), of, http.MethodGet, "/transactions?limit=1000"+before, "", &page); err != nil {
			s.t.Fatal(err)
		}
		for _, t := range page.Transactions {
			last[t.ID] = t.Fate
		}
		if page.Next == 0 {
			break
		}
		before = fmt.Sprint("&before=", page.Next)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.payments {
		if p.Of == of && len(p.IDs) > 0 {
			p.Last = last[p.IDs[len(p.IDs)-1]]
		}
	}
}
