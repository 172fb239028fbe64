package providertest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// sockets are the WebSockets of a provider. Its settings are those of the profile.
type sockets struct {
	life      time.Duration // after which each connection ends; 0: it lasts
	pongs     bool          // connections that were deafened answer pings
	headless  *Switch       // while on: no head is announced
	announces func(height uint64) []uint64

	mu    sync.Mutex
	open  map[*socket]struct{}
	ended bool
	work  sync.WaitGroup
}

// socket is one connection.
type socket struct {
	frames *frames
	cancel context.CancelFunc
	old    bool // it was open when the others fell silent
}

// end closes all connections and waits for their goroutines.
func (s *sockets) end() {
	s.mu.Lock()
	s.ended = true
	for one := range s.open {
		one.close()
	}
	s.mu.Unlock()
	s.work.Wait()
}

func (one *socket) close() {
	one.cancel()
	_ = one.frames.conn.Close()
}

// Deafen makes all connections that are open now silent for ever. They stay open. A profile may go on to
// answer their pings, as a gateway does that has lost its node.
func (p *Provider) Deafen() {
	p.sockets.mu.Lock()
	defer p.sockets.mu.Unlock()
	for one := range p.sockets.open {
		one.old = true
		one.frames.mute.Store(!p.sockets.pongs)
	}
}

// Sockets returns how many WebSockets are open.
func (p *Provider) Sockets() int {
	p.sockets.mu.Lock()
	defer p.sockets.mu.Unlock()
	return len(p.sockets.open)
}

func (s *sockets) serve(p *Provider, w http.ResponseWriter, r *http.Request) {
	f, err := upgrade(w, r)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background()) // not the request's, which ends when it is taken over
	one := &socket{frames: f, cancel: cancel}
	defer one.close()
	if s.life > 0 {
		defer time.AfterFunc(s.life, func() { p.strike(); one.close() }).Stop()
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	if s.open == nil {
		s.open = map[*socket]struct{}{}
	}
	s.open[one] = struct{}{}
	s.work.Add(1)
	s.mu.Unlock()
	defer s.work.Done()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, one)
	}()
	for {
		message, err := f.next()
		if err != nil {
			return
		}
		if !s.isDeaf(p, one) && !s.answer(ctx, p, one, message) {
			return
		}
	}
}

// isDeaf reports whether a connection answers nothing any more.
func (s *sockets) isDeaf(p *Provider, one *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.old {
		p.strike()
	}
	return one.old
}

// answer answers one message, and reports whether the connection goes on.
func (s *sockets) answer(ctx context.Context, p *Provider, one *socket, message []byte) bool {
	r, err := p.parse(ctx, message)
	if err != nil {
		return false
	}
	if !r.Batch && r.Calls[0].is("eth_subscribe") {
		s.work.Go(func() { s.announce(ctx, p, one) })
		return one.frames.write(opText, Answer{ID: r.Calls[0].ID, Result: encoded(subscription)}.encode()) == nil
	}
	if !r.Batch && r.Calls[0].is("eth_unsubscribe") {
		return one.frames.write(opText, Answer{ID: r.Calls[0].ID, Result: encoded(true)}.encode()) == nil
	}
	reply := p.handle(r)
	if reply.Cut || reply.Status >= http.StatusBadRequest {
		return false
	}
	return one.frames.write(opText, reply.body(r)) == nil
}

const subscription = "0x1"

// announceEvery is how often a subscription looks for a new head.
const announceEvery = 20 * time.Millisecond

// announce tells of new heads until ctx ends.
func (s *sockets) announce(ctx context.Context, p *Provider, one *socket) {
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	last := uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		height, err := p.node().Height(ctx, latest)
		if err != nil || height == last {
			continue
		}
		last = height
		for _, n := range s.announced(p, height) {
			a := p.node().ask(ctx, "eth_getHeaderByNumber", encoded(hex(n)))
			text := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":%q,"result":%s}}`, subscription, a.Result)
			if s.isDeaf(p, one) || one.frames.write(opText, text) != nil {
				return
			}
		}
	}
}

// announced returns the heights that are told of a new head, by the profile.
func (s *sockets) announced(p *Provider, height uint64) []uint64 {
	switch {
	case s.headless != nil && s.headless.IsOn():
		p.strike()
		return nil
	case s.announces != nil:
		p.strike()
		return s.announces(height)
	}
	return []uint64{height}
}
