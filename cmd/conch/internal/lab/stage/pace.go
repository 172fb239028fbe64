package stage

import (
	"fmt"
	"time"
)

// Pace returns what is wrong with --kill-every, from one strike to the next, if a killed node needs so long to come back; 0 does nothing.
func Pace(every, least, duration time.Duration, strike, nothing string) error {
	switch {
	case every < 0:
		return fmt.Errorf("--kill-every must not be negative; 0 %s", nothing)
	case every > 0 && every >= duration:
		return fmt.Errorf("--kill-every %s leaves no time for a %s within --duration %s; 0 %s", every, strike, duration, nothing)
	case every > 0 && every < least:
		return fmt.Errorf("--kill-every %s is shorter than %s, which a killed node needs to come back", every, least)
	}
	return nil
}
