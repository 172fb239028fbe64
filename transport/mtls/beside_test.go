package mtls

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/transport"
)

// Several logs share the connection of two nodes. One that sends more than leaves, as a log with large entries, takes the room of no
// other one's beats, and they do not wait behind it: else its load would depose the leaders of all logs.
func TestASubjectFillsTheQueue(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ most, body int }{"bytes": {1 << 20, 64 << 10}, "messages": {1 << 30, 0}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			now, q := time.Now(), newQueue(c.most)
			for _, body := range []int{c.body, 0} {
				for err := error(nil); err == nil; {
					if err = q.push("log/large", make([]byte, body), now); err != nil && !errors.Is(err, transport.ErrFull) {
						t.Fatal(err)
					}
				}
			}
			for i := range 3 {
				if err := q.push("log/calm", fmt.Append(nil, "beat ", i), now); err != nil {
					t.Fatalf("beat %d of another log: %v", i, err)
				}
			}
			packet, _ := q.pop([]byte{kindBatch}, now)
			for i, at := range []int{1, 3} {
				if got := bodies(t, packet); len(got) <= at || got[at] != fmt.Sprint("beat ", i) {
					t.Fatalf("beat %d waits behind the other log", i)
				}
			}
			for range 100 << 10 {
				if err := q.push("log/calm", make([]byte, 100), now); err != nil {
					break
				}
			}
			if q.bytes > 2*c.most || q.count > 2*queueMost {
				t.Errorf("%d messages of %d bytes wait", q.count, q.bytes)
			}
		})
	}
}

// A log whose disk is slow, or stands still, reads its line seldom. The stream of a peer that sends much to it is not held up so long
// that the other logs, whose beats come over the same stream, miss their leaders: they wait for three rounds of 100 ms.
func TestAReaderIsSlow(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		takes int
		each  time.Duration
	}{"asleep": {0, time.Second}, "slow": {256, 400 * time.Millisecond}, "steady": {16, 50 * time.Millisecond}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &line{ready: make(chan struct{}, 1), done: make(chan struct{})}
				over := make(chan struct{})
				defer close(over)
				go func() {
					for {
						select {
						case <-over:
							return
						case <-time.After(c.each):
						}
						l.mu.Lock()
						for range c.takes {
							_, _, _ = l.inbox.take()
						}
						l.mu.Unlock()
					}
				}()
				began, last, taken := time.Now(), time.Now(), 0
				for i := range 20_000 {
					if l.receive("peer", make([]byte, 100)) {
						taken++
					}
					if i%50 > 0 {
						continue
					}
					if held := time.Since(last); held > 150*time.Millisecond {
						t.Fatalf("the stream is held up for %v by 50 messages", held)
					}
					time.Sleep(10 * time.Millisecond)
					last = time.Now()
				}
				if free := 4 * time.Second; time.Since(began) > 2*free {
					t.Errorf("what is sent within %v takes %v", free, time.Since(began))
				}
				if taken < boxMessages+5*c.takes {
					t.Errorf("%d messages have been taken", taken)
				}
			})
		})
	}
}
