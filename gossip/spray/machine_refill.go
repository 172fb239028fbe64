package spray

// usual is what a node knows of the number of its arcs, in thousandths. Exchanges make all views equal, so it is that of all.
type usual struct {
	periods int // that were counted
	now     int // the average of the last periods
	most    int // that the average has been
}

// averaged is over how many periods arcs are averaged: one view alone has twice as many as another, by chance.
const averaged = 16

// refill takes an arc if there are less than half as many as there were. A node that starts again without end takes arcs along
// each time, and so do crashes that nobody counts right. A network that has shrunk keeps some arcs more than it needs: half as
// many arcs are those of a network of as many nodes as the square root.
func (m *Machine) refill() {
	const thousand = 1000
	u, arcs := &m.usual, (len(m.view)+m.flight.size())*thousand
	if u.periods++; u.periods <= averaged {
		u.now += (arcs - u.now) / u.periods
		return
	}
	u.now += (arcs - u.now) / averaged
	u.most = max(u.most, u.now)
	if 2*u.now >= u.most || 2*arcs >= u.most {
		return
	}
	if p, is := m.another(); is {
		m.add(p)
	}
}
