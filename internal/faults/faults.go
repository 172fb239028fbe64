// Package faults collects what is wrong with a configuration, so that its writer hears of all of it at once.
package faults

import (
	"errors"
	"fmt"
)

// List is what is wrong. The zero value has nothing.
type List struct {
	Of  string // stands before each fault that Add adds
	all []error
}

// Add adds a fault, if it is one.
func (l *List) Add(is bool, text string, args ...any) {
	if is {
		l.all = append(l.all, fmt.Errorf("%s%w", l.Of, fmt.Errorf(text, args...)))
	}
}

// Join adds errors as they are; nil is none.
func (l *List) Join(errs ...error) { l.all = append(l.all, errs...) }

// All returns all faults as one error, or nil.
func (l *List) All() error { return errors.Join(l.all...) }
