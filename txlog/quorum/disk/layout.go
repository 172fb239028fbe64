package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/store"
)

// format is the version of the layout. A file of a newer one is refused.
const format = 1

// pageSize is the same on every system, so that a file can be read anywhere with the same byte order.
const pageSize = 4096

// The parts of the file, buckets of the library, in the order of their names: the state comes first.
const (
	stateBucket   = iota // one value: what the newest transaction has left
	genesisBucket        // one value
	headBucket           // by index
	keptBucket           // by index: which snapshots are whole
	pieceBucket          // by index and number: their bytes
	recordBucket         // by index
	slotBucket           // by index
	valueBucket          // by name
	buckets
)

var names = [buckets][]byte{
	[]byte("0state"), []byte("genesis"), []byte("heads"), []byte("kept"), []byte("pieces"), []byte("records"), []byte("slots"), []byte("values"),
}

// only is the key in a bucket of one value.
var only = []byte("only")

// piece is how many bytes of a snapshot are one value.
const piece = 64 << 10

// state is what the newest transaction has left, in the file's own words. It says of everything else in the file which version
// is the newest: a page of an older transaction has other sums. Every format begins with the same three fields.
type state struct {
	Format      uint32
	Transaction uint64 // of the library, which has it in a page with a checksum: so an older state cannot be taken for the newest
	ID          uint64
	Floor, Last txlog.Position // of the log, whose records are in their bucket or in slots
	LowSlot     uint64         // the number of the first one that is there, which the log may need
	FirstSlot   uint64         // the index of the authority's first one
	NextSlot    uint64         // and the one after its last, which is the last of all
	Sums        [buckets]sum
}

// sum is of the checksums of all values of a bucket, word by word, modulo 2^64. It finds what a disk has lost or mixed up. Others choose what is
// stored and never what a disk loses, so it need not withstand them, as [txlog.Tree] must.
type sum struct {
	N   uint64
	Sum [sha256.Size / 8]uint64
}

func (s *sum) add(checksum []byte)    { s.count(checksum, 1) }
func (s *sum) remove(checksum []byte) { s.count(checksum, ^uint64(0)) }

// count adds a checksum so many times; ^0 is minus one.
func (s *sum) count(checksum []byte, times uint64) {
	s.N += times
	for i := range s.Sum {
		s.Sum[i] += times * binary.LittleEndian.Uint64(checksum[8*i:])
	}
}

func (s *state) encode() []byte {
	b, err := binary.Append(nil, binary.BigEndian, s)
	if err != nil {
		return nil // a struct of numbers always has bytes
	}
	return b
}

// idOf returns the store's id of a state of any format.
func idOf(b []byte) uint64 {
	if len(b) < 20 {
		return 0
	}
	return binary.BigEndian.Uint64(b[12:])
}

func decodeState(b []byte) (s state, err error) {
	if len(b) >= 4 && binary.BigEndian.Uint32(b) > format {
		return state{}, fault(txlog.ErrVersion, "format %d, and this conch reads up to %d", binary.BigEndian.Uint32(b), format)
	}
	if len(b) != binary.Size(&s) {
		return state{}, damage("its state has %d bytes", len(b))
	}
	_, err = binary.Decode(b, binary.BigEndian, &s)
	return s, err
}

// checksum binds a value to its store, its bucket and its key: a value in another place has another one.
func checksum(id uint64, bucket int, key, body []byte) [sha256.Size]byte {
	var room [2 << 10]byte // for most values there is nothing to allocate
	b := binary.BigEndian.AppendUint64(append(room[:0], byte(bucket)), id)
	b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
	return sha256.Sum256(append(b, body...))
}

// frame returns a value as it is stored: after its checksum.
func frame(id uint64, bucket int, key, body []byte) []byte {
	c := checksum(id, bucket, key, body)
	return append(append(make([]byte, 0, len(c)+len(body)), c[:]...), body...)
}

// unframe returns the value that was stored, which is part of framed. The error is damage.
func unframe(id uint64, bucket int, key, framed []byte) ([]byte, error) {
	if len(framed) < sha256.Size {
		return nil, damage("a value in %s is cut off", names[bucket])
	}
	c := checksum(id, bucket, key, framed[sha256.Size:])
	if !bytes.Equal(c[:], framed[:sha256.Size]) {
		return nil, damage("a value in %s is not what was written", names[bucket])
	}
	return framed[sha256.Size:], nil
}

// number is the key of an index.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// pieceKey is the key of a piece of a snapshot.
func pieceKey(index uint64, n int) []byte {
	return binary.BigEndian.AppendUint32(number(index), uint32(n))
}

// pieces returns how many pieces a snapshot of so many bytes has.
func pieces(size int) int { return (size + piece - 1) / piece }

func encodeKept(k store.Kept) []byte {
	fixed := keptBytes{At: k.At, Size: uint64(k.Size), Hash: k.Hash}
	b, err := binary.Append(nil, binary.BigEndian, &fixed)
	if err != nil {
		return nil // a struct of numbers always has bytes
	}
	return b
}

type keptBytes struct {
	At   txlog.Position
	Size uint64
	Hash txlog.Hash
}

func decodeKept(b []byte) (store.Kept, error) {
	var fixed keptBytes
	n, err := binary.Decode(b, binary.BigEndian, &fixed)
	if err != nil || n != len(b) || fixed.Size > limits.MostSnapshot {
		return store.Kept{}, damage("what is known of a snapshot cannot be read")
	}
	return store.Kept{At: fixed.At, Size: int(fixed.Size), Hash: fixed.Hash}, nil
}
