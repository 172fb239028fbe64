package expiry

// Later has the next request be one of another minute.
func (t *Transport) Later() { t.minute.Store(0) }
