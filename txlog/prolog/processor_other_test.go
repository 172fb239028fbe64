//go:build !linux

package prolog

import "time"

var started = time.Now()

// processor returns how long the process has run.
func processor() time.Duration { return time.Since(started) }
