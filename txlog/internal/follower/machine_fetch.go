package follower

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// fetch is a snapshot that is being fetched.
type fetch struct {
	offer  Offer
	from   string // the peer that has offered it
	pieces [][]byte
	count  int            // of pieces that are here
	asked  map[uint64]try // pieces that were asked for
	last   time.Duration  // the last piece came
}

// try is a piece that was asked for.
type try struct {
	to    string
	at    time.Duration
	count int
}

// SumPieces returns the offer of a snapshot whose last record's head is this one.
func SumPieces(h txlog.Head, snapshot []byte) Offer {
	o := Offer{Head: h, Size: uint64(len(snapshot))}
	for piece := range slices.Chunk(snapshot, PieceSize) {
		o.Sums = append(o.Sums, sha256.Sum256(piece))
	}
	return o
}

// check checks what an offer is by itself.
func (o *Offer) check() error {
	if o.Size == 0 || o.Size > limits.MostSnapshot || uint64(len(o.Sums)) != (o.Size+PieceSize-1)/PieceSize {
		return fault(ErrOffer, "%d bytes in %d pieces", o.Size, len(o.Sums))
	}
	return nil
}

// size returns how long a piece is.
func (o *Offer) size(piece uint64) uint64 { return min(PieceSize, o.Size-piece*PieceSize) }

// judgeOffer judges the offer of a snapshot. What it restores to has to be what a verified head says.
func (m *Machine) judgeOffer(from string, o Offer) {
	if m.base == nil || m.spoiled || m.fetch != nil {
		return
	}
	if err := o.check(); err != nil {
		m.refuseLie(from, err)
		return
	}
	switch {
	case m.blank && o.Head.Position == m.start: // the genesis says what it restores to
	case m.isAside(func(c claim) bool { return c.Position == o.Head.Position }):
		m.refuseLie(from, fault(ErrOffer, "the log has no entry %d", o.Head.Index))
		return
	case o.Head.Log != m.at.Log || o.Head.Index <= m.at.Index:
		m.refuseInput(from, fault(ErrOffer, "it is at %d", o.Head.Index))
		return
	default:
		if err := m.verifyHead(o.Head); err != nil {
			m.refuseInput(from, err)
			return
		}
		if o.Head.Index > m.at.Index && !m.knowsHead(o.Head) {
			m.believeHead(o.Head, from)
		}
		if m.at.Index >= o.Head.Index {
			return // all records up to there were here, and its head has covered them
		}
	}
	m.fetch = &fetch{offer: o, from: from, pieces: make([][]byte, len(o.Sums)), asked: map[uint64]try{}, last: m.now}
	m.fillFetch()
}

// fillFetch asks for as many pieces as may be on their way.
func (m *Machine) fillFetch() {
	f := m.fetch
	for n := uint64(0); n < uint64(len(f.pieces)) && len(f.asked) < window; n++ {
		if _, asked := f.asked[n]; !asked && f.pieces[n] == nil {
			m.askPiece(n, f.from, 0)
		}
	}
}

func (m *Machine) askPiece(n uint64, to string, count int) {
	m.fetch.asked[n] = try{to: to, at: m.now, count: count}
	m.do(AskPiece{To: to, Want: Want{At: m.fetch.offer.Head.Hash, Piece: n}})
}

// retryPieces asks for the pieces that have not come: another peer, and the one that offered them, by turns.
func (m *Machine) retryPieces() {
	f := m.fetch
	if f == nil {
		return
	}
	if m.now-f.last >= expires {
		if p := m.known[f.from]; p != nil {
			p.bar(m.now) // it is gone, or its sums are those of no snapshot: nobody here can say which
		}
		m.abandonFetch()
		return
	}
	for n := range uint64(len(f.pieces)) {
		t, is := f.asked[n]
		if !is || m.now-t.at < pause.Doubled(piecePatience, t.count, mostPatience) {
			continue
		}
		to := f.from
		if t.count%2 == 0 {
			for _, name := range m.choosePeers(1, []string{t.to}) {
				to = name
			}
		}
		m.askPiece(n, to, t.count+1)
	}
}

// abandonFetch gives a fetch up. What lacks is asked for again: of other peers, after a pause.
func (m *Machine) abandonFetch() {
	m.took, m.fetch = m.fetch.offer.Head.Hash, nil
	m.dropPulled()
	m.planWants("")
}

// takePiece takes a piece.
func (m *Machine) takePiece(from string, p Piece) {
	f := m.fetch
	if f == nil || f.offer.Head.Hash != p.At {
		if m.took != p.At || p.At.IsZero() {
			m.refuseInput(from, fault(ErrPiece, "piece %d of %s", p.Piece, p.At.Short()))
		}
		return
	}
	switch t, asked := f.asked[p.Piece]; {
	case p.Piece >= uint64(len(f.pieces)) || !asked && f.pieces[p.Piece] == nil:
		m.refuseInput(from, fault(ErrUnasked, "piece %d", p.Piece))
		return
	case !asked: // a second one
		return
	case len(p.Bytes) == 0 && from == f.from:
		m.breakFetch(from)
		return
	case len(p.Bytes) == 0:
		if t.to == from { // it is asked of another one at the next tick
			t.at = m.now - mostPatience
			f.asked[p.Piece] = t
		}
		return
	case uint64(len(p.Bytes)) != f.offer.size(p.Piece) || sha256.Sum256(p.Bytes) != f.offer.Sums[p.Piece]:
		if from == f.from {
			m.refuseLie(from, fault(ErrPiece, "piece %d", p.Piece))
		} else { // the sums may be what is wrong: another peer has said them
			m.refuseInput(from, fault(ErrPiece, "piece %d, by the sums of %s", p.Piece, f.from))
		}
		if t.to == from {
			t.at = m.now - mostPatience
			f.asked[p.Piece] = t
		}
		return
	}
	delete(f.asked, p.Piece)
	f.pieces[p.Piece] = p.Bytes
	f.count++
	f.last = m.now
	if f.count < len(f.pieces) {
		m.fillFetch()
		return
	}
	m.adoptSnapshot()
}

// breakFetch gives a fetch up since its peer has no more of it. It has newer snapshots by now; but one that gives nothing at all, or does so
// again and again, would keep this node from others that have one.
func (m *Machine) breakFetch(from string) {
	f, p := m.fetch, m.known[from]
	switch {
	case f.count == 0:
		m.refuseLie(from, fault(ErrOffer, "it has nothing of what it offers at %d", f.offer.Head.Index))
	case p != nil && p.broke:
		p.bar(m.now)
	case p != nil:
		p.broke = true
	}
	m.abandonFetch()
}

// adoptSnapshot replaces the copy by the snapshot that was fetched, if it is what the head says.
func (m *Machine) adoptSnapshot() {
	f := m.fetch
	snapshot, base, err := m.restorePieces(f)
	if err != nil { // this node's memory may have failed: once more, from the same pieces
		snapshot, base, err = m.restorePieces(f)
	}
	if err != nil {
		if errors.Is(err, errOwnMemory) {
			m.refuseInput("", err)
		} else {
			m.refuseLie(f.from, err)
		}
		m.abandonFetch()
		return
	}
	m.took, m.fetch = f.offer.Head.Hash, nil
	m.past = past{}
	m.at = base.Position()
	if last, is := base.Last(); is {
		m.rememberRecord(last)
	}
	m.base, m.blank, m.members = base, false, slices.Clone(base.Members())
	m.first, m.offers = m.at.Index+1, []Offer{f.offer}
	m.lacking, m.shot, m.parked, m.fresh = nil, m.at.Index, 0, m.now
	m.wary, m.unfit = 0, 0 // what could not be pulled is behind it
	if p := m.known[f.from]; p != nil {
		p.broke = false
	}
	m.dropPulled()
	m.do(Adopt{Base: base, Snapshot: snapshot, Offer: f.offer})
	if m.at != m.start {
		m.noteCovered(f.offer.Head)
	}
	m.noteHeadsPassed()
	m.releasePulls(false)
	m.planWants(f.from)
}

// errOwnMemory means that pieces are others than those that have come.
var errOwnMemory = fault(ErrPiece, "this node's memory has lost it")

// restorePieces returns the copy that the pieces are of, if it is what their head says.
func (m *Machine) restorePieces(f *fetch) (snapshot []byte, base *txlog.Copy, err error) {
	for n, piece := range f.pieces {
		if sha256.Sum256(piece) != f.offer.Sums[n] {
			return nil, nil, errOwnMemory
		}
	}
	snapshot = bytes.Join(f.pieces, nil)
	base, err = txlog.Restore(snapshot, m.cfg.New)
	if err == nil && (base.Position() != f.offer.Head.Position || f.offer.Head.Position != m.start && base.Hash() != f.offer.Head.State) {
		err = fault(txlog.ErrState, "the snapshot is not the one of its head")
	}
	return snapshot, base, err
}

// beginSnapshot begins one, each so many records, and has it kept when it is whole. The copy is at the head.
func (m *Machine) beginSnapshot(h txlog.Head) {
	if m.at.Index-m.shot >= m.cfg.SnapshotEvery {
		m.shot, m.posed = m.at.Index, h
		m.base.Take()
	}
	m.keepSnapshot()
}

// readOn has the copy read on: it may find that its memory is wrong, and users read it.
func (m *Machine) readOn() {
	if m.base == nil || m.spoiled {
		return
	}
	if err := m.base.ReadOn(); err != nil {
		m.spoiled = true
		m.do(Spoiled{Why: err})
		return
	}
	m.keepSnapshot()
}

// keepSnapshot has a snapshot stored that is whole now.
func (m *Machine) keepSnapshot() {
	if photo, is := m.base.Taken(); is {
		m.do(Keep{Head: m.posed, Photo: photo})
	}
}
