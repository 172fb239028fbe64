package logs

import (
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog/founding"
)

// line is the line of one log to the other nodes. It lasts as long as its part: the network beneath comes and goes. What is
// about how a log begins it keeps for the part, and the rest is for the host. It is safe for concurrent use.
type line struct {
	subject  string
	founding func(e transport.Envelope) // must not wait
	inbox    chan transport.Envelope

	mu      sync.Mutex
	host    chan struct{} // closed when the host ends that reads the inbox; nil: there is none
	network node.Network  // nil: away
	real    transport.Line
	reading sync.WaitGroup
	stop    chan struct{} // closed when the real line ends
}

var _ transport.Line = (*line)(nil)

func newLine(subject string, found func(transport.Envelope)) *line {
	return &line{subject: subject, founding: found, inbox: make(chan transport.Envelope)}
}

// join opens the line in a network.
func (l *line) join(n node.Network) error {
	l.leave()
	real, err := n.Open(l.subject)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.network, l.real, l.stop = n, real, make(chan struct{})
	stop := l.stop
	l.reading.Go(func() { l.read(real, stop) })
	return nil
}

// leave ends what join has begun.
func (l *line) leave() {
	l.mu.Lock()
	real, stop := l.real, l.stop
	l.network, l.real, l.stop = nil, nil, nil
	l.mu.Unlock()
	if real == nil {
		return
	}
	close(stop)
	l.reading.Wait()
	real.Close()
}

func (l *line) read(real transport.Line, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case e := <-real.Inbox():
			if founding.Is(e.Body) {
				l.founding(e)
				continue
			}
			host := l.hosted()
			if host == nil {
				continue // it is for a log that is not here
			}
			select {
			case l.inbox <- e:
			case <-host:
			case <-stop:
				return
			}
		}
	}
}

// now returns the network, nil while it is away.
func (l *line) now() node.Network {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.network
}

// Send implements transport.Line. While the network is away what is sent is lost.
func (l *line) Send(to string, body []byte) error {
	l.mu.Lock()
	real := l.real
	l.mu.Unlock()
	if real == nil {
		return transport.ErrClosed
	}
	return real.Send(to, body)
}

// Inbox implements transport.Line.
func (l *line) Inbox() <-chan transport.Envelope { return l.inbox }

// Dropped implements transport.Line. The real line counts what finds it full.
func (l *line) Dropped() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real == nil {
		return 0
	}
	return l.real.Dropped()
}

// Close implements transport.Line.
func (l *line) Close() { l.leave() }

// lend has a host read the inbox until the function that it returns is called.
func (l *line) lend() (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	host := make(chan struct{})
	l.host = host
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.host = nil
		close(host)
	}
}

func (l *line) hosted() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.host
}
