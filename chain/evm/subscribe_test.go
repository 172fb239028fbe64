package evm_test

import (
	"context"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// socket is a chain of one block behind a WebSocket.
type socket struct {
	ignore chan struct{} // until it is closed subscriptions have no answer
	mute   atomic.Bool   // nothing has an answer
}

func (*socket) ChainId() hexutil.Uint64 { return 1337 } //nolint:staticcheck // the spelling of eth_chainId

func (*socket) GetBlockByNumber(string, bool) any { return healthy("eth_getBlockByNumber", nil) }

func (*socket) GetBlockByHash(string, bool) any { return healthy("eth_getBlockByHash", nil) }

// NewHeads serves eth_subscribe.
func (s *socket) NewHeads(ctx context.Context) (*rpc.Subscription, error) {
	if s.ignore != nil {
		<-s.ignore
	}
	notifier, _ := rpc.NotifierFromContext(ctx)
	return notifier.CreateSubscription(), nil
}

func (s *socket) serve(t *testing.T) (url string) {
	t.Helper()
	server := rpc.NewServer()
	if err := server.RegisterName("eth", s); err != nil {
		t.Fatal(err)
	}
	backend := httptest.NewUnstartedServer(server.WebsocketHandler([]string{"*"}))
	backend.Listener = mutable{backend.Listener, &s.mute}
	backend.Start()
	t.Cleanup(func() {
		server.Stop()
		backend.Close()
	})
	return "ws" + strings.TrimPrefix(backend.URL, "http")
}

// mutable is a listener whose connections write nothing while it is mute.
type mutable struct {
	net.Listener
	mute *atomic.Bool
}

func (m mutable) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	return mutableConn{c, m.mute}, err
}

type mutableConn struct {
	net.Conn
	mute *atomic.Bool
}

func (c mutableConn) Write(b []byte) (int, error) {
	if c.mute.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A subscription without an answer must not keep Heads from seeing a head.
func TestASubscriptionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := &socket{ignore: make(chan struct{})}
	c := open(t, evm.Config{ChainID: 1337, URL: s.serve(t)})
	t.Cleanup(func() { close(s.ignore) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for turn, err := range c.Heads(ctx, chain.Block{}) {
		if err != nil || turn.Kind != chain.Applied {
			t.Errorf("got %+v, %v, want a head by the poll", turn, err)
		}
		break
	}
}

// Heads ends without waiting for the answer to an unsubscription.
func TestAnEndOfASubscriptionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := &socket{}
	c := open(t, evm.Config{ChainID: 1337, URL: s.serve(t)})
	var mute time.Time
	for _, err := range c.Heads(t.Context(), chain.Block{}) {
		if err != nil {
			t.Fatal(err)
		}
		mute = time.Now()
		s.mute.Store(true)
		break
	}
	if took := time.Since(mute); took > 5*time.Second {
		t.Errorf("Heads took %v to end, want 5s at most", took)
	}
}
