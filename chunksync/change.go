package chunksync

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// change is how a catalog differs from an earlier one. It is what a write makes, what a
// record of the log holds, and what a follower that holds an earlier catalog is offered.
type change struct {
	Tenure Tenure           `json:"reign"`
	From   int64            `json:"from"` // the seq of the earlier catalog, which is of the same tenure
	Seq    int64            `json:"seq"`
	Files  map[string]*File `json:"files,omitempty"` // all that were written after From, as of Seq; null: removed
}

func (c change) Version() Version { return Version{Epoch: c.Tenure.Epoch, Seq: c.Seq} }

// follows reports whether c leads from the catalog to a newer one. The catalog may have some
// of its writes already, since c names each file that was written, also if it was removed again.
func (c change) follows(to catalog) bool {
	return c.Tenure == to.Tenure && c.From <= to.Seq && to.Seq < c.Seq
}

// chunks lists the chunks of the files that were put, each as often as it is named.
func (c change) chunks() (all []Hash) {
	for _, f := range c.Files {
		if f != nil {
			all = append(all, f.Chunks...)
		}
	}
	return all
}

func (c change) names() []string { return slices.Sorted(maps.Keys(c.Files)) }

// apply makes the catalog what it is at the change's seq.
func (c change) apply(to *catalog) {
	if to.Files == nil && len(c.Files) > 0 {
		to.Files = map[string]File{}
	}
	for name, f := range c.Files {
		if f == nil {
			delete(to.Files, name)
		} else {
			to.Files[name] = *f
		}
	}
	to.Tenure, to.Seq = c.Tenure, c.Seq
}

// after returns a new catalog with the change applied.
func (c catalog) after(by change) catalog {
	c.Files = maps.Clone(c.Files)
	by.apply(&c)
	return c
}

// difference returns what makes one catalog the other, whatever their tenures are.
func difference(from, to catalog) change {
	d := change{Tenure: to.Tenure, From: from.Seq, Seq: to.Seq, Files: map[string]*File{}}
	for name, f := range to.Files {
		if old, there := from.Files[name]; !there || !f.same(old) {
			d.Files[name] = &f
		}
	}
	for name := range from.Files {
		if _, kept := to.Files[name]; !kept {
			d.Files[name] = nil
		}
	}
	return d
}

// parseChange reads and checks a change that may come from anywhere.
func parseChange(text []byte) (c change, err error) {
	if err := decode(text, &c); err != nil {
		return c, fmt.Errorf("not a change: %w", err)
	}
	if c.From < 0 || c.Seq < c.From {
		return c, errors.New("a change cannot lead back, or from a seq below 0")
	}
	for name, f := range c.Files {
		if f == nil {
			f = &File{}
		}
		if err := checkFile(name, *f); err != nil {
			return c, err
		}
	}
	return c, nil
}
