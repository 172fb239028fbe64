package disk

import (
	"encoding/binary"
	"hash/fnv"
)

// What the library writes, version 2 of its format: pages of one size in this machine's byte order. Its reader trusts them, and a
// page that is not what it was may end the process; so a file is checked before the library has it.

var order = binary.NativeEndian

const (
	magic        = 0xED0CDAED
	fileVersion  = 2
	noFreelist   = ^uint64(0)
	headerSize   = 16 // of a page
	elementSize  = 16 // of an element of a page
	bucketSize   = 16 // of what a bucket is in the page of its parent
	bucketFlag   = 1
	branchFlag   = 1
	leafFlag     = 2
	metaPages    = 2
	checkedBytes = 56 // of a meta page, before their checksum
)

// meta is what the library says about a file. Of two the one with the higher transaction counts.
type meta struct {
	root        uint64 // page
	freelist    uint64 // page; our transactions leave none
	high        uint64 // pages from this one on are not used
	transaction uint64
}

// readMeta reads a meta page. That a transaction was cut short is no damage to it: what has its checksum is within one sector.
func readMeta(page []byte) (meta, error) {
	b := page[headerSize:]
	sum := fnv.New64a()
	sum.Write(b[:checkedBytes])
	switch {
	case order.Uint32(b) != magic || order.Uint64(b[checkedBytes:]) != sum.Sum64():
		return meta{}, damage("one of its first two pages is not what was written")
	case order.Uint32(b[4:]) != fileVersion || order.Uint32(b[8:]) != pageSize:
		return meta{}, damage("another program has written it")
	}
	return meta{root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]), high: order.Uint64(b[40:]), transaction: order.Uint64(b[48:])}, nil
}

// page is a page that is not a meta page, with those that it runs over to.
type page struct {
	id    uint64
	leaf  bool
	count int
	b     []byte
}

// element is one of a page: a key with a value, a bucket, or a key with the page of those that are not below it.
type element struct {
	key, value []byte
	bucket     bool
	child      uint64
}

func (p *page) element(i int) (e element, err error) {
	at := headerSize + i*elementSize
	h := p.b[at : at+elementSize]
	from, keySize, valueSize := uint64(order.Uint32(h)), uint64(order.Uint32(h[4:])), uint64(0)
	if p.leaf {
		flags := order.Uint32(h)
		from, keySize, valueSize = uint64(order.Uint32(h[4:])), uint64(order.Uint32(h[8:])), uint64(order.Uint32(h[12:]))
		if flags > bucketFlag {
			return element{}, damage("page %d has an element of an unknown kind", p.id)
		}
		e.bucket = flags == bucketFlag
	} else {
		e.child = order.Uint64(h[8:])
	}
	from += uint64(at)
	if from < uint64(headerSize+p.count*elementSize) || from+keySize+valueSize > uint64(len(p.b)) {
		return element{}, damage("page %d has an element outside of it", p.id)
	}
	e.key = p.b[from : from+keySize]
	e.value = p.b[from+keySize : from+keySize+valueSize]
	return e, nil
}

// parse reads the header of a page.
func parse(id uint64, b []byte) (*page, error) {
	flags, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	switch {
	case order.Uint64(b) != id || flags != leafFlag && flags != branchFlag:
		return nil, damage("page %d is another one", id)
	case headerSize+count*elementSize > len(b) || flags == branchFlag && count == 0:
		return nil, damage("page %d cannot have %d elements", id, count)
	}
	return &page{id: id, leaf: flags == leafFlag, count: count, b: b}, nil
}
