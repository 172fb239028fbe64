/*
 * conch's election over Postgres, small enough to visit every state.
 *
 * Read README.md beside this file first. It says what is checked, how to run it, and
 * which rule each NO_… removes. The rules are those of docs/ARCHITECTURE.md ("Rules,
 * and the tests that fail without them").
 *
 * PROCESSES
 *   node[i]     a process that campaigns: the machine, its loop and its gate.
 *   backend[i]  the server's end of node i's session: bids, heartbeats, farewells.
 *   ghost       a session that its client has left (killed, cut off, gave up) and the
 *               server has not: it keeps its lock, and the server may still carry out
 *               its pending bid or release. One at a time.
 *   outside     time, and programs that write under a fence.
 *
 * TIME is a number of ticks. A tick may come between any two steps, so every delay of a
 * message, of a process (SIGSTOP, a full run queue) and of the server is a step that has
 * not been taken yet. Timers count down. All clocks run at one speed, except with SLIP.
 * All steps between two ticks are at one instant.
 *
 * A SESSION may end at the server at any instant: its lease ran out, an administrator
 * terminated it, a connection was reset, the server was restarted. Safety must not
 * depend on the reason, nor on the lease: a session that lives on without a heartbeat is
 * a run of this model too. LIVE counts the lease, since it ends a stuck session.
 *
 * WITH ANSWERS callers outside the process ask its gate, and may act until the answer
 * expires, whatever has become of the process. The process cannot count them: it keeps
 * a promise and waits for that. An answer takes two steps, and any step may come in
 * between.
 *
 * WITH UNSAID a farewell may fail once or for ever, or be written while its answer is
 * lost, and the process may bid before its farewell has been said.
 *
 * WITH KEEPER heartbeats go on while a term is drained, and its acts may take until the
 * deadline that they prolong.
 *
 * BOUNDS: NODES processes, leases L0 L1 L2 in ticks, at most TERMS terms minted. After
 * the last term no process bids; all other steps go on.
 *
 * ASSERTIONS
 *   one_actor         at most one act door is open; an act under way counts as open
 *   epochs_grow       a minted epoch is larger than all before
 *   fence_refuses     no fenced transaction commits once a newer epoch was minted
 *   released_honest   when `released` is written, its term's door is shut, its acts are over
 *   lock_kept         a farewell never unlocks a scope that its own process leads again
 *   somebody_acts     (LIVE) some act door opens within PATIENCE ticks after the last fault
 */

#ifndef NODES
#define NODES 2
#endif
#ifndef TERMS
#define TERMS 3
#endif
#ifndef L0
#define L0 3
#endif
#ifndef L1
#define L1 2
#endif
#ifndef L2
#define L2 2
#endif
#define LEASE(i) ((i) == 0 -> L0 : ((i) == 1 -> L1 : L2))

/* A heartbeat keeps the gate open for the lease less the margin. Clocks of one speed
 * need no margin; SLIP makes one clock wrong by one tick, once. */
#if defined(SLIP) && !defined(NO_MARGIN)
#define MARGIN 1
#else
#define MARGIN 0
#endif

/* phases of a seat: election/internal/core/machine_seat.go */
#define WAITING 0
#define LEADING 1
#define CLOSING 2

/* the client's session */
#define NONE 0
#define GOOD 1
#define BROKEN 2 /* the server has ended it, and the client does not know yet */

/* the one request under way, or its answer */
#define IDLE     0
#define BID      1
#define BEAT     2
#define SETTLE   3 /* a heartbeat that settles the hold, since the act door is open */
#define PART     4 /* a farewell without the release */
#define PART_REL 5 /* a farewell with `released` */
#define WON      6 /* an answer, with its term and hold in tok and hold */
#define ALIVE    7
#define DEPOSED  8

typedef Node {
	unsigned phase   : 2;
	unsigned conn    : 2;
	unsigned q       : 4; /* the request or its answer */
	unsigned age     : 2; /* ticks since the request was sent, up to the lease */
	unsigned tok     : 3; /* the term held; 0: none */
	unsigned left    : 2; /* ticks until the gate's deadline; 0: the gate is shut */
	unsigned hold    : 2; /* ticks until the act door opens */
	unsigned act     : 3; /* ticks until the acts under way are over, once the gate is shut */
	unsigned entered : 1; /* the act door has been open in this term, so it may be released */
	unsigned bye     : 2; /* a farewell to be said: 1 without, 2 with the release */
#ifdef ANSWERS
	unsigned prom    : 2; /* the promise: ticks, on its own clock, until all answers have expired */
	unsigned ans     : 2; /* true ticks for which a caller outside may act */
	unsigned asks    : 1; /* the first of the two steps of an answer is done */
#ifdef NO_READ_AFTER_SHUT
	unsigned reads   : 1; /* it has read the promise and will shut its gate */
	unsigned read    : 2; /* the promise that it read */
#endif
#endif
#ifdef UNSAID
	unsigned old     : 3; /* the term of the farewell, once a later bid of the same node has won */
	unsigned failed  : 1; /* the node knows of a failed farewell */
#ifdef LIVE
	unsigned poison  : 1; /* the farewell fails whenever it is said */
	unsigned tried   : 1; /* it has said a farewell since the last tick */
#endif
#endif
#ifdef KEEPER
	unsigned drains  : 1; /* closing on request: heartbeats go on and prolong its acts */
#endif
	unsigned born    : 1; /* it has bid before; only to tell equal nodes apart */
#ifdef CHANGE
	unsigned fast    : 1; /* the takeover of its bid and its term */
#endif
#ifdef NO_COMPARE_AT_USE
	unsigned flag    : 1; /* stands for the gate */
#endif
#ifdef LIVE
	unsigned idle    : 2; /* at the server: ticks since the session's last statement */
	unsigned asked   : 1; /* it has sent a request since the last tick */
#endif
};
Node n[NODES];
#ifdef ANSWERS
byte orphan; /* ans of killed processes, whose answers are still valid */
#endif

/* The database. The row is the truth; the lock only says when to try. */
typedef Database {
	unsigned epoch    : 3;
	unsigned term     : 3; /* the number of its mint */
	unsigned hold     : 2; /* hold_ms: how long a successor must assume that an act door is open */
	unsigned released : 1;
	unsigned lock     : 3; /* 0: free, i + 1: backend i, GHOST */
	unsigned fenced   : 3; /* the epoch of a transaction past its fence; 0: none */
#ifdef CHANGE
	unsigned fast     : 1; /* the takeover of all candidates, until a release */
#endif
#ifdef NO_TERM_IN_PREDICATE
	unsigned name     : 2;
#endif
	/* not in a real database: for the assertions and the bound */
	unsigned minted   : 3; /* terms minted */
	unsigned top      : 3; /* the largest epoch minted */
};
Database db;
#define GHOST (NODES + 1)

typedef Ghost {
	unsigned here : 1;
	unsigned q    : 4; /* its pending request */
	unsigned who  : 2;
	unsigned term : 3;
#ifdef CHANGE
	unsigned fast : 1;
#endif
#ifdef LIVE
	unsigned idle : 2;
#endif
};
Ghost ghost;

#ifdef SLIP
bit slipped;
#endif
#ifdef WITNESS_HANDOFF
byte minter; /* number of the row's holder plus one; 0: none yet */
bit handed;  /* B's term began with A's release in the row, without a hold */
#endif
#ifdef WITNESS_CARRIED
bit carried; /* A's bid won with the release that it carried */
#endif
#ifdef LIVE
bit quiet;        /* no more faults */
byte waited;      /* ticks without a leader since the last fault */
byte fence_idle;
bit led;
#ifndef PATIENCE
#define PATIENCE (3 * L0) /* three of the longest leases, L0 */
#endif
#define FAULTS (!quiet)
#define MORE_TERMS (db.minted < TERMS || quiet && db.minted < 7)
#ifdef NO_PAUSES /* not a rule: it shows that time-moves can fail */
#define MAY_ASK(i) true
#else
#define MAY_ASK(i) (!quiet || !n[i].asked)
#endif
#define ASKS(i) n[i].asked = 1
#define HEARD(i) n[i].idle = 0
#else
#define FAULTS true
#define MORE_TERMS (db.minted < TERMS)
#define MAY_ASK(i) true
#define ASKS(i) skip
#define HEARD(i) skip
#endif

/* ---- the assertions -------------------------------------------------------- */

#ifdef NO_COMPARE_AT_USE
#define GATE(i) (n[i].flag)
#else
#define GATE(i) (n[i].left > 0)
#endif
#if defined(FAST)
#define FASTLY(i) true
#elif defined(CHANGE)
#define FASTLY(i) (n[i].fast)
#else
#define FASTLY(i) false
#endif
#define DOOR(i) (GATE(i) && (n[i].hold == 0 || FASTLY(i)) && n[i].q != WON)
#ifdef ANSWERS
#define ACTOR(i) (n[i].act > 0 || n[i].ans > 0 || DOOR(i))
#define ORPHANS (orphan > 0)
#else
#define ACTOR(i) (n[i].act > 0 || DOOR(i))
#define ORPHANS 0
#endif
#if NODES > 2
#define ACTORS (ACTOR(0) + ACTOR(1) + ACTOR(2) + ORPHANS)
#else
#define ACTORS (ACTOR(0) + ACTOR(1) + ORPHANS)
#endif
#ifdef CHANGE
#define one_actor       (ACTORS - (FASTLY(0) && FASTLY(1)) <= 1) /* two doors of fast may be open, as documented */
#else
#define one_actor       (ACTORS <= 1)
#endif
#define epochs_grow     (db.epoch > db.top)
#define fence_refuses   (db.fenced >= db.top)
#define released_honest(i) (!ACTOR(i))
#define lock_kept(i)    (db.lock != (i) + 1 || db.term != n[i].tok || n[i].phase != LEADING)
#define somebody_acts   (waited < PATIENCE)

/* A witness is a state that must be reachable, or the model proves nothing. */
#if defined(WITNESS_THIRD_TERM)
#define witness() assert(!(n[1].tok == 3 && DOOR(1)))
#elif defined(WITNESS_HANDOFF) /* A released, B acts without a hold, and A lives on and bids */
#define witness() assert(!(handed && n[1].tok == 2 && DOOR(1) && n[0].q == BID))
#elif defined(WITNESS_ACT_OUTLIVES) /* an act of the old leader is under way, and the new leader's fenced door is open */
#define witness() assert(!(n[0].act > 0 && n[1].phase == LEADING && n[1].left > 0))
#elif defined(WITNESS_ANSWER_OUTLIVES) /* A was killed, its caller still acts, and B's fenced door is open */
#define witness() assert(!(orphan > 0 && n[0].conn == NONE && n[1].phase == LEADING && n[1].left > 0))
#elif defined(WITNESS_CARRIED) /* A acts again, without a hold, over a term whose farewell was never written */
#define witness() assert(!(carried && n[0].tok == 2 && DOOR(0)))
#else
#define witness() skip
#endif

/* With fast, two act doors may be open at once, as documented. */
#ifdef FAST
#define judge() witness()
#else
#define judge() assert(one_actor); witness()
#endif

/* Nodes of equal leases are interchangeable: the first to bid is the first by number. */
#define FIRST(i) ((i) == 0 || LEASE(i) != LEASE((i) - 1) || n[(i) - 1].born)

/* Two processes of one name, as after a restart of a process that still lives. */
#ifdef TWINS
#define NAME(i) ((i) < 2 -> 0 : (i))
#else
#define NAME(i) (i)
#endif

/* ---- the mint: conch.bid, conch.beat, conch.part ---------------------------- */

#ifdef LIE
#define LOCK_FREE(s) true /* as behind a pooler */
#define TAKE_LOCK(s) skip
#define UNLOCK(s) skip
#else
#define LOCK_FREE(s) (db.lock == 0 || db.lock == (s))
#define TAKE_LOCK(s) db.lock = (s)
#define UNLOCK(s) if :: db.lock == (s) -> db.lock = 0 :: else fi
#endif

#ifdef NO_FENCE_LOCKS
#define FENCE_FREE true
#else
#define FENCE_FREE (db.fenced == 0)
#endif

/* Candidates have the takeover of the row, or wait for a release. */
#ifdef CHANGE
#define MODE(x) (x.fast)
#define AGREES(x) (db.released || db.epoch == 0 || db.fast == x.fast)
#else
#define MODE(x) 0
#define AGREES(x) true
#endif

byte h; /* scratch, 0 between steps */

/* mint makes a term and leaves the successor's hold in h. carry: the bid carries the
 * release of its own unsaid farewell of the term in the row. */
inline mint(i, mode, carry) {
	if
	:: db.released || db.epoch == 0 || (carry) -> h = 0 /* released, or the first term */
#ifdef NO_OWN_IN_HOLD
	:: else -> h = db.hold
#else
	:: else -> h = (db.hold > LEASE(i) -> db.hold : LEASE(i))
#endif
	fi;
#ifdef NO_HOLD_WAITS
	h = 0;
#endif
#ifdef NO_EPOCH_GROWS
	if :: db.epoch == 0 -> db.epoch = 1 :: else fi;
#else
	db.epoch = db.epoch + 1;
#endif
	assert(epochs_grow);
	db.top = db.epoch;
	db.minted = db.minted + 1;
	db.term = db.minted;
#ifdef WITNESS_HANDOFF
	if :: i == 1 -> handed = (minter == 1 && db.released && h == 0) :: else fi;
	minter = i + 1;
#endif
	db.released = 0;
#ifdef CHANGE
	db.fast = mode;
#endif
#ifdef NO_TERM_IN_PREDICATE
	db.name = NAME(i);
#endif
#if defined(NO_HOLD_STORED)
	db.hold = LEASE(i);
#elif defined(NO_HOLD_OWN_LEASE)
	db.hold = h;
#else
	db.hold = (h > LEASE(i) -> h : LEASE(i));
#endif
}

#ifdef NO_TERM_IN_PREDICATE
#define CURRENT(i, t) (db.name == NAME(i) && (t) != 0)
#else
#define CURRENT(i, t) (db.term == (t) && (t) != 0)
#endif
#ifdef NO_TERM_IN_FAREWELL
#define PARTS(t) ((t) != 0)
#else
#define PARTS(t) (db.term == (t) && (t) != 0)
#endif

/* A bid carries the release of an unsaid farewell, if the row is still of its term. */
#ifdef UNSAID
#ifdef NO_CARRIED_BY_TERM
#define OF_ROW(t) ((t) != 0)
#else
#define OF_ROW(t) (db.term == (t) && (t) != 0)
#endif
#ifdef NO_CARRIED_WHEN_PROMISED
#define CARRIES(i) (n[i].bye != 0 && OF_ROW(n[i].tok))
#else
#define CARRIES(i) (n[i].bye == 2 && OF_ROW(n[i].tok))
#endif
#define GHOST_CARRIES OF_ROW(ghost.term)
#else
#define CARRIES(i) false
#define GHOST_CARRIES false
#endif

/* part writes a farewell and unlocks. Without the release it only unlocks: the row is
 * unreleased already. The acts of a process that is gone are over; of one that lives
 * they must be. */
inline part(i, session, tm, promise) {
	if
	:: promise && PARTS(tm) ->
		if
		:: n[i].tok == tm -> assert(released_honest(i))
		:: else
		fi;
		db.released = 1
	:: else
	fi;
	assert(session != i + 1 || lock_kept(i));
	UNLOCK(session)
}

inline drop_farewell(i) {
	n[i].bye = 0;
#ifdef UNSAID
	n[i].failed = 0;
#ifdef LIVE
	n[i].poison = 0;
#endif
#endif
}

/* Connecting is a part of the next request. A node that does not lead need not know that
 * its session is over: no step before it knows has an effect. */
inline forget(i) {
	if
	:: n[i].phase == WAITING && n[i].bye == 0 && n[i].q == IDLE && db.lock != i + 1 ->
		n[i].conn = NONE; n[i].tok = 0; n[i].entered = 0;
#ifdef CHANGE
		n[i].fast = 0;
#endif
#ifdef LIVE
		n[i].idle = 0
#endif
	:: else
	fi
}

#ifdef KEEPER
#define LISTENS(i) (n[i].phase == LEADING || n[i].drains)
#else
#define LISTENS(i) (n[i].phase == LEADING)
#endif

inline end_session(i) {
	UNLOCK(i + 1);
#ifdef LIVE
	n[i].idle = 0;
#endif
	if
	:: n[i].q != WON && n[i].q != ALIVE && n[i].q != DEPOSED -> n[i].q = IDLE; n[i].age = 0
	:: else
	fi;
	if
	:: LISTENS(i) || n[i].q == WON -> n[i].conn = BROKEN
	:: else -> n[i].conn = NONE;
		if :: n[i].bye == 1 -> drop_farewell(i) :: else fi; /* it would only unlock */
		forget(i)
	fi
}

inline won(i) {
#ifdef UNSAID
	n[i].old = (n[i].bye != 0 -> n[i].tok : 0);
#endif
	n[i].tok = db.term; n[i].hold = h; n[i].q = WON;
	printf("db: mints epoch %d for %c, hold %d\n", db.epoch, 'A' + i, h);
	h = 0
}

/* The term of a farewell, and whether the server can never write it. */
#ifdef UNSAID
#define PARTING(i) (n[i].phase == LEADING -> n[i].old : n[i].tok)
#ifdef LIVE
#define POISONED(i) (n[i].poison)
#else
#define POISONED(i) false
#endif
#else
#define PARTING(i) (n[i].tok)
#define POISONED(i) false
#endif

active [NODES] proctype backend() {
	byte i = _pid;
	do
	/* A lost bid changes nothing, so it has no answer. A bid that finds the fence busy
	 * keeps the lock and tries again. */
	:: d_step { n[i].q == BID && n[i].conn == GOOD && !(LOCK_FREE(i + 1) && AGREES(n[i]) && MORE_TERMS) ->
		n[i].q = IDLE; n[i].age = 0; HEARD(i);
		if :: n[i].bye != 0 && db.term != n[i].tok -> drop_farewell(i) :: else fi; /* that term is over */
		forget(i) }
	:: d_step { n[i].q == BID && n[i].conn == GOOD && LOCK_FREE(i + 1) && AGREES(n[i]) && MORE_TERMS && !FENCE_FREE ->
		TAKE_LOCK(i + 1); n[i].q = IDLE; n[i].age = 0; HEARD(i); forget(i) }
	:: d_step { n[i].q == BID && n[i].conn == GOOD && LOCK_FREE(i + 1) && AGREES(n[i]) && MORE_TERMS && FENCE_FREE ->
		TAKE_LOCK(i + 1); HEARD(i);
		mint(i, MODE(n[i]), false);
		won(i) }
#ifdef UNSAID
	:: d_step { n[i].q == BID && n[i].conn == GOOD && LOCK_FREE(i + 1) && AGREES(n[i]) && MORE_TERMS && FENCE_FREE && CARRIES(i) ->
		TAKE_LOCK(i + 1); HEARD(i);
#ifdef WITNESS_CARRIED
		if :: i == 0 && !db.released -> carried = 1 :: else fi;
#endif
		mint(i, MODE(n[i]), true);
		printf("db: the bid of %c carries the promise of its farewell\n", 'A' + i);
		won(i) }
#endif
#ifdef SERVER_CLOCK
	/* A step of the server's clock changes a hold that is computed from timestamps. */
	:: d_step { n[i].q == WON && n[i].hold > 0 -> n[i].hold = n[i].hold - 1;
		printf("db: the server's clock was stepped: the hold of %c is %d\n", 'A' + i, n[i].hold) }
#endif
	:: d_step { (n[i].q == BEAT || n[i].q == SETTLE) && n[i].conn == GOOD ->
		HEARD(i);
		if
		:: CURRENT(i, n[i].tok) ->
			if
			:: n[i].q == SETTLE -> db.hold = LEASE(i);
				printf("db: renews %c; a successor need wait for no more than its lease\n", 'A' + i)
			:: else -> printf("db: renews %c\n", 'A' + i)
			fi;
			n[i].q = (LISTENS(i) -> ALIVE : IDLE)
		:: !CURRENT(i, n[i].tok) && !LISTENS(i) -> n[i].q = IDLE
		:: else -> n[i].q = DEPOSED; printf("db: %c is not the current term\n", 'A' + i)
		fi }
	/* If the answer is lost, the node says the same farewell again. */
	:: d_step { (n[i].q == PART || n[i].q == PART_REL) && n[i].conn == GOOD && !POISONED(i) ->
		HEARD(i);
		h = PARTING(i);
		part(i, i + 1, h, (n[i].q == PART_REL));
		h = 0;
		printf("db: %c parts, released = %d\n", 'A' + i, n[i].q == PART_REL);
		if
		:: n[i].bye == n[i].q - PART + 1 -> drop_farewell(i)
		:: else /* the acts ended meanwhile: the release is still to be said */
		fi;
		if
		:: n[i].bye == 0 && n[i].phase == WAITING -> n[i].left = 0; n[i].hold = 0
		:: else
		fi;
		n[i].q = IDLE;
		forget(i) }
#ifdef UNSAID
	/* The farewell fails, since the row is locked or a value cannot be written; or it is
	 * written and its answer is lost. The node sees no difference; its session lives on. */
	:: d_step { (n[i].q == PART || n[i].q == PART_REL) && n[i].conn == GOOD && (FAULTS || POISONED(i)) ->
		HEARD(i);
		n[i].failed = 1; n[i].q = IDLE;
		printf("db: the farewell of %c fails\n", 'A' + i) }
	:: d_step { (n[i].q == PART || n[i].q == PART_REL) && n[i].conn == GOOD && FAULTS && !POISONED(i) ->
		HEARD(i);
		h = PARTING(i);
		part(i, i + 1, h, (n[i].q == PART_REL));
		h = 0;
		printf("db: %c parts, released = %d, and does not hear of it\n", 'A' + i, n[i].q == PART_REL);
		n[i].failed = 1; n[i].q = IDLE }
#ifdef LIVE
	:: d_step { FAULTS && n[i].bye != 0 && !n[i].poison -> n[i].poison = 1;
		printf("db: the farewell of %c cannot be written down, now or later\n", 'A' + i) }
#endif
#endif
	:: d_step { FAULTS && n[i].conn == GOOD -> end_session(i);
		printf("db: the session of %c ends\n", 'A' + i) }
	od
}

/* ---- a node: machine.go, machine_seat.go, machine_due.go, and the gate of package fence ------ */

#define FROM_REPLY(i) (LEASE(i) - MARGIN)
#define FROM_SEND(i)  (LEASE(i) - MARGIN > n[i].age -> LEASE(i) - MARGIN - n[i].age : 0)
#ifdef NO_ANCHOR_ON_SEND
#define BEAT_WINDOW(i) FROM_REPLY(i)
#else
#define BEAT_WINDOW(i) FROM_SEND(i)
#endif
#ifdef NO_PROLONG_ANCHOR_ON_SEND
#define DRAIN_WINDOW(i) FROM_REPLY(i)
#else
#define DRAIN_WINDOW(i) BEAT_WINDOW(i)
#endif
#ifdef NO_MINT_ANCHOR_ON_SEND
#define MINT_WINDOW(i) FROM_REPLY(i)
#else
#define MINT_WINDOW(i) FROM_SEND(i)
#endif

/* extend moves the deadline to h ticks from now, never back. */
inline extend(i) {
	n[i].left = (h > n[i].left -> h : n[i].left);
	h = 0;
#ifdef NO_COMPARE_AT_USE
	n[i].flag = n[i].left > 0;
#endif
}

inline shut_gate(i) {
	n[i].left = 0;
#ifdef NO_COMPARE_AT_USE
	n[i].flag = 0;
#endif
}

/* An act behind an open door counts as the open door. Acts only matter when the gate
 * shuts: Do(max) lets an act in iff now + max < deadline, so it takes at most a tick less
 * than what was left, and may end early. */
#if defined(KEEPER)
#define LASTS(i) (DOOR(i) -> n[i].left : 0) /* the keeper ends it at the deadline */
#elif defined(NO_ACT_MAX)
#define LASTS(i) (DOOR(i) -> 2 : 0)
#elif defined(NO_HONEST_MAX)
#define LASTS(i) (DOOR(i) && n[i].left > 1 -> n[i].left + 1 : 0)
#else
#define LASTS(i) (DOOR(i) && n[i].left > 1 -> n[i].left - 1 : 0)
#endif

/* shut begins the end of a term. It forgets the hold, except under fast, where a term may
 * be released only if the hold is over when the acts are. */
inline shut(i) {
	n[i].phase = CLOSING;
	/* The answer of a heartbeat does not matter any more; the effect of a settling one does. */
	if
	:: !LISTENS(i) && (n[i].q == BEAT || n[i].q == ALIVE || n[i].q == DEPOSED) -> n[i].q = IDLE
	:: else
	fi;
	if :: !LISTENS(i) -> n[i].age = 0 :: else fi;
#ifdef ANSWERS
#ifndef NO_REMEMBER_THEN_LOOK
	n[i].asks = 0; /* from now on a check finds the gate shut */
#endif
#endif
	if
	:: n[i].act == 0 -> n[i].act = LASTS(i);
		if
		:: n[i].act > 0 -> printf("%c: has an act under way, for %d at most\n", 'A' + i, n[i].act)
		:: else
		fi
	:: else
	fi;
#ifndef NO_SHUT
	shut_gate(i);
	if :: FASTLY(i) -> skip :: else -> n[i].hold = 0 fi
#endif
}

/* unwon: the node never hears that it has won, and only knows its earlier term. */
inline unwon(i) {
	n[i].hold = 0;
#ifdef UNSAID
	n[i].tok = n[i].old; n[i].old = 0
#else
	n[i].tok = 0
#endif
}

/* Without acts under way, a node sends no more heartbeats for a term that is given up. */
inline stop_renewing(i) {
#ifdef KEEPER
	if
	:: n[i].phase == CLOSING && n[i].act == 0 -> n[i].drains = 0; n[i].age = 0;
		if :: n[i].q == BEAT || n[i].q == ALIVE || n[i].q == DEPOSED -> n[i].q = IDLE :: else fi
	:: else
	fi
#else
	skip
#endif
}

/* leave is the client's end of its session. The server's end may live on. */
#define LEAVES_GHOST(i) (n[i].conn == GOOD && (db.lock == i + 1 || n[i].q == BID || n[i].q == PART_REL))
#define MAY_LEAVE(i) (!LEAVES_GHOST(i) || !ghost.here)
inline leave(i) {
	if
	:: LEAVES_GHOST(i) ->
		ghost.here = 1; ghost.who = i;
		if
		:: n[i].q == BID -> ghost.q = BID;
#ifdef UNSAID
			ghost.term = (CARRIES(i) -> n[i].tok : 0);
#endif
#ifdef CHANGE
			ghost.fast = n[i].fast
#endif
		:: n[i].q == PART_REL -> ghost.q = PART_REL; ghost.term = PARTING(i)
		:: else
		fi;
		if :: db.lock == i + 1 -> db.lock = GHOST :: else fi;
#ifdef LIVE
		ghost.idle = n[i].idle
#endif
	:: else
	fi;
	if :: n[i].q == WON -> unwon(i) :: else fi;
	n[i].conn = NONE; n[i].q = IDLE; n[i].age = 0;
#ifdef KEEPER
#ifndef NO_DRAINING_ENDS_WITH_SESSION
	n[i].drains = 0;
#endif
#endif
	HEARD(i)
}

/* ALONE: the node has entered its act door and its hold is over; fast enters earlier. */
#ifdef NO_FAST_WAITS_TO_PROMISE
#define ALONE(i) (n[i].entered)
#else
#define ALONE(i) (n[i].entered && n[i].hold == 0)
#endif
#ifdef NO_SETTLE_AFTER_ENTRY
#define SETTLES(i) true
#else
#define SETTLES(i) (ALONE(i)) /* every time; the machine settles until it has an answer */
#endif
#ifdef NO_DRAIN
#define DRAINED(i) true
#elif defined(ANSWERS) && !defined(NO_ANSWERS_WAITED)
#define DRAINED(i) (n[i].act == 0 && n[i].prom == 0)
#else
#define DRAINED(i) (n[i].act == 0)
#endif
#if defined(NO_RELEASED_ONLY_WHEN_ENTERED)
#define PROMISES(i) true
#elif defined(NO_PROMISES) /* not a rule: it shows that witness-handoff needs a release */
#define PROMISES(i) false
#else
#define PROMISES(i) (ALONE(i))
#endif
#if defined(UNSAID) && !defined(NO_BIDS_OVER_UNSAID)
#define NOTHING_TO_SAY(i) (n[i].bye == 0 || n[i].failed)
#else
#define NOTHING_TO_SAY(i) (n[i].bye == 0)
#endif
#if defined(UNSAID) && defined(LIVE)
#define MAY_PART(i) (!quiet || !n[i].tried)
#define SAYS(i) n[i].tried = 1
#else
#define MAY_PART(i) true
#define SAYS(i) skip
#endif
#ifdef KEEPER
#define RENEWS(i) (n[i].phase == LEADING && n[i].conn == GOOD || n[i].phase == CLOSING && n[i].drains && n[i].act > 0 && n[i].conn != BROKEN)
#else
#define RENEWS(i) (n[i].phase == LEADING && n[i].conn == GOOD)
#endif

/* How long an answer is valid, and by how much the promise is longer: two clocks. */
#ifndef LIFE
#define LIFE 2
#endif
#ifdef NO_ANSWER_MARGIN
#define SPARE 0
#else
#define SPARE MARGIN
#endif
#ifdef NO_ANSWER_WITHIN_DEADLINE
#define ANSWER(i) (n[i].prom - SPARE)
#else
#define ANSWER(i) (n[i].prom - SPARE < n[i].left -> n[i].prom - SPARE : n[i].left)
#endif

#define MAY_BID(i) (n[i].phase == WAITING && NOTHING_TO_SAY(i) && n[i].q == IDLE && n[i].conn != BROKEN && MORE_TERMS && FIRST(i) && MAY_ASK(i))
inline bid(i) {
	n[i].q = BID; n[i].age = 0; n[i].conn = GOOD; n[i].born = 1; ASKS(i)
}
active [NODES] proctype node() {
	byte i = _pid - NODES;
	do
	/* Requests to the mint: one at a time; the send time is read first. */
	:: d_step { MAY_BID(i) -> bid(i);
#ifdef CHANGE
		n[i].fast = 0;
#endif
		printf("%c: bids\n", 'A' + i) }
#ifdef CHANGE
	:: d_step { MAY_BID(i) -> bid(i);
		n[i].fast = 1;
		printf("%c: bids, with takeover fast\n", 'A' + i) }
#endif
	:: d_step { RENEWS(i) && n[i].q == IDLE && MAY_ASK(i) ->
		n[i].q = (SETTLES(i) -> SETTLE : BEAT); n[i].age = 0; n[i].conn = GOOD; ASKS(i);
		printf("%c: sends a heartbeat\n", 'A' + i) }
	:: d_step { n[i].bye != 0 && n[i].q == IDLE && n[i].conn != BROKEN && MAY_PART(i) ->
		n[i].q = PART + n[i].bye - 1; n[i].conn = GOOD; SAYS(i);
		printf("%c: sends its farewell, released = %d\n", 'A' + i, n[i].bye - 1) }

	/* The answers. */
	:: d_step { n[i].q == WON ->
		n[i].phase = LEADING;
#ifdef NO_HOLD_FROM_REPLY
		n[i].hold = (n[i].hold > n[i].age -> n[i].hold - n[i].age : 0);
#endif
#ifdef NO_STRICT
		n[i].hold = 0;
#endif
		n[i].q = IDLE;
#ifdef UNSAID
#ifndef NO_FAREWELL_UNLOCKS_OWN
		drop_farewell(i);
		n[i].old = 0;
#endif
#ifndef NO_ENTERED_ANEW
		n[i].entered = 0;
#endif
#endif
		h = MINT_WINDOW(i); extend(i);
		n[i].age = 0;
		printf("%c: leads term %d; act door in %d, deadline in %d\n", 'A' + i, n[i].tok, n[i].hold, n[i].left);
		judge() }
	:: d_step { n[i].q == ALIVE ->
		if
		:: n[i].phase == LEADING -> h = BEAT_WINDOW(i); extend(i);
			printf("%c: hears that it is alive; deadline in %d\n", 'A' + i, n[i].left)
#ifdef KEEPER
		:: n[i].phase != LEADING && n[i].drains && n[i].act > 0 && DRAIN_WINDOW(i) > n[i].act ->
			n[i].act = DRAIN_WINDOW(i);
			printf("%c: hears that it is alive; what it has under way may take %d\n", 'A' + i, n[i].act)
#endif
		:: else
		fi;
		n[i].q = IDLE; n[i].age = 0;
		judge() }
	:: d_step { n[i].q == DEPOSED ->
		if
		:: n[i].phase == LEADING -> printf("%c: hears that it is deposed\n", 'A' + i);
			shut(i);
#ifndef NO_DEPOSED_NEVER_PROMISE
			n[i].entered = 0
#endif
#ifdef KEEPER
		:: n[i].phase != LEADING && n[i].drains -> printf("%c: hears that it is deposed\n", 'A' + i);
			n[i].drains = 0;
#ifndef NO_DEPOSED_NEVER_PROMISE
			n[i].entered = 0
#endif
#endif
		:: else
		fi;
		n[i].q = IDLE; n[i].age = 0 }
	/* A statement failed with an unknown outcome, and the session lives on. */
	:: d_step { FAULTS && (n[i].q == WON || n[i].q >= ALIVE) ->
		if
		:: n[i].q == WON -> unwon(i)
#ifndef NO_FAILURE_SUSPENDS
		:: n[i].q != WON && n[i].phase == LEADING -> shut_gate(i);
#if defined(ANSWERS) && defined(NO_PROMISE_NOT_FORGOTTEN)
			n[i].prom = 0
#endif
#endif
		:: else
		fi;
		n[i].q = IDLE; n[i].age = 0;
		printf("%c: hears that its statement failed\n", 'A' + i) }

	/* Leading. */
	:: d_step { n[i].phase == LEADING && !n[i].entered && (n[i].hold == 0 || FASTLY(i)) && n[i].left > 0 ->
		n[i].entered = 1; printf("%c: enters its act door\n", 'A' + i) }
#if defined(NO_ACT_MAX) || defined(NO_HONEST_MAX)
	:: d_step { n[i].phase == LEADING && n[i].act == 0 && LASTS(i) > 0 ->
		n[i].act = LASTS(i); printf("%c: acts, for %d\n", 'A' + i, n[i].act) }
#endif
#ifdef NO_COMPARE_AT_USE
	:: d_step { n[i].flag && n[i].left == 0 -> n[i].flag = 0 } /* when the node runs again */
#endif

#ifdef ANSWERS
	/* A caller outside asks the gate, and may act until the answer expires, counted from
	 * its request. Of several callers at once only the last to ask matters. */
#ifdef NO_REMEMBER_THEN_LOOK
	:: d_step { FAULTS && n[i].phase == LEADING && DOOR(i) && !n[i].asks ->
		n[i].asks = 1;
		n[i].ans = (n[i].left < LIFE -> n[i].left : LIFE);
		printf("%c: is asked by a caller, looks: open, for %d\n", 'A' + i, n[i].ans) }
	:: d_step { n[i].asks ->
		n[i].asks = 0;
		n[i].prom = (n[i].ans > n[i].prom -> n[i].ans : n[i].prom);
		printf("%c: remembers, and answers\n", 'A' + i) }
#else
	:: d_step { FAULTS && n[i].phase == LEADING && DOOR(i) && (!n[i].asks || n[i].prom < LIFE + SPARE) ->
		n[i].asks = 1; n[i].prom = LIFE + SPARE;
		printf("%c: is asked by a caller, promises %d\n", 'A' + i, LIFE) }
	:: d_step { n[i].asks ->
		n[i].asks = 0;
		if
		:: DOOR(i) && n[i].prom > SPARE && ANSWER(i) > n[i].ans -> n[i].ans = ANSWER(i);
			printf("%c: looks, and answers: open, for %d\n", 'A' + i, n[i].ans)
		:: else
		fi;
		judge() }
#endif
#endif

	/* The end of a term: shut, acts end, farewell. */
#ifdef NO_READ_AFTER_SHUT
#define HAS_READ(i) (n[i].reads)
	:: d_step { FAULTS && n[i].phase == LEADING && !n[i].reads -> n[i].reads = 1; n[i].read = n[i].prom;
		printf("%c: reads what it has promised: %d\n", 'A' + i, n[i].read) }
#else
#define HAS_READ(i) true
#endif
	:: d_step { FAULTS && n[i].phase == LEADING && HAS_READ(i) -> printf("%c: steps down\n", 'A' + i);
#ifdef KEEPER
		n[i].drains = 1;
#endif
		shut(i);
#ifdef NO_READ_AFTER_SHUT
		n[i].prom = n[i].read; n[i].reads = 0; n[i].read = 0;
#endif
		stop_renewing(i) }
	:: d_step { n[i].phase == CLOSING && n[i].act > 0 -> n[i].act = n[i].act - 1; stop_renewing(i);
		printf("%c: its act is over earlier\n", 'A' + i) }
	:: d_step { n[i].phase == CLOSING && DRAINED(i) ->
		n[i].phase = WAITING;
#ifdef ANSWERS
		n[i].prom = 0;
#endif
		n[i].bye = (PROMISES(i) -> 2 : (n[i].conn == GOOD -> 1 : 0));
		if :: FASTLY(i) -> n[i].hold = 0 :: else fi;
		printf("%c: its acts have ended\n", 'A' + i);
		forget(i) }
	/* The drain timed out: give the term up without the release. */
	:: d_step { FAULTS && n[i].phase == CLOSING && n[i].bye == 0 && n[i].conn == GOOD ->
#ifdef NO_RELEASED_ONLY_WHEN_DRAINED
		n[i].bye = (n[i].entered -> 2 : 1);
#else
		n[i].bye = 1;
#endif
#ifdef KEEPER
#ifndef NO_PROLONG_UNTIL_GIVEN_UP
		n[i].drains = 0;
#endif
#endif
		printf("%c: gives up although its acts have not ended\n", 'A' + i) }

	/* The session is lost, or the node believes so. */
	:: d_step { n[i].conn != NONE && (FAULTS || n[i].conn == BROKEN) && MAY_LEAVE(i) ->
		leave(i);
		if
		:: n[i].phase == LEADING -> shut(i)
		:: n[i].phase != LEADING && n[i].bye == 1 -> drop_farewell(i) /* it would only unlock */
		:: else
		fi;
		forget(i);
		printf("%c: has lost its session\n", 'A' + i) }
	/* kill -9 ends the acts too. The node is a new process afterwards. */
	:: d_step { FAULTS && (n[i].phase != WAITING || n[i].q != IDLE || n[i].bye != 0) && MAY_LEAVE(i) ->
		leave(i);
		shut_gate(i);
		n[i].phase = WAITING; n[i].tok = 0; n[i].hold = 0; n[i].act = 0;
		n[i].entered = 0; drop_farewell(i);
#ifdef UNSAID
		n[i].old = 0;
#endif
#ifdef KEEPER
		n[i].drains = 0;
#endif
#ifdef ANSWERS
		orphan = (n[i].ans > orphan -> n[i].ans : orphan);
		n[i].ans = 0; n[i].prom = 0; n[i].asks = 0;
#endif
#ifdef CHANGE
		n[i].fast = 0;
#endif
		printf("%c: is killed\n", 'A' + i) }
	od
}

/* ---- the session that its client has left ------------------------------------ */

inline ghost_ends() {
	ghost.here = 0; ghost.q = IDLE; ghost.term = 0; ghost.who = 0;
#ifdef CHANGE
	ghost.fast = 0;
#endif
#ifdef LIVE
	ghost.idle = 0;
#endif
	UNLOCK(GHOST)
}

active proctype left_behind() {
	do
	:: d_step { ghost.q == BID && LOCK_FREE(GHOST) && AGREES(ghost) && MORE_TERMS && FENCE_FREE ->
		TAKE_LOCK(GHOST); ghost.q = IDLE;
		mint(ghost.who, MODE(ghost), GHOST_CARRIES);
		h = 0; ghost.term = 0;
		printf("db: mints epoch %d for a session that %c has left\n", db.epoch, 'A' + ghost.who);
#ifdef LIVE
		ghost.idle = 0
#else
#ifdef LIE
		ghost_ends()
#else
#ifdef CHANGE
		ghost.fast = 0;
#endif
		ghost.who = 0
#endif
#endif
		}
	:: d_step { ghost.q == PART_REL ->
		part(ghost.who, GHOST, ghost.term, true);
		printf("db: carries out a farewell of %c, late\n", 'A' + ghost.who);
		ghost_ends() }
	:: d_step { ghost.here && FAULTS -> ghost_ends();
		printf("db: a session whose client has left ends\n") }
	od
}

/* ---- time, fenced transactions, restarts --------------------------------------- */

/* own_clock moves the timers that node i measures with its own clock. */
inline own_clock(i) {
	if :: n[i].left > 0 -> n[i].left = n[i].left - 1 :: else fi;
	if :: n[i].hold > 0 && n[i].q != WON -> n[i].hold = n[i].hold - 1 :: else fi;
#ifdef ANSWERS
	if :: n[i].prom > 0 -> n[i].prom = n[i].prom - 1 :: else fi;
#endif
	if :: (n[i].q == BID || n[i].q == WON || (n[i].q == BEAT || n[i].q == SETTLE || n[i].q == ALIVE) && LISTENS(i)) && n[i].age < LEASE(i) ->
		n[i].age = n[i].age + 1 :: else fi
}

inline true_time(i) {
	if :: n[i].act > 0 -> n[i].act = n[i].act - 1; stop_renewing(i) :: else fi;
#ifdef ANSWERS
	if :: n[i].ans > 0 -> n[i].ans = n[i].ans - 1 :: else fi;
#endif
#ifdef LIVE
	n[i].asked = 0;
#ifdef UNSAID
	n[i].tried = 0;
#endif
#ifndef NO_SERVER_LEASE
	/* idle_session_timeout and the like end a session that was silent for a lease. */
	if
	:: n[i].conn == GOOD ->
		n[i].idle = n[i].idle + 1;
		if
		:: n[i].idle == LEASE(i) -> end_session(i);
			printf("db: the lease of %c's session runs out\n", 'A' + i)
		:: else
		fi
	:: else
	fi
#endif
#endif
}

#ifdef LIVE
/* LEADS: the door is open, and session and term are current. */
#define LEADS(i) (DOOR(i) && n[i].conn == GOOD && n[i].tok == db.term)
#endif

inline everywhere_but(x) {
#ifdef LIVE
	led = quiet && (LEADS(0) || LEADS(1));
#endif
	if :: x != 0 -> own_clock(0) :: else fi;
	if :: x != 1 -> own_clock(1) :: else fi;
#if NODES > 2
	if :: x != 2 -> own_clock(2) :: else fi;
#endif
#ifdef ANSWERS
	if :: orphan > 0 -> orphan = orphan - 1 :: else fi;
#endif
	true_time(0); true_time(1);
#if NODES > 2
	true_time(2);
#endif
#ifdef LIVE
	if
	:: ghost.here ->
#ifndef NO_SERVER_LEASE
		ghost.idle = ghost.idle + 1;
		if
		:: ghost.idle == LEASE(ghost.who) -> ghost_ends();
			printf("db: the lease of a session whose client has left runs out\n")
		:: else
		fi
#endif
	:: else
	fi;
#ifndef NO_FENCE_ENDS
	/* idle_in_transaction_session_timeout, which the fence sets, or an eviction. */
	if
	:: db.fenced != 0 ->
		fence_idle = fence_idle + 1;
		if
		:: fence_idle == L0 -> db.fenced = 0; fence_idle = 0; printf("db: a frozen fence is ended\n")
		:: else
		fi
	:: else
	fi;
#endif
	if
	:: quiet && !led -> waited = waited + 1; assert(somebody_acts)
	:: else
	fi;
#endif
	printf("---- a tick\n");
	judge()
}

#ifdef NO_FENCE_CHECKS
#define FENCE_LETS(e) ((e) != 0 && (e) <= db.top)
#else
#define FENCE_LETS(e) ((e) != 0 && (e) == db.epoch)
#endif

active proctype outside() {
	do
#ifdef LIVE
	/* After the last fault, time moves only when no other step is possible. */
	:: d_step { !quiet -> everywhere_but(99) }
	:: atomic { quiet && !led && timeout -> d_step { everywhere_but(99) } }
	:: d_step { !quiet -> quiet = 1; n[0].asked = 0; n[1].asked = 0;
#if NODES > 2
		n[2].asked = 0;
#endif
		printf("==== the last fault\n") }
#else
	:: d_step { true -> everywhere_but(99) }
#endif
#ifdef SLIP
	/* One clock is slow or fast by one tick, once. */
	:: d_step { !slipped -> slipped = 1; printf("the clock of A misses a tick\n"); everywhere_but(0) }
	:: d_step { !slipped -> slipped = 1; printf("the clock of B misses a tick\n"); everywhere_but(1) }
	:: d_step { !slipped -> slipped = 1; own_clock(0); printf("the clock of A counts a tick too many\n"); judge() }
	:: d_step { !slipped -> slipped = 1; own_clock(1); printf("the clock of B counts a tick too many\n"); judge() }
#endif
#ifdef NO_BOOTTIME
	:: d_step { true -> printf("A is suspended, and its clock with it\n"); everywhere_but(0) }
	:: d_step { true -> printf("B is suspended, and its clock with it\n"); everywhere_but(1) }
#endif

	/* Any program may call the fence with any token at any time, years late, without
	 * asking the gate. A refusal changes nothing. A transaction that the fence has let in
	 * stays open without limit, whether its client is frozen or not. */
	:: d_step { FAULTS && db.fenced == 0 && FENCE_LETS(db.epoch) -> db.fenced = db.epoch;
		printf("fence: lets epoch %d in\n", db.epoch) }
	:: d_step { FAULTS && db.fenced == 0 && db.epoch > 1 && FENCE_LETS(db.epoch - 1) -> db.fenced = db.epoch - 1;
		printf("fence: lets epoch %d in\n", db.epoch - 1) }
	:: d_step { FAULTS && db.fenced != 0 ->
		printf("fence: epoch %d commits\n", db.fenced);
		assert(fence_refuses);
		db.fenced = 0;
#ifdef LIVE
		fence_idle = 0
#endif
		}
	/* Rolled back, timed out or evicted. */
	:: d_step { FAULTS && db.fenced != 0 -> db.fenced = 0;
#ifdef LIVE
		fence_idle = 0;
#endif
		printf("fence: ends without a commit\n") }

	/* The database restarts: every session and transaction ends, and the rows stay. */
	:: d_step { FAULTS ->
		if :: n[0].conn == GOOD -> end_session(0) :: else fi;
		if :: n[1].conn == GOOD -> end_session(1) :: else fi;
#if NODES > 2
		if :: n[2].conn == GOOD -> end_session(2) :: else fi;
#endif
		ghost_ends();
		db.lock = 0; db.fenced = 0;
#ifdef LIVE
		fence_idle = 0;
#endif
#ifdef NO_ROWS_SURVIVE
		db.epoch = 0; db.term = 0; db.hold = 0; db.released = 0;
#endif
		printf("db: restarts\n") }
	od
}

#ifdef MOVES
/* `timeout` lets time move once no other step is possible. An endless run of steps without
 * a tick would stop time, and somebody_acts would mean nothing: so there must be none. */
byte since;
never {
	do
	:: true
	:: atomic { quiet -> since = waited; goto accept_still }
	od;
accept_still:
	do
	:: waited == since && !led
	od
}
#endif
