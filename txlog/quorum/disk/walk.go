package disk

import (
	"bytes"
	"errors"
	"io"
)

// walker reads a file page by page, without the library, and trusts nothing in it: every page is where it belongs, none is
// used twice, keys are in order, everything is within its page.
type walker struct {
	file io.ReaderAt
	meta meta
	used []uint64 // a bit a page
	// visit gets each value, in order. They are valid until it returns.
	visit func(bucket int, key, value []byte) error
}

// walk visits all values of a file. The error is damage, or that of reading.
func walk(file io.ReaderAt, size int64, visit func(transaction uint64, bucket int, key, value []byte) error) error {
	var newest meta
	for n := range int64(metaPages) {
		b := make([]byte, pageSize)
		if err := readFull(file, b, n*pageSize); err != nil {
			return err
		}
		// Both have to be whole: where one is not, the library goes on from the other, which is the one before the newest,
		// and what was promised last is gone.
		m, err := readMeta(b)
		if err != nil {
			return err
		}
		if m.transaction >= newest.transaction {
			newest = m
		}
	}
	if newest.freelist != noFreelist {
		return damage("another program has written it")
	}
	if newest.high > uint64(size/pageSize) {
		return damage("it is cut off: it has %d bytes, and its last page ends at %d", size, newest.high*pageSize)
	}
	w := &walker{file: file, meta: newest, used: make([]uint64, newest.high/64+1)}
	w.visit = func(bucket int, key, value []byte) error { return visit(newest.transaction, bucket, key, value) }
	return w.buckets(newest.root)
}

func readFull(file io.ReaderAt, b []byte, at int64) error {
	n, err := file.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return damage("it is cut off at byte %d", at+int64(n))
	}
	return err
}

// buckets visits what is in each bucket of the root.
func (w *walker) buckets(root uint64) error {
	next := 0
	err := w.tree(root, nil, nil, func(p *page, e element) error {
		if !e.bucket || next == buckets || !bytes.Equal(e.key, names[next]) || len(e.value) < bucketSize {
			return damage("page %d has no known bucket", p.id)
		}
		bucket := next
		next++
		inside := func(p *page, e element) error {
			if e.bucket {
				return damage("page %d has a bucket in a bucket", p.id)
			}
			return w.visit(bucket, e.key, e.value)
		}
		if child := order.Uint64(e.value); child != 0 {
			return w.tree(child, nil, nil, inside)
		}
		// A small bucket is within its parent's page.
		if len(e.value) < bucketSize+headerSize {
			return damage("page %d has a bucket that is cut off", p.id)
		}
		inner, err := parse(0, e.value[bucketSize:])
		if err != nil {
			return err
		}
		if !inner.leaf {
			return damage("page %d has a bucket that cannot be there", p.id)
		}
		return w.elements(inner, nil, nil, inside)
	})
	if err == nil && next != buckets {
		return damage("a bucket is missing")
	}
	return err
}

// tree visits all elements of the leaves below a page. All keys are from low on and below high; nil: there is no bound.
func (w *walker) tree(id uint64, low, high []byte, visit func(*page, element) error) error {
	p, err := w.page(id)
	if err != nil {
		return err
	}
	return w.elements(p, low, high, visit)
}

func (w *walker) elements(p *page, low, high []byte, visit func(*page, element) error) error {
	for i := range p.count {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		if len(e.key) == 0 && p.leaf || bytes.Compare(e.key, low) < 0 || high != nil && bytes.Compare(e.key, high) >= 0 {
			return damage("page %d has keys out of order", p.id)
		}
		if p.leaf {
			if err := visit(p, e); err != nil {
				return err
			}
			low = append(bytes.Clone(e.key), 0) // the least key after it
			continue
		}
		next := high
		if i+1 < p.count {
			after, err := p.element(i + 1)
			if err != nil {
				return err
			}
			if next = after.key; bytes.Compare(next, e.key) <= 0 {
				return damage("page %d has keys out of order", p.id)
			}
		}
		if err := w.tree(e.child, e.key, next, visit); err != nil {
			return err
		}
	}
	return nil
}

// page reads a page, which nothing else may have.
func (w *walker) page(id uint64) (*page, error) {
	if id < metaPages || id >= w.meta.high {
		return nil, damage("there is no page %d", id)
	}
	b := make([]byte, pageSize)
	if err := readFull(w.file, b, int64(id)*pageSize); err != nil {
		return nil, err
	}
	more := uint64(order.Uint32(b[12:]))
	if more >= w.meta.high-id {
		return nil, damage("page %d goes on beyond the end", id)
	}
	for n := id; n <= id+more; n++ {
		if w.used[n/64]&(1<<(n%64)) != 0 {
			return nil, damage("page %d is used twice", n)
		}
		w.used[n/64] |= 1 << (n % 64)
	}
	if more > 0 {
		b = append(make([]byte, 0, (more+1)*pageSize), b...)[:(more+1)*pageSize]
		if err := readFull(w.file, b[pageSize:], int64(id+1)*pageSize); err != nil {
			return nil, err
		}
	}
	return parse(id, b)
}
