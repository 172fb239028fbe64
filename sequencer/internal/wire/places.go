package wire

// AddPlace adds a member's place to a list of endorsers. A place for which there is no room is left out.
func AddPlace(list []byte, place int) []byte {
	at := place / 8
	if place < 0 || at >= MostEndorsers {
		return list
	}
	for len(list) <= at {
		list = append(list, 0)
	}
	list[at] |= 1 << (place % 8)
	return list
}

// Places returns the places in a list of endorsers, rising.
func Places(list []byte) (all []int) {
	for i, b := range list {
		for bit := range 8 {
			if b&(1<<bit) != 0 {
				all = append(all, 8*i+bit)
			}
		}
	}
	return all
}
