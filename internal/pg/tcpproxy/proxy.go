package tcpproxy

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Direction is a set of directions of bytes.
type Direction int

// The directions can be combined with |.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Proxy passes connections to one target until Close.
type Proxy struct {
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	target  string
	silent  Direction
	apart   func(source netip.Addr) bool // whose bytes do not pass; may be nil
	refuse  bool
	delay   time.Duration
	changed chan struct{} // closed and replaced when any of the above changes
	links   map[*link]struct{}
	trips   []*int // round trips of every connection so far, in order of arrival
}

// New listens on 127.0.0.1. The target is host:port, or the path of a Unix socket.
func New(target string) (*Proxy, error) { return Listen("127.0.0.1:0", target) }

// Listen listens at an address of this machine, as host:port.
func Listen(address, target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		target: target, listener: listener,
		changed: make(chan struct{}), links: make(map[*link]struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address for clients, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Blackhole stops passing bytes on in that direction; neither end is told.
func (p *Proxy) Blackhole(dir Direction) { p.change(func() { p.silent |= dir }) }

// Part stops passing bytes on, in both directions, for the clients whose address apart picks; neither end is told. Each call
// replaces the last one's choice. It is called from several goroutines.
func (p *Proxy) Part(apart func(source netip.Addr) bool) { p.change(func() { p.apart = apart }) }

// Delay delays all bytes by d, in each direction.
func (p *Proxy) Delay(d time.Duration) { p.change(func() { p.delay = d }) }

// Refuse resets new connections; existing ones go on.
func (p *Proxy) Refuse() { p.change(func() { p.refuse = true }) }

// Heal ends Blackhole, Part, Delay and Refuse. Bytes that were held back arrive now.
func (p *Proxy) Heal() {
	p.change(func() { p.silent, p.apart, p.delay, p.refuse = 0, nil, 0, false })
}

// Reset breaks all connections: both ends receive a RST.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for one := range p.links {
		one.reset()
	}
}

// Retarget sends new connections to another target; existing ones go on.
func (p *Proxy) Retarget(target string) { p.change(func() { p.target = target }) }

// Trips returns the number of round trips of each connection so far, in order of arrival.
func (p *Proxy) Trips() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]int, len(p.trips))
	for i, n := range p.trips {
		all[i] = *n
	}
	return all
}

// Standing returns how many connections that were made in a time are open.
func (p *Proxy) Standing(after, before time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.made.After(after) && l.made.Before(before) {
			n++
		}
	}
	return n
}

// Close ends the proxy and all connections, and waits for its goroutines.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.listener.Close()
	p.Reset()
	p.running.Wait()
}

func (p *Proxy) change(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.refuse
		p.mu.Unlock()
		if refuse {
			abort(client)
			continue
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	one := &link{client: client, source: sourceOf(client), made: time.Now(), trips: new(int)}
	p.mu.Lock()
	p.links[one] = struct{}{}
	p.mu.Unlock()
	if p.dial(one) {
		var ways sync.WaitGroup
		ways.Go(func() { p.pump(one, ToServer, client, one.server) })
		ways.Go(func() { p.pump(one, ToClient, one.server, client) })
		ways.Wait()
		_ = one.server.Close()
	}
	p.mu.Lock()
	delete(p.links, one)
	p.mu.Unlock()
	_ = client.Close()
}

// dial joins a client to the server, unless one of them is not there.
func (p *Proxy) dial(one *link) bool {
	said, is := p.knocks(one)
	if !is {
		abort(one.client)
		return false
	}
	p.mu.Lock()
	target := p.target
	p.trips = append(p.trips, one.trips)
	p.mu.Unlock()
	network := "tcp"
	if strings.HasPrefix(target, "/") {
		network = "unix"
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(p.ctx, network, target)
	if err != nil {
		abort(one.client)
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	one.server = server
	if p.ctx.Err() != nil { // Close has reset the links already
		one.reset()
	}
	_, _ = server.Write(said) // if it fails, so does the next byte
	return true
}
