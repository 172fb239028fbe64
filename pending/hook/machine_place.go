package hook

import (
	"maps"
	"slices"
)

// ranges are IDs, from the first to the last of each, in order, with something missing between two.
type ranges [][2]int64

func (r ranges) has(id int64) bool {
	i, is := slices.BinarySearchFunc(r, id, func(one [2]int64, id int64) int { return int(min(1, max(-1, one[0]-id))) })
	return is || i > 0 && r[i-1][1] >= id
}

// with returns them with an ID that they do not have.
func (r ranges) with(id int64) ranges {
	i, _ := slices.BinarySearchFunc(r, id, func(one [2]int64, id int64) int { return int(min(1, max(-1, one[0]-id))) })
	follows, leads := i > 0 && r[i-1][1] == id-1, i < len(r) && r[i][0] == id+1
	switch {
	case follows && leads:
		r[i-1][1] = r[i][1]
		return slices.Delete(r, i, i+1)
	case follows:
		r[i-1][1] = id
	case leads:
		r[i][0] = id
	default:
		return slices.Insert(r, i, [2]int64{id, id})
	}
	return r
}

// above returns those above an ID.
func (r ranges) above(id int64) (left ranges) {
	for _, one := range r {
		if one[1] > id {
			left = append(left, [2]int64{max(one[0], id+1), one[1]})
		}
	}
	return left
}

// without returns the place without some IDs.
func (p Place) without(open map[int64]bool) Place {
	all := append(ranges{{0, p.UpTo}}, p.Beyond...)
	if len(all) > 1 && all[1][0] == p.UpTo+1 {
		all[0][1] = all[1][1]
		all = slices.Delete(all, 1, 2)
	}
	var out ranges
	ids := slices.Sorted(maps.Keys(open))
	for _, one := range all {
		for len(ids) > 0 && ids[0] <= one[1] {
			if first := ids[0]; first >= one[0] {
				if one[0] < first {
					out = append(out, [2]int64{one[0], first - 1})
				}
				one[0] = first + 1
			}
			ids = ids[1:]
		}
		if one[0] <= one[1] {
			out = append(out, one)
		}
	}
	if len(out) == 0 || out[0][0] > 0 {
		return Place{UpTo: -1, Beyond: out} // cannot be: no event has the ID 0
	}
	return Place{UpTo: out[0][1], Beyond: out[1:]}
}
