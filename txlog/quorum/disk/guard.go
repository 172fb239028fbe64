package disk

import (
	"fmt"
	"runtime/debug"
)

// guarded calls the library. It reads the file as memory: where the file has become shorter or the disk cannot be read, that is a
// fault of memory, and a page that is another one is a panic. Both are damage here. Nothing else of ours is called inside,
// or its faults would be taken for damage.
func guarded(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if why := recover(); why != nil {
			err = damage("a page cannot be read: %s", fmt.Sprint(why))
		}
	}()
	return call()
}
