package metadata

// maxSize is the largest size that is worth to know.
const maxSize = 1 << 24

const unknown = -2 // a size that has not been looked at

// measure finds the sizes of types whose values have all the same. Types may name themselves, and may be nested more deeply than
// any real one: those count as variable.
func measure(types []typ) {
	for i := range types {
		types[i].size = unknown
	}
	for i := range types {
		measureOne(types, TypeID(i), 0)
	}
}

func measureOne(types []typ, id TypeID, depth int) int {
	t := &types[id]
	if t.size != unknown {
		return t.size
	}
	t.size = variable // for those that name themselves
	if depth > 64 {
		return variable
	}
	size := variable
	switch t.form {
	case composite, tuple:
		size = 0
		for _, f := range t.fields {
			if size = add(size, measureOne(types, f.of, depth+1), 1); size == variable {
				break
			}
		}
	case array:
		size = add(0, measureOne(types, t.of, depth+1), t.count)
	case primitive:
		size = primitiveSize(t.primitive)
	case enum: // one byte, if none of its variants has more
		size = 1
		for _, v := range t.variants {
			if len(v.fields) > 0 {
				size = variable
			}
		}
	case sequence, compact, bits:
	}
	t.size = size
	return size
}

// add adds a size so many times, unless the sum is not worth to know.
func add(sum, size, times int) int {
	if size == variable || sum == variable || size > 0 && times > maxSize/size || sum+size*times > maxSize {
		return variable
	}
	return sum + size*times
}

// primitiveSize returns how many bytes a primitive has; texts are variable.
func primitiveSize(p byte) int {
	switch p {
	case primText:
		return variable
	case primBool:
		return 1
	case primChar:
		return 4
	}
	if p >= primI8 {
		return 1 << (p - primI8)
	}
	return 1 << (p - primU8)
}
