//go:build unix

package main_test

import (
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// lossyDatabase is a proxy between conch and its database that recognises signed bytes: in a request
// they are stored, in an answer they are read.
type lossyDatabase struct {
	target string
	url    string

	mu   sync.Mutex
	next loss
	lost chan net.Conn // the connection whose answer was lost
	read int           // how often signed bytes were read since the loss
}

// loss is what happens to the next request that stores signed bytes.
type loss uint8

const (
	none    loss = iota
	answer       // the request is carried out, and its answer is lost
	request      // the request is lost
)

// signedMark is in the signed bytes of every numbered transaction, and nowhere else: the length
// of an address, the address, one wei, and the length of the data.
var signedMark = func() string {
	to, err := hex.DecodeString(strings.TrimPrefix(nobodysAddress, "0x"))
	if err != nil {
		panic(err)
	}
	return "\x94" + string(to) + "\x01\x84"
}()

func newLossyDatabase(t *testing.T, db *pgtest.DB) *lossyDatabase {
	t.Helper()
	where, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &lossyDatabase{
		target: fmt.Sprintf("%s/.s.PGSQL.%d", where.Host, where.Port), lost: make(chan net.Conn, 1),
		url: pgtest.ThroughURL(listener.Addr().String(), db.Name),
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return c
}

func (c *lossyDatabase) serve(client net.Conn) {
	server, err := net.Dial("unix", c.target)
	if err != nil {
		_ = client.Close()
		return
	}
	deaf := make(chan struct{}) // closed to stop passing answers back
	go pump(server, client, func(seen string) passage {
		select {
		case <-deaf:
			return swallow
		default:
		}
		if strings.Contains(seen, signedMark) {
			c.mu.Lock()
			c.read++
			c.mu.Unlock()
		}
		return pass
	})
	pump(client, server, func(seen string) passage {
		if !strings.Contains(seen, signedMark) {
			return pass
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		todo := c.next
		if todo == none {
			return pass
		}
		c.next, c.read = none, 0
		c.lost <- client
		if todo == request {
			return tear
		}
		close(deaf)
		return pass
	})
}

// loses sets what happens to the next request that stores signed bytes.
func (c *lossyDatabase) loses(what loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = what
}

// reread reports whether signed bytes were read since the loss.
func (c *lossyDatabase) reread() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next == none && c.read > 0
}

// losing waits for a loss, and returns the connection.
func (c *lossyDatabase) losing(t *testing.T) net.Conn {
	t.Helper()
	select {
	case line := <-c.lost:
		return line
	case <-time.After(patience):
		t.Fatalf("not within %v: signed bytes are stored", patience)
		return nil
	}
}

type passage uint8

const (
	pass passage = iota
	swallow
	tear
)

// pump shows every piece to judged, with the end of the one before, since the mark may be split.
func pump(from, to net.Conn, judged func(seen string) passage) {
	defer func() { _ = from.Close(); _ = to.Close() }()
	tail, buf := "", make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		switch judged(tail + string(buf[:n])) {
		case pass:
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		case tear:
			return
		case swallow:
		}
		tail = string(buf[max(0, n-len(signedMark)+1):n])
	}
}

// When the answer to a commit is lost, nothing is sent before the rows are read again. Stored
// bytes are sent as they are; what is not stored is signed and stored again. (S20)
func TestACommitThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]loss{"it happened": answer, "it did not": request} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Blocks would count while the line is silent: after some the node pays more.
			db, chain := migrated(t), startDevnode(t, "--block-time", "0")
			desk := newLossyDatabase(t, db)
			proxy := newHoldingProxy(t, chain, db.URL)
			proxy.asks(func() {
				if !desk.reread() && what == answer {
					t.Error("bytes were sent before the rows were read again")
				}
			})
			one := senderAt(t, "n1", desk.url, proxy.url, "").leads(1)
			desk.loses(what)
			many := callersOf(t, one)
			many.wants(0, 5)
			line := desk.losing(t)
			if what == answer {
				pgtest.Eventually(t, patience, "the commit has happened", func() bool { return len(attempts(t, db)) > 0 })
			}
			// On a busy machine the node may have given the line up by now, and have signed anew what
			// was not stored.
			stored := attempts(t, db)
			_ = line.Close()
			until(t, "the chain's node has all of them", func() bool {
				return chain.call("eth_getTransactionCount", fundedAddress, "pending") == "0x5"
			})
			chain.mine(1)
			openBooks(t, db.URL).become(each("in_block", 5))
			chain.empty(3) // then it is final
			judge(t, chain, db.URL, many.acknowledged())
			now := attempts(t, db)
			for nonce, hashes := range stored {
				if now[nonce][0] != hashes[0] || len(now[nonce]) > 1 {
					t.Errorf("nonce %d: first stored %v, now %v, want no change", nonce, hashes, now[nonce])
				}
			}
			if one.count("sending") != 1 {
				t.Error("the node led more than once, want one term: this test is about another fault")
			}
		})
	}
}
