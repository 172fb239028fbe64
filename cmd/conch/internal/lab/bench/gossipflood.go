//go:build unix

package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// floodBytes is as long as a piece of news with its signature.
const floodBytes = 256

// flood is the ceiling of news: on the same graph, plain TCP connections on which each node passes on what it first hears.
// Nothing is encrypted, signed, verified or repeated.
type flood struct {
	links [][]net.Conn // by node
	lives sync.WaitGroup

	mu    sync.Mutex
	heard []map[uint64]bool // by node
	last  uint64
	took  []time.Duration // of the last message, by node that has heard it
	began time.Time
	all   chan struct{} // closed when all have heard it
}

// openFlood connects nodes as a graph has it: by node its neighbours, whose number is above its own.
func openFlood(ctx context.Context, graph [][]int) (f *flood, err error) {
	f = &flood{links: make([][]net.Conn, len(graph)), heard: make([]map[uint64]bool, len(graph))}
	for i := range f.heard {
		f.heard[i] = map[uint64]bool{}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	for i, neighbours := range graph {
		for _, j := range neighbours {
			near, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
			if err != nil {
				return f, err
			}
			f.links[i] = append(f.links[i], near)
			far, err := listener.Accept() // nobody else dials
			if err != nil {
				return f, err
			}
			f.links[j] = append(f.links[j], far)
		}
	}
	for i, links := range f.links {
		for _, link := range links {
			f.lives.Go(func() { f.read(i, link) })
		}
	}
	return f, nil
}

func (f *flood) close() {
	for _, links := range f.links {
		for _, link := range links {
			_ = link.Close()
		}
	}
	f.lives.Wait()
}

// read passes on what a node first hears on one of its links, until the link is closed.
func (f *flood) read(node int, link net.Conn) {
	message := make([]byte, floodBytes)
	for {
		if _, err := io.ReadFull(link, message); err != nil {
			return
		}
		if f.hear(node, binary.BigEndian.Uint64(message)) {
			f.pass(node, link, message)
		}
	}
}

func (f *flood) hear(node int, id uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.heard[node][id] {
		return false
	}
	f.heard[node][id] = true
	if id == f.last {
		f.took = append(f.took, time.Since(f.began))
		if len(f.took) == len(f.links)-1 {
			close(f.all)
		}
	}
	return true
}

func (f *flood) pass(node int, but net.Conn, message []byte) {
	for _, link := range f.links[node] {
		if link != but {
			_, _ = link.Write(message) // a node that misses it makes send fail
		}
	}
}

// send sends a message to all and returns how long it took to each node.
func (f *flood) send(ctx context.Context, from int) ([]time.Duration, error) {
	f.mu.Lock()
	f.last++
	f.heard[from][f.last] = true
	f.took, f.all, f.began = nil, make(chan struct{}), time.Now()
	id, all := f.last, f.all
	f.mu.Unlock()
	f.pass(from, nil, append(binary.BigEndian.AppendUint64(nil, id), make([]byte, floodBytes-8)...))
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
		f.mu.Lock()
		defer f.mu.Unlock()
		return nil, fmt.Errorf("%d of %d nodes have heard a plain message: %w", len(f.took), len(f.links)-1, errNever)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.took, nil
}
