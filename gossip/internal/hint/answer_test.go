package hint

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// What a peer is told at once has a limit, also when others have filled the news: it takes its time on the line, and heartbeats wait behind it. The rest
// comes with the next exchange.
func TestAnAnswerHasALimit(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site"}}})
	m.Step(0, Arcs{Peers: []Peer{{Name: "a", Subject: named("a")}, {Name: "b", Subject: named("b")}}})
	now, told := time.Duration(0), 0
	for i := range 2 * mostAnswer / wire.MostBody {
		now += 400 * time.Millisecond
		said := wire.Said{Statement: wire.Statement{
			Subject: named(fmt.Sprint("s", i)), Incarnation: 1, Sequence: 1, Namespace: "site", Topic: "t", Body: make([]byte, wire.MostBody),
		}}
		said.Signature = honest{said.Subject}.Sign(said.Signed())
		told += len(of[Heard](m.Step(now, Received{From: "a", Parcel: wire.Parcel{Said: []wire.Said{said}}})))
	}
	bytes := 0
	for _, s := range of[Send](m.Step(now, Received{From: "b", Parcel: wire.Parcel{Opening: true}})) {
		for _, said := range s.Parcel.Said {
			bytes += len(said.Body)
		}
	}
	if bytes == 0 || bytes > mostAnswer || told*wire.MostBody <= mostAnswer {
		t.Errorf("it is told %d bytes of %d, want %d at most", bytes, told*wire.MostBody, mostAnswer)
	}
}
