package wire

// Kind implements Body.
func (Delegate) Kind() Kind { return KindDelegate }

// Kind implements Body.
func (Accepted) Kind() Kind { return KindAccepted }

// Kind implements Body.
func (Assemble) Kind() Kind { return KindAssemble }

// Kind implements Body.
func (Assembled) Kind() Kind { return KindAssembled }

// Kind implements Body.
func (Endorse) Kind() Kind { return KindEndorse }

// Kind implements Body.
func (Endorsed) Kind() Kind { return KindEndorsed }

// Kind implements Body.
func (AskGrant) Kind() Kind { return KindAskGrant }

// Kind implements Body.
func (Granted) Kind() Kind { return KindGranted }

// Kind implements Body.
func (Dispatched) Kind() Kind { return KindDispatched }

// Kind implements Body.
func (Noted) Kind() Kind { return KindNoted }

// Kind implements Body.
func (Returned) Kind() Kind { return KindReturned }

// Kind implements Body.
func (AskList) Kind() Kind { return KindAskList }

// Kind implements Body.
func (List) Kind() Kind { return KindList }

// Kind implements Body.
func (AskHandover) Kind() Kind { return KindAskHandover }

// Kind implements Body.
func (Handover) Kind() Kind { return KindHandover }

// Kind implements Body.
func (AskAttempts) Kind() Kind { return KindAskAttempts }

// Kind implements Body.
func (Attempts) Kind() Kind { return KindAttempts }

// Kind implements Body.
func (Rejected) Kind() Kind { return KindRejected }
