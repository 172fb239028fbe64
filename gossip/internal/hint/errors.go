package hint

import "errors"

// Why a statement, a request or a reign is refused. What breaks a limit of the format has an error of package wire.
var (
	// ErrSignature means that the subject has not signed it: it was forged, changed or signed by a relay.
	ErrSignature = errors.New("its subject has not signed it")
	// ErrBack means that a subject itself has sent a sequence below one that it had sent before.
	ErrBack = errors.New("its sequence goes back")
	// ErrElector means that the subject claims to lead and is no elector.
	ErrElector = errors.New("its subject is no elector")
	// ErrFlood means that a peer sends too many statements.
	ErrFlood = errors.New("the peer sends too many statements")
	// ErrNamespace means that this node does not know the namespace.
	ErrNamespace = errors.New("the namespace is not known")
	// ErrTopics means that the subject has too many topics.
	ErrTopics = errors.New("its subject has too many topics")
	// ErrNews means that all subjects together tell more news than a node passes on. An exchange may bring it later.
	ErrNews = errors.New("all nodes together tell more news than one passes on")
	// ErrPeer means that there is no connection to the peer.
	ErrPeer = errors.New("no such peer is connected")
	// ErrLastReign means that no reign is left: somebody has claimed one out of order. A new namespace begins at 0.
	ErrLastReign = errors.New("no reign is left in this namespace")
)

// Why a leader has stepped down.
var (
	// ErrDeaf means that the leader heard nobody, or no majority of the electors, within the validity of a heartbeat.
	ErrDeaf = errors.New("it does not hear the others")
	// ErrUnheard means that another one, which comes later in the order, goes on to claim that it leads.
	ErrUnheard = errors.New("another one does not hear it, and leads")
	// ErrWithdrawn means that its user has said that it cannot work. The error has the user's reason too.
	ErrWithdrawn = errors.New("its user has withdrawn it")
	// ErrTwin means that another host has its key.
	ErrTwin = errors.New("another host has its key")
)
