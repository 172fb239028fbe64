// Package tcpproxy is a TCP proxy inside the test's process that simulates a bad
// network. It can drop all bytes in one or both directions (Blackhole), or those of some
// clients, who are known by the address from which they dial (Part). It can delay bytes
// (Delay), reset connections (Reset) and refuse new ones (Refuse). Heal ends all of this
// and keeps the connections, as at the end of a partition. Retarget sends new connections
// to another server; Trips counts round trips.
//
// It cannot lose single packets, and it cannot make TCP's own timers notice the silence:
// the kernel acknowledges bytes that the proxy does not pass on. Only timers of the
// protocol above notice it.
package tcpproxy
