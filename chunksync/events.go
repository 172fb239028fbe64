package chunksync

// Events are callbacks for logs and metrics. Each is optional, may be called by several
// goroutines at once, and must not block.
type Events struct {
	// Adopted reports that this node leads with the peer's catalog, or its own if peer is empty.
	Adopted func(peer string, v Version)
	// Took reports that a peer has stored a newer version.
	Took func(peer string, v Version)
	// Followed reports that this node has stored a version of the leader.
	Followed func(holder string, v Version)
	// Rejected reports that this node refused a deposed leader; err is a *[StaleError].
	Rejected func(holder string, err error)
	// Refused reports that a shut gate stopped a write or a request to a peer (S17).
	Refused func(err error)
	// Trouble reports a failure that is retried. An empty peer means the own disk.
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
