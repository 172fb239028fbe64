package wire

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/internal/wirepb"
)

// Each limit is kept by Encode and by Decode, and each fault has its error.
func TestLimits(t *testing.T) {
	t.Parallel()
	id, long := sampleGenesis().ID(), strings.Repeat("n", limits.MostName+1)
	records := make([]txlog.Record, follower.MostRecords+1)
	for i := range records {
		records[i] = sampleRecord(uint64(i)+1, "x")
	}
	heads := make([]txlog.Head, follower.MostHeads+1)
	for name, c := range map[string]struct {
		message Message
		want    error
	}{
		"no body":                   {Message{Log: id}, ErrMalformed},
		"a body of no message":      {Message{id, 7}, ErrMalformed},
		"no log":                    {Message{Body: Confirm{}}, ErrMalformed},
		"the largest of a quorum":   {Message{id, Quorum{Bytes: make([]byte, MostQuorum)}}, nil},
		"too large for a quorum":    {Message{id, Quorum{Bytes: make([]byte, MostQuorum+1)}}, ErrSize},
		"no goal id":                {Message{id, GoalSent{Goal: txlog.Goal{Body: []byte("x")}}}, ErrMalformed},
		"a goal id, too long":       {Message{id, GoalSent{Goal: txlog.Goal{ID: strings.Repeat("n", limits.MostGoalID+1)}}}, ErrMalformed},
		"the largest goal":          {Message{id, GoalSent{Goal: txlog.Goal{ID: "g", Body: make([]byte, txlog.MostGoal)}}}, nil},
		"a goal, too large":         {Message{id, GoalSent{Goal: txlog.Goal{ID: "g", Body: make([]byte, txlog.MostGoal+1)}}}, ErrSize},
		"a result, too large":       {Message{id, GoalDone{Try: 3, Answer: txlog.Answer{Result: make([]byte, limits.MostResult+1)}}}, ErrSize},
		"a fault, too long":         {Message{id, GoalDone{Try: 3, Answer: txlog.Answer{Fault: strings.Repeat("x", limits.MostFault+1)}}}, ErrSize},
		"a leader's name, too long": {Message{id, GoalDone{Try: 3, Err: txlog.NotLeaderError{Leader: long}}}, ErrMalformed},
		"too many records":          {Message{id, follower.History{Records: records}}, ErrSize},
		"as many as there may be":   {Message{id, follower.History{Records: records[1:], Heads: heads[1:]}}, nil},
		"too many heads":            {Message{id, follower.History{Heads: heads}}, ErrSize},
		"too many bridges":          {Message{id, follower.History{Bridges: make([]follower.Bridge, follower.MostBridges+1)}}, ErrSize},
		"a bridge, too long":        {Message{id, follower.History{Bridges: []follower.Bridge{{Records: records}}}}, ErrSize},
		"too many pieces":           {Message{id, follower.History{Offer: &follower.Offer{Sums: make([]txlog.Hash, follower.MostPieces+1)}}}, ErrSize},
		"the largest offer":         {Message{id, follower.History{Offer: &follower.Offer{Sums: make([]txlog.Hash, follower.MostPieces)}}}, nil},
		"the largest piece":         {Message{id, follower.Piece{Bytes: make([]byte, follower.PieceSize)}}, nil},
		"a piece, too large":        {Message{id, follower.Piece{Bytes: make([]byte, follower.PieceSize+1)}}, ErrSize},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := Encode(c.message)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("Encode says %v, want %v", err, c.want)
			}
			if c.want != nil {
				out := &wirepb.Message{Version: Version}
				if !c.message.Log.IsZero() {
					out.Log = c.message.Log[:]
				}
				set(out, c.message.Body)
				if b, err = proto.Marshal(out); err != nil {
					return // a text that is none cannot be sent at all
				}
			}
			m, err := Decode(b)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("Decode says %v, want %v", err, c.want)
			}
			if c.want == nil && !reflect.DeepEqual(m, c.message) || c.want != nil && m != (Message{}) {
				t.Errorf("read as %.300v", m)
			}
		})
	}
}

// What is no message is refused by its own error.
func TestBadBytes(t *testing.T) {
	t.Parallel()
	id := sampleGenesis().ID()
	encode := func(change func(m *wirepb.Message)) []byte {
		m := &wirepb.Message{Version: Version, Log: id[:]}
		change(m)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	record, head := sampleRecord(1, "x").Raw(), sampleHead(1).Encode()
	answer := func(a *wirepb.Answer) []byte { return encode(func(m *wirepb.Message) { m.Answer = a }) }
	whole, err := Encode(samples()["answer"])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":                 {nil, ErrMalformed},
		"noise":                   {bytes.Repeat([]byte{0xff}, 64), ErrMalformed},
		"cut off":                 {whole[:len(whole)-3], ErrMalformed},
		"too much":                {make([]byte, MostMessage+1), ErrSize},
		"no version":              {encode(func(m *wirepb.Message) { m.Version, m.Confirm = 0, &wirepb.Confirm{} }), ErrMalformed},
		"a newer version":         {encode(func(m *wirepb.Message) { m.Version, m.Confirm = Version+1, &wirepb.Confirm{} }), ErrVersion},
		"a short log":             {encode(func(m *wirepb.Message) { m.Log, m.Confirm = id[1:], &wirepb.Confirm{} }), ErrMalformed},
		"two bodies":              {encode(func(m *wirepb.Message) { m.Confirm, m.Confirmed = &wirepb.Confirm{}, &wirepb.Confirmed{} }), ErrMalformed},
		"a short key":             {encode(func(m *wirepb.Message) { m.Admit = &wirepb.Admit{Key: []byte{1}} }), ErrMalformed},
		"a short hash":            {encode(func(m *wirepb.Message) { m.Want = &wirepb.Want{At: []byte{1}} }), ErrMalformed},
		"no record":               {answer(&wirepb.Answer{Records: [][]byte{record, {1, 2}}}), ErrMalformed},
		"a newer record":          {answer(&wirepb.Answer{Records: [][]byte{append([]byte{9}, record[1:]...)}}), ErrVersion},
		"no head":                 {answer(&wirepb.Answer{Heads: [][]byte{head, head[:9]}}), ErrMalformed},
		"a bridge without a head": {answer(&wirepb.Answer{Bridges: []*wirepb.Bridge{{Records: [][]byte{record}}}}), ErrMalformed},
		"a bridge of no records":  {answer(&wirepb.Answer{Bridges: []*wirepb.Bridge{{Records: [][]byte{record[:9]}, Head: head}}}), ErrMalformed},
		"a part of a sum":         {answer(&wirepb.Answer{Offer: &wirepb.Offer{Head: head, Sums: make([]byte, 33)}}), ErrMalformed},
	} {
		if m, err := Decode(c.in); !errors.Is(err, c.want) || m != (Message{}) {
			t.Errorf("%s: got %+v, %v; want %v", name, m, err, c.want)
		}
	}
}

// Nothing is allocated for lists that are too long: an empty item takes two bytes, and a struct a hundred. No other test runs
// meanwhile.
func TestMemoryIsTakenByLength(t *testing.T) {
	bomb := func(field byte, item []byte, n int) []byte {
		var body []byte
		for range n {
			body = append(append(body, field<<3|2, byte(len(item))), item...)
		}
		return protowire.AppendBytes(protowire.AppendTag([]byte{8, 1}, answerField, protowire.BytesType), body)
	}
	inner := bytes.Repeat([]byte{bridgeRecordsField<<3 | 2, 0}, 60)
	for name, in := range map[string][]byte{
		"records": bomb(answerRecordsField, nil, 100_000), "heads": bomb(answerHeadsField, nil, 100_000), "bridges": bomb(bridgesField, nil, 100_000),
		"records of bridges":        bomb(bridgesField, inner, 8_000),
		"an answer again and again": bytes.Repeat([]byte{answerField<<3 | 2, 4, answerRecordsField<<3 | 2, 0, answerHeadsField<<3 | 2, 0}, 50_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(in)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrSize) || took > 16<<10 {
			t.Errorf("%s: %d bytes take %d, and it says %v", name, len(in), took, err)
		}
	}
}

// The message is the caller's: the bytes may be used again.
func TestTheBytesAreNotKept(t *testing.T) {
	t.Parallel()
	for name, want := range samples() {
		b, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(b)
		clear(b)
		if err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// Fit leaves out what has no room, and what is left can be sent.
func TestFit(t *testing.T) {
	t.Parallel()
	large := sampleRecord(1, strings.Repeat("x", txlog.MostGoal))
	bridge := follower.Bridge{Head: sampleHead(1)}
	for range 20 {
		bridge.Records = append(bridge.Records, large)
	}
	for name, a := range map[string]follower.History{
		"bridges": {Records: []txlog.Record{large}, Bridges: []follower.Bridge{bridge, bridge, bridge, bridge}, Heads: []txlog.Head{sampleHead(1)}},
		"records": {Records: append(bridge.Records[:20:20], append(bridge.Records, append(bridge.Records, bridge.Records...)...)...)},
	} {
		if _, err := Encode(Message{large.Log, a}); !errors.Is(err, ErrSize) {
			t.Fatalf("%s fit: %v", name, err)
		}
		fits := Fit(a)
		b, err := Encode(Message{large.Log, fits})
		if err != nil || len(b) > transport.MostBody || len(b) < transport.MostBody/2 || len(fits.Records) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if whole := Fit(sampleAnswer()); !reflect.DeepEqual(whole, sampleAnswer()) {
		t.Errorf("what fits is changed: %+v", whole)
	}
}

// Bytes that are a message are read the same when they are sent on, and no bytes panic.
func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		b, err := Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := Decode(in)
		if err != nil {
			if m != (Message{}) {
				t.Error("there is a message with an error")
			}
			return
		}
		b, err := Encode(m)
		if err != nil {
			t.Fatalf("%+v is not encoded: %v", m, err)
		}
		if again, err := Decode(b); err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%+v is read as %+v, %v", m, again, err)
		}
	})
}
