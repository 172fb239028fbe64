package disk

// mostDropped is how many records and heads are dropped in one transaction.
const mostDropped = 1000

// Compact implements store.Store.
func (s *Store) Compact(upto uint64) (more bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return false, err
	}
	if err := s.view.Compactable(upto); err != nil {
		return false, err
	}
	next := s.view.Clone()
	if floor := min(upto, next.Last.Index, next.Floor.Index+mostDropped); floor > next.Floor.Index {
		if next.Floor, err = s.position(floor); err != nil {
			return false, err
		}
		more = floor < min(upto, next.Last.Index)
	}
	s.gone.Store(max(s.gone.Load(), upto))
	keys := []uint64{}
	for len(next.Kept) > 0 && next.Kept[0].At.Index < upto {
		k := next.Kept[0]
		keys, next.Kept = append(keys, k.At.Index), next.Kept[1:]
		s.loose = append(s.loose, looseBytes{index: k.At.Index, pieces: pieces(k.Size)})
	}
	if next.Floor == s.view.Floor && len(s.loose) == 0 {
		return false, nil
	}
	err = s.commit(next, noStep, func(c *change) {
		for _, index := range keys {
			c.remove(keptBucket, number(index))
		}
		more = c.removeBelow(recordBucket, next.Floor.Index+1, mostDropped) || more
		more = c.removeBelow(headBucket, min(upto, next.Floor.Index), mostDropped) || more
		s.loosen(c)
		more = more || len(s.loose) > 0
	})
	return more, err
}
