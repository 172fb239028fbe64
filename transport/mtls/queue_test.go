package mtls

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport"
)

func bodies(t *testing.T, packet []byte) (all []string) {
	t.Helper()
	if err := readBatch(packet[1:], func(_, body []byte) { all = append(all, string(body)) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheQueueHasLimits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const large = small + 1
	q := newQueue(10 * (frameCost + large))
	for i := range 10 {
		if err := q.push("s", make([]byte, large), now); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := q.push("s", make([]byte, large), now.Add(outdatedAfter)); !errors.Is(err, transport.ErrFull) {
		t.Errorf("over the bytes: got error %v, want ErrFull", err)
	}
	if err := q.push("s", []byte("new"), now.Add(outdatedAfter+1)); err != nil {
		t.Errorf("when all others have waited too long: %v", err)
	}
	packet, frames := q.pop([]byte{kindBatch}, now.Add(outdatedAfter+1))
	if got := bodies(t, packet); frames != 1 || fmt.Sprint(got) != "[new]" || q.expired(now) != 10 || q.bytes != 0 {
		t.Errorf("got %q, %d outdated and %d bytes left; want the new one, 10 and none", got, q.outdated, q.bytes)
	}
	if err := q.push("s", make([]byte, transport.MostBody), now); err != nil {
		t.Errorf("one message has room in any queue: %v", err)
	}
	if _, frames := q.pop(nil, now.Add(outdatedAfter+1)); frames != 0 || q.outdated != 11 {
		t.Errorf("%d frames that have waited too long, and %d were dropped; want none and 11", frames, q.outdated)
	}
	many := newQueue(1 << 30)
	for i := range queueMost + 1 {
		if err := many.push("s", nil, now); (err != nil) != (i == queueMost) {
			t.Errorf("message %d: error %v", i, err)
		}
	}
}

// A subject that sends as much as it may has room for its small messages, and these too have a limit: the beats of a log go beside the
// entries that it sends to a member that is behind.
func TestSmallMessagesHaveRoom(t *testing.T) {
	t.Parallel()
	now, q, beats, entries := time.Now(), newQueue(1<<20), 0, 0
	for q.push("log", make([]byte, 256<<10), now) == nil {
		entries++
	}
	for q.push("log", make([]byte, 256), now) == nil {
		beats++
	}
	if entries != 3 || beats < 512 || q.bytes > 1<<20+1<<20/8 {
		t.Errorf("beside %d entries there is room for %d beats, and the queue has %d bytes", entries, beats, q.bytes)
	}
	for q.push("log", make([]byte, small+1), now) == nil {
		entries++
	}
	if entries != 3 {
		t.Error("the room for small messages is taken by large ones")
	}
}

func TestBatchesKeepTheOrder(t *testing.T) {
	t.Parallel()
	now, q := time.Now(), newQueue(1<<30)
	for i := range 3000 {
		if err := q.push("s", fmt.Appendf(nil, "%0200d", i), now); err != nil {
			t.Fatal(err)
		}
	}
	next, batches := 0, 0
	for next < 3000 {
		packet, frames := q.pop([]byte{kindBatch}, now)
		if batches++; frames == 0 || len(packet) > fullBatch+300 || frames > batchFrames {
			t.Fatalf("a batch of %d frames and %d bytes", frames, len(packet))
		}
		for _, body := range bodies(t, packet) {
			if body != fmt.Sprintf("%0200d", next) {
				t.Fatalf("got %s, want %d", body, next)
			}
			next++
		}
	}
	if batches != 3 {
		t.Errorf("%d batches, want 3", batches)
	}
}

// A reader gets one message of each peer in turn, and who floods fills its own box.
func TestTheInboxIsFair(t *testing.T) {
	t.Parallel()
	var i inbox
	kept := 0
	for i.put("flood", make([]byte, 100)) {
		kept++
	}
	if kept != boxMessages {
		t.Errorf("%d messages have room, want %d", kept, boxMessages)
	}
	for n := range 3 {
		if !i.put("calm", fmt.Append(nil, n)) {
			t.Fatal("the flood takes the room of another")
		}
	}
	order := ""
	for range 7 {
		from, _, _ := i.take()
		order += from[:1]
	}
	if order != "fcfcfcf" {
		t.Errorf("the turns are %q, want fcfcfcf", order)
	}
	for {
		if _, _, ok := i.take(); !ok {
			break
		}
	}
	if len(i.boxes) > 0 {
		t.Errorf("%d boxes are kept for nobody", len(i.boxes))
	}
	var large inbox
	for range 2 {
		if !large.put("a", make([]byte, transport.MostBody)) {
			t.Error("two of the largest bodies have no room")
		}
	}
	if large.put("a", []byte{1}) {
		t.Error("more than the most bytes have room")
	}
}

// Guests that come and go while the reader sleeps fill no more than one room for all; it is empty when the reader was there.
func TestTheInboxOfAllGuests(t *testing.T) {
	t.Parallel()
	l := &line{ready: make(chan struct{}, 1), inbox: inbox{most: 10 * (frameCost + 100)}}
	for guest := range 1000 {
		if taken, room, _ := l.put(fmt.Sprint(guest), make([]byte, 100), time.Now()); taken != (guest < 10) || room != nil {
			t.Fatalf("guest %d: taken %v, and it waits: %v", guest, taken, room != nil)
		}
	}
	if taken, room, _ := l.put("0", make([]byte, 100), time.Now()); taken || room == nil {
		t.Errorf("one whose message waits: taken %v; want it to wait for the reader", taken)
	}
	if l.dropped != 990 || len(l.inbox.boxes) != 10 {
		t.Errorf("%d were dropped, and %d have a box; want 990 and 10", l.dropped, len(l.inbox.boxes))
	}
	for range 10 {
		_, _, _ = l.inbox.take()
	}
	if l.inbox.bytes != 0 || len(l.inbox.boxes) > 0 {
		t.Errorf("%d bytes and %d boxes are left, want none", l.inbox.bytes, len(l.inbox.boxes))
	}
}

// What a connection had sent before a reload cut it is not delivered after that.
func TestACutConnectionIsNotHeard(t *testing.T) {
	t.Parallel()
	p := newPeer("b", "", Config{}.withDefaults())
	e := &Endpoint{lines: map[string]*line{}}
	c := &conn{peer: p}
	packet := appendFrame([]byte{kindBatch}, "s", []byte("body"))
	if frames, err := e.take(c, packet); frames != 1 || err != nil {
		t.Errorf("%d frames, error %v; want one", frames, err)
	}
	c.cut.Store(true)
	if frames, err := e.take(c, packet); frames != 0 || err == nil {
		t.Errorf("%d frames, error %v; want none", frames, err)
	}
}

func TestTheRateIsABrake(t *testing.T) {
	t.Parallel()
	now, r := time.Now(), rate{perSecond: 1000}
	for _, c := range []struct {
		after time.Duration
		bytes int
		wait  time.Duration
	}{
		{0, 1000, 0},                       // a second's worth at once
		{0, 500, 500 * time.Millisecond},   // and no more
		{500 * time.Millisecond, 0, 0},     // paid with time
		{0, 4000, 4 * time.Second},         // a large message comes whole and is paid for
		{time.Hour, 1000, 0},               // an idle hour gives no more than a second
		{0, 1000, time.Second},             //
		{-time.Hour, 0, time.Second},       // a clock that steps back gives nothing
		{time.Second, 1, time.Millisecond}, // the clock of now.Add
	} {
		now = now.Add(c.after)
		if wait := r.spend(c.bytes, now); wait.Round(time.Microsecond) != c.wait {
			t.Errorf("%d bytes after %v: wait %v, want %v", c.bytes, c.after, wait, c.wait)
		}
	}
}

func TestThePausesGrowToAMinute(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{0: firstPause, 1: firstPause, 2: 2 * firstPause, 5: 16 * firstPause, 10: 51200 * time.Millisecond, 11: time.Minute, 1 << 40: time.Minute} {
		if got := pause.Doubled(firstPause, failures-1, mostPause); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
		for range 100 {
			if got := jitter(want); got > want || got < want/2 {
				t.Errorf("%v became %v", want, got)
			}
		}
	}
}

// The largest entry of a log has more bytes than the whole queue of a node that others come to. It has room also while another subject has filled that,
// and one of it has: a second one waits until the first has gone.
func TestAMessageLargerThanTheQueueHasRoom(t *testing.T) {
	t.Parallel()
	now, q := time.Now(), newQueue(1<<20)
	for full := error(nil); full == nil; {
		full = q.push("another log", make([]byte, 64<<10), now)
	}
	entry := make([]byte, 3<<19)
	if err := q.push("log", entry, now); err != nil {
		t.Errorf("beside another subject: %v", err)
	}
	if err := q.push("log", entry, now); !errors.Is(err, transport.ErrFull) {
		t.Errorf("two of them: %v, want ErrFull", err)
	}
	for of := ""; of != "log"; {
		packet, frames := q.pop([]byte{kindBatch}, now)
		if frames == 0 {
			t.Fatal("it does not go out")
		}
		if err := readBatch(packet[1:], func(subject, _ []byte) { of = string(subject) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.push("log", entry, now); err != nil {
		t.Errorf("once the first has gone: %v", err)
	}
}

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
