package disk

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog/store"
)

var (
	// ErrNoLog means that the store was made and no log has begun in it.
	ErrNoLog = errors.New("no log has begun in the store")
	// ErrLog means that a log has begun in the store already, or another one than was asked for.
	ErrLog = errors.New("a log has begun in the store")
	// ErrReadOnly means that the store was opened to read.
	ErrReadOnly = errors.New("the store was opened to read")
)

// DamageError says what of a store is not what was written. It is a store.ErrDamaged.
type DamageError struct {
	Path string
	What string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("the store %s is damaged: %s. It never votes again under its id, since it may have lost what it had promised. "+
		"Move it aside and start again: the node then has a new store with a new id, fetches the log from the others, and "+
		"has to be admitted as a member by the leader", e.Path, e.What)
}

// Is reports whether the target is store.ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == store.ErrDamaged }

// damage says what is wrong. Its caller knows the path, and adds it.
func damage(format string, args ...any) error {
	return &DamageError{What: fmt.Sprintf(format, args...)}
}

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
