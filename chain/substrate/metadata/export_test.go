package metadata

// EachValue calls f for the constants and the defaults of storage.
func (rt *Runtime) EachValue(f func(what string, id TypeID, b []byte)) {
	for _, p := range rt.pallets {
		for name, c := range p.constants {
			f(p.name+"."+name, c.Type, c.Value)
		}
		for name, s := range p.storage {
			if s.Default != nil {
				f(p.name+"."+name, s.Value, s.Default)
			}
		}
	}
}
