package ranking

// Circle is the policy of document 002, which users call the ring: each node is a point on a circle by its name, each range of a contract is
// another one, and the node nearest to it comes first. A node's share is the half of the arcs beside it: with one point
// a node it is anything from a seventh to twice its part, and a dead node's ranges fall to two neighbours.
type Circle struct{}

// turn is a position on the circle: a whole turn is 2⁶⁴, so that positions wrap as numbers do.
type turn uint64

// Order implements Policy.
func (Circle) Order(contract string, nodes []string, r Range) []string {
	at := turn(digest("conch circle range", contract, r, ""))
	return nearest(nodes, at, func(name string) turn { return turn(digest("conch circle node", "", 0, name)) })
}

// nearest sorts the nodes by their distance from a point, in either direction. Of two at the same distance the one
// that lies clockwise comes first.
func nearest(nodes []string, at turn, position func(name string) turn) []string {
	seats := make([]seat, len(nodes))
	for i, name := range nodes {
		clockwise := position(name) - at
		seats[i] = seat{name: name, key: uint64(min(clockwise, -clockwise)), then: uint64(clockwise)}
	}
	return inOrder(seats)
}
