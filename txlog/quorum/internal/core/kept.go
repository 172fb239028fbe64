package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// The names of a store's values; those of the authority are package majority's.
const (
	bridgeValue = "bridge/"
	offerValue  = "offer/"
	forkValue   = "fork/"   // see evidence.go
	deniedValue = "denied/" // so is this
)

// Load reads what a store has of a log. The error is one of the store.
func Load(s store.Store, makeState func() txlog.State) (Has, error) {
	view := s.View()
	h := Has{Store: view.ID, Genesis: s.Genesis(), First: view.Floor.Index + 1, At: func(index uint64) (txlog.Position, bool, error) { return placeOf(s, index) }}
	var err error
	if h.Blank = len(view.Kept) == 0 && view.Last == h.Genesis.Start() && !h.Genesis.State.IsZero(); h.Blank {
		h.Copy = txlog.NewCopy(h.Genesis, makeState)
	} else if h.Copy, err = store.Load(s, makeState); err != nil {
		return Has{}, err
	}
	if h.Stored, err = majority.NewPromises(s).Load(); err != nil {
		return Has{}, err
	}
	all, err := h.Stored.Tail()
	if err != nil {
		return Has{}, err
	}
	for _, r := range all {
		if r.Index > h.Copy.Position().Index {
			h.Tail = append(h.Tail, r)
		}
	}
	head, found, err := s.Head(1, view.Last.Index)
	if err != nil {
		return Has{}, err
	}
	if found {
		h.Head = head
	}
	if h.Bridges, err = loadBridges(s); err != nil {
		return Has{}, err
	}
	h.Before = before(h)
	if h.Past, err = past(s, h.Copy.Position().Index); err != nil {
		return Has{}, err
	}
	h.Offers, err = loadOffers(s, view)
	return h, err
}

// mostPast is how many of the last records a node that starts compares heads with: it may be the one that knows that the log has forked.
const mostPast = 256

// past returns records right before an index, as far as the store has them.
func past(s store.Store, index uint64) (all []txlog.Record, err error) {
	for from := max(s.View().Floor.Index+1, index-min(index, mostPast)); from < index; from = all[len(all)-1].Index + 1 {
		records, err := s.Records(from, follower.MostAnswer)
		if errors.Is(err, store.ErrGone) || err == nil && len(records) == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.Index < index {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// left reports whether a node is no member since the last change, over which there is no bridge: only those who were members before
// it can sign a head of it that others believe.
func (h Has) left(node string) bool {
	_, was := txlog.FindMember(h.Before, node)
	_, is := txlog.FindMember(h.Copy.Members(), node)
	n := len(h.Bridges)
	return was && !is && (n == 0 || !slices.Equal(h.Bridges[n-1].Records[0].Members, h.Copy.Members()))
}

// before returns who the members were before the last change, as far as bridges say.
func before(h Has) []txlog.Member {
	was, is := h.Genesis.Members, h.Genesis.Members
	for _, b := range h.Bridges {
		was, is = is, b.Records[0].Members
	}
	if slices.Equal(is, h.Copy.Members()) {
		return was
	}
	return is // there is no bridge over the last change yet
}

// placeOf returns the place of a record, or the one below the first record. It is false if the store has no such record, and the error is
// one of the store, which says nothing of what it has.
func placeOf(s store.Store, index uint64) (txlog.Position, bool, error) {
	floor := s.View().Floor
	if index <= floor.Index {
		return floor, index == floor.Index, nil
	}
	records, err := s.Records(index, 1)
	switch {
	case errors.Is(err, store.ErrGone):
		return txlog.Position{}, false, nil
	case err != nil || len(records) == 0:
		return txlog.Position{}, false, err
	}
	return records[0].Position(), true, nil
}

// loadOffers reads the offers of the snapshots. That of a log's first state is made, if nobody has stored it: the program that made the
// store has kept the state alone. A snapshot that is dropped meanwhile has none.
func loadOffers(s store.Store, view store.View) (all []follower.Offer, err error) {
	for _, kept := range view.Kept {
		o, err := decodeOffer(s.Value(offerName(kept.At.Index)))
		switch {
		case err == nil:
			all = append(all, o)
		case kept.At == s.Genesis().Start():
			snapshot, err := kept.Read(s)
			switch {
			case errors.Is(err, store.ErrGone):
			case err != nil:
				return nil, err
			default:
				all = append(all, follower.SumPieces(txlog.Head{Position: kept.At}, snapshot))
			}
		}
	}
	return all, nil
}

// Pack returns an answer of a follower's machine with the records that it asks for; with none, if the first one is dropped since.
func Pack(s store.Store, g follower.Give) (follower.History, error) {
	out := g.History
	if g.From == 0 {
		return out, nil
	}
	records, err := s.Records(g.From, follower.MostAnswer)
	switch {
	case errors.Is(err, store.ErrGone):
		return out, nil
	case err != nil:
		return out, err
	}
	for i, r := range records {
		if r.Index > g.Upto || i >= follower.MostRecords {
			break
		}
		out.Records = append(out.Records, r)
	}
	if len(out.Records) == 0 {
		return out, nil
	}
	begin, end := out.Records[0].Index, out.Records[len(out.Records)-1].Index
	head, found, err := s.Head(begin, end)
	if err != nil {
		return out, err
	}
	if found {
		out.Heads = append([]txlog.Head{head}, out.Heads...)
		out.Records = out.Records[:head.Index-begin+1]
	}
	return out, nil
}

func offerName(index uint64) string { return fmt.Sprintf("%s%020d", offerValue, index) }

func encodeOffer(o follower.Offer) []byte {
	b := binary.AppendUvarint(nil, o.Size)
	b = binary.AppendUvarint(b, uint64(len(o.Sums)))
	for _, s := range o.Sums {
		b = append(b, s[:]...)
	}
	return append(b, o.Head.Encode()...)
}

func decodeOffer(b []byte) (o follower.Offer, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 {
		return o, store.ErrDamaged
	}
	count, m := binary.Uvarint(b[n:])
	if b = b[max(n+m, 0):]; m <= 0 || count > follower.MostPieces || uint64(len(b)) < 32*count {
		return o, store.ErrDamaged
	}
	o.Size = size
	for range count {
		o.Sums = append(o.Sums, txlog.Hash(b[:32]))
		b = b[32:]
	}
	o.Head, err = txlog.DecodeHead(b)
	return o, err
}

// spare is how many values of a store are not for bridges: those of the authority, of offers, of forks and of denied heads.
const spare = 3*mostForks + 64 + mostDeniedInAll

// keepBridge keeps a bridge, if there is room: a log does not end because its members have changed very often. A node that needs the bridge
// still believes those whom it knows and who are members now.
func keepBridge(s store.Store, b *follower.Bridge) error {
	values := bridgeValues(b)
	if len(s.Names(""))+len(values) > limits.MostValues-spare {
		return nil
	}
	return s.Write(store.Step{Values: values})
}

// A bridge has several records, and a value has a limit: each record is one, and the head is the last one.
func bridgeValues(b *follower.Bridge) map[string][]byte {
	values := map[string][]byte{}
	name := func(part int) string { return fmt.Sprintf("%s%020d/%04d", bridgeValue, b.Index(), part) }
	part := 0
	put := func(kind byte, body []byte) {
		for first := true; first || len(body) > 0; first = false {
			n := min(len(body), limits.MostValue-1)
			last := kind
			if n < len(body) {
				last = more
			}
			values[name(part)] = append([]byte{last}, body[:n]...)
			body, part = body[n:], part+1
		}
	}
	for _, r := range b.Records {
		put(isRecord, r.Raw())
	}
	put(isHead, b.Head.Encode())
	return values
}

// What a value of a bridge is.
const (
	more     byte = iota // the next one continues it
	isRecord             // it ends a record
	isHead               // it ends the head
)

func loadBridges(s store.Store) (all []follower.Bridge, err error) {
	var now follower.Bridge
	var body []byte
	for _, name := range s.Names(bridgeValue) {
		value := s.Value(name)
		if !strings.HasPrefix(name, bridgeValue) || len(value) == 0 {
			return nil, store.ErrDamaged
		}
		body = append(body, value[1:]...)
		switch value[0] {
		case isRecord:
			r, err := txlog.Open(body)
			if err != nil {
				return nil, err
			}
			now.Records, body = append(now.Records, r), nil
		case isHead:
			if now.Head, err = txlog.DecodeHead(body); err != nil {
				return nil, err
			}
			if len(now.Records) == 0 {
				return nil, store.ErrDamaged
			}
			all, now, body = append(all, now), follower.Bridge{}, nil
		}
	}
	return all, nil
}

// withOffer is what is stored with a snapshot: its offer, and none any more of those that will be dropped.
func withOffer(v store.View, o follower.Offer) store.Step {
	step := store.Step{Values: map[string][]byte{offerName(o.Head.Index): encodeOffer(o)}}
	for i, kept := range v.Kept {
		if i < len(v.Kept)-1 && kept.At.Index != o.Head.Index {
			step.Values[offerName(kept.At.Index)] = nil
		}
	}
	if o.Head.Member != "" { // nobody signs the state that a log begins with
		step.Heads = []txlog.Head{o.Head}
	}
	return step
}

// Cut returns a piece of a snapshot, without bytes if it is not there.
func Cut(s store.Store, w follower.Want) follower.Piece {
	for _, kept := range s.View().Kept {
		if kept.At.Hash != w.At || w.Piece >= follower.MostPieces {
			continue
		}
		if b, err := s.Piece(kept.At.Index, int(w.Piece)*follower.PieceSize, follower.PieceSize); err == nil {
			return follower.Piece{Want: w, Bytes: b}
		}
	}
	return follower.Piece{Want: w}
}
