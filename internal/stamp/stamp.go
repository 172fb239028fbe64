// Package stamp tells whether files have changed since they were read.
package stamp

import (
	"fmt"
	"os"
	"strings"
)

// Of returns a text that is another one after a change of one of the files, or of the target of a link, by which mounted secrets are
// renewed. Take it before reading them: then the next look sees a change during that.
func Of(files ...string) string {
	var all strings.Builder
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&all, "%q %d %d\n", name, info.ModTime().UnixNano(), info.Size())
		}
	}
	return all.String()
}
