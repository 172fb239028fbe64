package metadata

// Hasher is how a part of a storage key is hashed, in the order of its byte.
type Hasher byte

// The hashers. Those with Concat have the part itself after its hash.
const (
	Blake2128 Hasher = iota
	Blake2256
	Blake2128Concat
	Twox128
	Twox256
	Twox64Concat
	Identity
)

// Storage is an entry of a pallet's storage: one value, or a map of them.
type Storage struct {
	Pallet  string // as it is in the keys
	Name    string
	Hashers []Hasher // one a key; none: it is one value
	Keys    []TypeID // in the order of Hashers
	Value   TypeID
	// Default is what an absent value stands for; nil: for nothing.
	Default []byte
}

// Constant is a value that a runtime's code fixes.
type Constant struct {
	Type  TypeID
	Value []byte
}

type pallet struct {
	name      string
	index     byte
	calls     TypeID // none if there are no calls
	errors    TypeID
	events    TypeID
	storage   map[string]Storage
	constants map[string]Constant
}

// none is no type.
const none = TypeID(maxTypes)

func (r *reader) pallets(rt *Runtime) {
	r.list(7, func() {
		p := pallet{name: r.Text()}
		if r.Option() {
			r.storage(rt, &p)
		}
		p.calls = r.optionalEnum(rt.version)
		p.events = r.optionalEnum(rt.version)
		p.constants = map[string]Constant{}
		r.list(4, func() {
			name := r.Text()
			p.constants[name] = Constant{r.typeID(), r.Blob()}
			r.itemEnd(rt.version)
		})
		p.errors = r.optionalEnum(rt.version)
		if rt.version == 16 {
			r.list(3, func() { r.Blob(); r.typeID(); r.docs() }) // associated types
			r.list(36, func() {                                  // functions that only look
				r.Bytes(32)
				r.Blob()
				r.function(rt.version)
			})
		}
		p.index = r.Byte()
		if rt.version > 14 {
			r.itemEnd(rt.version)
		}
		rt.pallets = append(rt.pallets, p)
	})
}

func (r *reader) optionalEnum(version int) TypeID {
	if !r.Option() {
		return none
	}
	id := r.typeID()
	if version == 16 {
		r.deprecations()
	}
	return id
}

// itemEnd skips what is at the end of an item.
func (r *reader) itemEnd(version int) {
	r.docs()
	if version == 16 {
		r.deprecation()
	}
}

func (r *reader) storage(rt *Runtime, p *pallet) {
	prefix := r.Text()
	p.storage = map[string]Storage{}
	r.list(6, func() {
		s := Storage{Pallet: prefix, Name: r.Text()}
		modifier := r.Byte()
		switch kind := r.Byte(); kind {
		case 0:
			s.Value = r.typeID()
		case 1:
			r.list(1, func() { s.Hashers = append(s.Hashers, Hasher(r.Byte())) })
			s.Keys = r.keys(rt, len(s.Hashers))
			s.Value = r.typeID()
		default:
			r.Fail("an entry of storage has the kind %d", kind)
		}
		if fallback := r.Blob(); modifier == 1 {
			s.Default = fallback
		}
		r.itemEnd(rt.version)
		p.storage[s.Name] = s
	})
}

// keys returns the types of a map's keys: the parts of a tuple, if there are several hashers.
func (r *reader) keys(rt *Runtime, hashers int) []TypeID {
	id := r.typeID()
	if hashers == 1 || r.Err() != nil || int(id) >= len(rt.types) {
		return []TypeID{id}
	}
	var keys []TypeID
	for _, f := range rt.types[id].fields {
		keys = append(keys, f.of)
	}
	if len(keys) != hashers {
		r.Fail("a map has %d hashers for %d keys", hashers, len(keys))
	}
	return keys
}
