package disk

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog/store"
)

var (
	// ErrNoLog means that the store was made and no log has begun in it.
	ErrNoLog = errors.New("no log has begun in the store")
	// errLog means that a log has begun in the store already, or another one than was asked for.
	errLog = errors.New("a log has begun in the store")
	// errReadOnly means that the store was opened to read.
	errReadOnly = errors.New("the store was opened to read")
	// ErrForeign means that a file is not a store, as far as can be seen.
	ErrForeign = errors.New("not a store of conch")
)

// DamageError says what of a store is not what was written. It is a store.ErrDamaged.
type DamageError struct {
	Path    string
	What    string
	Foreign bool // it does not begin as a store does: it is another kind of file, or its first two pages are lost
}

func (e *DamageError) Error() string {
	if e.Foreign {
		return fmt.Sprintf("%v: %s does not begin as one. It is another kind of file, or its first two pages are lost", ErrForeign, e.Path)
	}
	return fmt.Sprintf("the store %s is damaged: %s. It never votes again under its id, since it may have lost what it had promised", e.Path, e.What)
}

// Is reports whether the target is store.ErrDamaged, which it always is: what was a store may have lost that it was one. It may be
// ErrForeign too.
func (e *DamageError) Is(target error) bool {
	return target == store.ErrDamaged || e.Foreign && target == ErrForeign
}

// damage says what is wrong. Its caller knows the path, and adds it.
func damage(format string, args ...any) error {
	return &DamageError{What: fmt.Sprintf(format, args...)}
}

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
