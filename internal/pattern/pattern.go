// Package pattern compiles regular expressions when they are first needed. Every process of conch has the variables of all that is linked,
// of which it uses few: a compiled expression takes 2 to 60 kB.
package pattern

import (
	"regexp"
	"sync"
)

// Of returns a function that compiles an expression once, and panics if it is none. Any goroutine may call it.
func Of(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
