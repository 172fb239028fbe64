package ledger

import "errors"

// ErrUnderWay means that no empty transaction was sent, since another one is on its way to a block.
var ErrUnderWay = errors.New("something is on its way to the chain already")
