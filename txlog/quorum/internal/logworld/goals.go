package logworld

import (
	"bytes"
	"fmt"
)

// keys are what goals work on; few, so that they meet.
var keys = [...]string{"flags/dark", "flags/beta", "routes/a", "routes/b", "count/x", "count/y"}

// draw makes the next thing that a client asks for.
func (r *run) draw(c *client) *ask {
	c.count++
	a := &ask{by: c, id: fmt.Sprintf("%s-%d", c.name, c.count), since: c.since}
	switch p := r.w.Pick(100); {
	case p < 20:
		a.key = keys[r.w.Pick(len(keys))]
		return a
	case p < 24 && c.old != nil:
		a.id, a.goal, a.since, a.again = c.old.id, c.old.goal, c.old.since, true
		return a
	case p < 26 && c.old != nil:
		a.id, a.since, a.misuse = c.old.id, c.old.since, true
		a.goal = r.machine.Put("misused/"+c.name, c.count)
		return a
	}
	a.goal = r.drawGoal(c)
	return a
}

func (r *run) drawGoal(c *client) []byte {
	plain, counter := keys[r.w.Pick(4)], keys[4+r.w.Pick(2)]
	switch p := r.w.Pick(100); {
	case p < 30:
		return r.machine.Put(plain, r.w.Pick(10))
	case p < 50:
		return r.machine.Cas(plain, r.w.Pick(10), r.w.Pick(10))
	case p < 80:
		return r.machine.Add(counter)
	case p < 88:
		return r.machine.Delete(plain)
	case p < 95:
		return r.machine.Mail(c.name, c.count)
	default:
		r.Stats["faulty_goals"]++
		return []byte("no goal at all")
	}
}

func isMail(goal []byte) bool { return bytes.Contains(goal, []byte(`"`+mailKey)) }
