// Package tcpproxy is a TCP proxy inside the test's own process that can be made
// as bad as a network can be: silent one way or both (Blackhole), slow (Delay),
// torn (Reset), closed to newcomers (Refuse). Heal undoes all of it, with the same
// connections, which is what a partition that ends looks like. Retarget leads to
// another server, as a moved address does; Trips counts round trips.
//
// What it cannot do: lose single packets, and hide from keepalives. The kernel
// acknowledges what the proxy does not pass on, so TCP's own timers never notice
// the silence; only timers of the protocol above do.
package tcpproxy
