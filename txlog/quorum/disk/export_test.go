package disk

// Errors that nobody outside tells from others.
var (
	ErrLog      = errLog
	ErrReadOnly = errReadOnly
)
