package chunksync

// Events are facts for logs, metrics and people. All are optional, may be called by
// several goroutines at once, and must not block.
type Events struct {
	// Adopted: this node leads, and begins with what the peer held; with what it held
	// itself if the name is empty.
	Adopted func(peer string, v Version)
	// Took: a peer holds what it did not hold before.
	Took func(peer string, v Version)
	// Followed: this node holds what a leader sent.
	Followed func(holder string, v Version)
	// Rejected: this node refused a leader that was deposed; err is a *[StaleError].
	Rejected func(holder string, err error)
	// Refused: the gate was shut when something was to be sent (S17).
	Refused func(err error)
	// Trouble is what is tried again. The peer's name is empty for the own disk.
	Trouble func(peer string, err error)
}

func (e Events) adopted(peer string, v Version) {
	if e.Adopted != nil {
		e.Adopted(peer, v)
	}
}

func (e Events) took(peer string, v Version) {
	if e.Took != nil {
		e.Took(peer, v)
	}
}

func (e Events) followed(holder string, v Version) {
	if e.Followed != nil {
		e.Followed(holder, v)
	}
}

func (e Events) rejected(holder string, err error) {
	if e.Rejected != nil {
		e.Rejected(holder, err)
	}
}

func (e Events) refused(err error) {
	if e.Refused != nil {
		e.Refused(err)
	}
}

func (e Events) trouble(peer string, err error) {
	if e.Trouble != nil {
		e.Trouble(peer, err)
	}
}
