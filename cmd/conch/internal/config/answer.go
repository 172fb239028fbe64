package config

import (
	"fmt"
	"math"
	"time"

	"github.com/conchhq/conch/fence"
)

// AnswerMax returns the longest validity of the gate's answers over HTTP: that of the file, or
// fence.AnswerLife, or less if the roles cannot wait that long.
func (c Config) AnswerMax() time.Duration {
	room, _ := c.answerRoom()
	return min(or(c.Node.AnswerMax, fence.AnswerLife), room)
}

// answerRoom returns the longest answer that every role can wait for, and what bounds it. A
// drain without time left after the answers cannot release the scope, and no answer outlives
// the gate's deadline.
func (c Config) answerRoom() (room time.Duration, why string) {
	room = math.MaxInt64
	if c.Node.Standalone {
		return room, ""
	}
	places := c.Places()
	for i, r := range c.Settled() {
		if half := r.DrainTimeout / 2; half < room {
			room, why = half, fmt.Sprintf("half of the drain_timeout of %s (%s)", places[i], r.DrainTimeout)
		}
		e := c.Elector(r)
		e.Heartbeat = 1 // so that Spare returns all the time for which the gate is open
		if open := e.Spare(e.Roles[0]) + e.Heartbeat; open < room {
			room, why = open, fmt.Sprintf("%s, for which a heartbeat keeps the gate of %s open", open, places[i])
		}
	}
	return room, why
}

func (d *Decoder) validateAnswers(c Config) {
	const place = "node.answer_max"
	most := c.Node.AnswerMax
	if room, why := c.answerRoom(); most > 0 && most > room {
		d.Fault(place, "%s is above %s: lower it to %s or less", most, why, room.Truncate(time.Millisecond))
	} else if most > 0 && most < time.Millisecond {
		d.Fault(place, "%s is too short to act in: give 1ms or more", most)
	}
}
